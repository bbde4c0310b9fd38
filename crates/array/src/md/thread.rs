//! How a rebuild holds itself back (`md_do_sync`, `is_mddev_idle`) and what `/proc/mdstat` shows of it (`status_resync`).

use super::options::Options;
use super::timers::next_jiffy;

/// Bytes between two looks at the speed (`window`: 32 pages).
pub(crate) const WINDOW_BYTES: u64 = 128 << 10;
const MARKS: usize = 10;
const MARK_STEP_NS: u64 = 3_000_000_000;
const TOO_FAST_SLEEP_NS: u64 = 500_000_000;
/// How long how far it is stays untold at most (`UPDATE_FREQUENCY`).
const CHECKPOINT_NS: u64 = 300_000_000_000;
const NS_PER_S: u64 = 1_000_000_000;
/// Other requests of more than this since the last look (64 sectors) mean that the array is not idle.
const OTHERS_BYTES: i64 = 32 << 10;

/// What the thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Is yet to be: the superblocks are being told that there is a new drive.
    Joins,
    /// Asks for more.
    Asks,
    /// Sleeps until then, and looks at the speed again before it goes on, or not.
    Sleeps { until_ns: u64, looks_again: bool },
    /// Waits until all that it asked for is done.
    Drains,
    /// Waits for a quarter of the stripe cache.
    Blocked,
}

/// The thread that fills the replacement, from `position` to `end` on the members.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub position: u64,
    pub end: u64,
    pub mood: Mood,
    pub issued_bytes: u64,
    pub active_bytes: u64,
    last_look: u64,
    looks: bool,
    /// Up to where, and when, the superblocks were told last.
    checkpoint: (u64, u64),
    /// When, and how much was done then.
    marks: [(u64, u64); MARKS],
    last_mark: usize,
    /// The mark that speeds are computed from.
    since: (u64, u64),
    /// What was seen of the members at the last look.
    seen: Vec<i64>,
}

impl Thread {
    pub fn new(width: usize, from: u64, end: u64, now_ns: u64) -> Self {
        let mark = (now_ns, 0);
        Self {
            position: from,
            end,
            mood: Mood::Asks,
            issued_bytes: 0,
            active_bytes: 0,
            last_look: 0,
            looks: false,
            checkpoint: (from, now_ns),
            marks: [mark; MARKS],
            last_mark: 0,
            since: mark,
            seen: vec![0; width],
        }
    }

    /// How much it may ask for before it looks at the speed.
    pub fn until_look(&self) -> u64 {
        (self.last_look + WINDOW_BYTES - self.issued_bytes).min(self.end - self.position)
    }

    /// Has it asked for all that it may before it looks?
    pub fn is_about_to_look(&self) -> bool {
        self.looks
    }

    /// It has asked for so much.
    pub fn asked(&mut self, bytes: u64) {
        self.position += bytes;
        self.issued_bytes += bytes;
        self.active_bytes += bytes;
        if self.last_look + WINDOW_BYTES <= self.issued_bytes && self.position < self.end {
            self.last_look = self.issued_bytes;
            self.looks = true;
        }
    }

    /// Looks at the speed, if that is due; `others` is, for each member, what others had done less what it has in flight
    /// itself. Returns whether it goes on asking.
    pub fn look(&mut self, now_ns: u64, options: &Options, others: impl Iterator<Item = i64>) -> bool {
        if !std::mem::take(&mut self.looks) {
            return true;
        }
        self.step_marks(now_ns);
        let (since_ns, done_then) = self.since;
        let done_kib = (self.issued_bytes - self.active_bytes).saturating_sub(done_then) >> 10;
        let speed_kib = done_kib / ((now_ns - since_ns) / NS_PER_S + 1) + 1;
        if speed_kib <= options.speed_min_bytes_per_s >> 10 {
            return true;
        }
        if speed_kib > options.speed_max_bytes_per_s >> 10 {
            let until_ns = next_jiffy(now_ns + TOO_FAST_SLEEP_NS, options.jiffy_ns);
            self.mood = Mood::Sleeps { until_ns, looks_again: true };
            return false;
        }
        if self.others_are_at_work(others) && self.active_bytes > 0 {
            self.mood = Mood::Drains;
            return false;
        }
        true
    }

