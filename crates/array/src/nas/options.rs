//! What is stated of a storage box: as few figures as its data sheet and a ping give.

use super::cache::PAGE_BYTES;
use crate::LayoutError;

/// No machine has more: what Linux on x86-64 maps with page tables of four levels (`MAX_PHYSMEM_BITS`).
const MOST_MEMORY_BYTES: u64 = 1 << 46;

/// Hosts give a request up sooner: Linux after half of it.
const MOST_ROUND_TRIP_NS: u64 = 60_000_000_000;

/// A storage box. Its processor is as fast as its ceilings say; [`Options::default`] is no box at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes a second that the link carries, in each direction; `None`: it holds nothing up.
    pub link_bytes_per_s: Option<u64>,
    /// Bytes a second of reads that its protocol and software get through at most, each read as a whole before the link has it;
    /// `None`: as many as come.
    pub read_ceiling_bytes_per_s: Option<u64>,
    /// The same of writes.
    pub write_ceiling_bytes_per_s: Option<u64>,
    /// What the smallest request takes there and back through network, protocol and the box's software.
    pub round_trip_ns: u64,
    /// Requests that the box works on at the same time; others wait in front of it, in their order.
    pub outstanding: u32,
    /// Memory that keeps what was read or written last.
    pub read_cache_bytes: u64,
    /// What is read ahead of whoever reads in sequence, at most: Linux' `read_ahead_kb`.
    pub read_ahead_bytes: u64,
    /// Memory in which writes wait for the drives, acknowledged: of Linux, what may be dirty.
    pub write_cache_bytes: u64,
    /// How long they wait before they leave, as in Linux' page cache (`dirty_expire_centisecs`), unless half of that memory is
    /// full of them; 0: they leave at once.
    pub dirty_expire_ns: u64,
    /// That memory survives a loss of power, so that a flush has nothing to wait for.
    pub battery: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            link_bytes_per_s: None,
            read_ceiling_bytes_per_s: None,
            write_ceiling_bytes_per_s: None,
            round_trip_ns: 0,
            outstanding: 1 << 16,
            read_cache_bytes: 0,
            read_ahead_bytes: 0,
            write_cache_bytes: 0,
            dirty_expire_ns: 0,
            battery: false,
        }
    }
}

impl Options {
    /// Refuses what cannot be.
    ///
    /// # Errors
    /// Which value, and why.
    pub fn check(&self) -> Result<(), LayoutError> {
        let flows = [
            ("link", self.link_bytes_per_s),
            ("read-ceiling", self.read_ceiling_bytes_per_s),
            ("write-ceiling", self.write_ceiling_bytes_per_s),
        ];
        if let Some((name, _)) = flows.iter().find(|(_, bytes_per_s)| *bytes_per_s == Some(0)) {
            return Err(LayoutError::value(name, 0, "it must let something through"));
        }
        if self.outstanding == 0 {
            return Err(LayoutError::value("outstanding", 0, "the box must work on one request at least"));
        }
        if self.round_trip_ns > MOST_ROUND_TRIP_NS {
            let reason = "a minute at the most: hosts give up sooner";
            return Err(LayoutError::duration("round-trip", self.round_trip_ns, reason));
        }
        if self.battery && self.write_cache_bytes == 0 {
            return Err(LayoutError::value("battery", "yes", "there is no write cache for it to keep"));
        }
        if self.dirty_expire_ns > 0 && self.write_cache_bytes == 0 {
            let reason = "there is no write cache to wait in";
            return Err(LayoutError::duration("dirty-expire", self.dirty_expire_ns, reason));
        }
        self.check_memory()
    }

    fn check_memory(&self) -> Result<(), LayoutError> {
        let parts = [
            ("read-cache", self.read_cache_bytes),
            ("read-ahead", self.read_ahead_bytes),
            ("write-cache", self.write_cache_bytes),
        ];
        let possible = PAGE_BYTES..=MOST_MEMORY_BYTES;
        if let Some((name, bytes)) = parts.into_iter().find(|(_, bytes)| *bytes > 0 && !possible.contains(bytes)) {
            return Err(LayoutError::size(name, bytes, "memory is of pages, 4KiB at least, and 64TiB at the most"));
        }
        if self.read_ahead_bytes > self.read_cache_bytes {
            let reason = match self.read_cache_bytes {
                0 => "there is no read cache to keep it in",
                _ => "the read cache has no room for it",
            };
            return Err(LayoutError::size("read-ahead", self.read_ahead_bytes, reason));
        }
        Ok(())
    }
}
