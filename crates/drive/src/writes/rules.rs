//! What a profile says about writes in DRAM.

use crate::profile::Profile;
use crate::range::Range;
use crate::request::SECTOR_BYTES;

/// In the drive's units.
#[derive(Clone, Debug)]
pub(crate) struct WriteRules {
    pub write_back: bool,
    /// Sectors of the host in a physical one.
    pub physical_sectors: u64,
    pub limit_sectors: u64,
    pub limit_segments: usize,
    pub destage_sectors: u64,
    pub idle: u64,
}

impl WriteRules {
    pub fn new(profile: &Profile, idle: u64) -> Self {
        let dram = &profile.dram;
        Self {
            physical_sectors: profile.geometry.physical_sector_bytes / SECTOR_BYTES,
            write_back: dram.write_back,
            limit_sectors: dram.write_bytes / SECTOR_BYTES,
            limit_segments: dram.write_segments as usize,
            destage_sectors: dram.destage_bytes / SECTOR_BYTES,
            idle,
        }
    }

    /// Whether a range is made of whole physical sectors, so that nothing of what lies there has to be kept.
    pub fn is_whole(&self, range: &Range) -> bool {
        range.start % self.physical_sectors == 0 && range.end % self.physical_sectors == 0
    }
}
