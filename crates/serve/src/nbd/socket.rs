//! The Unix socket: claimed without harming anybody, removed when done.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags};

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
        let listener = listen_then_name(path).map_err(failed)?;
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

/// The file of a socket is there from `bind` on, and refuses whoever comes before `listen`: it gets its name behind both.
///
/// Linked rather than renamed, for that takes no other file's place. Named through the folder's descriptor: the other name may be
/// longer than `path`, which may be as long as the kernel takes.
fn listen_then_name(path: &Path) -> io::Result<UnixListener> {
    static CLAIMS: AtomicU64 = AtomicU64::new(0);
    SocketAddr::from_pathname(path)?; // else a file could be made that no client can name
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = rustix::fs::open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let name = format!(".nbd-{}-{}", std::process::id(), CLAIMS.fetch_add(1, Ordering::Relaxed));
    let unnamed = PathBuf::from(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()));
    let listener = UnixListener::bind(&unnamed)?;
    let named = fs::hard_link(&unnamed, path);
    fs::remove_file(&unnamed)?;
    named.map(|()| listener)
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;

    #[test]
    fn a_client_that_sees_the_socket_is_not_refused() {
        let folder = std::env::temp_dir().join(format!("nbd-socket-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let done = AtomicBool::new(false);
        let refused = thread::scope(|scope| {
            let paths: Vec<PathBuf> = (0..2000).map(|index| folder.join(format!("{index}.sock"))).collect();
            let clients = paths.clone();
            let done = &done;
            let client = scope.spawn(move || {
                clients.iter().filter(|path| connect_at_once(path, done) == Some(ErrorKind::ConnectionRefused)).count()
            });
            // They keep listening until all clients have tried; nobody who was late meets a removed one.
            let listeners: Vec<Listener> = paths.iter().map(|path| Listener::claim(path).unwrap()).collect();
            done.store(true, Ordering::Release);
            let refused = client.join().unwrap();
            drop(listeners);
            refused
        });
        assert_eq!(refused, 0);
        let left = fs::read_dir(&folder).unwrap().count();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(left, 0, "no other name stays");
    }

    /// The first answer that is not that there is no such file.
    fn connect_at_once(path: &Path, done: &AtomicBool) -> Option<ErrorKind> {
        loop {
            match UnixStream::connect(path) {
                Ok(_) => return None,
                Err(error) if error.kind() != ErrorKind::NotFound => return Some(error.kind()),
                Err(_) if done.load(Ordering::Acquire) => return None,
                Err(_) => {}
            }
        }
    }

    #[test]
    fn a_path_as_long_as_the_kernel_takes_is_claimed_and_no_file_is_replaced() {
        let folder = std::env::temp_dir();
        let path = folder.join("s".repeat(107 - folder.as_os_str().len() - 1));
        let listener = Listener::claim(&path).unwrap();
        assert!(UnixStream::connect(&path).is_ok());
        assert!(matches!(listen_then_name(&path), Err(error) if error.kind() == ErrorKind::AlreadyExists));
        assert!(UnixStream::connect(&path).is_ok(), "the first still listens");
        drop(listener);
        assert!(!path.exists());
    }
}
