//! What a resilver is at.

/// What the resilver is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The drive is put in: what users write goes there, too, but nothing of it counts before the scan begins.
    Attached,
    /// Reading indirect blocks: so many of the window's have been asked for.
    Scanning { asked: u64 },
    /// Reading and writing the blocks of the window.
    Issuing,
    /// All is asked for; it ends with the transaction group that the last of it is in.
    Draining,
    /// All is done, or lost.
    Over,
}

impl Phase {
    /// Is there more for the scan to ask for?
    pub fn scans(self) -> bool {
        matches!(self, Self::Scanning { .. } | Self::Issuing)
    }
}
