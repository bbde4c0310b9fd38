//! Whom the resilver waits for: the one drive that has something of it to do while no other has.

/// What of the resilver each drive has to do, and how long one was alone with any.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    /// Requests of the resilver that each has not answered.
    due: Vec<u32>,
    /// How many drives have any, and the sum of their places: of one alone that is its place.
    drives: u32,
    places: usize,
    since_ns: u64,
    alone_ns: Vec<f64>,
}

impl Waiting {
    pub fn new(width: usize, now_ns: u64) -> Self {
        Self { due: vec![0; width], drives: 0, places: 0, since_ns: now_ns, alone_ns: vec![0.0; width] }
    }

    /// A drive is asked; until now a nanosecond stood for `weight` of them.
    pub fn ask(&mut self, member: usize, now_ns: u64, weight: f64) {
        if self.due[member] == 0 {
            self.pass(now_ns, weight);
            (self.drives, self.places) = (self.drives + 1, self.places + member);
        }
        self.due[member] += 1;
    }

    /// It has answered, or will not any more.
    pub fn answered(&mut self, member: usize, now_ns: u64, weight: f64) {
        self.due[member] -= 1;
        if self.due[member] == 0 {
            self.pass(now_ns, weight);
            (self.drives, self.places) = (self.drives - 1, self.places - member);
        }
    }

    /// Time has passed.
    pub fn pass(&mut self, now_ns: u64, weight: f64) {
        if self.drives == 1 {
            self.alone_ns[self.places] += (now_ns - self.since_ns) as f64 * weight;
        }
        self.since_ns = now_ns;
    }

    /// How long a member was waited for alone.
    pub fn alone_ns(&self, member: usize) -> f64 {
        self.alone_ns[member]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_is_alone_is_waited_for() {
        let mut waiting = Waiting::new(3, 100);
        waiting.ask(2, 110, 1.0);
        waiting.ask(2, 120, 1.0);
        waiting.ask(0, 130, 1.0);
        waiting.answered(2, 140, 1.0);
        waiting.answered(2, 150, 1.0);
        waiting.pass(160, 2.0);
        waiting.answered(0, 170, 3.0);
        waiting.pass(200, 1.0);
        assert_eq!([0, 1, 2].map(|member| waiting.alone_ns(member)), [50.0, 0.0, 20.0]);
    }
}
