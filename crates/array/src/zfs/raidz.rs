//! Where raidz puts a block: `vdev_raidz_psize_to_asize` and `vdev_raidz_map_alloc` of OpenZFS, in sectors.

use super::column::Column;

/// Sectors that a block of so many data sectors takes: its data, a parity sector for each started row, and what rounds
/// that up to a multiple of `parity + 1`, so that no hole is ever too small to be used.
pub(super) fn allocated_sectors(data: u64, width: u64, parity: u64) -> u64 {
    let rows = data.div_ceil(width - parity);
    (data + parity * rows).next_multiple_of(parity + 1)
}

/// How many members have a column of a block of so many data sectors.
fn touched(data: u64, width: u64, parity: u64) -> u64 {
    width.min(data + parity)
}

/// Has the block that begins at `sector` of the vdev a column on this member?
pub(super) fn is_on(member: u64, sector: u64, data: u64, width: u64, parity: u64) -> bool {
    let first_member = sector % width;
    let column = if member < first_member { member + width - first_member } else { member - first_member };
    column < touched(data, width, parity)
}

/// The columns of the block that begins at `sector` of the vdev and holds so many data sectors; the first `parity` of
/// them are parity. Offsets and lengths in bytes, sectors of `1 << shift`.
pub(super) fn columns(sector: u64, data: u64, width: u64, parity: u64, shift: u32, columns: &mut Vec<Column>) {
    let first_member = sector % width;
    let row = sector / width;
    let full_rows = data / (width - parity);
    let rest = data % (width - parity);
    let big = if rest == 0 { 0 } else { rest + parity };
    let at = columns.len();
    for column in 0..touched(data, width, parity) {
        let place = first_member + column;
        let (member, row) = if place < width { (place, row) } else { (place - width, row + 1) };
        columns.push(Column {
            member: member as u32,
            offset_bytes: row << shift,
            bytes: (full_rows + u64::from(column < big)) << shift,
            is_parity: column < parity,
        });
    }
    // Only single parity changes places with the first data column, every other MiB: an old promise of the format.
    if parity == 1 && (sector << shift) & (1 << 20) != 0 {
        let (one, other) = (columns[at], columns[at + 1]);
        columns[at] = Column { member: other.member, offset_bytes: other.offset_bytes, ..one };
        columns[at + 1] = Column { member: one.member, offset_bytes: one.offset_bytes, ..other };
    }
}
