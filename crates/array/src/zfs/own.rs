//! What the pool says of itself (the MOS): three copies of each block, in three metaslabs. Where they lie, and what is still
//! there when a resilver begins.

use std::array::from_fn;

use super::geometry::Geometry;

pub(super) const BLOCK_BYTES: u64 = 4 << 10;
/// Blocks that a transaction group changes, at most.
pub(super) const GROUP_BLOCKS: u64 = 12;

/// Which of its blocks each pass over a group writes (`spa_sync`): what one has written changes what is allocated, so that the next
/// writes some of them again, in their places, until nothing changes. All three are as the lab's lists of requests show them: of
/// groups with users' data, of those with what somebody has ordered besides (a drive put in, a scan begun), and of a scan's without users.
pub(super) type Passes = [&'static [u64]; 3];
pub(super) const PASSES_WITH_DATA: Passes = [&[0, 1], &[2, 3, 4, 5, 6, 7, 0, 1], &[3, 6, 0, 1]];
pub(super) const PASSES_WITH_TASKS: Passes =
    [&[0, 1, 2, 3, 4, 5, 6, 7], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], &[1, 2, 3, 4, 5, 10]];
pub(super) const PASSES_OF_SCAN: Passes = [&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], &[10, 5, 6, 7, 8, 9], &[10, 5, 6, 7, 8, 9]];
pub(super) const COPIES: u64 = 3;

/// How many blocks these write.
pub(super) fn blocks_of(passes: &Passes) -> u64 {
    passes.iter().copied().flatten().max().map_or(0, |last| last + 1)
}

/// What is still as it was written when the pool was made, at the first import and at the second, of the blocks written then: in
/// lists of the lab's these are scattered among what later groups have freed.
pub(super) const KEPT: [Written; 3] = [
    Written { kept: &[0, 3, 13, 14, 15, 18, 34, 57], blocks: 65 },
    Written { kept: &[49, 62, 64, 66, 67], blocks: 68 },
    Written { kept: &[31, 37, 44, 62, 65], blocks: 80 },
];

/// Blocks of the pool's own that were written at a time, and which of them are still there.
pub(super) struct Written {
    pub kept: &'static [u64],
    pub blocks: u64,
}

/// A block of the pool's own that a resilver finds.
pub(super) type Copies = [u64; COPIES as usize];

/// What is written to each of three metaslabs when a pool is made.
pub(super) fn made_bytes(geometry: &Geometry) -> u64 {
    KEPT[0].blocks * geometry.allocated_bytes(BLOCK_BYTES)
}

/// Metaslabs with the pool's own blocks: of the time when it was made, of the first import and of the second, each of which takes
/// three.
pub(super) fn own_metaslabs(content: &[u64], groups_back: Option<u64>) -> [Copies; 3] {
    let mut empty = empty_metaslabs(content, groups_back);
    let mut three = || from_fn(|_| empty.next().expect("numbers do not end"));
    [[0, 1, 2], three(), three()]
}

/// Metaslabs that are empty once data fills these, in the order in which they are taken (`metaslab_compare`): those that had third
/// copies while data filled the one before, except the first and the last, and those that were never written to. Where data
/// goes back to one that had become empty, the third copies do not, and take one more; once `groups_back` of data have ended there, the
/// one before is empty, too (two groups of a raidz2's list; none of a dRAID's, and it is not).
pub(super) fn empty_metaslabs(content: &[u64], groups_back: Option<u64>) -> impl Iterator<Item = u64> + '_ {
    let left = content.len() - usize::from(groups_back.unwrap_or(0) == 0 && !content.is_empty());
    let had_thirds = third_copies(content).take(left).skip(1);
    let unused = (content.last().copied().unwrap_or(0) + 2 + u64::from(groups_back.is_some())).max(3)..;
    had_thirds.filter(|metaslab| !is_among(content, *metaslab)).chain(unused)
}

/// Which metaslab has third copies while data fills the last of these.
pub(super) fn last_third(content: &[u64]) -> Option<u64> {
    third_copies(content).last()
}

/// Of large pools these are tens of thousands.
fn is_among(content: &[u64], metaslab: u64) -> bool {
    content.binary_search(&metaslab).is_ok()
}

/// Which metaslab has third copies while data fills each of these: the next that nothing was ever written to.
fn third_copies(content: &[u64]) -> impl Iterator<Item = u64> + '_ {
    let mut unused = 1;
    content.iter().map(move |metaslab| {
        // The first has the second copies behind it, and these the third ones.
        unused = (metaslab + 1).max(unused + 1);
        unused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_write_what_there_is_and_some_of_it_again() {
        for passes in [PASSES_WITH_DATA, PASSES_WITH_TASKS, PASSES_OF_SCAN] {
            let written: Vec<u64> = passes.concat();
            let blocks: std::collections::BTreeSet<u64> = written.iter().copied().collect();
            assert!(blocks.iter().copied().eq(0..blocks.len() as u64), "{passes:?}");
            assert!(blocks.len() < written.len() && blocks.len() as u64 <= GROUP_BLOCKS, "{passes:?}");
            assert_eq!(blocks.len() as u64, blocks_of(&passes));
        }
    }
}
