//! For how long Linux waits for a disk (`drivers/scsi/sd.h`).

/// `SD_TIMEOUT`: for how long for a command, unless it is told otherwise.
pub const SD_TIMEOUT_NS: u64 = 30_000_000_000;

/// `SD_FLUSH_TIMEOUT_MULTIPLIER`: a flush may take so many times as long.
pub const SD_FLUSH_TIMES: u64 = 2;

/// `SD_MAX_RETRIES`: how often it asks again for what took longer.
pub const SD_MAX_RETRIES: u32 = 5;
