//! Where dRAID puts a block, and what a distributed spare is: `vdev_draid.c` and `vdev_draid_rand.c` of OpenZFS.
//!
//! Groups of `data + parity` columns are laid over the children row by row, a row being 16 MiB of each child. A slice is
//! as many rows as hold a whole number of groups; each slice has another permutation of the children, of which the
//! last ones are the spares.

use super::column::Column;
use super::draid_maps::{FEWEST, MAPS};
use crate::LayoutError;

/// A row's share of one child.
pub(super) const ROW_BYTES: u64 = 16 << 20;

/// Kept free at the end of each child (`VDEV_DRAID_REFLOW_RESERVE`).
const RESERVED_BYTES: u64 = 2 * ROW_BYTES;

/// `VDEV_DRAID_SEED`.
const SEED: u64 = 0xd_7a1d_5eed;

/// The shape of a dRAID, with its permutations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draid {
    pub(super) data: u64,
    pub(super) parity: u64,
    pub(super) spares: u64,
    pub(super) children: u64,
    shift: u32,
    permutations: Vec<u8>,
    /// Groups in a slice.
    groups: u64,
}

/// Where in the permutations a stretch of the address space stands.
struct Place {
    slice: u64,
    /// The first position of the group.
    start: u64,
    /// The byte of the child at which the stretch begins.
    offset_bytes: u64,
}

impl Draid {
    /// `draid<parity>:<data>d:<children>c:<spares>s`, sectors of `1 << shift` bytes.
    ///
    /// # Errors
    /// [`LayoutError::Value`] for a shape that `zpool create` would refuse.
    pub fn new(parity: u64, data: u64, children: u64, spares: u64, shift: u32) -> Result<Self, LayoutError> {
        let told = |reason: String| LayoutError::value("draid", format!("{data}d:{spares}s"), reason);
        if !(1..=3).contains(&parity) {
            return Err(LayoutError::value("parity", parity, "a dRAID has 1, 2 or 3"));
        }
        if !(2..=255).contains(&children) {
            return Err(LayoutError::value("children", children, "a dRAID has 2 to 255"));
        }
        if data == 0 {
            return Err(told("a group holds at least one data drive".to_owned()));
        }
        if spares > 100 || spares >= children {
            return Err(LayoutError::value("spares", spares, format!("{children} children leave no room for them")));
        }
        if data + parity > children - spares {
            return Err(told(format!(
                "a group of {data} data and {parity} parity does not fit on {children} children less {spares} spares"
            )));
        }
        let (width, disks) = (data + parity, children - spares);
        let groups = width / greatest_common_divisor(width, disks) * disks / width;
        let permutations = permutations(children as usize);
        Ok(Self { data, parity, spares, children, shift, permutations, groups })
    }

    /// Data and parity columns of a group.
    pub fn width(&self) -> u64 {
        self.data + self.parity
    }

    /// Children less spares.
    fn disks(&self) -> u64 {
        self.children - self.spares
    }

    fn group_bytes(&self) -> u64 {
        self.width() * ROW_BYTES
    }

    /// Rows in a slice.
    fn slice_rows(&self) -> u64 {
        self.width() * self.groups / self.disks()
    }

    /// What all children together hold, each of `child_bytes`.
    pub(super) fn allocatable_bytes(&self, child_bytes: u64) -> u64 {
        let child_bytes = child_bytes.saturating_sub(RESERVED_BYTES) / ROW_BYTES * ROW_BYTES;
        child_bytes * self.disks() / self.group_bytes() * self.group_bytes()
    }

