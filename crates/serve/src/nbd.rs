//! A modelled drive for NBD clients on a Unix socket.
//!
//! The protocol is the fixed newstyle of the NBD project's `doc/proto.md`, with simple replies; it is written here
//! because no library fits. The `nbd` crate (0.3.1) answers one request after the other and knows no TRIM;
//! `tokio-nbd` (0.3.0) is under the GPL and bound to tokio, whose timers missed a 5 ms deadline by 1.3 ms where plain
//! threads missed it by 0.15 ms; others serve read-only images. Here replies must leave out of order, each at its
//! modelled moment, whichever connection it belongs to.
//!
//! Threads: the caller accepts connections; each connection has a reader, which moves data between socket and store and
//! submits to the drive, and a sender for replies that the socket does not take at once; one completer for all answers.
//!
//! When the data moves: a request's data goes to or comes from the store *before* the drive gets the request, in both
//! directions. An acknowledged write is therefore in the store before any later read is looked at, on whichever
//! connection, and the completer never waits for a file. Requests that overlap in time may see each other's data or not,
//! as with any drive; a write that ended with an error may have left part of its data, as with any drive.
//!
//! A flush makes every write durable that was acknowledged on any connection, because there is one drive and one store:
//! hence `CAN_MULTI_CONN`.

mod connection;
mod handshake;
mod outbox;
mod socket;
mod wire;

use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use drive::BlockDevice;
use rustix::event::{poll, PollFd, PollFlags, Timespec};

use crate::realtime::RealTime;
use crate::report::Report;
use crate::store::Store;
use connection::Connection;
use handshake::Export;
use outbox::{Outbox, Reply};
use socket::Listener;

/// More clients than this at once are turned away, so that no number of them can exhaust the machine.
const CONNECTIONS: usize = 128;
/// How soon the stop flag is seen.
const STOP_LATENCY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// How long clients may take to read their last replies once the service stops.
const FAREWELL: Duration = Duration::from_secs(2);

/// How a drive is served.
#[derive(Debug)]
pub struct Options {
    /// Where to listen. A socket that nobody listens on any more is replaced, anything else there is left alone.
    pub socket_path: PathBuf,
    /// The export's name; clients that ask for no name get the drive, too.
    pub export_name: String,
    /// What the drive is, for people: model, scale, seed.
    pub description: String,
    /// The drive's data.
    pub store: Store,
    /// Hears once that clients can connect.
    pub listening: Option<Sender<()>>,
    /// Set it to end the service.
    pub stop: Arc<AtomicBool>,
}

/// Why a drive cannot be served (any longer). Never what the drive does wrong.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another server answers there.
    #[error("somebody is serving at {} already", .0.display())]
    InUse(PathBuf),
    /// A file, a folder, a device: something that is not ours to remove.
    #[error("{} exists and is not a socket", .0.display())]
    NotASocket(PathBuf),
    /// The socket cannot be made or used.
    #[error("cannot listen at {}: {source}", path.display())]
    Listen {
        /// The socket.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

/// What the connections share.
struct Service {
    drive: RealTime<Reply>,
    store: Store,
    export: Export,
    open: Mutex<Vec<Arc<Outbox>>>,
    connections: AtomicU64,
    refused: AtomicU64,
}

/// Serves `device` until `options.stop` is set. Removes its socket when it is done, however that comes about.
///
/// # Errors
/// [`ServeError`]; clients that misbehave and conditions of the drive are none.
pub fn serve<D: BlockDevice + Send>(device: D, options: Options) -> Result<Report, ServeError> {
    let Options { socket_path, export_name, description, store, listening, stop } = options;
    let listener = Listener::claim(&socket_path)?;
    if let Some(listening) = listening {
        // Who does not listen any more need not know.
        let _ = listening.send(());
    }
    let export = Export { name: export_name, description, bytes: device.capacity_bytes() };
    let service = Service {
        drive: RealTime::default(),
        store,
        export,
        open: Mutex::new(Vec::new()),
        connections: AtomicU64::new(0),
        refused: AtomicU64::new(0),
    };
    let service = &service;
    thread::scope(|scope| {
        let completer = thread::Builder::new()
            .name("completer".into())
            .spawn_scoped(scope, || service.drive.complete(device))
            .map_err(ServeError::Thread)?;
        let accepted = accept(scope, service, &listener, || stop.load(Ordering::Relaxed) || completer.is_finished());
        service.drive.switch_off();
        let record = completer.join();
        service.say_farewell();
        // The model has a bug: nobody else can go on, either.
        let record = record.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        accepted.map_err(|source| ServeError::Listen { path: socket_path.clone(), source })?;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Ok(record.report(count(&service.connections), count(&service.refused), service.store.failures()))
    })
}

/// Takes connections until `stopped` says so or the socket fails.
fn accept<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    service: &'scope Service,
    listener: &Listener,
    stopped: impl Fn() -> bool,
) -> io::Result<()> {
    while !stopped() {
        match poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&STOP_LATENCY)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        match listener.accept() {
            Ok(stream) => service.welcome(scope, stream),
            Err(error) if is_passing(&error) => thread::sleep(Duration::from_millis(10)),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The client is gone already, or file descriptors are short for the moment.
fn is_passing(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let passing = [Errno::AGAIN, Errno::INTR, Errno::CONNABORTED, Errno::MFILE, Errno::NFILE];
    passing.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

impl Service {
    fn welcome<'scope>(&'scope self, scope: &'scope thread::Scope<'scope, '_>, stream: UnixStream) {
        let outbox = Arc::new(Outbox::new(stream));
        let admitted = {
            let mut open = self.open();
            open.len() < CONNECTIONS && {
                open.push(Arc::clone(&outbox));
                true
            }
        };
        let reader = thread::Builder::new().name("connection".into());
        let started = admitted && {
            let outbox = Arc::clone(&outbox);
            reader.spawn_scoped(scope, move || self.attend(&outbox)).is_ok()
        };
        if !started {
            self.refused.fetch_add(1, Ordering::Relaxed);
            self.forget(&outbox);
        }
    }

    /// One connection from its handshake to its end.
    fn attend(&self, outbox: &Arc<Outbox>) {
        match handshake::negotiate(outbox.stream(), &self.export) {
            Ok(handshake::Outcome::Transmission) => {
                self.connections.fetch_add(1, Ordering::Relaxed);
                Connection { drive: &self.drive, store: &self.store, export: &self.export, outbox }.run();
            }
            Ok(handshake::Outcome::Ended) => {}
            Err(_) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.forget(outbox);
    }

    fn forget(&self, outbox: &Arc<Outbox>) {
        self.open().retain(|other| !Arc::ptr_eq(other, outbox));
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Outbox>>> {
        self.open.lock().expect("nothing panics while it holds the list")
    }

    /// Lets every connection send what it has and then ends it, with violence if the client does not read.
    fn say_farewell(&self) {
        self.open().iter().for_each(|outbox| outbox.hear_no_more());
        let deadline = Instant::now() + FAREWELL;
        while !self.open().is_empty() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        self.open().iter().for_each(|outbox| outbox.hang_up());
    }
}
