//! Who goes first where a host has one processor for all that runs on it.
//!
//! Linux's scheduler lets those go first who have had less of it (`wakeup_preempt_entity`), but nobody who wakes is ahead of the
//! others by more than 3 ms (`place_entity`). In a kernel whose scheduler has no other clock than jiffies (`sched_clock`) it knows
//! only whom a tick finds running, and charges a whole one to that (`update_curr`): all others are ahead from then on.

/// What a program takes for a request, and others who run beside it take meanwhile. (In 450 s of the lab and 95,000 requests its
/// scheduler charges 18 jiffies to the load, and 17 to who watches it.)
const PROGRAM_NS: u64 = 1_900;

/// What the array's thread takes for a request to a member: in the lab it reads the clock once (`blk_mq_rq_ctx_init`), and nothing
/// else takes time.
const MEMBER_REQUEST_NS: u64 = 256;

/// How often who follows a rebuild looks at the members,
const LOOK_INTERVAL_NS: f64 = 97_060_000.0;
/// and how long that takes: in the lab five files of `/sys/block`, and the clock.
const LOOK_NS: f64 = 10_000.0;

/// Who runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// One that loads the array.
    Program,
    /// One that has nothing to do with it, or only looks at it.
    Other,
    /// The array's own thread (`raid5d`).
    ArrayThread,
}

/// The processor since the recovery's thread was made.
#[derive(Clone, Debug)]
pub(super) struct Processor {
    jiffy_ns: u64,
    /// Others have some of their own: the recovery's thread and the array's run beside each other.
    is_one_of_several: bool,
    busy_until_ns: u64,
    /// Whom a tick found last.
    found: Option<Task>,
    /// When one finds who follows the rebuild.
    finds_follower_ns: u64,
}

impl Processor {
    pub fn new(processors: u32, jiffy_ns: u64) -> Self {
        Self { jiffy_ns, is_one_of_several: processors > 1, busy_until_ns: 0, found: None, finds_follower_ns: u64::MAX }
    }

    /// A recovery's thread is new. `chance` is from 0 to 1: looks come at no fixed distance from ticks, so that each may be found.
    pub fn recovery_begins(&mut self, now_ns: u64, chance: f64) {
        self.found = None;
        let looks = -(1.0 - chance).ln() * self.jiffy_ns as f64 / LOOK_NS;
        self.finds_follower_ns = now_ns.saturating_add((looks * LOOK_INTERVAL_NS) as u64);
    }

    /// A recovery has begun long ago.
    pub fn recovery_goes_on(&mut self) {
        self.found = Some(Task::Other);
    }

    /// A program asks for something.
    pub fn program_asks(&mut self, now_ns: u64) {
        self.run(Task::Program, now_ns, PROGRAM_NS);
        self.run(Task::Other, now_ns, PROGRAM_NS);
    }

    /// The array's own thread hands a request to a member.
    pub fn array_thread_asks(&mut self, now_ns: u64) {
        self.run(Task::ArrayThread, now_ns, MEMBER_REQUEST_NS);
    }

    fn run(&mut self, task: Task, now_ns: u64, for_ns: u64) {
        let begins_ns = self.busy_until_ns.max(now_ns);
        self.busy_until_ns = begins_ns + for_ns;
        if begins_ns / self.jiffy_ns != self.busy_until_ns / self.jiffy_ns {
            self.found = Some(task);
        }
    }

    /// Of a program and the recovery that wake at the same moment, does the recovery go first, and stop a program that has woken
    /// it? Else it goes last, and waits until the program does.
    pub fn recovery_precedes_program(&self) -> bool {
        self.found == Some(Task::Program)
    }

    /// Does the array's own thread go before the recovery's, whenever that lets others (`cond_resched`)? Who is new is a turn
    /// behind all others (`START_DEBIT`). A tick that finds the array's thread puts it behind; one that finds anybody else makes the
    /// two even, and who is even interrupts nobody. None finds the recovery's: nothing that it does itself takes time.
    pub fn array_thread_precedes_recovery(&self, now_ns: u64) -> bool {
        !self.is_one_of_several && self.found.is_none() && now_ns < self.finds_follower_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JIFFY_NS: u64 = 10_000_000;

    fn begun(processors: u32) -> Processor {
        let mut processor = Processor::new(processors, JIFFY_NS);
        processor.recovery_begins(0, 0.99);
        processor
    }

    #[test]
    fn a_new_thread_is_behind_until_a_tick_finds_somebody() {
        for find in [Processor::program_asks, Processor::array_thread_asks] {
            let mut processor = begun(1);
            find(&mut processor, JIFFY_NS);
            assert!(processor.array_thread_precedes_recovery(JIFFY_NS), "it ran between two ticks");
            find(&mut processor, 2 * JIFFY_NS - 1);
            assert!(!processor.array_thread_precedes_recovery(2 * JIFFY_NS));
            processor.recovery_begins(2 * JIFFY_NS, 0.99);
            assert!(processor.array_thread_precedes_recovery(2 * JIFFY_NS), "another thread");
        }
    }

    #[test]
    fn who_follows_a_rebuild_is_found_sooner_or_later() {
        let first_ns = |chance: f64| {
            let mut processor = Processor::new(1, JIFFY_NS);
            processor.recovery_begins(0, chance);
            (0..1000).map(|s| s * 1_000_000_000).find(|ns| !processor.array_thread_precedes_recovery(*ns)).unwrap()
        };
        // One of a thousand looks is found, which come every 97 ms: half of the rebuilds have met one after 67 s.
        assert_eq!([0.0, 0.5, 0.9].map(|chance| first_ns(chance) / 1_000_000_000), [0, 68, 224]);
    }

    #[test]
    fn of_several_processors_each_has_its_own() {
        assert!(!begun(4).array_thread_precedes_recovery(0));
    }

    #[test]
    fn a_program_that_a_tick_finds_is_behind() {
        let mut processor = begun(1);
        assert!(!processor.recovery_precedes_program());
        processor.program_asks(JIFFY_NS - 1);
        assert!(processor.recovery_precedes_program());
        processor.program_asks(2 * JIFFY_NS - PROGRAM_NS - 1);
        assert!(!processor.recovery_precedes_program(), "the tick found who ran behind it");
    }
}
