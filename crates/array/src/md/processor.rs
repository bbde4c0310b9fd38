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

/// After how long on average a tick finds who follows a rebuild: who looks every 97 ms at five files of `/sys/block`, which takes
/// 9.4 µs of the lab's own clock, is found once in 1064 looks, where a tick is 10 ms.
const FOLLOWER_FOUND_NS: f64 = 103e9;
/// The same beside a load, which has a main process that looks a hundred times a second: the 17 jiffies above.
const OTHERS_FOUND_NS: f64 = 450e9 / 17.0;
/// The tick of which both are true.
const LAB_JIFFY_NS: u64 = 10_000_000;

/// Who runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// One that loads the array.
    Program,
    /// One that has nothing to do with it, or only looks at it: here who runs behind a program.
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
    /// Whom a tick found last of a program and who runs behind it.
    found: Option<Task>,
    /// One has found who is no longer ahead of the recovery.
    is_array_thread_found: bool,
    is_loaded: bool,
    began_ns: u64,
    /// By how much others are found later than on average.
    lateness: f64,
}

impl Processor {
    pub fn new(processors: u32, jiffy_ns: u64) -> Self {
        Self {
            jiffy_ns,
            is_one_of_several: processors > 1,
            busy_until_ns: 0,
            found: None,
            is_array_thread_found: false,
            is_loaded: false,
            began_ns: 0,
            lateness: 0.0,
        }
    }

    /// A recovery's thread is new. `chance`, from 0 to 1, tells when others are found, who run at no fixed distance from ticks.
    pub fn recovery_begins(&mut self, now_ns: u64, chance: f64) {
        (self.found, self.is_array_thread_found) = (None, false);
        (self.began_ns, self.lateness) = (now_ns, -(1.0 - chance).ln());
    }

    /// A recovery has begun long ago.
    pub fn recovery_goes_on(&mut self) {
        self.is_array_thread_found = true;
    }

    /// A program asks for something, be it the load or not.
    pub fn program_asks(&mut self, now_ns: u64, is_load: bool) {
        self.is_loaded |= is_load;
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
            self.found = Some(task).filter(|task| *task != Task::ArrayThread).or(self.found);
            self.is_array_thread_found |= task != Task::Other;
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
        let on_average_ns = if self.is_loaded { OTHERS_FOUND_NS } else { FOLLOWER_FOUND_NS };
        let found_ns = self.lateness * on_average_ns * (self.jiffy_ns as f64 / LAB_JIFFY_NS as f64);
        !self.is_one_of_several && !self.is_array_thread_found && ((now_ns - self.began_ns) as f64) < found_ns
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
        let program_asks = |processor: &mut Processor, now_ns: u64| processor.program_asks(now_ns, false);
        for find in [program_asks, Processor::array_thread_asks] {
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
        let first_ns = |chance: f64, is_load: bool| {
            let mut processor = Processor::new(1, JIFFY_NS);
            processor.recovery_begins(0, chance);
            processor.program_asks(0, is_load);
            (0..1000).map(|s| s * 1_000_000_000).find(|ns| !processor.array_thread_precedes_recovery(*ns)).unwrap()
        };
        // Half of the rebuilds have met a tick that did after ln 2 of the average.
        assert_eq!([0.0, 0.5, 0.9].map(|chance| first_ns(chance, false) / 1_000_000_000), [0, 72, 238]);
        assert_eq!(first_ns(0.5, true) / 1_000_000_000, 19, "a load has somebody who looks more often");
    }

    #[test]
    fn of_several_processors_each_has_its_own() {
        assert!(!begun(4).array_thread_precedes_recovery(0));
    }

    #[test]
    fn a_program_that_a_tick_finds_is_behind() {
        let mut processor = begun(1);
        assert!(!processor.recovery_precedes_program());
        processor.program_asks(JIFFY_NS - 1, true);
        assert!(processor.recovery_precedes_program());
        processor.program_asks(2 * JIFFY_NS - PROGRAM_NS - 1, true);
        assert!(!processor.recovery_precedes_program(), "the tick found who ran behind it");
    }
}
