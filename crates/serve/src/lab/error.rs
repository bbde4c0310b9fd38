//! What can go wrong with the lab itself. Never what a drive does wrong.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::StoreError;

/// Why a lab cannot be set up, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The folder of the sockets does not take them.
    #[error("cannot listen at {}: {source}", path.display())]
    Listen {
        /// The socket.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The data of a drive has no place.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The machine could not keep or give back a drive's data.
    #[error("the data of a modelled drive could not be kept: {0}")]
    Data(io::Error),
    /// A drive cannot go on where it was.
    #[error("the drive of {} cannot be taken up again: {reason}", path.display())]
    History {
        /// The list of what it was asked.
        path: PathBuf,
        /// Why not.
        reason: &'static str,
    },
    /// A system call on which everything rests.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// The kernel says what this side does not understand.
    #[error("the lab's kernel and its clock misunderstand each other: {0}")]
    Protocol(String),
}

impl LabError {
    pub(super) fn socket(what: &'static str, source: Errno) -> Self {
        Self::System { what, source: source.into() }
    }

    pub(super) fn protocol(what: impl Into<String>) -> Self {
        Self::Protocol(what.into())
    }
}
