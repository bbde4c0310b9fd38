//! How much room a pool of one vdev has: metaslabs, and what of them users are shown.

use super::geometry::Geometry;
use super::tunables::Tunables;

/// What a block of this size takes counts as what any takes (`vdev_deflate_ratio`).
const COUNTED_BYTES: u64 = 128 << 10;
/// What is kept back (`spa_slop_shift`), within the bounds of the release.
const SLOP_SHARE: u64 = 32;

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
    pub fn of(geometry: &Geometry, member_bytes: u64, tunables: &Tunables) -> Self {
        let allocatable = geometry.allocatable_bytes(member_bytes);
        let metaslab_shift = metaslab_shift(allocatable, tunables.max_metaslab_shift);
        let metaslabs = allocatable >> metaslab_shift;
        let given_out = metaslabs << metaslab_shift;
        Self { metaslab_shift, metaslabs, shown_bytes: given_out - kept_back(geometry, given_out, tunables) }
    }
}

impl Geometry {
    /// How much data there is room for in blocks of so many bytes, beside parity, padding and what ZFS keeps back, the smallest
    /// member being of `member_bytes`.
    pub fn usable_bytes(&self, member_bytes: u64, block_bytes: u64, tunables: &Tunables) -> u64 {
        let shown = u128::from(Room::of(self, member_bytes, tunables).shown_bytes);
        (shown * u128::from(block_bytes) / u128::from(self.allocated_bytes(block_bytes))) as u64
    }
}

/// What users are not shown of so much (`spa_get_slop_space`). Its bounds are in bytes as users count, who know of no parity. The metaslab
/// that a large pool has for synchronous writes is taken off both the pool and this, so it changes nothing.
fn kept_back(geometry: &Geometry, given_out: u64, tunables: &Tunables) -> u64 {
    let counted_a_sector = COUNTED_BYTES / (geometry.allocated_bytes(COUNTED_BYTES) >> 9);
    let counted = (given_out >> 9) * counted_a_sector;
    let most = tunables.max_slop_bytes.unwrap_or(u64::MAX);
    let kept_back = (counted / SLOP_SHARE).min(most).max(tunables.min_slop_bytes.min(counted / 2));
    (kept_back / counted_a_sector) << 9
}

/// `vdev_metaslab_set_size`: about 200 metaslabs, of 512 MiB at least.
fn metaslab_shift(allocatable: u64, most: u32) -> u32 {
    let highbit = |value: u64| 64 - value.leading_zeros();
    let count = allocatable >> 29;
    let shift = match count {
        0..16 => highbit(allocatable / 16),
        16..=200 => 29,
        _ => highbit(allocatable / 200),
    };
    shift.clamp(24, most).max(highbit(allocatable >> 17).saturating_sub(1))
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
            [1 << 40, 100 << 40, 1 << 30].map(|room| kept_back(&mirror, room, &Tunables::v2_3())),
            [32 << 30, 128 << 30, 128 << 20]
        );
        let of_raidz = [3 << 40, 300 << 40, 3 << 29].map(|room| kept_back(&raidz, room, &Tunables::v2_3()));
        let asked = [96 << 30, 192 << 30, 192 << 20].map(|bytes: u64| bytes as f64);
        for (kept, asked) in of_raidz.into_iter().zip(asked) {
            // Sectors count in whole units, which is a part in 300 here.
            assert!((kept as f64 / asked - 1.0).abs() < 0.005, "{kept} for {asked}");
        }
        assert_eq!(kept_back(&mirror, 100 << 20, &Tunables::v2_3()), 50 << 20);
    }

    #[test]
    fn metaslabs_are_as_large_as_openzfs_makes_them() {
        // The table in vdev_metaslab_set_size.
        assert_eq!(metaslab_shift(50 << 30, 34), 29);
        let count = (2_u64 << 40) >> metaslab_shift(2 << 40, 34);
        assert!((100..=200).contains(&count), "{count}");
        assert_eq!(metaslab_shift(100 << 40, 34), 34);
        // `zfs_vdev_ms_count_limit`: no more than 2^17 of them, however large.
        assert_eq!([51, 52].map(|shift| metaslab_shift(1 << shift, 34)), [34, 35]);
    }

    #[test]
    fn before_there_were_bounds_a_large_pool_had_large_metaslabs_and_kept_a_thirty_second() {
        let mirror = Geometry::mirror(2, 12).unwrap();
        let [old, new] = [Tunables::v0_6(), Tunables::v2_1()].map(|release| kept_back(&mirror, 100 << 40, &release));
        assert_eq!([old, new], [(100 << 40) / 32, 128 << 30]);
        assert_eq!(metaslab_shift(100 << 40, u64::BITS), 40);
    }

    /// What users of others' pools were shown: <https://gist.github.com/fuzzykiller/bf1c6599df2b04b76ae6> (a raidz2 of six drives of 3 TB,
    /// of late 2015), <https://github.com/openzfs/zfs/issues/15467> (draid2:6d:24c:0s of 1 TB, 2023).
    #[test]
    fn users_are_shown_what_those_of_real_pools_were() {
        let raidz = Geometry::raidz(2, 6, 12).unwrap();
        let shown = raidz.usable_bytes(3_000_592_982_016, 128 << 10, &Tunables::v0_6()) as f64;
        assert!((shown / f64::from(1 << 30) / 1024.0 / (9.34 + 1.14) - 1.0).abs() < 0.01, "{shown}");
        let draid = Geometry::draid(2, 6, 24, 0, 12).unwrap();
        let shown = draid.usable_bytes(1_000_000_000_000, 128 << 10, &Tunables::v2_1()) as f64;
        assert!((shown / 15_835_678_638_080.0 - 1.0).abs() < 0.002, "{shown}");
    }
}
