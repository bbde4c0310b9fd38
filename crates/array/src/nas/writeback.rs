//! When what was written leaves for the drives: at once, or as Linux lets pages wait (`mm/page-writeback.c`).

/// `dirty_writeback_centisecs`: how often is looked for pages that have waited long enough.
const LOOK_NS: u64 = 5_000_000_000;

/// Decides whether anything may leave now.
#[derive(Clone, Debug)]
pub(super) struct Writeback {
    /// `dirty_expire_centisecs`: what the oldest waits; 0: nothing waits.
    expire_ns: u64,
    /// `dirty_background_ratio`: with more than that nothing waits.
    background_bytes: u64,
    /// Since when anything is dirty, or what was when all that was old had left.
    since_ns: Option<u64>,
    /// What is left of the pages that were dirty when the oldest had waited long enough.
    round_bytes: u64,
    look_ns: Option<u64>,
}

impl Writeback {
    /// The background limit is half of the room for dirty pages, as Linux' two shares have been at 5 and 10 or 10 and 20 %.
    pub fn new(expire_ns: u64, room_bytes: u64) -> Self {
        Self { expire_ns, background_bytes: room_bytes / 2, since_ns: None, round_bytes: 0, look_ns: None }
    }

    /// Something was made dirty.
    pub fn dirtied(&mut self, now_ns: u64) {
        self.since_ns.get_or_insert(now_ns);
        if self.expire_ns > 0 && self.look_ns.is_none() {
            self.look_ns = Some((now_ns / LOOK_NS + 1) * LOOK_NS);
        }
    }

    /// When to look next.
    pub fn next_look_ns(&self) -> Option<u64> {
        self.look_ns
    }

    /// Looks for what has waited long enough, if it is time to: all that is dirty goes with the oldest.
    pub fn look(&mut self, now_ns: u64, dirty_bytes: u64) {
        if self.look_ns.is_none_or(|look_ns| look_ns > now_ns) {
            return;
        }
        if dirty_bytes == 0 {
            (self.look_ns, self.since_ns) = (None, None);
            return;
        }
        let is_old = self.since_ns.is_some_and(|since_ns| now_ns - since_ns >= self.expire_ns);
        if is_old && self.round_bytes == 0 {
            self.round_bytes = dirty_bytes;
        }
        self.look_ns = Some(now_ns + LOOK_NS);
    }

    /// May something leave, with so much dirty?
    pub fn lets_go(&self, dirty_bytes: u64) -> bool {
        self.expire_ns == 0 || self.round_bytes > 0 || dirty_bytes > self.background_bytes
    }

    /// So much has left; so much is dirty now.
    pub fn left(&mut self, now_ns: u64, bytes: u64, dirty_bytes: u64) {
        let was_round = self.round_bytes > 0;
        self.round_bytes = self.round_bytes.saturating_sub(bytes);
        if dirty_bytes == 0 {
            (self.round_bytes, self.since_ns) = (0, None);
        } else if was_round && self.round_bytes == 0 {
            self.since_ns = Some(now_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// Looks whenever it is time to, up to a moment.
    fn look_until(writeback: &mut Writeback, to_ns: u64, dirty_bytes: u64) {
        while let Some(at_ns) = writeback.next_look_ns().filter(|at_ns| *at_ns <= to_ns) {
            writeback.look(at_ns, dirty_bytes);
        }
    }

    #[test]
    fn nothing_waits_without_an_expiry() {
        let mut writeback = Writeback::new(0, 1000);
        writeback.dirtied(7);
        assert!(writeback.lets_go(1) && writeback.next_look_ns().is_none());
    }

    #[test]
    fn all_that_is_dirty_leaves_at_the_first_look_after_the_oldest_has_waited() {
        let mut writeback = Writeback::new(30 * S, 1000);
        writeback.dirtied(2 * S);
        look_until(&mut writeback, 30 * S, 400);
        assert!(!writeback.lets_go(400), "28 s at the look after 30 s");
        look_until(&mut writeback, 35 * S, 400);
        assert!(writeback.lets_go(400));
        writeback.left(35 * S, 300, 100);
        assert!(writeback.lets_go(100));
        writeback.left(36 * S, 100, 50);
        assert!(!writeback.lets_go(50), "what came meanwhile begins to wait now");
        look_until(&mut writeback, 65 * S, 50);
        assert!(!writeback.lets_go(50));
        look_until(&mut writeback, 70 * S, 50);
        assert!(writeback.lets_go(50));
    }

    #[test]
    fn more_than_half_of_the_room_does_not_wait() {
        let writeback = Writeback::new(30 * S, 1000);
        assert!(!writeback.lets_go(500) && writeback.lets_go(501));
    }

    #[test]
    fn nobody_looks_when_all_is_clean() {
        let mut writeback = Writeback::new(30 * S, 1000);
        writeback.dirtied(0);
        writeback.left(S, 10, 0);
        look_until(&mut writeback, 5 * S, 0);
        assert_eq!(writeback.next_look_ns(), None);
        writeback.dirtied(11 * S);
        assert_eq!(writeback.next_look_ns(), Some(15 * S));
    }
}
