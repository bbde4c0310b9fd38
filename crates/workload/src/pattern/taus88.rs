//! The places that fio draws: the same random requests as the program's own, one by one.
//!
//! fio derives a seed for each purpose from `randseed` and the job's number, and draws places from P. L'Ecuyer's
//! combined Tausworthe generator ("Maximally Equidistributed Combined Tausworthe Generators", Mathematics of
//! Computation 65, 1996); its `init.c`, `lib/rand.c` and `io_u.c` say how.

/// fio multiplies seeds with this.
const GOLDEN: u64 = 0x9e37_0001;
/// The purpose "block": the seventh.
const PURPOSE: u64 = 6;
const WARM_UP: u32 = 6;

/// What fio seeds the places of its job number `thread` (from 1) with.
pub(crate) fn seed_of_places(randseed: u64, thread: u64) -> u64 {
    let seed = (0..4 + PURPOSE).fold(randseed, |seed, _| seed.wrapping_mul(GOLDEN));
    seed.wrapping_mul(thread).wrapping_add(PURPOSE)
}

/// The generator.
#[derive(Clone, Debug)]
pub(crate) struct Taus88 {
    states: [u32; 3],
}

impl Taus88 {
    /// fio looks at the lower half of the seed.
    pub fn new(seed: u64) -> Self {
        let seed = seed as u32;
        let next = |before: u32, least: u32| {
            let state = before.wrapping_mul(69_069) ^ seed;
            if state < least {
                state + least
            } else {
                state
            }
        };
        // Meant as 2^31 + 2^17 + 2^7, which in C is something else.
        let first = next((2 ^ 31) + (2 ^ 17) + (2 ^ 7), 1);
        let second = next(first, 7);
        let mut generator = Self { states: [first, second, next(second, 15)] };
        for _ in 0..WARM_UP {
            generator.draw();
        }
        generator
    }

    fn draw(&mut self) -> u32 {
        let step = |state: u32, left: u32, right: u32, mask: u32, shift: u32| {
            (state & mask) << shift ^ ((state << left ^ state) >> right)
        };
        let [first, second, third] = self.states;
        self.states = [step(first, 13, 19, !1, 12), step(second, 2, 25, !7, 4), step(third, 3, 11, !15, 17)];
        self.states.iter().fold(0, |sum, state| sum ^ state)
    }

    /// One of `0..end`, as fio rounds it.
    pub fn below(&mut self, end: u64) -> u64 {
        (end as f64 * (f64::from(self.draw()) / 4_294_967_296.0)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{seed_of_places, Taus88};

    /// Seen in the trace of fio 3.33 with `randseed=1`, on 2048 blocks.
    #[test]
    fn fio_draws_the_same() {
        let mut places = Taus88::new(seed_of_places(1, 1));
        let drawn: Vec<u64> = (0..8).map(|_| places.below(2048)).collect();
        assert_eq!(drawn, [146, 446, 1679, 486, 886, 564, 93, 162]);
    }
}
