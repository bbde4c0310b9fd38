//! One drive's vhost-user connection: the messages of QEMU's `docs/interop/vhost-user.rst` that the guest's kernel sends.
//!
//! Notifications go in band: a kick is a message that the guest waits to be answered, so the order of all that happens is
//! decided here and not by the machine's scheduler.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};

use super::error::LabError;
use super::link::Link;
use super::memory::{Memory, Region};
use super::ring::Ring;

/// Virtio feature bits that both front ends offer, all of the transport: indirect descriptors, vhost-user protocol
/// features, virtio 1.
pub(super) const TRANSPORT_FEATURES: u64 = 1 << 28 | 1 << 30 | 1 << 32;
/// Confirmed messages, requests from here to the guest, the configuration space, notifications in band.
const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;

const HEADER_BYTES: usize = 12;
const VERSION: u32 = 1;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;
/// The guest is to look at a queue (from here to there).
const VRING_CALL: u32 = 4;

/// Requests of the guest.
pub(super) mod request {
    pub const GET_FEATURES: u32 = 1;
    pub const SET_FEATURES: u32 = 2;
    pub const SET_OWNER: u32 = 3;
    pub const SET_MEM_TABLE: u32 = 5;
    pub const SET_VRING_NUM: u32 = 8;
    pub const SET_VRING_ADDR: u32 = 9;
    pub const SET_VRING_BASE: u32 = 10;
    pub const GET_VRING_BASE: u32 = 11;
    pub const SET_VRING_KICK: u32 = 12;
    pub const SET_VRING_CALL: u32 = 13;
    pub const SET_VRING_ERR: u32 = 14;
    pub const GET_PROTOCOL_FEATURES: u32 = 15;
    pub const SET_PROTOCOL_FEATURES: u32 = 16;
    pub const GET_QUEUE_NUM: u32 = 17;
    pub const SET_VRING_ENABLE: u32 = 18;
    pub const SET_BACKEND_REQ_FD: u32 = 21;
    pub const GET_CONFIG: u32 = 24;
    pub const SET_CONFIG: u32 = 25;
    pub const VRING_KICK: u32 = 35;
}

/// What the guest's driver may know and change of the device behind the port.
pub(super) trait Configuration {
    fn features(&self) -> u64;
    fn queues(&self) -> usize;
    fn space(&self) -> Vec<u8>;
    fn write_space(&mut self, offset: usize, bytes: &[u8]);
}

/// What came of listening.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// No whole message is there.
    Nothing,
    /// One was, and is answered.
    Handled,
    /// The driver has put something into that queue and waits for [`Port::confirm_kick`].
    Kick(usize),
}

/// The connection of one boot.
pub(super) struct Port {
    link: Link,
    /// The other way: calls go there.
    backend: Option<Link>,
    pub memory: Memory,
    pub rings: Vec<Ring>,
    /// The flags of a kick that waits for its answer.
    kick_flags: Option<u32>,
    /// Calls that the guest has not answered.
    pub unanswered: u32,
}

impl Port {
    pub fn new(link: Link, queues: usize) -> Self {
        let rings = vec![Ring::default(); queues];
        Self { link, backend: None, memory: Memory::default(), rings, kick_flags: None, unanswered: 0 }
    }

    pub fn backend(&self) -> Option<&Link> {
        self.backend.as_ref()
    }

    /// Receives what is there. To be followed by [`next`](Self::next) until that says [`Heard::Nothing`].
    pub fn listen(&mut self) -> Result<bool, LabError> {
        self.link.receive()
    }

    /// Takes in one message, if a whole one is there.
    pub fn next<C: Configuration + ?Sized>(&mut self, device: &mut C) -> Result<Heard, LabError> {
        let Some((header, rest)) = self.link.arrived().split_first_chunk::<HEADER_BYTES>() else {
            return Ok(Heard::Nothing);
        };
        let [request, flags, bytes] = header_words(header);
        let Some(payload) = rest.get(..bytes as usize) else {
            return Ok(Heard::Nothing);
        };
        let payload = payload.to_vec();
        self.link.consume(HEADER_BYTES + payload.len());
        if request == request::VRING_KICK {
            self.kick_flags = Some(flags);
            return Ok(Heard::Kick(word(&payload, 0)? as usize));
        }
        let reply = match self.handle(request, &payload, device)? {
            None if flags & NEED_REPLY != 0 => Some(vec![0; 8]),
            reply => reply,
        };
        if let Some(reply) = reply {
            self.link.send(&message(request, VERSION | REPLY, &reply))?;
        }
        Ok(Heard::Handled)
    }

