//! The Unix socket: claimed without harming anybody, removed when done.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use super::ServeError;

/// A listening socket and its file.
pub(super) struct Listener {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode of the file: if somebody has put another one there, it stays.
    file: (u64, u64),
}

impl Listener {
    /// Listens at `path`, replacing a socket that a dead server has left.
    pub(super) fn claim(path: &Path) -> Result<Self, ServeError> {
        let failed = |source| ServeError::Listen { path: path.to_owned(), source };
        remove_stale(path)?;
        let listener = UnixListener::bind(path).map_err(failed)?;
        let metadata = fs::symlink_metadata(path).map_err(failed)?;
        let file = (metadata.dev(), metadata.ino());
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { listener, path: path.to_owned(), file })
    }

    /// The next client, or `WouldBlock`. The stream itself blocks.
    pub(super) fn accept(&self) -> io::Result<UnixStream> {
        let (stream, _) = self.listener.accept()?;
        stream.set_nonblocking(false)?;
        Ok(stream)
    }
}

fn remove_stale(path: &Path) -> Result<(), ServeError> {
    let failed = |source| ServeError::Listen { path: path.to_owned(), source };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
        Ok(metadata) if !metadata.file_type().is_socket() => return Err(ServeError::NotASocket(path.to_owned())),
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(ServeError::InUse(path.to_owned())),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(failed),
        Err(error) => Err(failed(error)),
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path).is_ok_and(|found| (found.dev(), found.ino()) == self.file);
        if ours {
            // It may vanish in between; nobody is left to be told.
            let _ = fs::remove_file(&self.path);
        }
    }
}
