//! Every block once, in random order, in a few bytes of memory.

use sim::Stream;

const ROUNDS: usize = 3;

/// A random permutation of `0..blocks`, drawn one number at a time.
///
/// A counter runs over the next power of two and is scrambled by steps that can each be undone (multiply by an odd
/// number, add, fold the upper half onto the lower): no two counts meet. Counts that land outside are skipped, at
/// most every second one on the average. Three thousand million blocks cost no more than one.
#[derive(Clone, Debug)]
pub struct Cover {
    blocks: u64,
    mask: u64,
    fold: u32,
    next: u64,
    keys: [(u64, u64); ROUNDS],
}

impl Cover {
    /// A permutation of `0..blocks` (1 to 2^63), drawn from `stream`.
    pub fn new(blocks: u64, stream: &mut Stream) -> Self {
        let mask = blocks.next_power_of_two() - 1;
        let fold = mask.count_ones().div_ceil(2).max(1);
        let keys = [(); ROUNDS].map(|()| (stream.bits() | 1, stream.bits()));
        Self { blocks, mask, fold, next: 0, keys }
    }

    /// How many numbers there are in all.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    fn scramble(&self, count: u64) -> u64 {
        self.keys.iter().fold(count, |value, &(factor, shift)| {
            let value = value.wrapping_mul(factor).wrapping_add(shift) & self.mask;
            value ^ (value >> self.fold)
        })
    }
}

impl Iterator for Cover {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        while self.next <= self.mask {
            let block = self.scramble(self.next);
            self.next += 1;
            if block < self.blocks {
                return Some(block);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Cover;

    proptest! {
        #[test]
        fn is_a_bijection(blocks in 1_u64..20_000, seed in any::<u64>()) {
            let mut seen = vec![false; blocks as usize];
            for block in Cover::new(blocks, &mut sim::stream(seed, "cover")) {
                prop_assert!(!std::mem::replace(&mut seen[block as usize], true), "{} twice", block);
            }
            prop_assert!(seen.into_iter().all(|one| one));
        }
    }

    #[test]
    fn looks_random_from_the_first_draw() {
        let blocks = 3_000_000_000_u64;
        let drawn: Vec<u64> = Cover::new(blocks, &mut sim::stream(3, "cover")).take(20_000).collect();
        let mean = drawn.iter().map(|block| *block as f64).sum::<f64>() / drawn.len() as f64 / blocks as f64;
        let step =
            drawn.windows(2).map(|pair| pair[0].abs_diff(pair[1]) as f64).sum::<f64>() / 19_999.0 / blocks as f64;
        // Independent draws: a half and a third.
        assert!((mean - 0.5).abs() < 0.01, "mean {mean}");
        assert!((step - 1.0 / 3.0).abs() < 0.01, "step {step}");
    }
}
