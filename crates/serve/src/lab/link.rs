//! A stream socket with messages in it, and file descriptors beside them.

use std::collections::VecDeque;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    recvmsg, sendmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};

use super::error::LabError;

/// More than any message of either protocol.
const BUFFER_BYTES: usize = 4096;
/// More than any message carries.
const DESCRIPTORS: usize = 8;

/// One end of a stream; what has arrived is kept until a whole message is there.
pub(super) struct Link {
    socket: OwnedFd,
    buffer: Box<[u8; BUFFER_BYTES]>,
    begin: usize,
    end: usize,
    descriptors: VecDeque<OwnedFd>,
}

impl Link {
    pub fn new(socket: OwnedFd) -> Self {
        Self { socket, buffer: Box::new([0; BUFFER_BYTES]), begin: 0, end: 0, descriptors: VecDeque::new() }
    }

    /// What has arrived and was not taken yet.
    pub fn arrived(&self) -> &[u8] {
        &self.buffer[self.begin..self.end]
    }

    /// Forgets the first `bytes` of what has arrived.
    pub fn consume(&mut self, bytes: usize) {
        self.begin += bytes;
    }

    /// The oldest descriptor that came and was not taken yet.
    pub fn take_descriptor(&mut self) -> Option<OwnedFd> {
        self.descriptors.pop_front()
    }

    /// Receives once what is there; `false` if the other side is gone.
    pub fn receive(&mut self) -> Result<bool, LabError> {
        self.buffer.copy_within(self.begin..self.end, 0);
        self.end -= self.begin;
        self.begin = 0;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let room = &mut self.buffer[self.end..];
        if room.is_empty() {
            return Err(LabError::protocol(format!("a message is longer than {BUFFER_BYTES} bytes")));
        }
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = match recvmsg(&self.socket, &mut [IoSliceMut::new(room)], &mut ancillary, flags) {
            Ok(message) => message.bytes,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(true),
            Err(Errno::CONNRESET) => return Ok(false),
            Err(error) => return Err(LabError::socket("receive from the guest", error)),
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        self.end += received;
        Ok(received > 0)
    }

    /// Sends all of `bytes`; a guest that is gone is noticed when it is listened to.
    pub fn send(&self, bytes: &[u8]) -> Result<(), LabError> {
        self.send_with(bytes, &[])
    }

    /// The same with descriptors beside it.
    pub fn send_with(&self, mut bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<(), LabError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        while !bytes.is_empty() {
            match sendmsg(&self.socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL) {
                Ok(sent) => {
                    bytes = &bytes[sent..];
                    ancillary.clear();
                }
                Err(Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET) => return Ok(()),
                Err(error) => return Err(LabError::socket("send to the guest", error)),
            }
        }
        Ok(())
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
