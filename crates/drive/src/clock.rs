//! The drive's own time: ticks of 1/2^23 turn, so that the phase of the platters is a mask away.

/// Ticks of one turn.
pub(crate) const TURN: u64 = 1 << 23;
/// Takes the phase out of a time in ticks.
pub(crate) const PHASE_MASK: u64 = TURN - 1;

const FRACTION_BITS: u32 = 60;

/// Converts between nanoseconds outside and ticks inside.
///
/// Rounding is such that whatever happens at a tick has happened once the host's clock shows that tick's time:
/// `ticks(ns(t)) >= t`.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    ns_per_tick: f64,
    ns_per_tick_fraction: u64,
    ticks_per_ns_fraction: u64,
}

impl Clock {
    pub fn new(rpm: f64) -> Self {
        let ns_per_tick = 60e9 / rpm / TURN as f64;
        let ns_per_tick_fraction = (ns_per_tick * (1_u64 << FRACTION_BITS) as f64) as u64;
        // Rounded up, so that a tick's own nanosecond is never before the tick.
        let ticks_per_ns_fraction = (1_u128 << (2 * FRACTION_BITS)).div_ceil(u128::from(ns_per_tick_fraction)) as u64;
        Self { ns_per_tick, ns_per_tick_fraction, ticks_per_ns_fraction }
    }

    /// The first whole nanosecond at which everything up to `ticks` has happened.
    pub fn ns(&self, ticks: u64) -> u64 {
        self.span_ns(ticks) + 1
    }

    /// The last tick that has happened at `ns`.
    pub fn ticks(&self, ns: u64) -> u64 {
        ((u128::from(ns) * u128::from(self.ticks_per_ns_fraction)) >> FRACTION_BITS) as u64
    }

    /// The whole nanoseconds in a span of ticks. Between the times of its beginning and its end lie so many or one more.
    pub fn span_ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.ns_per_tick_fraction)) >> FRACTION_BITS) as u64
    }

    /// A tick's length.
    pub fn ns_per_tick(&self) -> f64 {
        self.ns_per_tick
    }

    /// A span in ticks, rounded to nearest.
    pub fn span(&self, ns: f64) -> u64 {
        (ns / self.ns_per_tick).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{Clock, TURN};
    use proptest::prelude::*;

    #[test]
    fn a_turn_takes_what_the_spindle_says() {
        let clock = Clock::new(7200.0);
        assert_eq!(clock.ns(7200 * TURN) / 1000, 60_000_000);
        assert_eq!(clock.span(60e9 / 7200.0), TURN);
    }

    proptest! {
        #[test]
        fn a_tick_has_happened_at_its_own_nanosecond(rpm in 1000.0..30_000.0_f64, tick in 0..1_u64 << 54) {
            let clock = Clock::new(rpm);
            let ns = clock.ns(tick);
            prop_assert!(clock.ticks(ns) >= tick);
            prop_assert!(clock.ticks(ns) <= tick + 2 + (2.0 / clock.ns_per_tick()) as u64);
        }
    }
}
