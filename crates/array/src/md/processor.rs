//! Who goes first where a host has one processor for all that runs on it.
//!
//! Linux's scheduler lets those go first who have had less of it (`wakeup_preempt_entity`), but nobody who wakes is ahead of the
//! others by more than 3 ms (`place_entity`). In a kernel whose scheduler has no other clock than jiffies (`sched_clock`) it knows
//! only whom a tick finds running, and charges a whole one to that (`update_curr`): all others are ahead from then on.

use sim::Stream;

use super::follower::Follower;

/// What a program takes for a request, and others who run beside it take meanwhile. (In 450 s of the lab and 95,000 requests its
/// scheduler charges 18 jiffies to the load, and 17 to who watches it.)
const PROGRAM_NS: u64 = 1_900;

/// What the array's thread takes for a request to a member: in the lab it reads the clock once (`blk_mq_rq_ctx_init`), and nothing
/// else takes time.
const MEMBER_REQUEST_NS: u64 = 256;

/// After how long on average a tick finds who runs beside a load, which has a main process that looks a hundred times a second: the
/// 17 jiffies above.
const OTHERS_FOUND_NS: f64 = 450e9 / 17.0;
/// The tick of which that is true.
const LAB_JIFFY_NS: u64 = 10_000_000;

/// Who follows a rebuild looks first within this.
const FIRST_LOOK_NS: u64 = 97_000_000;

/// How many rebuilds begin without a second worker of the kernel's: nine of eleven in the lab, by lists of who was made when.
const LACKS_WORKER: f64 = 9.0 / 11.0;
/// How many of those that are made on the way are as far behind as the recovery. Of seven one was made while another program was to
/// run, too: who begins then is 2 ms behind and not 3 (`sched_vslice`), which leaves the array's thread ahead.
const IS_FAR_BEHIND: f64 = 6.0 / 7.0;

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
    program_runs_until_ns: u64,
    next_look_ns: u64,
    /// Whom a tick found last of a program and who runs behind it.
    found: Option<Task>,
    /// One has found who is no longer ahead of the recovery.
    is_array_thread_found: bool,
    is_loaded: bool,
    began_ns: u64,
    /// By how much others are found later than on average.
    lateness: f64,
    follower: Option<Follower>,
    /// The kernel has had no need for a second worker so far, and makes one that is behind the recovery when it has.
    lacks_worker: bool,
}

impl Processor {
    pub fn new(processors: u32, jiffy_ns: u64) -> Self {
        Self {
            jiffy_ns,
            is_one_of_several: processors > 1,
            busy_until_ns: 0,
            program_runs_until_ns: 0,
            next_look_ns: u64::MAX,
            found: None,
            is_array_thread_found: false,
            is_loaded: false,
            began_ns: 0,
            lateness: 0.0,
            follower: None,
            lacks_worker: false,
        }
    }

    /// A recovery's thread is new. Chance is when others are found, who run at no fixed distance from ticks; when who follows it looks
    /// first; and whether the kernel has its second worker.
    pub fn recovery_begins(&mut self, now_ns: u64, chance: &mut Stream) {
        (self.found, self.is_array_thread_found) = (None, false);
        (self.began_ns, self.lateness) = (now_ns, -(1.0 - chance.unit()).ln());
        self.follower = Some(Follower::new(now_ns + chance.below(FIRST_LOOK_NS), self.jiffy_ns));
        self.lacks_worker = chance.unit() < LACKS_WORKER * IS_FAR_BEHIND;
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

    /// A program has looked at an answer, or there is none, and asks for something else; if it goes first, before anybody else has a
    /// turn. It may look `again` after that.
    pub fn program_looks(&mut self, now_ns: u64, at_one: bool, again: bool) {
        if at_one && !self.recovery_precedes_program() {
            self.program_runs_until_ns = now_ns + PROGRAM_NS;
        }
        self.next_look_ns = if again { now_ns + PROGRAM_NS } else { u64::MAX };
    }

    /// When a program looks again.
    pub fn next_look_ns(&self) -> u64 {
        self.next_look_ns
    }

    /// Until when the recovery has no turn because of that.
    pub fn program_runs_until_ns(&self) -> u64 {
        self.program_runs_until_ns
    }

    /// The kernel wakes for a tick.
    pub fn ticks(&mut self, now_ns: u64) {
        if let Some(follower) = &mut self.follower {
            follower.ticks(now_ns);
        }
    }

    /// What a flush was to precede waits in one of the kernel's workers (`md_submit_flush_data`). What is told meanwhile takes another, and
    /// it makes a second one lest there be none left. Who is new is behind the recovery, too (`START_DEBIT`), and as the last to run
    /// takes all others with it: the recovery and the array's thread wake even.
    pub fn worker_waits(&mut self) {
        self.is_array_thread_found |= std::mem::take(&mut self.lacks_worker);
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
    pub fn array_thread_precedes_recovery(&mut self, now_ns: u64) -> bool {
        if self.is_one_of_several || self.is_array_thread_found {
            return false;
        }
        self.is_array_thread_found = if self.is_loaded {
            let found_ns = self.lateness * OTHERS_FOUND_NS * (self.jiffy_ns as f64 / LAB_JIFFY_NS as f64);
            (now_ns - self.began_ns) as f64 >= found_ns
        } else {
            self.follower.as_mut().is_some_and(|follower| follower.is_found(now_ns))
        };
        !self.is_array_thread_found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JIFFY_NS: u64 = 10_000_000;

    fn begun(processors: u32) -> Processor {
        let mut processor = Processor::new(processors, JIFFY_NS);
        begin(&mut processor, 0);
        processor
    }

    /// One whose follower comes by much later, and that lacks a worker.
    fn begin(processor: &mut Processor, now_ns: u64) {
        processor.recovery_begins(now_ns, &mut sim::stream(1, "whom a tick finds"));
        processor.follower = Some(Follower::new(u64::MAX / 2, JIFFY_NS));
        processor.lacks_worker = true;
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
            begin(&mut processor, 2 * JIFFY_NS);
            assert!(processor.array_thread_precedes_recovery(2 * JIFFY_NS), "another thread");
        }
    }

    #[test]
    fn who_follows_a_rebuild_ends_that_when_a_tick_finds_it() {
        let mut processor = begun(1);
        processor.follower = Some(Follower::new(2 * JIFFY_NS - 55_000, JIFFY_NS));
        assert!(processor.array_thread_precedes_recovery(2 * JIFFY_NS - 5_001), "it sleeps");
        assert!(!processor.array_thread_precedes_recovery(2 * JIFFY_NS));
    }

    #[test]
    fn who_runs_beside_a_load_is_found_sooner_or_later() {
        let mut processor = begun(1);
        processor.lateness = std::f64::consts::LN_2;
        processor.program_asks(0, true);
        let found_s = (0..1000).find(|s| !processor.array_thread_precedes_recovery(s * 1_000_000_000));
        assert_eq!(found_s, Some(19), "half of them after ln 2 of the average");
    }

    #[test]
    fn a_worker_that_is_made_on_the_way_makes_all_even() {
        let mut processor = begun(1);
        processor.worker_waits();
        assert!(!processor.array_thread_precedes_recovery(0));
        let mut processor = begun(1);
        processor.lacks_worker = false;
        processor.worker_waits();
        assert!(processor.array_thread_precedes_recovery(0), "there was one");
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
