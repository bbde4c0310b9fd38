//! The guest's memory, read and written through the files that the guest hands over.
//!
//! The guest is asleep whenever the lab touches its memory, so nothing needs to be mapped: a guest that dies or shrinks
//! its memory gives an error, not a signal.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::error::LabError;

/// A piece of the guest's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// Its physical address in the guest.
    pub address: u64,
    pub bytes: usize,
}

/// A range of guest memory and where it lies in a file.
pub(super) struct Region {
    pub address: u64,
    pub bytes: u64,
    pub file_offset: u64,
    pub file: File,
}

/// All of it.
#[derive(Default)]
pub(super) struct Memory {
    pub regions: Vec<Region>,
}

impl Memory {
    fn find(&self, address: u64, bytes: usize) -> Result<(&File, u64), LabError> {
        let fits = |region: &&Region| {
            address
                .checked_sub(region.address)
                .is_some_and(|from| from.checked_add(bytes as u64).is_some_and(|to| to <= region.bytes))
        };
        let place = self.regions.iter().find(fits).and_then(|region| {
            let offset = region.file_offset.checked_add(address - region.address)?;
            Some((&region.file, offset))
        });
        place.ok_or_else(|| {
            LabError::protocol(format!("{bytes} bytes at {address:#x} are not in the memory that it shares"))
        })
    }

    pub fn read(&self, address: u64, buffer: &mut [u8]) -> Result<(), LabError> {
        let (file, offset) = self.find(address, buffer.len())?;
        file.read_exact_at(buffer, offset)
            .map_err(|source| LabError::System { what: "read the guest's memory", source })
    }

    pub fn write(&self, address: u64, data: &[u8]) -> Result<(), LabError> {
        let (file, offset) = self.find(address, data.len())?;
        file.write_all_at(data, offset).map_err(|source| LabError::System { what: "write the guest's memory", source })
    }

    pub fn read_u16(&self, address: u64) -> Result<u16, LabError> {
        let mut bytes = [0; 2];
        self.read(address, &mut bytes)?;
        Ok(u16::from_le_bytes(bytes))
    }

    /// Fills `buffer` from `segments` beyond their first `skip` bytes, as far as they reach; how many bytes came.
    pub fn gather(&self, segments: &[Segment], skip: usize, buffer: &mut [u8]) -> Result<usize, LabError> {
        let mut at = 0;
        for Segment { address, bytes } in beyond(segments, skip) {
            let bytes = bytes.min(buffer.len() - at);
            if bytes == 0 {
                break;
            }
            self.read(address, &mut buffer[at..at + bytes])?;
            at += bytes;
        }
        Ok(at)
    }

    /// Puts `data` into `segments` beyond their first `skip` bytes, as far as they reach; how many bytes found room.
    pub fn scatter(&self, segments: &[Segment], skip: usize, data: &[u8]) -> Result<usize, LabError> {
        let mut at = 0;
        for Segment { address, bytes } in beyond(segments, skip) {
            let bytes = bytes.min(data.len() - at);
            if bytes == 0 {
                break;
            }
            self.write(address, &data[at..at + bytes])?;
            at += bytes;
        }
        Ok(at)
    }
}

fn beyond(segments: &[Segment], mut skip: usize) -> impl Iterator<Item = Segment> + '_ {
    segments.iter().filter_map(move |segment| {
        let skipped = skip.min(segment.bytes);
        skip -= skipped;
        let rest = Segment { address: segment.address.saturating_add(skipped as u64), bytes: segment.bytes - skipped };
        (rest.bytes > 0).then_some(rest)
    })
}

pub(super) fn total_bytes(segments: &[Segment]) -> usize {
    segments.iter().map(|segment| segment.bytes).sum()
}
