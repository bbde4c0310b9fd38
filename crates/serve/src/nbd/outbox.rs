//! The replies to one client, sent by whoever has them: at once if the socket takes them, else by the connection's sender.

use std::collections::VecDeque;
use std::io::Write;
use std::mem;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use drive::Status;
use rustix::net::{send, SendFlags};

use super::wire::{reply_header, Errno, REPLY_BYTES};
use crate::realtime::{Client, SwitchedOff};

/// Replies up to this size are offered to the socket by the completer itself; copying larger ones would make it late.
const AT_ONCE_BYTES: usize = 64 << 10;
/// A client may have so many requests outstanding before no more are read from its socket ...
const REQUESTS_MAX: usize = 1024;
/// ... and so much data of replies, so that no client can fill the machine's memory.
const HELD_MAX_BYTES: usize = 128 << 20;

/// The way back to one client.
pub(super) struct Outbox {
    stream: UnixStream,
    state: Mutex<State>,
    changed: Condvar,
    /// Nobody reads replies any more.
    closed: AtomicBool,
}

#[derive(Default)]
struct State {
    backlog: VecDeque<Vec<u8>>,
    /// The sender is writing: nobody else may, or replies would be torn.
    sending: bool,
    /// Requests that were read and not answered yet, and the bytes held for their replies.
    outstanding: usize,
    held_bytes: usize,
    /// The reader waits for room.
    reader_waits: bool,
    /// No request will come any more: the sender ends with the last reply.
    ended: bool,
}

/// One request's reply in the making: it holds the place that the request has taken until it is sent or given up.
pub(super) struct Reply {
    outbox: Arc<Outbox>,
    /// Header and, for a read, the data.
    message: Vec<u8>,
    cookie: u64,
}

impl Outbox {
    pub(super) fn new(stream: UnixStream) -> Self {
        Self { stream, state: Mutex::default(), changed: Condvar::new(), closed: AtomicBool::new(false) }
    }

    pub(super) fn stream(&self) -> &UnixStream {
        &self.stream
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds the backlog")
    }

    /// Takes a place for a request's reply with `data_bytes` of data; waits while the client has too much outstanding.
    pub(super) fn reserve(self: &Arc<Self>, cookie: u64, data_bytes: usize) -> Reply {
        let bytes = REPLY_BYTES + data_bytes;
        let message = vec![0; bytes];
        let full = |state: &mut State| {
            let too_much = state.outstanding >= REQUESTS_MAX || state.held_bytes + bytes > HELD_MAX_BYTES;
            state.reader_waits = too_much && state.outstanding > 0;
            state.reader_waits
        };
        let mut state = self.changed.wait_while(self.lock(), full).expect("nothing panics while it holds the backlog");
        state.outstanding += 1;
        state.held_bytes += bytes;
        Reply { outbox: Arc::clone(self), message, cookie }
    }