    /// What a block of so many bytes takes: whole stripes, the rest filled with zeros.
    pub(super) fn allocated_bytes(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.data << self.shift) * (self.width() << self.shift)
    }

    /// The most of a stretch from `offset_bytes` on that one read of a sequential rebuild takes
    /// (`vdev_draid_rebuild_asize`); all in allocated bytes.
    pub(super) fn rebuild_bytes(&self, offset_bytes: u64, left_bytes: u64, segment_bytes: u64) -> u64 {
        let data_bytes = (segment_bytes * self.data).min(16 << 20);
        let rows = (data_bytes >> self.shift) / self.data;
        let whole = rows * (self.width() << self.shift);
        let group_left = self.group_bytes() - offset_bytes % self.group_bytes();
        whole.min(left_bytes).min(group_left)
    }

    /// The columns of the stretch at `offset_bytes` that takes `allocated` bytes. All are equally long: skip sectors are
    /// written and read like data.
    pub(super) fn columns(&self, offset_bytes: u64, allocated: u64, columns: &mut Vec<Column>) {
        for (offset_bytes, allocated) in self.in_groups(offset_bytes, allocated) {
            self.columns_in_group(offset_bytes, allocated, columns);
        }
    }

    /// Has that stretch a column on this child?
    pub(super) fn is_on(&self, child: usize, offset_bytes: u64, allocated: u64) -> bool {
        self.in_groups(offset_bytes, allocated).any(|(offset_bytes, _)| self.is_in_group(child, offset_bytes))
    }

    /// What of a stretch lies in its first group, and in the next, if it reaches over the end.
    fn in_groups(&self, offset_bytes: u64, allocated: u64) -> impl Iterator<Item = (u64, u64)> {
        let left = self.group_bytes() - offset_bytes % self.group_bytes();
        let in_next = (allocated > left).then(|| (offset_bytes + left, allocated - left));
        [(offset_bytes, allocated.min(left))].into_iter().chain(in_next)
    }

    fn is_in_group(&self, child: usize, offset_bytes: u64) -> bool {
        let Place { slice, start, .. } = self.place(offset_bytes);
        let child_at = self.permutation(slice);
        self.positions(start).any(|(position, _)| child_at(position) == child as u64)
    }

    /// Where a group's columns stand in the slice's permutation, and whether a row further on: behind the last comes the first.
    fn positions(&self, start: u64) -> impl Iterator<Item = (u64, bool)> {
        let disks = self.disks();
        (start..start + self.width()).map(move |position| {
            let wraps = position >= disks;
            (if wraps { position - disks } else { position }, wraps)
        })
    }

    fn columns_in_group(&self, offset_bytes: u64, allocated: u64, columns: &mut Vec<Column>) {
        let Place { slice, start, offset_bytes } = self.place(offset_bytes);
        let bytes = allocated / self.width();
        let child = self.permutation(slice);
        for (column, (position, wraps)) in (0..).zip(self.positions(start)) {
            columns.push(Column {
                member: child(position) as u32,
                offset_bytes: offset_bytes + if wraps { ROW_BYTES } else { 0 },
                bytes,
                is_parity: column < self.parity,
            });
        }
    }

    fn place(&self, offset_bytes: u64) -> Place {
        let group = offset_bytes / self.group_bytes();
        let (slice, group) = (group / self.groups, group % self.groups);
        let row = slice * self.slice_rows() + group * self.width() / self.disks();
        let in_group = offset_bytes % self.group_bytes() / self.width();
        Place { slice, start: group * self.width() % self.disks(), offset_bytes: row * ROW_BYTES + in_group }
    }

    /// A slice's permutation: which child stands at a position. Without a division for each, since of a wide dRAID a scan
    /// looks at many blocks for each that it heals.
    fn permutation(&self, slice: u64) -> impl Fn(u64) -> u64 + '_ {
        let place = slice % self.permutations.len() as u64;
        let (row, turn) = (place / self.children, place % self.children);
        let row = &self.permutations[(row * self.children) as usize..];
        move |position| {
            let child = u64::from(row[position as usize]) + turn;
            if child < self.children {
                child
            } else {
                child - self.children
            }
        }
    }

    /// The child that stands in for a distributed spare at this byte of a child.
    pub fn spare_at(&self, spare: u64, child_offset_bytes: u64) -> usize {
        let slice = child_offset_bytes / (self.slice_rows() * ROW_BYTES);
        self.permutation(slice)(self.children - 1 - spare) as usize
    }
}

fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 {
        one
    } else {
        greatest_common_divisor(other, one % other)
    }
}

/// The map for so many children: each row a shuffle of the row before.
fn permutations(children: usize) -> Vec<u8> {
    let (seed, _) = MAPS[children - FEWEST];
    let rows = if children < 32 { 256 } else { 512 };
    let mut state = [SEED, seed];
    let mut row: Vec<u8> = (0..children as u8).collect();
    let mut map = Vec::with_capacity(rows * children);
    for _ in 0..rows {
        for last in (1..children).rev() {
            row.swap(last, (next(&mut state) % (last as u64 + 1)) as usize);
        }
        map.extend_from_slice(&row);
    }
    map
}

/// xoroshiro128++, as dRAID's format has it.
fn next(state: &mut [u64; 2]) -> u64 {
    let [one, mut two] = *state;
    let result = one.wrapping_add(two).rotate_left(17).wrapping_add(one);
    two ^= one;
    *state = [one.rotate_left(49) ^ two ^ (two << 21), two.rotate_left(28)];
    result
}

