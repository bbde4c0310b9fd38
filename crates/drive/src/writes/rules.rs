//! What a profile says about writes in DRAM.

use crate::profile::DramProfile;
use crate::request::SECTOR_BYTES;

/// In the drive's units.
#[derive(Clone, Debug)]
pub(crate) struct WriteRules {
    pub write_back: bool,
    pub limit_sectors: u64,
    pub limit_segments: usize,
    pub destage_sectors: u64,
    pub idle: u64,
}

impl WriteRules {
    pub fn new(dram: &DramProfile, idle: u64) -> Self {
        Self {
            write_back: dram.write_back,
            limit_sectors: dram.write_bytes / SECTOR_BYTES,
            limit_segments: dram.write_segments as usize,
            destage_sectors: dram.destage_bytes / SECTOR_BYTES,
            idle,
        }
    }
}