    /// The answer of a request that has one of its own.
    fn handle<C: Configuration + ?Sized>(
        &mut self,
        request: u32,
        payload: &[u8],
        device: &mut C,
    ) -> Result<Option<Vec<u8>>, LabError> {
        match request {
            request::GET_FEATURES => return Ok(Some(device.features().to_ne_bytes().to_vec())),
            request::GET_PROTOCOL_FEATURES => return Ok(Some(PROTOCOL_FEATURES.to_ne_bytes().to_vec())),
            request::GET_QUEUE_NUM => return Ok(Some((self.rings.len() as u64).to_ne_bytes().to_vec())),
            request::GET_CONFIG => return configuration(payload, &device.space()).map(Some),
            request::GET_VRING_BASE => {
                let ring = self.ring(payload)?;
                ring.enabled = false;
                let taken = u32::from(ring.taken).to_ne_bytes();
                return Ok(Some([&payload[..4], &taken].concat()));
            }
            request::SET_CONFIG => {
                let data = payload.get(12..).unwrap_or_default();
                device.write_space(word(payload, 0)? as usize, &data[..data.len().min(word(payload, 4)? as usize)]);
            }
            request::SET_OWNER | request::SET_FEATURES | request::SET_PROTOCOL_FEATURES => {}
            request::SET_MEM_TABLE => self.set_memory(payload)?,
            request::SET_VRING_NUM => {
                let size = u16::try_from(word(payload, 4)?).map_err(|_| LabError::protocol("a queue is too long"))?;
                self.ring(payload)?.size = size;
            }
            request::SET_VRING_ADDR => {
                let (descriptors, used, available) = (long(payload, 8)?, long(payload, 16)?, long(payload, 24)?);
                let ring = self.ring(payload)?;
                (ring.descriptors, ring.used, ring.available) = (descriptors, used, available);
            }
            request::SET_VRING_BASE => {
                let base = word(payload, 4)? as u16;
                let ring = self.ring(payload)?;
                (ring.taken, ring.returned) = (base, base);
            }
            request::SET_VRING_ENABLE => {
                let enabled = word(payload, 4)? != 0;
                self.ring(payload)?.enabled = enabled;
            }
            // Descriptors for notifications out of band: not used.
            request::SET_VRING_KICK | request::SET_VRING_CALL | request::SET_VRING_ERR => {
                self.link.take_descriptor();
            }
            request::SET_BACKEND_REQ_FD => {
                let socket = self.link.take_descriptor();
                self.backend = Some(Link::new(socket.ok_or_else(|| LabError::protocol("a descriptor is missing"))?));
            }
            other => return Err(LabError::protocol(format!("a drive does not know vhost-user request {other}"))),
        }
        Ok(None)
    }

    fn ring(&mut self, payload: &[u8]) -> Result<&mut Ring, LabError> {
        let index = word(payload, 0)? as usize;
        self.rings.get_mut(index).ok_or_else(|| LabError::protocol(format!("there is no queue {index}")))
    }

    fn set_memory(&mut self, payload: &[u8]) -> Result<(), LabError> {
        self.memory.regions.clear();
        for region in 0..word(payload, 0)? as usize {
            let at = 8 + 32 * region;
            let file = self.link.take_descriptor().ok_or_else(|| LabError::protocol("a descriptor is missing"))?;
            self.memory.regions.push(Region {
                address: long(payload, at)?,
                bytes: long(payload, at + 8)?,
                file_offset: long(payload, at + 24)?,
                file: File::from(file),
            });
        }
        Ok(())
    }

    /// Lets the driver that has kicked go on.
    pub fn confirm_kick(&mut self) -> Result<(), LabError> {
        match self.kick_flags.take() {
            Some(flags) if flags & NEED_REPLY != 0 => {
                self.link.send(&message(request::VRING_KICK, VERSION | REPLY, &[0; 8]))
            }
            _ => Ok(()),
        }
    }

    /// Whether the guest is to be interrupted.
    pub fn wants_to_call(&self) -> bool {
        self.rings.iter().any(|ring| ring.unannounced)
    }

    /// Interrupts the guest for every queue in which something was given back; returns how often.
    pub fn call(&mut self) -> Result<u32, LabError> {
        let mut calls = 0;
        for (index, ring) in self.rings.iter_mut().enumerate().filter(|(_, ring)| ring.unannounced) {
            ring.unannounced = false;
            let Some(backend) = &self.backend else {
                return Err(LabError::protocol("it has given no way to interrupt it"));
            };
            let payload = (index as u64).to_ne_bytes();
            backend.send(&message(VRING_CALL, VERSION | NEED_REPLY, &payload))?;
            self.unanswered += 1;
            calls += 1;
        }
        Ok(calls)
    }

    /// Takes in the guest's answers to calls; `false` if it is gone.
    pub fn hear_answers(&mut self) -> Result<bool, LabError> {
        let Some(backend) = &mut self.backend else { return Ok(true) };
        if !backend.receive()? {
            return Ok(false);
        }
        while let Some(answer) = backend.arrived().first_chunk::<{ HEADER_BYTES + 8 }>() {
            if long(answer, HEADER_BYTES)? != 0 {
                return Err(LabError::protocol("it does not want to be interrupted"));
            }
            backend.consume(HEADER_BYTES + 8);
            self.unanswered = self.unanswered.saturating_sub(1);
        }
        Ok(true)
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }
}

/// The configuration space in the length asked for: what is beyond its end reads as zeros.
fn configuration(payload: &[u8], space: &[u8]) -> Result<Vec<u8>, LabError> {
    let (offset, bytes) = (word(payload, 0)? as usize, word(payload, 4)? as usize);
    let mut reply = payload.get(..12).ok_or_else(short)?.to_vec();
    reply.extend((offset..offset + bytes.min(4096)).map(|at| space.get(at).copied().unwrap_or(0)));
    Ok(reply)
}

fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
    for number in [request, flags, payload.len() as u32] {
        bytes.extend(number.to_ne_bytes());
    }
    bytes.extend(payload);
    bytes
}

fn header_words(header: &[u8; HEADER_BYTES]) -> [u32; 3] {
    [0, 4, 8].map(|at| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]))
}

fn word(payload: &[u8], at: usize) -> Result<u32, LabError> {
    let bytes = payload.get(at..).and_then(<[u8]>::first_chunk).ok_or_else(short)?;
    Ok(u32::from_ne_bytes(*bytes))
}

fn long(payload: &[u8], at: usize) -> Result<u64, LabError> {
    let bytes = payload.get(at..).and_then(<[u8]>::first_chunk).ok_or_else(short)?;
    Ok(u64::from_ne_bytes(*bytes))
}

fn short() -> LabError {
    LabError::protocol("a vhost-user message is too short")
}
