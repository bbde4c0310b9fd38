//! One drive's vhost-user connection: the messages of QEMU's `docs/interop/vhost-user.rst` that the guest's kernel sends.
//!
//! Notifications do not go this way, but by the clock (see [`clock`](super::clock)), so the order of all that happens is
//! decided here and not by the machine's scheduler. The kernel wants to be offered those in band all the same.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::error::LabError;
use super::link::Link;
use super::memory::{Memory, Region};
use super::ring::Ring;

/// Virtio feature bits that both front ends offer, all of the transport: indirect descriptors, vhost-user protocol
/// features, virtio 1.
pub(super) const TRANSPORT_FEATURES: u64 = 1 << 28 | 1 << 30 | 1 << 32;
/// Confirmed messages, requests from here to the guest, the configuration space, notifications in band.
const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;

/// Beyond all memory of a guest, and so far below the end of numbers that a whole queue lies above it.
const HIGHEST_ADDRESS: u64 = 1 << 63;

const HEADER_BYTES: usize = 12;
const VERSION: u32 = 1;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;

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
}

/// What the guest's driver may know and change of the device behind the port.
pub(super) trait Configuration {
    fn features(&self) -> u64;
    fn queues(&self) -> usize;
    fn space(&self) -> Vec<u8>;
    fn write_space(&mut self, offset: usize, bytes: &[u8]);
}

/// The connection of one boot.
pub(super) struct Port {
    link: Link,
    /// The other way, on which nothing is ever said; the guest would notice if it were shut.
    backend: Option<OwnedFd>,
    pub memory: Memory,
    pub rings: Vec<Ring>,
}

impl Port {
    pub fn new(link: Link, queues: usize) -> Self {
        let rings = vec![Ring::default(); queues];
        Self { link, backend: None, memory: Memory::default(), rings }
    }

    /// Takes in what is there and answers it; `false` if the guest is gone.
    pub fn listen<C: Configuration + ?Sized>(&mut self, device: &mut C) -> Result<bool, LabError> {
        if !self.link.receive()? {
            return Ok(false);
        }
        while self.next(device)? {}
        Ok(true)
    }

    /// Takes in one message; `false` if no whole one is there.
    fn next<C: Configuration + ?Sized>(&mut self, device: &mut C) -> Result<bool, LabError> {
        let Some((header, rest)) = self.link.arrived().split_first_chunk::<HEADER_BYTES>() else {
            return Ok(false);
        };
        let [request, flags, bytes] = header_words(header);
        let Some(payload) = rest.get(..bytes as usize) else {
            return Ok(false);
        };
        let payload = payload.to_vec();
        self.link.consume(HEADER_BYTES + payload.len());
        let reply = match self.handle(request, &payload, device)? {
            None if flags & NEED_REPLY != 0 => Some(vec![0; 8]),
            reply => reply,
        };
        if let Some(reply) = reply {
            self.link.send(&message(request, VERSION | REPLY, &reply))?;
        }
        Ok(true)
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
                if size == 0 {
                    return Err(LabError::protocol("a queue has no room for anything"));
                }
                self.ring(payload)?.size = size;
            }
            request::SET_VRING_ADDR => {
                let (descriptors, used, available) = (long(payload, 8)?, long(payload, 16)?, long(payload, 24)?);
                if [descriptors, used, available].iter().any(|address| *address > HIGHEST_ADDRESS) {
                    return Err(LabError::protocol("a queue lies beyond all memory"));
                }
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
                self.backend = Some(socket.ok_or_else(|| LabError::protocol("a descriptor is missing"))?);
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

    /// The queues in which something was given back since this was asked last: the guest is to look at them.
    pub fn calls(&mut self) -> impl Iterator<Item = usize> + '_ {
        let served = self.rings.iter_mut().enumerate().filter(|(_, ring)| ring.unannounced);
        served.map(|(queue, ring)| {
            ring.unannounced = false;
            queue
        })
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
