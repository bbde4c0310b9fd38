//! Indirect blocks: what names the records. Each is kept twice (`redundant_metadata=all`), in two metaslabs.

use super::geometry::Geometry;

/// Of one in memory, and the pointers in it.
pub(super) const BLOCK_BYTES: u64 = 128 << 10;
pub(super) const POINTERS: u64 = 1024;

/// What a pointer takes of a block compressed by lz4, and the block beside: checksums and places do not compress. (Blocks
/// made of random ones take 2.5 KB with 48 pointers, 7.0 with 160, 26 with 640, and 42 with all.)
const POINTER_BYTES: u64 = 41;
const HEAD_BYTES: u64 = 512;

/// Those of a metaslab that is full.
#[derive(Clone, Debug)]
pub(super) struct Indirects {
    /// Records under each.
    pub records: u64,
    /// How many name a stretch of records.
    pub per_stretch: u64,
    pub bytes: u64,
    pub allocated: u64,
}

impl Indirects {
    /// Of stretches of so many records, of which none shares its indirect blocks with another.
    pub fn new(geometry: &Geometry, stretch_records: u64) -> Self {
        let (per_stretch, records) = match stretch_records {
            u64::MAX => (0, POINTERS),
            all => (all.div_ceil(POINTERS), all.div_ceil(all.div_ceil(POINTERS))),
        };
        let bytes = bytes_with(geometry, records);
        Self { records, per_stretch, bytes, allocated: geometry.allocated_bytes(bytes) }
    }

    /// What the last one takes of a file of which so many records are there.
    pub fn allocated_naming(geometry: &Geometry, records: u64) -> u64 {
        match records {
            0 => 0,
            more => geometry.allocated_bytes(bytes_with(geometry, (more - 1) % POINTERS + 1)),
        }
    }
}

fn bytes_with(geometry: &Geometry, pointers: u64) -> u64 {
    (HEAD_BYTES + pointers * POINTER_BYTES).next_multiple_of(geometry.sector_bytes())
}
