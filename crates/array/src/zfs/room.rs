//! How much room a pool of one vdev has: metaslabs, and what of them users are shown.

use super::geometry::Geometry;

/// What a block of this size takes counts as what any takes (`vdev_deflate_ratio`).
const COUNTED_BYTES: u64 = 128 << 10;
/// What is kept back: a 32nd, at least and at most so much (`spa_slop_shift`, `spa_min_slop`, `spa_max_slop`).
const SLOP_SHARE: u64 = 32;
const LEAST_SLOP_BYTES: u64 = 128 << 20;
const MOST_SLOP_BYTES: u64 = 128 << 30;

/// Metaslabs of one size, and what of them may be written; what does not make a whole one at the vdev's end is nobody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub metaslab_shift: u32,
    pub metaslabs: u64,
    /// What `df` shows of an empty pool, with the parity that belongs to it.
    pub shown_bytes: u64,
}

impl Room {
    /// Of a vdev whose smallest member holds `member_bytes`.
    pub fn of(geometry: &Geometry, member_bytes: u64) -> Self {
        let allocatable = geometry.allocatable_bytes(member_bytes);
        let metaslab_shift = metaslab_shift(allocatable);
        let metaslabs = allocatable >> metaslab_shift;
        let given_out = metaslabs << metaslab_shift;
        Self { metaslab_shift, metaslabs, shown_bytes: given_out - kept_back(geometry, given_out) }
    }
}

impl Geometry {
    /// How much data there is room for in blocks of so many bytes, beside parity, padding and what ZFS keeps back, the smallest
    /// member being of `member_bytes`.
    pub fn usable_bytes(&self, member_bytes: u64, block_bytes: u64) -> u64 {
        let shown = u128::from(Room::of(self, member_bytes).shown_bytes);
        (shown * u128::from(block_bytes) / u128::from(self.allocated_bytes(block_bytes))) as u64
    }
}

/// What users are not shown of so much (`spa_get_slop_space`). Its bounds are in bytes as users count, who know of no parity. The metaslab
/// that a large pool has for synchronous writes is taken off both the pool and this, so it changes nothing.
fn kept_back(geometry: &Geometry, given_out: u64) -> u64 {
    let counted_a_sector = COUNTED_BYTES / (geometry.allocated_bytes(COUNTED_BYTES) >> 9);
    let counted = (given_out >> 9) * counted_a_sector;
    let kept_back = (counted / SLOP_SHARE).min(MOST_SLOP_BYTES).max(LEAST_SLOP_BYTES.min(counted / 2));
    (kept_back / counted_a_sector) << 9
}

/// `vdev_metaslab_set_size`: about 200 metaslabs of 512 MiB to 16 GiB.
fn metaslab_shift(allocatable: u64) -> u32 {
    let highbit = |value: u64| 64 - value.leading_zeros();
    let count = allocatable >> 29;
    let shift = match count {
        0..16 => highbit(allocatable / 16),
        16..=200 => 29,
        _ => highbit(allocatable / 200),
    };
    shift.clamp(24, 34).max(highbit(allocatable >> 17).saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thirty_second_is_kept_back_within_bounds_that_know_of_no_parity() {
        let mirror = Geometry::mirror(2, 12).unwrap();
        // 32 sectors and 2 of parity for each row of 4.
        let raidz = Geometry::raidz(2, 6, 12).unwrap();
        assert_eq!(
            [1 << 40, 100 << 40, 1 << 30].map(|room| kept_back(&mirror, room)),
            [32 << 30, 128 << 30, 128 << 20]
        );
        let of_raidz = [3 << 40, 300 << 40, 3 << 29].map(|room| kept_back(&raidz, room));
        let asked = [96 << 30, 192 << 30, 192 << 20].map(|bytes: u64| bytes as f64);
        for (kept, asked) in of_raidz.into_iter().zip(asked) {
            // Sectors count in whole units, which is a part in 300 here.
            assert!((kept as f64 / asked - 1.0).abs() < 0.005, "{kept} for {asked}");
        }
        assert_eq!(kept_back(&mirror, 100 << 20), 50 << 20);
    }

    #[test]
    fn metaslabs_are_as_large_as_openzfs_makes_them() {
        // The table in vdev_metaslab_set_size.
        assert_eq!(metaslab_shift(50 << 30), 29);
        let count = (2_u64 << 40) >> metaslab_shift(2 << 40);
        assert!((100..=200).contains(&count), "{count}");
        assert_eq!(metaslab_shift(100 << 40), 34);
    }
}
