//! Messages as the kernel forms them, written down a second time on purpose: the lab's own are under test.

use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;

use rustix::net::{sendmsg, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};

/// `linux/um_timetravel.h`.
pub mod tt {
    use super::*;

    pub const ACK: u32 = 0;
    pub const START: u32 = 1;
    pub const REQUEST: u32 = 2;
    pub const WAIT: u32 = 3;
    pub const GET: u32 = 4;
    pub const UPDATE: u32 = 5;
    pub const RUN: u32 = 6;
    pub const FREE_UNTIL: u32 = 7;
    pub const GET_TOD: u32 = 8;
    pub const KICK: u32 = 32;
    pub const CALL: u32 = 33;

    pub fn send(mut socket: &UnixStream, op: u32, seq: u32, time_ns: u64) {
        let message = [op.to_ne_bytes().as_slice(), &seq.to_ne_bytes(), &time_ns.to_ne_bytes()].concat();
        // A clock that has hung up is noticed by who reads.
        let _ = socket.write_all(&message);
    }

    pub fn receive(mut socket: &UnixStream) -> (u32, u32, u64) {
        let mut message = [0; 16];
        socket.read_exact(&mut message).expect("the clock is there");
        let word = |at: usize| u32::from_ne_bytes(message[at..at + 4].try_into().expect("four bytes"));
        (word(0), word(4), u64::from_ne_bytes(message[8..].try_into().expect("eight bytes")))
    }
}

/// `arch/um/drivers/vhost_user.h`.
pub mod vhost {
    use super::*;

    pub const GET_FEATURES: u32 = 1;
    pub const SET_FEATURES: u32 = 2;
    pub const SET_OWNER: u32 = 3;
    pub const SET_MEM_TABLE: u32 = 5;
    pub const SET_VRING_NUM: u32 = 8;
    pub const SET_VRING_ADDR: u32 = 9;
    pub const SET_VRING_BASE: u32 = 10;
    pub const SET_VRING_KICK: u32 = 12;
    pub const GET_PROTOCOL_FEATURES: u32 = 15;
    pub const SET_PROTOCOL_FEATURES: u32 = 16;
    pub const SET_VRING_ENABLE: u32 = 18;
    pub const SET_BACKEND_REQ_FD: u32 = 21;
    pub const GET_CONFIG: u32 = 24;
    pub const SET_CONFIG: u32 = 25;

    pub fn send(socket: &UnixStream, request: u32, flags: u32, payload: &[u8], fds: &[BorrowedFd<'_>]) {
        let head = [request, flags, payload.len() as u32].map(u32::to_ne_bytes).concat();
        let message = [head.as_slice(), payload].concat();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(fds));
        }
        let sent = sendmsg(socket, &[IoSlice::new(&message)], &mut ancillary, SendFlags::empty());
        assert_eq!(sent, Ok(message.len()));
    }

    pub fn receive(mut socket: &UnixStream, expected: u32) -> Vec<u8> {
        let mut head = [0; 12];
        socket.read_exact(&mut head).expect("somebody answers");
        let word = |at: usize| u32::from_ne_bytes(head[at..at + 4].try_into().expect("four bytes"));
        assert_eq!(word(0), expected);
        let mut payload = vec![0; word(8) as usize];
        socket.read_exact(&mut payload).expect("all of it");
        assert_eq!(word(4), 1 | 4, "an answer");
        payload
    }

    /// A message that wants to be confirmed.
    pub fn ask(socket: &UnixStream, request: u32, payload: &[u8], fds: &[BorrowedFd<'_>]) {
        send(socket, request, 1 | 8, payload, fds);
        assert_eq!(receive(socket, request), [0; 8]);
    }
}
