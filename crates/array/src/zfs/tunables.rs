//! What of OpenZFS's behaviour is a number: the names are those of its module parameters, the values its defaults.

use crate::command::{check_command_timeout, COMMAND_TIMEOUT_NS};
use crate::LayoutError;

/// How many requests of a class a drive is given at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Active {
    /// While other classes want the drive, too.
    pub min: u32,
    /// Else.
    pub max: u32,
}

/// The module parameters that decide how long a resilver takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tunables {
    /// `zfs_top_maxinflight`: records of a scan in flight. Replaced by a limit in bytes in 0.8.
    pub top_maxinflight: Option<u32>,
    /// `zfs_scan_vdev_limit`: bytes of a scan in flight, for each drive's worth of data.
    pub scan_vdev_limit_bytes: u64,
    /// `zfs_resilver_min_time_ms`: what a transaction group gives to the scan at least.
    pub resilver_min_time_ns: u64,
    /// `zfs_txg_timeout`: how long a transaction group stays open.
    pub txg_timeout_ns: u64,
    /// Is an open group with enough data wanted while another is being written (`txg_kick` of a group)? Up to 2.1.0 only while none was.
    pub kicks_ahead: bool,
    /// `zfs_resilver_delay`: what each record of a scan waits while users were active within the last half second.
    pub resilver_delay_ns: u64,
    /// `zfs_scan_mem_lim_fact`: the part of memory that a sorted scan may fill with blocks to be sorted.
    pub scan_mem_lim_fact: u64,
    /// `zfs_vdev_sync_read_*_active`.
    pub sync_read: Active,
    /// `zfs_vdev_sync_write_*_active`.
    pub sync_write: Active,
    /// `zfs_vdev_async_write_*_active`: from the smaller to the larger as the share of dirty data rises from 30 to 60 %.
    pub async_write: Active,
    /// `zfs_vdev_scrub_*_active`.
    pub scrub: Active,
    /// `zfs_vdev_rebuild_*_active`.
    pub rebuild: Active,
    /// `zfs_vdev_def_queue_depth`: how many blocks of a group have places and are not yet written. Before 0.7 all are given theirs at once.
    pub def_queue_depth: Option<u64>,
    /// `zfs_vdev_nia_delay`, `_credit`: how background classes make way for others. `None` where there was no such thing.
    pub nia: Option<(u32, u32)>,
    /// `zfs_vdev_aggregation_limit`: the longest request made of neighbours.
    pub aggregation_limit_bytes: u64,
    /// `zfs_vdev_read_gap_limit`: reads with a gap up to this are neighbours.
    pub read_gap_limit_bytes: u64,
    /// `zfs_rebuild_max_segment`: what a sequential rebuild reads at a time, for each data drive.
    pub rebuild_max_segment_bytes: u64,
    /// `zfs_rebuild_vdev_limit`: bytes of a sequential rebuild in flight, for each drive.
    pub rebuild_vdev_limit_bytes: u64,
    /// Do requests that ask for it (fio's `direct=1`) pass the cache by? Before 2.3 none did.
    pub direct_io: bool,
    /// How far the copies of a block lie apart at least, in sixteenths of the vdev: an eighth, and half of that more where
    /// metaslabs are empty (`ditto_same_vdev_distance_shift`). Since 0.8 they only lie in different metaslabs.
    pub copies_apart: Option<u64>,
    /// `zpool status` speaks of what was issued; before 0.8 of what was examined.
    pub status_counts_issued: bool,
    /// Does `zed` set a drive faulty that errs too often? Before 0.7 it only told.
    pub faults_errors: bool,
    /// `spa_min_slop`: what a pool keeps back from its users at least, of the 32nd that `spa_slop_shift` makes it; before 0.7 half
    /// of the smallest vdev there may be.
    pub min_slop_bytes: u64,
    /// `spa_max_slop`: at most. Before 2.1 a 32nd of a pool of any size.
    pub max_slop_bytes: Option<u64>,
    /// `zfs_vdev_max_ms_shift`: metaslabs are of so many bytes at most, as a power of two. Before 0.8 there were about 200 in a vdev of any
    /// size. (In one of less than 100 GiB, too, which is divided as today here.)
    pub max_metaslab_shift: u32,
}

const MIB: u64 = 1 << 20;

impl Tunables {
    /// OpenZFS 2.3, as on current systems.
    pub fn v2_3() -> Self {
        Self {
            top_maxinflight: None,
            scan_vdev_limit_bytes: 16 * MIB,
            resilver_min_time_ns: 3_000_000_000,
            txg_timeout_ns: 5_000_000_000,
            kicks_ahead: true,
            resilver_delay_ns: 0,
            scan_mem_lim_fact: 20,
            sync_read: Active { min: 10, max: 10 },
            sync_write: Active { min: 10, max: 10 },
            async_write: Active { min: 2, max: 10 },
            scrub: Active { min: 1, max: 3 },
            rebuild: Active { min: 1, max: 3 },
            def_queue_depth: Some(32),
            nia: Some((5, 5)),
            aggregation_limit_bytes: MIB,
            read_gap_limit_bytes: 32 << 10,
            rebuild_max_segment_bytes: MIB,
            rebuild_vdev_limit_bytes: 64 * MIB,
            direct_io: true,
            copies_apart: None,
            status_counts_issued: true,
            faults_errors: true,
            min_slop_bytes: 128 * MIB,
            max_slop_bytes: Some(128 << 30),
            max_metaslab_shift: 34,
        }
    }

