//! Where a block lies on the members of one vdev.

use super::column::Column;
use super::draid::Draid;
use super::labels::labelled_bytes;
use super::raidz;
use crate::LayoutError;

/// Two labels and the boot block before the data of each member, two labels behind (`VDEV_LABEL_START_SIZE`, `_END_SIZE`).
pub(super) const LABEL_START_BYTES: u64 = 4 << 20;
pub(super) const LABEL_END_BYTES: u64 = 512 << 10;

/// How a vdev spreads blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spread {
    /// All of it on each member.
    Mirror,
    /// Stripes of variable width.
    Raidz {
        /// 1, 2 or 3.
        parity: u64,
    },
    /// Declustered groups.
    Draid(Box<Draid>),
}

/// One top-level vdev: how it spreads blocks over how many members, in sectors of which size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub(super) spread: Spread,
    width: u64,
    shift: u32,
}

impl Geometry {
    /// A mirror of so many drives.
    ///
    /// # Errors
    /// [`LayoutError`] for fewer than two, or sectors that ZFS does not know.
    pub fn mirror(width: u64, ashift: u32) -> Result<Self, LayoutError> {
        if width < 2 {
            return Err(LayoutError::Width { layout: "mirror", width: width as usize, least: 2 });
        }
        Self { spread: Spread::Mirror, width, shift: ashift }.checked()
    }

    /// A raidz of so many drives.
    ///
    /// # Errors
    /// [`LayoutError`] for a parity that there is not, too few drives, or sectors that ZFS does not know.
    pub fn raidz(parity: u64, width: u64, ashift: u32) -> Result<Self, LayoutError> {
        let layout = match parity {
            1 => "raidz1",
            2 => "raidz2",
            3 => "raidz3",
            _ => return Err(LayoutError::value("parity", parity, "raidz has 1, 2 or 3")),
        };
        if width < parity + 1 {
            return Err(LayoutError::Width { layout, width: width as usize, least: parity as usize + 1 });
        }
        if width > 255 {
            return Err(LayoutError::value("width", width, "a raidz has 255 members at most"));
        }
        Self { spread: Spread::Raidz { parity }, width, shift: ashift }.checked()
    }

    /// A dRAID: see [`Draid::new`].
    ///
    /// # Errors
    /// As there.
    pub fn draid(parity: u64, data: u64, children: u64, spares: u64, ashift: u32) -> Result<Self, LayoutError> {
        let draid = Draid::new(parity, data, children, spares, ashift)?;
        Self { spread: Spread::Draid(Box::new(draid)), width: children, shift: ashift }.checked()
    }

    fn checked(self) -> Result<Self, LayoutError> {
        if !(9..=16).contains(&self.shift) {
            return Err(LayoutError::value("ashift", self.shift, "ZFS takes 9 (512 bytes) to 16 (64 KiB)"));
        }
        Ok(self)
    }

    /// How many members it has.
    pub fn width(&self) -> usize {
        self.width as usize
    }

    /// How many members may fail.
    pub fn redundancy(&self) -> u64 {
        match &self.spread {
            Spread::Mirror => self.width - 1,
            Spread::Raidz { parity } => *parity,
            Spread::Draid(draid) => draid.parity,
        }
    }

    /// How many of so many columns of a block may be missing: a dRAID's block may lie in two groups, of which each spares
    /// its own.
    pub(super) fn spared(&self, columns: usize) -> u32 {
        (self.redundancy() * self.groups(columns) as u64) as u32
    }

    /// In how many groups so many columns of a block lie, one behind the other.
    pub(super) fn groups(&self, columns: usize) -> usize {
        match &self.spread {
            Spread::Draid(draid) => columns / draid.width() as usize,
            Spread::Mirror | Spread::Raidz { .. } => 1,
        }
    }

    /// Of how many blocks of so many bytes one has a column on a certain member: a raidz may be wider than a block has sectors.
    pub(super) fn blocks_per_column(&self, bytes: u64) -> u64 {
        match &self.spread {
            Spread::Draid(draid) => (self.width - draid.spares).div_ceil(draid.width()),
            Spread::Raidz { parity } => self.width.div_ceil(bytes.div_ceil(self.sector_bytes()) + parity),
            Spread::Mirror => 1,
        }
    }

    /// Members' worth of data: what the in-flight limits of a scan are multiplied with.
    pub fn data_width(&self) -> u64 {
        match &self.spread {
            // `vdev_get_ndisks` and `_nparity` know raidz and dRAID only: a mirror counts as one.
            Spread::Mirror => 1,
            Spread::Raidz { parity } => self.width - parity,
            Spread::Draid(draid) => self.width - draid.spares - draid.parity,
        }
    }

    /// Bytes of a sector.
    pub fn sector_bytes(&self) -> u64 {
        1 << self.shift
    }

    /// What the vdev can allocate, its smallest member being of `member_bytes`.
    pub fn allocatable_bytes(&self, member_bytes: u64) -> u64 {
        let labelled = labelled_bytes(member_bytes);
        let usable = labelled.saturating_sub(LABEL_START_BYTES + LABEL_END_BYTES) >> self.shift << self.shift;
        match &self.spread {
            Spread::Mirror => usable,
            Spread::Raidz { .. } => usable * self.width,
            Spread::Draid(draid) => draid.allocatable_bytes(usable),
        }
    }

