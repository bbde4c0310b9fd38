//! A permutation of any size that takes no memory and can be gone through backwards.

/// Four rounds of a Feistel network over the next power of four, walked until it falls into the range.
#[derive(Clone, Debug)]
pub(super) struct Shuffle {
    size: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Shuffle {
    /// A permutation of `0..size`, another one for each seed.
    pub fn new(size: u64, seed: u64) -> Self {
        let bits = 64 - size.saturating_sub(1).leading_zeros();
        let mut source = sim::stream(seed, "scattered runs");
        Self { size, half_bits: bits.div_ceil(2).max(1), keys: [0; 4].map(|_: u64| source.bits()) }
    }

    /// Where this one comes to stand.
    pub fn forward(&self, value: u64) -> u64 {
        self.walk(value, |value| {
            self.keys.iter().fold(value, |value, key| {
                let (left, right) = self.halves(value);
                (right << self.half_bits) | (left ^ self.mixed(right, *key))
            })
        })
    }

    /// Which one stands here.
    pub fn inverse(&self, place: u64) -> u64 {
        self.walk(place, |place| {
            self.keys.iter().rev().fold(place, |place, key| {
                let (left, right) = self.halves(place);
                ((right ^ self.mixed(left, *key)) << self.half_bits) | left
            })
        })
    }

    fn walk(&self, value: u64, step: impl Fn(u64) -> u64) -> u64 {
        let mut value = step(value);
        while value >= self.size {
            value = step(value);
        }
        value
    }

    fn halves(&self, value: u64) -> (u64, u64) {
        (value >> self.half_bits, value & ((1 << self.half_bits) - 1))
    }

    fn mixed(&self, value: u64, key: u64) -> u64 {
        let mut mixed = value.wrapping_add(key).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^= mixed >> 29;
        mixed.wrapping_mul(0xBF58_476D_1CE4_E5B9) >> (64 - self.half_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::Shuffle;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_place_once_and_back_again(size in 1..3000_u64, seed in any::<u64>()) {
            let shuffle = Shuffle::new(size, seed);
            let mut seen = vec![false; size as usize];
            for value in 0..size {
                let place = shuffle.forward(value);
                prop_assert!(!std::mem::replace(&mut seen[place as usize], true));
                prop_assert_eq!(shuffle.inverse(place), value);
            }
        }
    }
}
