//! A drive served on a socket of its own for as long as a test needs it, and a client that may break every rule.
#![allow(dead_code, reason = "each test file uses another part of it")]

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use drive::BlockDevice;
use serve::{nbd, Options, Report, ServeError, Store};
use tempfile::TempDir;

/// Longer than anything here takes, so that a hanging server fails the test instead of stopping it.
const PATIENCE: Duration = Duration::from_secs(20);

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const DISC: u16 = 2;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const WRITE_ZEROES: u16 = 6;

pub struct Served {
    pub socket: PathBuf,
    pub folder: TempDir,
    stop: Arc<AtomicBool>,
    server: JoinHandle<Result<Report, ServeError>>,
}

impl Served {
    pub fn start(device: impl BlockDevice + Send + 'static) -> Self {
        let store = Store::temporary(device.capacity_bytes()).expect("a sparse file");
        Self::start_with(device, store)
    }

    pub fn start_with(device: impl BlockDevice + Send + 'static, store: Store) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("nbd.sock");
        let stop = Arc::new(AtomicBool::new(false));
        // The socket's file is there a moment before anybody listens.
        let (told, listens) = channel();
        let options = Options { listening: Some(told), ..options(&socket, store, &stop) };
        let server = thread::spawn(move || nbd::serve(device, options));
        listens.recv_timeout(PATIENCE).expect("the server listens");
        Self { socket, folder, stop, server }
    }

    pub fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.socket.display())
    }

    pub fn connect(&self) -> Client {
        Client::connect(&self.socket)
    }

    pub fn enter(&self) -> Client {
        let mut client = self.connect();
        client.enter();
        client
    }

    /// Stops the server and returns its report; fails if it does not stop in time or leaves its socket behind.
    pub fn stop(self) -> Report {
        self.stop.store(true, Ordering::Relaxed);
        let begun = Instant::now();
        while !self.server.is_finished() {
            assert!(begun.elapsed() < PATIENCE, "the server does not stop");
            thread::sleep(Duration::from_millis(1));
        }
        let report = self.server.join().expect("the server does not panic").expect("the server does not fail");
        assert!(!self.socket.exists(), "the socket is left behind");
        report
    }
}

pub fn options(socket: &Path, store: Store, stop: &Arc<AtomicBool>) -> Options {
    Options {
        socket_path: socket.to_owned(),
        export_name: "drive".into(),
        description: "a drive for tests".into(),
        store,
        listening: None,
        stop: Arc::clone(stop),
    }
}

pub struct Client {
    pub stream: UnixStream,
}

/// A reply to an option: type and data.
pub type OptionReply = (u32, Vec<u8>);

impl Client {
    pub fn connect(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).expect("somebody listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
        Self { stream }
    }

    pub fn send(&mut self, parts: &[&[u8]]) {
        self.stream.write_all(&parts.concat()).expect("the server takes it");
    }

    pub fn receive<const N: usize>(&mut self) -> [u8; N] {
        self.try_receive().expect("the server answers")
    }

    pub fn try_receive<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut raw = [0; N];
        self.stream.read_exact(&mut raw).map(|()| raw)
    }

    /// The server has hung up, and sends nothing more.
    pub fn expect_end(&mut self) {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => assert!(rest.is_empty(), "unexpected: {rest:?}"),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionReset),
        }
    }

    pub fn greet(&mut self, flags: u32) {
        assert_eq!(&self.receive::<16>(), b"NBDMAGICIHAVEOPT");
        assert_eq!(self.receive::<2>(), [0, 3]);
        self.send(&[&flags.to_be_bytes()]);
    }

    pub fn option(&mut self, option: u32, data: &[u8]) {
        self.send(&[b"IHAVEOPT", &option.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data]);
    }

    pub fn option_reply(&mut self, option: u32) -> OptionReply {
        assert_eq!(self.receive::<8>(), 0x0003_e889_0455_65a9_u64.to_be_bytes());
        assert_eq!(u32::from_be_bytes(self.receive()), option);
        let kind = u32::from_be_bytes(self.receive());
        let mut data = vec![0; u32::from_be_bytes(self.receive()) as usize];
        self.stream.read_exact(&mut data).expect("the rest of the reply");
        (kind, data)
    }

    /// All replies up to the one that ends the answer.
    pub fn option_replies(&mut self, option: u32) -> Vec<OptionReply> {
        let mut replies = vec![self.option_reply(option)];
        while matches!(replies.last(), Some((2 | 3, _))) {
            replies.push(self.option_reply(option));
        }
        replies
    }

    /// Greets and chooses the default export.
    pub fn enter(&mut self) {
        self.greet(3);
        self.option(7, &[0; 6]);
        assert_eq!(self.option_replies(7).last(), Some(&(1, Vec::new())));
    }

    pub fn request(&mut self, command: u16, flags: u16, cookie: u64, offset: u64, bytes: u32, payload: &[u8]) {
        self.send(&[
            &0x2560_9513_u32.to_be_bytes(),
            &flags.to_be_bytes(),
            &command.to_be_bytes(),
            &cookie.to_be_bytes(),
            &offset.to_be_bytes(),
            &bytes.to_be_bytes(),
            payload,
        ]);
    }

    /// The next reply's cookie and error.
    pub fn reply(&mut self) -> (u64, u32) {
        assert_eq!(self.receive::<4>(), 0x6744_6698_u32.to_be_bytes());
        let error = u32::from_be_bytes(self.receive());
        (u64::from_be_bytes(self.receive()), error)
    }

    /// Sends one request and returns its error.
    pub fn ask(&mut self, command: u16, flags: u16, offset: u64, bytes: u32) -> u32 {
        self.request(command, flags, 77, offset, bytes, &[]);
        let (cookie, error) = self.reply();
        assert_eq!(cookie, 77);
        error
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) -> u32 {
        self.request(WRITE, 0, 5, offset, data.len() as u32, data);
        self.reply().1
    }

    pub fn read(&mut self, offset: u64, bytes: usize) -> Vec<u8> {
        assert_eq!(self.ask(READ, 0, offset, bytes as u32), 0);
        let mut data = vec![0; bytes];
        self.stream.read_exact(&mut data).expect("the data");
        data
    }
}