    /// Is it time to tell the superblocks, of members that the array uses so much of?
    pub fn is_checkpoint_due(&self, now_ns: u64, used_bytes: u64) -> bool {
        let (position, at_ns) = self.checkpoint;
        self.position > position && (self.position - position > used_bytes / 16 || now_ns >= at_ns + CHECKPOINT_NS)
    }

    /// They are about to be.
    pub fn checkpoints(&mut self, now_ns: u64) {
        self.checkpoint = (self.position, now_ns);
    }

    /// The time has come, or what it waited for: it asks again.
    pub fn goes_on(&mut self) {
        if let Mood::Sleeps { looks_again, .. } = self.mood {
            self.looks |= looks_again;
        }
        self.mood = Mood::Asks;
    }

    /// Sleeps one jiffy, lest it takes all of the stripe cache from others. The kernel's timers never go off early, so that
    /// is from the next tick to the one after it (`calc_index`, `kernel/time/timer.c`).
    pub fn nap(&mut self, now_ns: u64, jiffy_ns: u64) {
        let until_ns = next_jiffy(next_jiffy(now_ns, jiffy_ns), jiffy_ns);
        self.mood = Mood::Sleeps { until_ns, looks_again: false };
    }

    fn step_marks(&mut self, now_ns: u64) {
        if now_ns < self.marks[self.last_mark].0 + MARK_STEP_NS {
            return;
        }
        let next = (self.last_mark + 1) % MARKS;
        self.since = self.marks[next];
        self.marks[next] = (now_ns, self.issued_bytes - self.active_bytes);
        self.last_mark = next;
    }

    fn others_are_at_work(&mut self, others: impl Iterator<Item = i64>) -> bool {
        let mut busy = false;
        for (seen, now) in self.seen.iter_mut().zip(others) {
            if now - *seen > OTHERS_BYTES {
                *seen = now;
                busy = true;
            }
        }
        busy
    }

