//! What fio draws: the same random requests as the program's own, one by one.
//!
//! fio derives a seed for each purpose from `randseed` and the job's number, and draws from P. L'Ecuyer's
//! combined Tausworthe generator ("Maximally Equidistributed Combined Tausworthe Generators", Mathematics of
//! Computation 65, 1996); its `init.c`, `lib/rand.c` and `io_u.c` say how.

/// fio multiplies seeds with this.
const GOLDEN: u64 = 0x9e37_0001;
/// `randseed`, if a job has none.
const DEFAULT_SEED: u64 = 0x89;
/// Places of a job that has none follow from this.
const SEED_OF_REPEATED_PLACES: u64 = 0xb189_9bed;
const WARM_UP: u32 = 6;

/// What fio draws for, by its number.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    Mix = 4,
    Place = 6,
    /// Reads, writes and trims alike.
    SequentialOrRandom = 10,
}

/// What fio seeds the draws of its job number `thread` (from 1) with.
fn seed_of(purpose: Purpose, randseed: u64, thread: u64) -> u64 {
    let seed = (0..4 + purpose as u64).fold(randseed, |seed, _| seed.wrapping_mul(GOLDEN));
    seed.wrapping_mul(thread).wrapping_add(purpose as u64)
}

/// The draws of one job.
#[derive(Clone, Debug)]
pub(crate) struct Draws {
    /// Where evenly drawn requests go.
    pub place: Taus88,
    /// Whether a request goes to a drawn place, by direction.
    pub random: [Taus88; 3],
    /// Which way a request of a mixed job goes.
    pub mix: Mix,
}

impl Draws {
    /// Of job number `thread` (from 1).
    pub fn new(randseed: Option<u64>, thread: u64) -> Self {
        let draw = |purpose| Taus88::new(seed_of(purpose, randseed.unwrap_or(DEFAULT_SEED), thread));
        let repeated = SEED_OF_REPEATED_PLACES.wrapping_mul(thread);
        Self {
            place: if randseed.is_some() { draw(Purpose::Place) } else { Taus88::new(repeated) },
            random: [(); 3].map(|()| draw(Purpose::SequentialOrRandom)),
            mix: Mix { draws: draw(Purpose::Mix), reads: true, issued: [0; 2], least: 0 },
        }
    }
}

/// Reads and writes by turns. After a change fio keeps to the new direction until it is not too far behind the other.
#[derive(Clone, Debug)]
pub(crate) struct Mix {
    draws: Taus88,
    reads: bool,
    issued: [u64; 2],
    least: u64,
}

impl Mix {
    /// Whether the next request is a read.
    pub fn next_reads(&mut self, read_percent: u8) -> bool {
        if self.issued[usize::from(!self.reads)] >= self.least {
            let reads = self.draws.below(100) < u64::from(read_percent);
            if reads != self.reads {
                let others_percent = if self.reads { 100 - read_percent } else { read_percent };
                self.least = self.issued[usize::from(!self.reads)] * u64::from(others_percent) / 100;
            }
            self.reads = reads;
        }
        self.issued[usize::from(!self.reads)] += 1;
        self.reads
    }
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
    use super::Draws;

    /// Seen in the trace of fio 3.33 with `randseed=1`, on 2048 blocks.
    #[test]
    fn fio_draws_the_same() {
        let mut draws = Draws::new(Some(1), 1);
        let drawn: Vec<u64> = (0..8).map(|_| draws.place.below(2048)).collect();
        assert_eq!(drawn, [146, 446, 1679, 486, 886, 564, 93, 162]);
    }
}
