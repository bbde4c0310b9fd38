//! Who follows a rebuild of the lab: a program that sleeps, looks at what its drives have done, and sleeps again.
//!
//! It matters on a host with one processor whose scheduler counts in jiffies: a tick that finds it at work ends the rebuild's short
//! requests. Its looks have a fixed length and a fixed distance, so when that happens follows from where the first lies
//! between two ticks. Seventeen looks later it is at the same place but for some 15 µs.

/// How long it sleeps,
const SLEEP_NS: u64 = 97_000_000;
/// and how much longer at most, unless the kernel is awake for a tick in between (`timer_slack_ns`).
const SLACK_NS: u64 = 50_000;
/// How long a look takes, by the lab's own clock: a reading of it costs 256 ns,
const LOOK_NS: u64 = 9_608;
/// and one at `/proc/mdstat`, too,
const STATUS_NS: u64 = 11_888;
/// which it asks for once in so long at first.
const STATUS_EVERY_NS: u64 = 1_000_000_000;
/// After so many of them it asks half as often from then on.
const MOST_STATUSES: u32 = 800;

/// One who follows.
#[derive(Clone, Debug)]
pub(super) struct Follower {
    jiffy_ns: u64,
    /// From when on it may wake.
    wakes_ns: u64,
    status_ns: u64,
    status_every_ns: u64,
    statuses: u32,
    is_found: bool,
}

impl Follower {
    /// Who looks first at `first_ns`.
    pub fn new(first_ns: u64, jiffy_ns: u64) -> Self {
        Self {
            jiffy_ns,
            wakes_ns: first_ns,
            status_ns: first_ns,
            status_every_ns: STATUS_EVERY_NS,
            statuses: 0,
            is_found: false,
        }
    }

    /// Has a tick found it by now?
    pub fn is_found(&mut self, now_ns: u64) -> bool {
        while !self.is_found && self.wakes_ns + SLACK_NS <= now_ns {
            self.look(self.wakes_ns + SLACK_NS);
        }
        self.is_found
    }

    /// The kernel wakes for a tick: who would wake within its slack does so, too, behind the tick.
    pub fn ticks(&mut self, now_ns: u64) {
        if !self.is_found(now_ns) && self.wakes_ns <= now_ns {
            self.look(now_ns);
        }
    }

    fn look(&mut self, begins_ns: u64) {
        let asks = begins_ns >= self.status_ns;
        let ends_ns = begins_ns + if asks { STATUS_NS } else { LOOK_NS };
        if asks {
            self.status_ns = begins_ns + self.status_every_ns;
            self.statuses += 1;
            if self.statuses == MOST_STATUSES {
                (self.statuses, self.status_every_ns) = (MOST_STATUSES / 2, 2 * self.status_every_ns);
            }
        }
        self.is_found = begins_ns / self.jiffy_ns != ends_ns / self.jiffy_ns;
        self.wakes_ns = ends_ns + SLEEP_NS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JIFFY_NS: u64 = 10_000_000;

    fn found_ns(first_ns: u64, ticks: bool) -> u64 {
        let mut follower = Follower::new(first_ns, JIFFY_NS);
        (1..100_000)
            .map(|tick| tick * JIFFY_NS)
            .find(|tick_ns| {
                if ticks {
                    follower.ticks(*tick_ns);
                }
                follower.is_found(*tick_ns)
            })
            .unwrap_or(u64::MAX)
    }

    /// From a list of the lab's: who looked 2.71 ms behind a tick at 6.33 s came by shortly before one at 26.23 s. (While the
    /// kernel was awake for ticks its looks stood still, from 29.5 to 47.7 s, and one found it at 102.81 s.)
    #[test]
    fn looks_creep_up_on_a_tick_until_it_finds_one() {
        let mut follower = Follower::new(6_332_659_893, JIFFY_NS);
        let mut near = Vec::new();
        while follower.wakes_ns < 26_300_000_000 {
            let begins_ns = follower.wakes_ns + SLACK_NS;
            if begins_ns % JIFFY_NS > JIFFY_NS - 60_000 {
                near.push(begins_ns / 1000);
            }
            follower.look(begins_ns);
        }
        // The lab's own was 26.229970 s.
        assert!(near.last().is_some_and(|at_us| at_us.abs_diff(26_229_970) < 30), "{near:?}");
    }

    #[test]
    fn a_tick_within_the_slack_holds_it_back() {
        // It would wake 20 µs behind the tick, and wakes with it: the next is those earlier.
        let mut follower = Follower::new(JIFFY_NS - 30_000, JIFFY_NS);
        follower.ticks(JIFFY_NS);
        assert_eq!(follower.wakes_ns, JIFFY_NS + STATUS_NS + SLEEP_NS);
        let mut later = Follower::new(JIFFY_NS - 30_000, JIFFY_NS);
        assert!(!later.is_found(JIFFY_NS + 20_000));
        assert_eq!(later.wakes_ns, JIFFY_NS + 20_000 + STATUS_NS + SLEEP_NS);
        // So ticks that are always awake keep who came by too late from coming by again.
        let first_ns = JIFFY_NS - SLACK_NS + 1_000;
        assert!(found_ns(first_ns, false) < u64::MAX);
        assert_eq!(found_ns(first_ns, true), u64::MAX);
    }

    #[test]
    fn who_works_across_a_tick_is_found() {
        for (before_ns, is_found) in [(STATUS_NS + 1, false), (STATUS_NS, true), (1, true)] {
            let mut follower = Follower::new(JIFFY_NS - SLACK_NS - before_ns, JIFFY_NS);
            assert_eq!(follower.is_found(JIFFY_NS), is_found, "{before_ns} ns before it");
        }
    }
}
