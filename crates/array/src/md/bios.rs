//! What the host has asked for, while it is under way.

use drive::Status;

use super::journal::is_of_filesystem;

/// A request of the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bio {
    pub tag: u32,
    pub changes_data: bool,
    /// What it writes goes to the medium at once (`REQ_FUA`).
    pub fua: bool,
    /// The barrier that it is behind, if any.
    pub bucket: Option<u64>,
    /// Units and pieces that it waits for.
    pub left: u32,
    pub status: Status,
}

impl Bio {
    /// The same as of a [request](super::journal::is_of_load), of which all but a flush lie in a bucket.
    pub fn is_of_load(&self) -> bool {
        !is_of_filesystem(self.tag) && !self.fua && self.bucket.is_some()
    }
}

/// A part of a write in one chunk, in bytes of the chunk. Those of one moment are gathered before their stripes are begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub row: u64,
    pub index: usize,
    pub start: u64,
    pub end: u64,
    pub bio: u32,
}
