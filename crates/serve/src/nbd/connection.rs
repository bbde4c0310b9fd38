//! The transmission phase of one connection: reads requests, refuses the impossible, moves data, submits the rest.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use drive::{Verb, SECTOR_BYTES};

use super::handshake::Export;
use super::outbox::{Outbox, Reply};
use super::wire::{command, command_flag, Errno, Header, PAYLOAD_MAX_BYTES};
use crate::realtime::{Command, RealTime};
use crate::store::Store;

/// So much is read from the socket at once if it is there: many requests for one system call.
const AHEAD_BYTES: usize = 64 << 10;
/// Payloads go from the socket to the store in pieces of this size, whole sectors: a client that dies in the middle of a
/// write leaves old sectors and new ones, as with any drive, but none that is half of each.
const PIECE_BYTES: usize = 256 << 10;

type Requests<'a> = BufReader<&'a UnixStream>;

/// One client that uses the drive.
pub(super) struct Connection<'a> {
    pub(super) drive: &'a RealTime<Reply>,
    pub(super) store: &'a Store,
    pub(super) export: &'a Export,
    pub(super) outbox: &'a Arc<Outbox>,
}

/// Why no further request is read.
enum End {
    /// The client has said goodbye or sends no more, between two requests: it still gets every reply.
    Goodbye,
    /// The client went away in the middle of a request, or talks nonsense.
    Broken,
}

impl Connection<'_> {
    /// Serves the client until it leaves. Returns when none of its requests is outstanding any more.
    pub(super) fn run(&self) {
        thread::scope(|scope| {
            let sender = thread::Builder::new().name("sender".into());
            if sender.spawn_scoped(scope, || self.outbox.send_backlog()).is_ok() {
                if let End::Broken = self.take_requests() {
                    self.outbox.give_up();
                }
                self.outbox.end();
            }
        });
        self.outbox.hang_up();
    }

    fn take_requests(&self) -> End {
        let mut requests = BufReader::with_capacity(AHEAD_BYTES, self.outbox.stream());
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match self.take_request(&mut requests, &mut piece) {
                Ok(None) => {}
                Ok(Some(end)) => return end,
                Err(_) => return End::Broken,
            }
        }
    }

    /// One request. The error is the socket's, never the store's or the drive's.
    fn take_request(&self, requests: &mut Requests<'_>, piece: &mut [u8]) -> io::Result<Option<End>> {
        if requests.fill_buf()?.is_empty() {
            return Ok(Some(End::Goodbye));
        }
        let mut raw = [0; Header::BYTES];
        requests.read_exact(&mut raw)?;
        let Some(header) = Header::parse(&raw) else {
            return Ok(Some(End::Broken));
        };
        if header.command == command::DISC {
            return Ok(Some(End::Goodbye));
        }
        if let Err(errno) = self.check(&header) {
            // The next request comes behind the payload, however long that claims to be.
            let payload_bytes = if header.command == command::WRITE { u64::from(header.bytes) } else { 0 };
            let skipped_bytes = io::copy(&mut requests.take(payload_bytes), &mut io::sink())?;
            self.outbox.reserve(header.cookie, 0).send(Some(errno));
            return Ok((skipped_bytes < payload_bytes).then_some(End::Broken));
        }
        self.carry_out(&header, requests, piece).map(|()| None)
    }

    /// Whether the request can go to the drive, or how it is refused.
    fn check(&self, header: &Header) -> Result<(), Errno> {
        let allowed_flags = match header.command {
            command::WRITE_ZEROES => command_flag::FUA | command_flag::NO_HOLE,
            command::READ | command::WRITE | command::FLUSH | command::TRIM => command_flag::FUA,
            _ => return Err(Errno::Invalid),
        };
        let Header { offset_bytes, bytes, .. } = *header;
        let bytes = u64::from(bytes);
        if header.flags & !allowed_flags != 0 {
            return Err(Errno::Invalid);
        }
        if header.command == command::FLUSH {
            return if offset_bytes == 0 && bytes == 0 { Ok(()) } else { Err(Errno::Invalid) };
        }
        let has_payload = matches!(header.command, command::READ | command::WRITE);
        let too_long = has_payload && header.bytes > PAYLOAD_MAX_BYTES;
        if bytes == 0 || offset_bytes % SECTOR_BYTES != 0 || bytes % SECTOR_BYTES != 0 || too_long {
            return Err(Errno::Invalid);
        }
        let inside = offset_bytes.checked_add(bytes).is_some_and(|end_bytes| end_bytes <= self.export.bytes);
        let writes = matches!(header.command, command::WRITE | command::WRITE_ZEROES);
        inside.then_some(()).ok_or(if writes { Errno::NoSpace } else { Errno::Invalid })
    }

    /// Moves the data of a request that was found possible, and hands it to the drive.
    fn carry_out(&self, header: &Header, requests: &mut Requests<'_>, piece: &mut [u8]) -> io::Result<()> {
        let read_bytes = if header.command == command::READ { header.bytes as usize } else { 0 };
        let mut reply = self.outbox.reserve(header.cookie, read_bytes);
        let Header { offset_bytes, flags, .. } = *header;
        let bytes = u64::from(header.bytes);
        let mut moving_ns = 0;
        let (verb, moved) = match header.command {
            command::READ => (Verb::Read, timed(&mut moving_ns, || self.store.read(offset_bytes, reply.data()))),
            command::WRITE => (Verb::Write, self.store_payload(header, requests, piece, &mut moving_ns)?),
            command::WRITE_ZEROES if flags & command_flag::NO_HOLE != 0 => {
                (Verb::Write, timed(&mut moving_ns, || self.store.write_zeros(offset_bytes, bytes)))
            }
            command::WRITE_ZEROES => (Verb::Write, timed(&mut moving_ns, || self.store.discard(offset_bytes, bytes))),
            command::TRIM => (Verb::Trim, timed(&mut moving_ns, || self.store.discard(offset_bytes, bytes))),
            _ => (Verb::Flush, Ok(())),
        };
        if moved.is_err() {
            reply.send(Some(Errno::Io));
        } else {
            let fua = flags & command_flag::FUA != 0;
            self.drive.submit(Command { verb, fua, offset_bytes, bytes, moving_ns }, reply);
        }
        Ok(())
    }

    /// Takes a write's payload to the store. The outer result is the socket's, the inner one the store's: after the
    /// store has failed the rest of the payload is still read, because the next request comes behind it.
    fn store_payload(
        &self,
        header: &Header,
        requests: &mut Requests<'_>,
        piece: &mut [u8],
        moving_ns: &mut u64,
    ) -> io::Result<io::Result<()>> {
        let end_bytes = header.offset_bytes + u64::from(header.bytes);
        let mut at_bytes = header.offset_bytes;
        let mut stored = Ok(());
        while at_bytes < end_bytes {
            let piece_bytes = piece.len().min(usize::try_from(end_bytes - at_bytes).unwrap_or(piece.len()));
            let piece = &mut piece[..piece_bytes];
            requests.read_exact(piece)?;
            if stored.is_ok() {
                stored = timed(moving_ns, || self.store.write(at_bytes, piece));
            }
            at_bytes += piece_bytes as u64;
        }
        Ok(stored)
    }
}

fn timed<T>(spent_ns: &mut u64, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let result = work();
    *spent_ns += u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    result
}
