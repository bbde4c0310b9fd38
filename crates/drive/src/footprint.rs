//! Where ranges lie, roughly: enough to say of most places that nothing is near, in one look.

use crate::range::Range;

/// A region is 2^11 units, whatever these are.
const REGION_SHIFT: u32 = 11;
const COUNTERS: usize = 4096;
/// So many counters are a line of the processor's cache.
const LINE: u64 = 32;

/// How many ranges lie in the regions that share a counter. A hundred small ranges anywhere on a drive leave nearly all
/// counters at zero.
#[derive(Clone, Debug)]
pub(crate) struct Footprint {
    counters: Box<[u16; COUNTERS]>,
}

impl Footprint {
    pub fn new() -> Self {
        Self { counters: Box::new([0; COUNTERS]) }
    }

    pub fn add(&mut self, range: &Range) {
        regions(range).for_each(|region| self.counters[counter(region)] += 1);
    }

    pub fn remove(&mut self, range: &Range) {
        regions(range).for_each(|region| self.counters[counter(region)] -= 1);
    }

    /// A range reaches up to `end` now.
    pub fn extend(&mut self, range: &Range, end: u64) {
        (behind(range.end)..behind(end)).for_each(|region| self.counters[counter(region)] += 1);
    }

    /// A range consists of two now, which meet at `at`.
    pub fn cut(&mut self, at: u64) {
        (at >> REGION_SHIFT..behind(at)).for_each(|region| self.counters[counter(region)] += 1);
    }

    /// False: no range that was added and not removed overlaps this one.
    #[inline]
    pub fn may_meet(&self, range: &Range) -> bool {
        regions(range).any(|region| self.counters[counter(region)] > 0)
    }
}

/// The empty range at 0 lies in none.
#[inline]
fn regions(range: &Range) -> std::ops::Range<u64> {
    range.start >> REGION_SHIFT..behind(range.end)
}

/// The region behind that of the last unit of what ends at `end`.
#[inline]
fn behind(end: u64) -> u64 {
    (end + (1 << REGION_SHIFT) - 1) >> REGION_SHIFT
}

/// Neighbours and regions at regular distances do not share one. Neighbours lie in one line of the processor's cache, so that streams on
/// a hundred drives find theirs there.
#[inline]
fn counter(region: u64) -> usize {
    let hash = (region / LINE).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - COUNTERS.trailing_zeros());
    (hash ^ (region % LINE)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_overlaps_is_never_denied(
            ranges in prop::collection::vec((0..1_u64 << 20, 1..10_000_u64), 1..40),
            gone in 0..40_usize,
            asked in (0..1_u64 << 20, 1..5_000_u64),
        ) {
            let range = |(start, sectors): (u64, u64)| Range { start, end: start + sectors };
            let (mut footprint, asked) = (Footprint::new(), range(asked));
            for one in ranges.iter().map(|one| range(*one)) {
                let (start, end) = (one.start.saturating_sub(3000), (one.start + one.end).div_ceil(2));
                footprint.add(&Range { start, end });
                footprint.extend(&Range { start, end }, one.end);
                footprint.cut(one.start);
                footprint.remove(&Range { start, end: one.start });
            }
            ranges.iter().take(gone).for_each(|one| footprint.remove(&range(*one)));
            let overlaps = ranges.iter().skip(gone).any(|one| range(*one).overlaps(&asked));
            prop_assert!(footprint.may_meet(&asked) || !overlaps);
            ranges.iter().skip(gone).for_each(|one| footprint.remove(&range(*one)));
            prop_assert!(!footprint.may_meet(&asked), "nothing is left behind");
        }
    }
}