    /// What a block of so many bytes takes of the vdev (`psize` to `asize`).
    pub fn allocated_bytes(&self, bytes: u64) -> u64 {
        let sectors = bytes.div_ceil(1 << self.shift);
        match &self.spread {
            Spread::Mirror => sectors << self.shift,
            Spread::Raidz { parity } => raidz::allocated_sectors(sectors, self.width, *parity) << self.shift,
            Spread::Draid(draid) => draid.allocated_bytes(bytes),
        }
    }

    /// How much of a stretch of allocated space a sequential rebuild reads at once; all in allocated bytes.
    pub(super) fn rebuild_bytes(&self, offset_bytes: u64, left_bytes: u64, segment_bytes: u64) -> u64 {
        match &self.spread {
            Spread::Draid(draid) => draid.rebuild_bytes(offset_bytes, left_bytes, segment_bytes),
            Spread::Mirror | Spread::Raidz { .. } => left_bytes.min(segment_bytes.min(16 << 20)),
        }
    }

    /// Appends the columns of allocated space, as a sequential rebuild reads it: mirrors and dRAID only.
    pub(super) fn segment_columns(&self, offset_bytes: u64, allocated: u64, columns: &mut Vec<Column>) {
        match &self.spread {
            Spread::Draid(draid) => draid.columns(offset_bytes, allocated, columns),
            Spread::Mirror | Spread::Raidz { .. } => self.columns(offset_bytes, allocated, columns),
        }
    }

    /// Allocations begin at multiples of this.
    pub fn alignment_bytes(&self) -> u64 {
        match &self.spread {
            Spread::Mirror => 1 << self.shift,
            Spread::Raidz { parity } => (parity + 1) << self.shift,
            Spread::Draid(draid) => draid.width() << self.shift,
        }
    }

    /// Has the block of `bytes` at `offset_bytes` of the vdev a column on this member? That takes less than to know its columns.
    pub(super) fn is_on(&self, member: usize, offset_bytes: u64, bytes: u64) -> bool {
        match &self.spread {
            Spread::Mirror => true,
            Spread::Raidz { parity } => {
                let data = bytes.div_ceil(1 << self.shift);
                raidz::is_on(member as u64, offset_bytes >> self.shift, data, self.width, *parity)
            }
            Spread::Draid(draid) => draid.is_on(member, offset_bytes, draid.allocated_bytes(bytes)),
        }
    }

    /// The same of allocated space.
    pub(super) fn segment_is_on(&self, member: usize, offset_bytes: u64, allocated: u64) -> bool {
        match &self.spread {
            Spread::Draid(draid) => draid.is_on(member, offset_bytes, allocated),
            Spread::Mirror | Spread::Raidz { .. } => self.is_on(member, offset_bytes, allocated),
        }
    }

    /// Appends the columns of the block of `bytes` at `offset_bytes` of the vdev.
    pub fn columns(&self, offset_bytes: u64, bytes: u64, columns: &mut Vec<Column>) {
        match &self.spread {
            Spread::Mirror => columns.extend((0..self.width).map(|member| Column {
                member: member as u32,
                offset_bytes,
                bytes: bytes.next_multiple_of(1 << self.shift),
                is_parity: member > 0,
            })),
            Spread::Raidz { parity } => {
                let data = bytes.div_ceil(1 << self.shift);
                raidz::columns(offset_bytes >> self.shift, data, self.width, *parity, self.shift, columns);
            }
            Spread::Draid(draid) => draid.columns(offset_bytes, draid.allocated_bytes(bytes), columns),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_raidz_wider_than_a_block_has_sectors_leaves_members_out() {
        let of = |width, bytes| Geometry::raidz(1, width, 12).unwrap().blocks_per_column(bytes);
        // 33 columns of 128 KiB.
        assert_eq!([of(8, 128 << 10), of(33, 128 << 10), of(34, 128 << 10), of(250, 128 << 10)], [1, 1, 2, 8]);
        assert_eq!([of(8, 4 << 10), of(250, 16 << 20)], [4, 1]);
    }

    proptest! {
        #[test]
        fn who_has_a_column_is_told_without_knowing_all(
            parity in 1..4_u64, wider in 1..90_u64, place in 0..1_000_000_u64, sectors in 1..300_u64, spares in 0..2_u64,
        ) {
            let draid = Geometry::draid(parity, wider.min(9), parity + wider + spares, spares, 12);
            let raidz = Geometry::raidz(parity, parity + wider, 12);
            for geometry in [raidz, draid, Geometry::mirror(1 + wider, 12)].into_iter().flatten() {
                let (offset_bytes, bytes) = (place * geometry.alignment_bytes(), sectors << 12);
                let mut columns = Vec::new();
                geometry.columns(offset_bytes, bytes, &mut columns);
                for member in 0..geometry.width() {
                    let expected = columns.iter().any(|column| column.member as usize == member);
                    prop_assert_eq!(geometry.is_on(member, offset_bytes, bytes), expected, "{} of {:?}", member, geometry.spread);
                    let segments = !matches!(geometry.spread, Spread::Raidz { .. });
                    let allocated = geometry.allocated_bytes(bytes);
                    prop_assert!(!segments || geometry.segment_is_on(member, offset_bytes, allocated) == expected);
                }
            }
        }
    }

    /// Six of ten children without the spare have a column of each block, or four of eight.
    #[test]
    fn a_draid_has_more_children_than_a_group_has_columns() {
        let of = |data, children, spares| Geometry::draid(2, data, children, spares, 12).unwrap();
        let blocks = [of(4, 11, 1), of(2, 9, 1), of(4, 6, 0)].map(|draid| draid.blocks_per_column(128 << 10));
        assert_eq!(blocks, [2, 2, 1]);
    }
}
