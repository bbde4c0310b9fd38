//! Data between the guest's memory and a drive's store, with its fingerprint.

use xxhash_rust::xxh3::Xxh3;

use super::blocks::Blocks;
use super::error::LabError;
use super::memory::{Memory, Segment};

/// Moved at a time: small enough for a processor's cache.
const PIECE_BYTES: usize = 256 << 10;

/// A place in the chain of buffers of a request: those segments, beyond so many bytes.
#[derive(Clone, Copy)]
pub(super) struct Buffers<'a> {
    pub memory: &'a Memory,
    pub segments: &'a [Segment],
    pub skip: usize,
}

/// What one drive holds.
pub(super) struct Media {
    pub blocks: Blocks,
    piece: Vec<u8>,
}

impl Media {
    pub fn new(blocks: Blocks) -> Self {
        Self { blocks, piece: vec![0; PIECE_BYTES] }
    }

    /// From the drive to the guest; returns the hash of the data.
    pub fn load(&mut self, offset_bytes: u64, bytes: usize, to: Buffers<'_>) -> Result<u64, LabError> {
        let mut hash = Xxh3::new();
        for from in (0..bytes).step_by(PIECE_BYTES) {
            let piece = &mut self.piece[..PIECE_BYTES.min(bytes - from)];
            self.blocks.read(offset_bytes + from as u64, piece)?;
            hash.update(piece);
            to.memory.scatter(to.segments, to.skip + from, piece)?;
        }
        Ok(hash.digest())
    }

    /// From the guest to the drive; returns the hash of the data.
    pub fn store(&mut self, offset_bytes: u64, bytes: usize, from: Buffers<'_>) -> Result<u64, LabError> {
        let mut hash = Xxh3::new();
        for at in (0..bytes).step_by(PIECE_BYTES) {
            let piece = &mut self.piece[..PIECE_BYTES.min(bytes - at)];
            from.memory.gather(from.segments, from.skip + at, piece)?;
            hash.update(piece);
            self.blocks.write(offset_bytes + at as u64, piece)?;
        }
        Ok(hash.digest())
    }

    /// Fills a range with copies of `pattern`, whose length divides that of the range; returns the pattern's hash.
    pub fn repeat(&mut self, offset_bytes: u64, bytes: u64, pattern: &[u8]) -> Result<u64, LabError> {
        if pattern.iter().all(|byte| *byte == 0) {
            self.blocks.clear(offset_bytes, bytes)?;
        } else {
            for at in (0..bytes).step_by(pattern.len()) {
                self.blocks.write(offset_bytes + at, pattern)?;
            }
        }
        let mut hash = Xxh3::new();
        hash.update(pattern);
        Ok(hash.digest())
    }
}