    /// Speed in bytes a second and the time left, as `/proc/mdstat` shows them.
    pub fn shown(&self, now_ns: u64) -> (f64, u64) {
        let (since_ns, done_then) = self.since;
        let dt_s = (now_ns.saturating_sub(since_ns) / NS_PER_S).max(1);
        let db = (self.issued_bytes - self.active_bytes).saturating_sub(done_then) / 512;
        let left = (self.end - (self.position - self.active_bytes)) / 512;
        let left_s = (u128::from(left / (db / 32 + 1)) * u128::from(dt_s)) >> 5;
        ((db / 2 / dt_s * 1024) as f64, (left_s.min(u128::from(u64::MAX / NS_PER_S)) as u64) * NS_PER_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;

    #[test]
    fn a_nap_lasts_from_the_next_tick_to_the_one_after_it() {
        let mut thread = Thread::new(2, 0, 1 << 30, 0);
        for (now_ns, until_ns) in [(0, 8), (1, 8), (3, 8), (4, 12)] {
            thread.nap(now_ns, 4);
            assert_eq!(thread.mood, Mood::Sleeps { until_ns, looks_again: false }, "from {now_ns} on");
        }
    }

    /// `md_do_sync` by hand: a mark each 3 s, of which ten are kept. 30 MiB are done before each of the first ten and none
    /// later, so the speed falls by a tenth with each mark from the eleventh on.
    #[test]
    fn a_speed_is_that_since_the_oldest_of_ten_marks() {
        let mut thread = Thread::new(2, 0, 1 << 30, 0);
        for mark in 1..=20 {
            if mark <= 10 {
                thread.asked(30 << 20);
                thread.active_bytes = 0;
            }
            thread.step_marks(3 * mark * NS_PER_S);
            let mib_per_s = if mark <= 10 { 10 } else { 20 - mark };
            assert_eq!(thread.shown(3 * mark * NS_PER_S).0, (mib_per_s << 20) as f64, "mark {mark}");
        }
    }

    /// `status_resync` by hand: of 1 GiB 96 MiB were done in 3 s, and 32 MiB more are on their way.
    #[test]
    fn what_is_on_its_way_is_still_to_be_done() {
        let mut thread = Thread::new(2, 0, 1 << 30, 0);
        thread.asked(128 << 20);
        thread.active_bytes = 32 << 20;
        let (done_sectors, left_sectors) = (96 << 11, (1024 - 96) << 11);
        let left_s = left_sectors / (done_sectors / 32 + 1) * 3 / 32;
        assert_eq!(thread.shown(3 * NS_PER_S), ((32 << 20) as f64, left_s * NS_PER_S));
    }

    /// `md_do_sync` by hand: 30 MiB in 2.5 s, which count as 3 s, are 10 MiB a second and one KiB. Who has slept looks again.
    #[test]
    fn who_is_too_fast_sleeps_and_looks_again() {
        for (most_kib, is_too_fast) in [(10_241, false), (10_240, true)] {
            let options = Options::new(Layout::Raid5, 3, 1 << 40).unwrap();
            let options = Options { speed_max_bytes_per_s: most_kib << 10, ..options };
            let mut thread = Thread::new(3, 0, 1 << 30, 0);
            thread.asked(30 << 20);
            thread.active_bytes = 0;
            for look in 0..3 {
                let asks = thread.look(2_500_000_000, &options, [0; 3].into_iter());
                assert_eq!(asks, !is_too_fast, "{most_kib} KiB/s, look {look}");
                thread.goes_on();
            }
        }
    }

    /// What others have done since the last look tells whether they are at work, not what they have done at all.
    #[test]
    fn others_that_have_rested_since_the_last_look_hold_nobody_back() {
        let options = Options::new(Layout::Raid5, 3, 1 << 40).unwrap();
        let mut thread = Thread::new(3, 0, 1 << 30, 0);
        let moods = [0, 64 << 10, 64 << 10, 96 << 10, 129 << 10].map(|done_by_one| {
            thread.asked(30 << 20);
            thread.active_bytes = 1 << 20;
            thread.look(2_500_000_000, &options, [0, done_by_one, 0].into_iter());
            std::mem::replace(&mut thread.mood, Mood::Asks)
        });
        assert_eq!(moods, [Mood::Asks, Mood::Drains, Mood::Asks, Mood::Asks, Mood::Drains]);
    }

    /// `md_do_sync` by hand: what others have done is seen at each look, and who has nothing on its way has nobody to wait for.
    #[test]
    fn who_has_nothing_on_its_way_sees_others_and_goes_on() {
        let options = Options::new(Layout::Raid5, 3, 1 << 40).unwrap();
        let mut thread = Thread::new(3, 0, 1 << 30, 0);
        for (active_bytes, done_by_one, goes_on) in
            [(0, 64 << 10, true), (1 << 20, 64 << 10, true), (1, 97 << 10, false)]
        {
            thread.asked(30 << 20);
            thread.active_bytes = active_bytes;
            let asks = thread.look(2_500_000_000, &options, [0, done_by_one, 0].into_iter());
            assert_eq!(asks, goes_on, "{active_bytes} on their way, {done_by_one} done by another");
            thread.goes_on();
        }
    }

    /// The same 10 MiB a second and one KiB: others are given way above the least speed, not at it.
    #[test]
    fn nobody_is_given_way_at_the_least_speed() {
        for (least_kib, goes_on) in [(10_241, true), (10_240, false)] {
            let options = Options::new(Layout::Raid5, 3, 1 << 40).unwrap();
            let options = Options { speed_min_bytes_per_s: least_kib << 10, ..options };
            let mut thread = Thread::new(3, 0, 1 << 30, 0);
            thread.asked((30 << 20) + (1 << 20));
            thread.active_bytes = 1 << 20;
            assert_eq!(
                thread.look(2_500_000_000, &options, [0, 64 << 10, 0].into_iter()),
                goes_on,
                "{least_kib} KiB/s"
            );
        }
    }
}
