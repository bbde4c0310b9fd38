//! virtio-blk (Virtual I/O Device 1.2, section 5.2): simple, and its driver never loses patience.

use drive::{Status, Verb, SECTOR_BYTES};

use super::error::LabError;
use super::front::{Answer, Ask, Desk, Flight, Front, Received};
use super::identity::Identity;
use super::media::Buffers;
use super::memory::{total_bytes, Memory};
use super::port::{Configuration, TRANSPORT_FEATURES};
use super::ring::Chain;

const SEGMENTS: u32 = 254;
/// SEG_MAX, BLK_SIZE, FLUSH, TOPOLOGY, CONFIG_WCE.
const FEATURES: u64 = 1 << 2 | 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11;
/// DISCARD, WRITE_ZEROES.
const TRIM_FEATURES: u64 = 1 << 13 | 1 << 14;
/// Most sectors of one discard or one writing of zeros: what the commands of a real drive can name.
const RANGE_SECTORS: u32 = 65_535;

const HEADER_BYTES: usize = 16;
const WRITE_CACHE_AT: usize = 32;

const IN: u32 = 0;
const OUT: u32 = 1;
const FLUSH: u32 = 4;
const GET_ID: u32 = 8;
const DISCARD: u32 = 11;
const WRITE_ZEROES: u32 = 13;

const OK: u8 = 0;
const IO_ERROR: u8 = 1;
const UNSUPPORTED: u8 = 2;

pub(super) struct Blk {
    identity: Identity,
    write_cache: bool,
}

impl Blk {
    pub fn new(identity: Identity, write_cache: bool) -> Self {
        Self { identity, write_cache }
    }
}

impl Configuration for Blk {
    fn features(&self) -> u64 {
        TRANSPORT_FEATURES | FEATURES | if self.identity.trims { TRIM_FEATURES } else { 0 }
    }

    fn queues(&self) -> usize {
        1
    }

    fn space(&self) -> Vec<u8> {
        let mut space = vec![0; 60];
        space[..8].copy_from_slice(&self.identity.sectors().to_le_bytes());
        let words = [
            (12, SEGMENTS),
            (20, SECTOR_BYTES as u32),
            (36, RANGE_SECTORS),
            (40, 1),
            (44, 8),
            (48, RANGE_SECTORS),
            (52, 1),
        ];
        for (at, word) in words {
            space[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        space[24] = self.identity.physical_exponent;
        space[WRITE_CACHE_AT] = u8::from(self.write_cache);
        // One queue; zeros may be written by unmapping.
        space[34] = 1;
        space[56] = 1;
        space
    }

    fn write_space(&mut self, offset: usize, bytes: &[u8]) {
        if let (WRITE_CACHE_AT, [value, ..]) = (offset, bytes) {
            self.write_cache = *value != 0;
        }
    }
}

/// The 16 bytes before the data: what, and from which sector on. That there is room for the status is sure after that.
fn header(chain: &Chain, memory: &Memory) -> Result<(u32, u64), LabError> {
    let mut bytes = [0; HEADER_BYTES];
    if memory.gather(&chain.readable, 0, &mut bytes)? < HEADER_BYTES || total_bytes(&chain.writable) == 0 {
        return Err(LabError::protocol("a request of virtio-blk is too short"));
    }
    let [kind, _, low, high] =
        [0, 4, 8, 12].map(|at| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]));
    Ok((kind, u64::from(high) << 32 | u64::from(low)))
}

/// A range to be discarded or zeroed, in bytes, and whether it may be unmapped.
fn range(chain: &Chain, memory: &Memory) -> Result<(u64, u64, bool), LabError> {
    let mut bytes = [0; 16];
    memory.gather(&chain.readable, HEADER_BYTES, &mut bytes)?;
    let (sector, rest) = bytes.split_at(8);
    let sector = u64::from_le_bytes(sector.try_into().expect("half of it"));
    let sectors = u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]]);
    Ok((sector.saturating_mul(SECTOR_BYTES), u64::from(sectors) * SECTOR_BYTES, rest[4] & 1 != 0))
}

impl Front for Blk {
    fn virtio_id(&self) -> u32 {
        2
    }

    fn receive(&mut self, _queue: usize, chain: &Chain, memory: &Memory) -> Result<Received, LabError> {
        let (kind, sector) = header(chain, memory)?;
        let offset_bytes = sector.saturating_mul(SECTOR_BYTES);
        let ask = Ask::nothing(0);
        Ok(Received::Ask(match kind {
            IN => Ask { offset_bytes, bytes: total_bytes(&chain.writable) as u64 - 1, ..ask },
            OUT => {
                let bytes = (total_bytes(&chain.readable) - HEADER_BYTES) as u64;
                Ask { verb: Verb::Write, offset_bytes, bytes, ..ask }
            }
            FLUSH => Ask { verb: Verb::Flush, ..ask },
            DISCARD | WRITE_ZEROES => {
                let (offset_bytes, bytes, unmap) = range(chain, memory)?;
                let trims = kind == DISCARD || unmap && self.identity.trims;
                Ask { verb: if trims { Verb::Trim } else { Verb::Write }, offset_bytes, bytes, ..ask }
            }
            _ => ask,
        }))
    }

    fn answer(&mut self, flight: &Flight, status: Status, desk: Desk<'_>) -> Result<Answer, LabError> {
        let Desk { memory, media, .. } = desk;
        let Ask { offset_bytes, bytes, .. } = flight.ask;
        let chain = &flight.chain;
        let (kind, _) = header(chain, memory)?;
        let room = total_bytes(&chain.writable) - 1;
        let mut answer = Answer { written_bytes: 1, data_hash: 0 };
        let code = match (kind, status) {
            (IN, Status::Good) => {
                let to = Buffers { memory, segments: &chain.writable, skip: 0 };
                answer.data_hash = media.load(offset_bytes, room, to)?;
                answer.written_bytes += room as u32;
                OK
            }
            (OUT, Status::Good) => {
                let from = Buffers { memory, segments: &chain.readable, skip: HEADER_BYTES };
                answer.data_hash = media.store(offset_bytes, bytes as usize, from)?;
                OK
            }
            (DISCARD | WRITE_ZEROES, Status::Good) => {
                media.blocks.clear(offset_bytes, bytes)?;
                OK
            }
            (FLUSH, Status::Good) => OK,
            (GET_ID, Status::Good) => {
                let mut name = self.identity.serial.clone().into_bytes();
                name.resize(room.min(20), 0);
                answer.written_bytes += memory.scatter(&chain.writable, 0, &name)? as u32;
                OK
            }
            (IN | OUT | FLUSH | GET_ID | DISCARD | WRITE_ZEROES, _) => IO_ERROR,
            _ => UNSUPPORTED,
        };
        memory.scatter(&chain.writable, room, &[code])?;
        Ok(answer)
    }

    fn cancel(&self, flight: &Flight, memory: &Memory) -> Result<u32, LabError> {
        let room = total_bytes(&flight.chain.writable) - 1;
        memory.scatter(&flight.chain.writable, room, &[IO_ERROR]).map(|written| written as u32)
    }

    /// No driver of this kind of device has a clock.
    fn busy(&self) -> Option<Vec<u8>> {
        None
    }

    fn write_cache(&self) -> bool {
        self.write_cache
    }

    /// No queue of this kind of device is for that.
    fn plug_event(&self, _is_gone: bool) -> Vec<u8> {
        Vec::new()
    }

    fn reset(&mut self) {}

    /// What the driver has set is the host adapter's, which keeps it.
    fn power_on(&mut self) {}
}
