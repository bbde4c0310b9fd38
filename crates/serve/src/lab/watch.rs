//! When a guest is given up, by the wall clock and by what its processes do.

use std::time::{Duration, Instant};

use super::guest::{Guest, Pulse};
use super::report::Outcome;

/// How often the limits are looked at.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// When a guest is given up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// By the wall clock.
    pub wall: Option<Duration>,
    /// Without a word of the guest: so long may it use a processor, and so long by the wall clock may it have no process
    /// that could run.
    pub silence: Duration,
    /// The processor on which the lab stays. It and the guest wait for each other all the time: on one processor that takes
    /// a fraction of the time that it takes on two.
    pub cpu: Option<usize>,
    /// When, in the lab's time, the power of guest and drives fails.
    pub power_cut_ns: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { wall: None, silence: Duration::from_secs(60), cpu: None, power_cut_ns: None }
    }
}

/// Looks at the clock on the wall, and at a guest that says nothing.
pub(super) struct Watch<'a> {
    pub limits: &'a Limits,
    guest: Option<&'a Guest>,
    go_on: &'a mut dyn FnMut() -> bool,
    begun: Instant,
    looked: Instant,
    silence: Option<Silence>,
}

impl<'a> Watch<'a> {
    pub fn begin(limits: &'a Limits, guest: Option<&'a Guest>, go_on: &'a mut dyn FnMut() -> bool) -> Self {
        let now = Instant::now();
        Self { limits, guest, go_on, begun: now, looked: now, silence: None }
    }

    /// Time to end, if it is; `heard`: since the last time the guest has said something, or had nothing to say.
    pub fn look(&mut self, heard: bool) -> Result<(), Outcome> {
        if heard {
            self.silence = None;
        }
        let now = Instant::now();
        if now - self.looked < LOOK_INTERVAL {
            return Ok(());
        }
        // Whoever kept us from looking may have kept the guest from running.
        let passed = (now - self.looked).min(2 * LOOK_INTERVAL);
        self.looked = now;
        if !(self.go_on)() {
            return Err(Outcome::Interrupted);
        }
        if self.limits.wall.is_some_and(|wall| now - self.begun >= wall) {
            return Err(Outcome::WallLimit);
        }
        if heard {
            return Ok(());
        }
        let pulse = self.guest.and_then(Guest::pulse);
        self.silence.get_or_insert_default().goes_on(passed, pulse, self.limits.silence)
    }
}

/// Since a guest was heard.
#[derive(Default)]
struct Silence {
    /// How long the guest had used a processor when that was first looked at.
    used: Option<Duration>,
    /// How long none of its processes could run, without a break.
    idle: Duration,
}

impl Silence {
    fn goes_on(&mut self, passed: Duration, pulse: Option<Pulse>, limit: Duration) -> Result<(), Outcome> {
        match pulse {
            Some(Pulse { can_run: true, .. }) => self.idle = Duration::ZERO,
            _ => self.idle += passed,
        }
        let used = pulse.map_or(Duration::ZERO, |pulse| pulse.used);
        let used_before = *self.used.get_or_insert(used);
        if used.saturating_sub(used_before) >= limit {
            return Err(Outcome::Loops);
        }
        match self.idle >= limit {
            true => Err(Outcome::Hangs),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pulse, Silence, LOOK_INTERVAL};
    use crate::lab::Outcome;
    use std::time::Duration;

    const LIMIT: Duration = Duration::from_secs(60);

    /// What is said of a guest that is silent for so many looks, of which `pulse` tells what it does at each.
    fn after(looks: u32, pulse: impl Fn(u32) -> Option<(Duration, bool)>) -> Result<(), Outcome> {
        let mut silence = Silence::default();
        (0..looks).try_for_each(|look| {
            let pulse = pulse(look).map(|(used, can_run)| Pulse { used, can_run });
            silence.goes_on(LOOK_INTERVAL, pulse, LIMIT)
        })
    }

    #[test]
    fn who_uses_the_processor_loops() {
        assert_eq!(after(600, |look| Some((LOOK_INTERVAL * look, true))), Ok(()));
        assert_eq!(after(601, |look| Some((LOOK_INTERVAL * look, true))), Err(Outcome::Loops));
        let before = Duration::from_secs(1000);
        assert_eq!(
            after(600, |look| Some((before + LOOK_INTERVAL * look, true))),
            Ok(()),
            "what it used before is not"
        );
    }

    #[test]
    fn who_cannot_run_hangs_and_so_does_who_cannot_be_seen() {
        assert_eq!(after(599, |_| Some((LIMIT, false))), Ok(()));
        assert_eq!(after(600, |_| Some((LIMIT, false))), Err(Outcome::Hangs));
        assert_eq!(after(600, |_| None), Err(Outcome::Hangs));
        assert_eq!(after(1100, |look| Some((LIMIT, look == 550))), Ok(()), "not if it could for a moment");
    }

    #[test]
    fn who_does_not_get_its_turn_is_waited_for() {
        assert_eq!(after(100_000, |_| Some((LIMIT, true))), Ok(()));
        let hardly = |look| Some((Duration::from_micros(100) * look, look % 7 > 0));
        assert_eq!(after(100_000, hardly), Ok(()));
    }
}