    /// Sends now what the socket takes without waiting, and leaves the rest to the sender.
    fn post(&self, mut message: Vec<u8>) {
        let mut state = self.lock();
        if !state.sending && state.backlog.is_empty() && message.len() <= AT_ONCE_BYTES && !self.is_closed() {
            match send(&self.stream, &message, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) if sent == message.len() => return self.release(&mut state, sent),
                Ok(sent) => {
                    message.drain(..sent);
                    state.held_bytes -= sent;
                }
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                Err(_) => self.give_up(),
            }
        }
        if self.is_closed() {
            return self.release(&mut state, message.len());
        }
        state.backlog.push_back(message);
        self.changed.notify_all();
    }

    /// A request is done with. Those who may wait for that: the reader of a crowded connection, the sender of an ended one.
    fn release(&self, state: &mut State, bytes: usize) {
        state.outstanding -= 1;
        state.held_bytes -= bytes;
        if state.reader_waits || state.ended {
            self.changed.notify_all();
        }
    }

    /// The sender: writes the backlog until the last reply of an ended connection has left.
    pub(super) fn send_backlog(&self) {
        let mut state = self.lock();
        loop {
            let idle = |state: &mut State| state.backlog.is_empty() && !(state.ended && state.outstanding == 0);
            state = self.changed.wait_while(state, idle).expect("nothing panics while it holds the backlog");
            let Some(message) = state.backlog.pop_front() else {
                return;
            };
            state.sending = true;
            drop(state);
            if !self.is_closed() && (&self.stream).write_all(&message).is_err() {
                self.give_up();
            }
            state = self.lock();
            state.sending = false;
            self.release(&mut state, message.len());
        }
    }

    /// No request will be read any more.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    /// Nobody listens on the other side: replies go nowhere from here on.
    pub(super) fn give_up(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Ends the connection, whatever the other side is doing.
    pub(super) fn hang_up(&self) {
        self.give_up();
        // An error means that the client has closed it first.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Takes no more requests, but lets the client have its replies.
    pub(super) fn hear_no_more(&self) {
        let _ = self.stream.shutdown(Shutdown::Read);
    }
}

impl Reply {
    /// Where the data of a read goes.
    pub(super) fn data(&mut self) -> &mut [u8] {
        &mut self.message[REPLY_BYTES..]
    }

    /// Sends it: the data, if there is any, or an error without.
    pub(super) fn send(mut self, error: Option<Errno>) {
        let mut message = mem::take(&mut self.message);
        if error.is_some() {
            self.outbox.lock().held_bytes -= message.len() - REPLY_BYTES;
            message.truncate(REPLY_BYTES);
        }
        message[..REPLY_BYTES].copy_from_slice(&reply_header(self.cookie, error));
        self.outbox.post(message);
    }
}

impl Drop for Reply {
    /// One that was never sent, because the connection broke in the middle of its request, gives its place back.
    fn drop(&mut self) {
        if !self.message.is_empty() {
            self.outbox.release(&mut self.outbox.lock(), self.message.len());
        }
    }
}

impl Client for Reply {
    fn answer(self, outcome: Result<Status, SwitchedOff>) {
        self.send(match outcome {
            Ok(Status::Good) => None,
            Ok(Status::OutOfRange) => Some(Errno::Invalid),
            Ok(Status::MediumError { .. } | Status::Gone | Status::Aborted) => Some(Errno::Io),
            Err(SwitchedOff) => Some(Errno::Shutdown),
        });
    }

    fn is_gone(&self) -> bool {
        self.outbox.is_closed()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use rustix::net::sockopt::set_socket_send_buffer_size;

    use super::*;
    use crate::nbd::wire::PAYLOAD_MAX_BYTES;

    /// One failed read makes the room, and gives it back before its reply leaves: whoever only looked at what is held when
    /// that leaves would not see that it was crowded.
    #[test]
    fn a_reader_that_waits_for_room_hears_of_any_that_there_is() {
        const LARGEST_BYTES: usize = PAYLOAD_MAX_BYTES as usize;
        let (ours, _theirs) = UnixStream::pair().expect("a pair of sockets");
        let outbox = Arc::new(Outbox::new(ours));
        let mut held: Vec<Reply> = (0..32).map(|cookie| outbox.reserve(cookie, 512)).collect();
        let room = HELD_MAX_BYTES - LARGEST_BYTES - outbox.lock().held_bytes;
        held.push(outbox.reserve(32, LARGEST_BYTES));
        held.push(outbox.reserve(33, room - LARGEST_BYTES - 2 * REPLY_BYTES));
        assert_eq!(outbox.lock().held_bytes, HELD_MAX_BYTES - LARGEST_BYTES);
        let (told, hears) = mpsc::channel();
        let waiting = Arc::clone(&outbox);
        thread::spawn(move || told.send(waiting.reserve(34, LARGEST_BYTES).cookie));
        while !outbox.lock().reader_waits {
            thread::yield_now();
        }
        held.swap_remove(32).send(Some(Errno::Io));
        assert_eq!(hears.recv_timeout(Duration::from_secs(10)), Ok(34));
    }

    /// The socket takes a part of a reply at once, and the sender sends the rest.
    #[test]
    fn what_has_been_sent_is_held_no_more() {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
        set_socket_send_buffer_size(&ours, 8 << 10).expect("a small buffer");
        let outbox = Arc::new(Outbox::new(ours));
        outbox.reserve(7, AT_ONCE_BYTES - REPLY_BYTES).send(None);
        let left = {
            let state = outbox.lock();
            let left: usize = state.backlog.iter().map(Vec::len).sum();
            assert_eq!((state.outstanding, state.held_bytes), (1, left));
            left
        };
        assert!((1..AT_ONCE_BYTES).contains(&left), "{left} bytes are left");
        outbox.end();
        let sends = Arc::clone(&outbox);
        let sender = thread::spawn(move || sends.send_backlog());
        theirs.read_exact(&mut vec![0; AT_ONCE_BYTES]).expect("all of the reply");
        sender.join().expect("the sender ends with the last reply");
        let state = outbox.lock();
        assert_eq!((state.outstanding, state.held_bytes), (0, 0));
    }
}
