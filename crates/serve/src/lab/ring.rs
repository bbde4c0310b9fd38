//! A virtqueue in split form (Virtual I/O Device 1.2, section 2.7), from the device's side.

use super::error::LabError;
use super::memory::{Memory, Segment};

/// Descriptors that a chain may have at most, counting indirect ones: more would be a loop.
const CHAIN_LIMIT: usize = 4096;
const DESCRIPTOR_BYTES: usize = 16;
const NEXT: u16 = 1;
const WRITABLE: u16 = 2;
const INDIRECT: u16 = 4;

/// One request of the guest's driver: what it wrote, and where it wants the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Chain {
    /// Its first descriptor: by that the driver recognises it.
    pub head: u16,
    pub readable: Vec<Segment>,
    pub writable: Vec<Segment>,
}

/// One queue as the driver has set it up.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring {
    pub size: u16,
    pub descriptors: u64,
    pub available: u64,
    pub used: u64,
    pub enabled: bool,
    /// How many chains were taken so far (modulo 2^16).
    pub taken: u16,
    /// How many were given back.
    pub returned: u16,
    /// Some were given back and the guest was not interrupted yet.
    pub unannounced: bool,
}

impl Ring {
    /// The next chain, if the driver has offered one.
    pub fn take(&mut self, memory: &Memory) -> Result<Option<Chain>, LabError> {
        if self.size == 0 || !self.enabled || memory.read_u16(self.available + 2)? == self.taken {
            return Ok(None);
        }
        let slot = u64::from(self.taken % self.size);
        let head = memory.read_u16(self.available + 4 + 2 * slot)?;
        self.taken = self.taken.wrapping_add(1);
        self.walk(memory, head).map(Some)
    }

    fn walk(&self, memory: &Memory, head: u16) -> Result<Chain, LabError> {
        let mut chain = Chain { head, ..Chain::default() };
        let mut table = Vec::new();
        let mut index = usize::from(head);
        for _ in 0..CHAIN_LIMIT {
            let descriptor = match table.is_empty() {
                true => self.descriptor(memory, index)?,
                false => descriptor_at(&table, index)?,
            };
            if descriptor.flags & INDIRECT != 0 {
                table = vec![0; descriptor.segment.bytes];
                memory.read(descriptor.segment.address, &mut table)?;
                index = 0;
                continue;
            }
            let side = if descriptor.flags & WRITABLE == 0 { &mut chain.readable } else { &mut chain.writable };
            side.push(descriptor.segment);
            if descriptor.flags & NEXT == 0 {
                return Ok(chain);
            }
            index = usize::from(descriptor.next);
        }
        Err(LabError::protocol("a chain of descriptors has no end"))
    }

    fn descriptor(&self, memory: &Memory, index: usize) -> Result<Descriptor, LabError> {
        let mut bytes = [0; DESCRIPTOR_BYTES];
        memory.read(self.descriptors + (index % usize::from(self.size) * DESCRIPTOR_BYTES) as u64, &mut bytes)?;
        descriptor_at(&bytes, 0)
    }

    /// Gives a chain back with `written` bytes in its writable part.
    pub fn give_back(&mut self, memory: &Memory, head: u16, written: u32) -> Result<(), LabError> {
        let slot = u64::from(self.returned % self.size);
        let mut element = [0; 8];
        element[..4].copy_from_slice(&u32::from(head).to_le_bytes());
        element[4..].copy_from_slice(&written.to_le_bytes());
        memory.write(self.used + 4 + 8 * slot, &element)?;
        self.returned = self.returned.wrapping_add(1);
        memory.write(self.used + 2, &self.returned.to_le_bytes())?;
        self.unannounced = true;
        Ok(())
    }
}

struct Descriptor {
    segment: Segment,
    flags: u16,
    next: u16,
}

fn descriptor_at(table: &[u8], index: usize) -> Result<Descriptor, LabError> {
    let bytes = table
        .chunks_exact(DESCRIPTOR_BYTES)
        .nth(index)
        .ok_or_else(|| LabError::protocol("a descriptor lies outside of its table"))?;
    let number =
        |from: usize, to: usize| bytes[from..to].iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    let segment = Segment { address: number(0, 8), bytes: number(8, 12) as usize };
    Ok(Descriptor { segment, flags: number(12, 14) as u16, next: number(14, 16) as u16 })
}
