//! Which blocks longer requests have already covered, where requests differ in length.

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
