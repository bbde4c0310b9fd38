//! Which blocks requests have already covered, where a permutation alone does not keep them from repeating.

/// One bit a block. The memory is only taken where it is touched.
#[derive(Clone, Debug)]
pub(crate) struct Covered {
    blocks: u64,
    words: Vec<u64>,
}

impl Covered {
    /// Nothing covered.
    pub fn new(blocks: u64) -> Self {
        Self { blocks, words: vec![0; blocks.div_ceil(64) as usize] }
    }

    /// Of so many.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The first block from this one on that is not covered, or else from the beginning on; `None` if all are.
    pub fn free_from(&self, block: u64) -> Option<u64> {
        self.free_within(block, self.blocks).or_else(|| self.free_within(0, block))
    }

    fn free_within(&self, begin: u64, end: u64) -> Option<u64> {
        let mut block = begin;
        while block < end {
            let free = !self.words[(block / 64) as usize] >> (block % 64);
            if free != 0 {
                return Some(block + u64::from(free.trailing_zeros())).filter(|free| *free < end);
            }
            block = (block / 64 + 1) * 64;
        }
        None
    }

    /// Is this block covered?
    pub fn contains(&self, block: u64) -> bool {
        self.words[(block / 64) as usize] >> (block % 64) & 1 == 1
    }

    /// Covers up to `most` blocks from a free one on, up to the next covered one; returns how many.
    pub fn cover(&mut self, begin: u64, most: u64) -> u64 {
        let mut block = begin;
        while block < self.blocks.min(begin + most) && !self.contains(block) {
            self.words[(block / 64) as usize] |= 1 << (block % 64);
            block += 1;
        }
        block - begin
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.words = vec![0; self.words.len()];
    }
}

#[cfg(test)]
mod tests {
    use super::Covered;

    #[test]
    fn what_is_free_is_found_behind_a_place_and_else_before_it() {
        let mut covered = Covered::new(130);
        covered.cover(60, 70);
        assert_eq!([0, 59, 60, 129].map(|block| covered.free_from(block)), [Some(0), Some(59), Some(0), Some(0)]);
        covered.cover(0, 59);
        assert_eq!(covered.free_from(64), Some(59));
        covered.cover(59, 1);
        assert_eq!(covered.free_from(64), None);
    }

    #[test]
    fn stops_at_what_is_covered_and_at_the_end() {
        let mut covered = Covered::new(130);
        assert_eq!(covered.cover(70, 4), 4);
        assert_eq!(covered.cover(60, 100), 10);
        assert_eq!(covered.cover(128, 9), 2);
        assert!(covered.contains(129) && !covered.contains(74));
        covered.clear();
        assert!(!covered.contains(60));
    }
}