    /// OpenZFS 2.1, the first with dRAID.
    pub fn v2_1() -> Self {
        Self {
            scan_vdev_limit_bytes: 4 * MIB,
            rebuild_vdev_limit_bytes: 32 * MIB,
            kicks_ahead: false,
            direct_io: false,
            ..Self::v2_3()
        }
    }

    /// ZFS on Linux 0.6.5, which healed in block order and knew nothing else.
    pub fn v0_6() -> Self {
        Self {
            top_maxinflight: Some(32),
            // Two ticks of a kernel with 250 a second.
            resilver_delay_ns: 8_000_000,
            kicks_ahead: false,
            async_write: Active { min: 1, max: 10 },
            scrub: Active { min: 1, max: 2 },
            def_queue_depth: None,
            nia: None,
            aggregation_limit_bytes: 128 << 10,
            direct_io: false,
            copies_apart: Some(3),
            status_counts_issued: false,
            faults_errors: false,
            min_slop_bytes: 32 * MIB,
            max_slop_bytes: None,
            max_metaslab_shift: u64::BITS,
            ..Self::v2_3()
        }
    }
}

/// The largest `NR_CPUS` of Linux.
const MOST_CORES: u32 = 8192;

const LEAST_MEMORY_BYTES: u64 = 128 * MIB;

/// What `zfs_arc_max` may at least be (`MIN_ARC_MAX`).
const LEAST_CACHE_BYTES: u64 = 64 * MIB;

/// The machine that the drives are in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// Bounds what a sorted scan can sort at once, and what may be in flight.
    pub memory_bytes: u64,
    /// The most that its cache of blocks may have of that (`zfs_arc_max`); `None`: half.
    pub cache_bytes: Option<u64>,
    /// Records verified and rebuilt at the same time.
    pub cores: u32,
    /// What one core verifies and rebuilds in a second, in bytes of records; `None`: faster than any drives.
    pub rebuilt_bytes_per_s: Option<f64>,
    /// How long it waits for a drive's answer; for that to a flush twice as long.
    pub command_timeout_ns: u64,
}

impl Host {
    /// The most that the cache of blocks may have.
    pub(super) fn most_cached_bytes(&self) -> u64 {
        self.cache_bytes.unwrap_or(self.memory_bytes / 2)
    }

    /// Refuses a machine that cannot be.
    ///
    /// # Errors
    /// [`LayoutError::Value`]: which value, and why.
    pub fn check(&self) -> Result<(), LayoutError> {
        if self.memory_bytes < LEAST_MEMORY_BYTES {
            return Err(LayoutError::value(
                "memory",
                self.memory_bytes,
                "a kernel with ZFS needs 128 MiB to run at all",
            ));
        }
        if self.cache_bytes.is_some_and(|bytes| !(LEAST_CACHE_BYTES..=self.memory_bytes).contains(&bytes)) {
            let reason = "ZFS takes 64 MiB or more, and no more than there is memory";
            return Err(LayoutError::value("cache", self.most_cached_bytes(), reason));
        }
        if !(1..=MOST_CORES).contains(&self.cores) {
            return Err(LayoutError::value("cores", self.cores, "Linux knows 1 to 8192"));
        }
        check_command_timeout(self.command_timeout_ns)?;
        match self.rebuilt_bytes_per_s {
            Some(rate) if rate.is_nan() || rate < MIB as f64 => {
                Err(LayoutError::value("core rate", rate, "1 MiB/s or more is expected"))
            }
            _ => Ok(()),
        }
    }
}

impl Default for Host {
    fn default() -> Self {
        Self {
            memory_bytes: 16 << 30,
            cache_bytes: None,
            cores: 4,
            rebuilt_bytes_per_s: None,
            command_timeout_ns: COMMAND_TIMEOUT_NS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Host;

    #[test]
    fn a_machine_that_cannot_be_is_refused() {
        let refused = |host: Host| host.check().unwrap_err().to_string();
        assert!(Host::default().check().is_ok());
        assert!(refused(Host { memory_bytes: 1 << 20, ..Host::default() }).contains("128 MiB"));
        for bytes in [1, 17 << 30] {
            assert!(refused(Host { cache_bytes: Some(bytes), ..Host::default() }).contains("64 MiB or more"));
        }
        for cores in [0, 8193] {
            assert!(refused(Host { cores, ..Host::default() }).contains("1 to 8192"));
        }
        for rate in [0.0, -1.0, f64::NAN] {
            assert!(refused(Host { rebuilt_bytes_per_s: Some(rate), ..Host::default() }).contains("core rate"));
        }
    }
}
