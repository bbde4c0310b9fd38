//! What only the model knows.

/// Plain counters of a drive's inside, for tests and for judging what a measurement from outside concluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Movements of the arm to another cylinder.
    pub seeks: u64,
    /// Requests completed.
    pub completed: u64,
    /// Written bytes in DRAM that are not yet on the platters.
    pub dram_dirty_bytes: u64,
    /// Reads answered from DRAM.
    pub dram_read_hits: u64,
    /// Times the heads had to come back from the ramp.
    pub unparks: u64,
    /// Times the platters had to be spun up.
    pub spin_ups: u64,
    /// Bytes that the persistent cache holds and their bands do not yet.
    pub cached_bytes: u64,
    /// Entries of the persistent cache's map in use.
    pub cached_entries: u64,
    /// Packets of the log with something of worth.
    pub cached_packets: u64,
    /// Bytes of the log that are occupied, dead packets behind live ones included.
    pub log_bytes: u64,
    /// Visits to the log.
    pub cache_visits: u64,
    /// Bands with something cached.
    pub dirty_bands: u64,
    /// Bands cleaned so far.
    pub bands_cleaned: u64,
    /// Bands that were cleaned into another place.
    pub bands_moved: u64,
    /// Bytes brought home by cleaning so far.
    pub bytes_cleaned: u64,
    /// Bytes written into the persistent cache so far.
    pub bytes_cached: u64,
    /// Cached bytes that died by being overwritten or trimmed before cleaning.
    pub bytes_overwritten: u64,
    /// Packets written to the log so far.
    pub cache_appends: u64,
    /// Bytes that bypassed the persistent cache as part of a stream.
    pub stream_bytes: u64,
    /// Bands that a stream left before their end, so that their rest had to be rewritten.
    pub streams_broken: u64,
    /// Cleaning passes that ran because the host had to wait for room.
    pub forced_passes: u64,
}
