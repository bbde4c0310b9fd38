//! What was written to the modelled drive: a sparse file, so that a drive of many terabytes costs what it holds.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{fallocate, flock, memfd_create, seek, FallocateFlags, FlockOperation, MemfdFlags, SeekFrom};
use rustix::io::Errno;

/// Zeros are written in pieces of this size where no hole can be punched.
const ZEROS_BYTES: usize = 1 << 20;

/// Why a store cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The path holds something that is not a regular file: a device or a folder must not become a store.
    #[error("{} is not a regular file and cannot be the store of a drive", .0.display())]
    NotAFile(PathBuf),
    /// The file holds data of another size: probably something that somebody wants to keep.
    #[error("{} holds {found_bytes} bytes, but the drive has {capacity_bytes}: it is not this drive's store", path.display())]
    OtherSize {
        /// The file.
        path: PathBuf,
        /// Its size.
        found_bytes: u64,
        /// The size it would have if it were this drive's.
        capacity_bytes: u64,
    },
    /// Another server has it open.
    #[error("{} is the store of a drive that is being served already", .0.display())]
    Locked(PathBuf),
    /// The file system does not do it.
    #[error("cannot keep a sparse file of {capacity_bytes} bytes at {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The size asked for.
        capacity_bytes: u64,
        /// What the system says.
        source: io::Error,
    },
}

/// The data of one drive. Reads zeros where nothing was written; may be used from several threads at once.
///
/// Nothing is synchronised to the machine's own disk: durability is a property of the *modelled* drive. A named store
/// therefore survives the server, but not a power failure of the machine.
#[derive(Debug)]
pub struct Store {
    file: File,
    path: PathBuf,
    failures: AtomicU64,
}

impl Store {
    /// A store without a name, gone when it is dropped, in the folder for temporary files.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the file system has no room for a file of that length, sparse as it is.
    pub fn temporary(capacity_bytes: u64) -> Result<Self, StoreError> {
        Self::temporary_in(&std::env::temp_dir(), capacity_bytes)
    }

    /// The same in another folder.
    ///
    /// # Errors
    /// [`StoreError::Io`], as above.
    pub fn temporary_in(folder: &Path, capacity_bytes: u64) -> Result<Self, StoreError> {
        Self::nameless(tempfile::tempfile_in(folder), folder, capacity_bytes)
    }

    /// A store in memory, which costs what it holds.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the system does not give memory as files.
    pub fn in_memory(capacity_bytes: u64) -> Result<Self, StoreError> {
        let file = memfd_create("modelled drive", MemfdFlags::CLOEXEC).map(File::from);
        Self::nameless(file.map_err(io::Error::from), Path::new("memory"), capacity_bytes)
    }

    fn nameless(file: io::Result<File>, place: &Path, capacity_bytes: u64) -> Result<Self, StoreError> {
        file.and_then(|file| file.set_len(capacity_bytes).map(|()| file))
            .map(|file| Self::of(file, place.to_owned()))
            .map_err(|source| StoreError::Io { path: place.to_owned(), capacity_bytes, source })
    }

    /// The store in a named file: made if it is missing or empty, gone on with if it has the drive's size.
    ///
    /// # Errors
    /// Refuses whatever may be somebody's data or another server's: see [`StoreError`].
    pub fn named(path: &Path, capacity_bytes: u64) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Io { path: path.to_owned(), capacity_bytes, source };
        if path.exists() && !path.is_file() {
            return Err(StoreError::NotAFile(path.to_owned()));
        }
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(StoreError::Locked(path.to_owned())),
            Err(error) => return Err(failed(error.into())),
        }
        let found_bytes = file.metadata().map_err(failed)?.len();
        if found_bytes == 0 {
            file.set_len(capacity_bytes).map_err(failed)?;
        } else if found_bytes != capacity_bytes {
            return Err(StoreError::OtherSize { path: path.to_owned(), found_bytes, capacity_bytes });
        }
        Ok(Self::of(file, path.to_owned()))
    }

    fn of(file: File, path: PathBuf) -> Self {
        Self { file, path, failures: AtomicU64::new(0) }
    }

    /// How often the machine could not keep or return data so far.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// The ranges that may hold something other than zeros, as far as the file system can tell.
    ///
    /// # Errors
    /// What the system says.
    pub fn data_ranges(&self) -> io::Result<Vec<Range<u64>>> {
        let (mut ranges, mut at_bytes) = (Vec::new(), 0);
        loop {
            let start = match seek(&self.file, SeekFrom::Data(at_bytes)) {
                Err(Errno::NXIO) => return Ok(ranges),
                found => found?,
            };
            at_bytes = seek(&self.file, SeekFrom::Hole(start))?;
            ranges.push(start..at_bytes);
        }
    }

    /// Fills `buffer` from `offset_bytes` on.
    ///
    /// # Errors
    /// What the system says; also told to the people at standard error, the first time.
    pub fn read(&self, offset_bytes: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.told(self.file.read_exact_at(buffer, offset_bytes))
    }

    /// Keeps `data` at `offset_bytes`.
    ///
    /// # Errors
    /// What the system says, which may well be that its disk is full; part of the data may have been kept.
    pub fn write(&self, offset_bytes: u64, data: &[u8]) -> io::Result<()> {
        self.told(self.file.write_all_at(data, offset_bytes))
    }

    /// Makes a range read as zeros and gives its room back, where the file system can.
    ///
    /// # Errors
    /// What the system says.
    pub fn discard(&self, offset_bytes: u64, bytes: u64) -> io::Result<()> {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(&self.file, hole, offset_bytes, bytes) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.write_zeros(offset_bytes, bytes),
            result => self.told(result.map_err(io::Error::from)),
        }
    }

    /// Makes a range read as zeros that occupy room: a later write to it cannot run out of it.
    ///
    /// # Errors
    /// What the system says.
    pub fn write_zeros(&self, offset_bytes: u64, bytes: u64) -> io::Result<()> {
        let zeros = vec![0; ZEROS_BYTES.min(usize::try_from(bytes).unwrap_or(ZEROS_BYTES))];
        let end_bytes = offset_bytes + bytes;
        let mut at_bytes = offset_bytes;
        while at_bytes < end_bytes {
            let piece = zeros.len().min(usize::try_from(end_bytes - at_bytes).unwrap_or(zeros.len()));
            self.write(at_bytes, &zeros[..piece])?;
            at_bytes += piece as u64;
        }
        Ok(())
    }

    /// The client hears only EIO, as from a broken drive: so that nobody blames the model, the reason is said here.
    /// Once, because a full disk fails every request.
    fn told<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            if self.failures.fetch_add(1, Ordering::Relaxed) == 0 {
                let place = self.path.display();
                eprintln!("the store of the modelled drive at {place} failed, clients see an I/O error: {error}");
                if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
                    eprintln!("hint: make room there, or keep the data in a file on another file system");
                }
            }
        }
        result
    }
}