#[cfg(test)]
mod tests {
    use super::{permutations, Draid, FEWEST, MAPS, ROW_BYTES};
    use std::collections::HashSet;

    /// The first word of Fletcher-4, which OpenZFS keeps beside each seed.
    fn fletcher4(bytes: &[u8]) -> u64 {
        bytes.chunks_exact(4).map(|word| u64::from(u32::from_le_bytes(word.try_into().unwrap()))).sum()
    }

    #[test]
    fn every_map_has_the_published_checksum() {
        for (at, (_, checksum)) in MAPS.iter().enumerate() {
            assert_eq!(fletcher4(&permutations(at + FEWEST)), *checksum, "{} children", at + FEWEST);
        }
    }

    #[test]
    fn no_two_bytes_share_a_place_and_spares_hold_no_data() {
        // The example in the head of vdev_draid.c: 14 children, 2 spares, 8 + 1 in a group: 4 groups in 3 rows.
        let draid = Draid::new(1, 8, 14, 2, 12).unwrap();
        assert_eq!((draid.groups, draid.slice_rows()), (4, 3));
        let mut seen = HashSet::new();
        let mut columns = Vec::new();
        for group in 0..draid.groups * 20 {
            columns.clear();
            draid.columns(group * draid.group_bytes(), draid.group_bytes(), &mut columns);
            assert_eq!(columns.len(), 9);
            for column in &columns {
                assert_eq!(column.bytes, ROW_BYTES);
                assert!(seen.insert((column.member, column.offset_bytes)));
                for spare in 0..2 {
                    assert_ne!(draid.spare_at(spare, column.offset_bytes), column.member as usize);
                }
            }
        }
        // 20 slices of 3 rows on 12 of 14 children.
        assert_eq!(seen.len(), 20 * 3 * 12);
    }

    #[test]
    fn a_block_over_the_end_of_a_group_goes_on_in_the_next() {
        let draid = Draid::new(2, 4, 10, 1, 12).unwrap();
        let stripe = 6 << 12;
        let mut columns = Vec::new();
        draid.columns(draid.group_bytes() - stripe, 3 * stripe, &mut columns);
        let lengths: Vec<u64> = columns.iter().map(|column| column.bytes).collect();
        assert_eq!(lengths, [[4096; 6], [8192; 6]].concat());
    }

    /// `vdev_draid_rebuild_asize` by hand: four data columns of a MiB each with their two of parity, 16 MiB of data at most, and no more
    /// than is left of the group.
    #[test]
    fn a_sequential_rebuild_reads_whole_stripes_of_one_group() {
        let draid = Draid::new(2, 4, 10, 1, 12).unwrap();
        let (mib, stripe, group) = (1 << 20, 6 << 12, 6 * ROW_BYTES);
        let read =
            |offset_bytes, left_bytes, segment_bytes| draid.rebuild_bytes(offset_bytes, left_bytes, segment_bytes);
        assert_eq!([1, 4, 8].map(|columns| read(0, group, columns * mib)), [6 * mib, 24 * mib, 24 * mib]);
        assert_eq!([0, group].map(|begin| read(begin + group - stripe, group, mib)), [stripe; 2]);
        assert_eq!(read(0, 5 * stripe, mib), 5 * stripe);
    }

    /// `vdev_draid_permute_id`, `vdev_draid_spare_get_child`: with each slice a row of the map is turned by one more child, until
    /// all had their turn and the next row comes; the first spare is what stands last.
    #[test]
    fn each_slice_turns_its_row_of_the_map_by_one_more_child() {
        let draid = Draid::new(1, 8, 14, 2, 12).unwrap();
        let (map, mut columns) = (permutations(14), Vec::new());
        for slice in 0..3 * 14 {
            let (row, turn) = (slice / 14 * 14, slice % 14);
            let child = |position: usize| (usize::from(map[row + position]) + turn) % 14;
            let spares = [0, 1].map(|spare| draid.spare_at(spare, slice as u64 * 3 * ROW_BYTES));
            assert_eq!(spares, [child(13), child(12)], "slice {slice}");
            columns.clear();
            draid.columns(slice as u64 * 4 * draid.group_bytes(), draid.group_bytes(), &mut columns);
            assert!(columns.iter().map(|column| column.member as usize).eq((0..9).map(child)), "slice {slice}");
            assert!(columns.iter().map(|column| column.is_parity).eq((0..9).map(|position| position < 1)));
        }
    }
}
