//! virtio-scsi with one SATA drive behind it (Virtual I/O Device 1.2, section 5.6): with the host's real time-outs, aborts
//! and resets.
//!
//! In reading order: `cdb` understands commands, `inquiry`, `mode` and `ata` know the answers, `sense` what to say when
//! there is none.

mod ata;
mod cdb;
mod inquiry;
mod mode;
mod sense;

use drive::{Status, Verb, SECTOR_BYTES};

use self::ata::TaskFile;
use self::cdb::{number, op, Access, Cdb, Extent, CDB_BYTES};
use self::sense::Sense;
use super::error::LabError;
use super::front::{Answer, Ask, Desk, Flight, Front, Received, Task};
use super::history::Life;
use super::identity::Identity;
use super::media::Buffers;
use super::memory::{total_bytes, Memory};
use super::port::{Configuration, TRANSPORT_FEATURES};
use super::ring::Chain;

const CONTROL_QUEUE: usize = 0;
const EVENT_QUEUE: usize = 1;
/// One for requests.
const QUEUES: usize = 3;
const SEGMENTS: u32 = 254;
const SENSE_BYTES: usize = 96;
/// Logical unit, tag, three bytes of attributes, command.
const REQUEST_BYTES: usize = 19 + CDB_BYTES;
/// Lengths, status, response, sense data.
const RESPONSE_BYTES: usize = 12 + SENSE_BYTES;

/// How the transport ended a command.
mod response {
    pub const OK: u8 = 0;
    pub const ABORTED: u8 = 2;
    pub const BAD_TARGET: u8 = 3;
    pub const RESET: u8 = 4;
    pub const FUNCTION_REJECTED: u8 = 11;
    pub const INCORRECT_LUN: u8 = 12;
}

/// How the drive ended it.
const GOOD: u8 = 0;
const CHECK_CONDITION: u8 = 2;
const BUSY: u8 = 8;

pub(super) struct Scsi {
    identity: Identity,
    write_cache: bool,
    /// As the drive came; another setting lasts until the power fails.
    own_write_cache: bool,
    /// The driver is told when the drive is unplugged.
    hot_plug: bool,
    /// What the drive had behind it when this lab began, with the losses of power since.
    life: Life,
    /// The next command hears that the drive was reset.
    was_reset: bool,
}

/// What a command comes to.
enum Outcome {
    /// Data for the guest.
    Data(Vec<u8>),
    /// So many bytes were moved already, with this hash.
    Moved(usize, u64),
    Condition(Sense),
    /// It never reached the drive, or the drive's answer never came: how the transport puts it.
    Failed(u8),
}

impl From<Result<Vec<u8>, Sense>> for Outcome {
    fn from(result: Result<Vec<u8>, Sense>) -> Self {
        result.map_or_else(Self::Condition, Self::Data)
    }
}

impl Scsi {
    pub fn new(identity: Identity, write_cache: bool, hot_plug: bool, life: Life) -> Self {
        Self { identity, write_cache, own_write_cache: write_cache, hot_plug, life, was_reset: false }
    }

    /// What the drive is asked for a command.
    fn ask(&self, tag: u64, cdb: &Cdb, chain: &Chain, memory: &Memory) -> Result<Ask, LabError> {
        let ask = |verb, fua, Extent { block, blocks }| {
            let offset_bytes = block.saturating_mul(SECTOR_BYTES);
            Ask { verb, fua, offset_bytes, bytes: blocks.saturating_mul(SECTOR_BYTES), tag }
        };
        let nothing = Ask::nothing(tag);
        Ok(match cdb.access() {
            Access::Read(extent) | Access::Verify(extent) => ask(Verb::Read, false, extent),
            Access::Write { extent, fua } => ask(Verb::Write, fua, extent),
            Access::Same(extent) => ask(Verb::Write, false, extent),
            Access::Trim(extent) if self.identity.trims => ask(Verb::Trim, false, extent),
            Access::Unmap if self.identity.trims => match unmapped(&parameters(chain, memory)?) {
                Ok(Some(extent)) => ask(Verb::Trim, false, extent),
                _ => nothing,
            },
            Access::Synchronize => Ask { verb: Verb::Flush, ..nothing },
            Access::Trim(_) | Access::Unmap => nothing,
            Access::Nothing if is_flush(cdb, &parameters(chain, memory)?) => Ask { verb: Verb::Flush, ..nothing },
            Access::Nothing => nothing,
        })
    }

    fn outcome(&mut self, cdb: &Cdb, flight: &Flight, status: Status, desk: Desk<'_>) -> Result<Outcome, LabError> {
        let heard_by_all = !matches!(cdb.op(), op::INQUIRY | op::REPORT_LUNS | op::REQUEST_SENSE);
        if status == Status::Good && heard_by_all && std::mem::take(&mut self.was_reset) {
            return Ok(Outcome::Condition(Sense::WAS_RESET));
        }
        match status {
            Status::Good => self.carry_out(cdb, flight, desk),
            Status::OutOfRange => Ok(Outcome::Condition(Sense::OUT_OF_RANGE)),
            Status::MediumError { offset_bytes } => {
                let write = flight.ask.verb == Verb::Write;
                Ok(Outcome::Condition(Sense::medium_error(offset_bytes / SECTOR_BYTES, write)))
            }
            Status::Gone => Ok(Outcome::Failed(response::BAD_TARGET)),
            Status::Aborted => Ok(Outcome::Failed(response::RESET)),
        }
    }

    /// The drive has done its part.
    fn carry_out(&mut self, cdb: &Cdb, flight: &Flight, desk: Desk<'_>) -> Result<Outcome, LabError> {
        let Desk { now_ns, memory, media } = desk;
        let Ask { offset_bytes, bytes, .. } = flight.ask;
        let chain = &flight.chain;
        match cdb.access() {
            Access::Read(_) => {
                let bytes = (bytes as usize).min(total_bytes(&chain.writable) - RESPONSE_BYTES);
                let to = Buffers { memory, segments: &chain.writable, skip: RESPONSE_BYTES };
                Ok(Outcome::Moved(bytes, media.load(offset_bytes, bytes, to)?))
            }
            Access::Write { .. } => {
                let bytes = (bytes as usize).min(total_bytes(&chain.readable) - REQUEST_BYTES);
                let from = Buffers { memory, segments: &chain.readable, skip: REQUEST_BYTES };
                Ok(Outcome::Moved(bytes, media.store(offset_bytes, bytes, from)?))
            }
            Access::Same(_) => {
                let pattern = parameters(chain, memory)?;
                if pattern.len() as u64 != SECTOR_BYTES {
                    return Ok(Outcome::Condition(Sense::PARAMETERS_TOO_SHORT));
                }
                Ok(Outcome::Moved(pattern.len(), media.repeat(offset_bytes, bytes, &pattern)?))
            }
            Access::Trim(_) if self.identity.trims => {
                media.blocks.clear(offset_bytes, bytes)?;
                Ok(Outcome::Moved(total_bytes(&chain.readable) - REQUEST_BYTES, 0))
            }
            Access::Unmap if self.identity.trims => match unmapped(&parameters(chain, memory)?) {
                Ok(_) => {
                    media.blocks.clear(offset_bytes, bytes)?;
                    Ok(Outcome::Moved(total_bytes(&chain.readable) - REQUEST_BYTES, 0))
                }
                Err(sense) => Ok(Outcome::Condition(sense)),
            },
            Access::Trim(_) => Ok(Outcome::Condition(Sense::INVALID_FIELD)),
            Access::Verify(_) | Access::Synchronize => Ok(Outcome::Data(Vec::new())),
            Access::Unmap | Access::Nothing => Ok(self.tell(cdb, &parameters(chain, memory)?, now_ns).into()),
        }
    }

    /// Commands that only ask or set something.
    fn tell(&mut self, cdb: &Cdb, parameters: &[u8], now_ns: u64) -> Result<Vec<u8>, Sense> {
        let (bytes, identity) = (&cdb.0, &self.identity);
        let wanted = |at: usize, width: usize| cdb.number(at, width) as usize;
        let (data, room) = match cdb.op() {
            op::TEST_UNIT_READY => (Vec::new(), 0),
            op::REQUEST_SENSE => (Sense::NOTHING.to_bytes(), wanted(4, 1)),
            op::INQUIRY if bytes[1] & 1 != 0 => (inquiry::page(identity, self.write_cache, bytes[2])?, wanted(3, 2)),
            op::INQUIRY if bytes[2] == 0 => (inquiry::standard(identity), wanted(3, 2)),
            op::INQUIRY => return Err(Sense::INVALID_FIELD),
            op::READ_CAPACITY_10 => (inquiry::capacity_10(identity), 8),
            op::SERVICE_ACTION_IN_16 if bytes[1] & 0x1f == 0x10 => (inquiry::capacity_16(identity), wanted(10, 4)),
            op::MODE_SENSE_6 => (self.mode_sense(cdb, false)?, wanted(4, 1)),
            op::MODE_SENSE_10 => (self.mode_sense(cdb, true)?, wanted(7, 2)),
            op::MODE_SELECT_6 | op::MODE_SELECT_10 => {
                let long = cdb.op() == op::MODE_SELECT_10;
                self.write_cache = mode::select(parameters, long)?.unwrap_or(self.write_cache);
                (Vec::new(), 0)
            }
            op::LOG_SENSE => (mode::log(bytes[2] & 0x3f, ata::TEMPERATURE)?, wanted(7, 2)),
            // One unit, number 0.
            op::REPORT_LUNS => (vec![0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], wanted(6, 4)),
            op::ATA_PASS_THROUGH_12 | op::ATA_PASS_THROUGH_16 => {
                let file = TaskFile::new(cdb);
                // Also where the answer is sense data, because the registers are wanted back.
                let write_cache = file.sets_write_cache().unwrap_or(self.write_cache);
                let answer =
                    file.execute(identity, write_cache, Life { age_ns: self.life.age_ns + now_ns, ..self.life });
                self.write_cache = write_cache;
                (answer?, usize::MAX)
            }
            _ => return Err(Sense::UNKNOWN_COMMAND),
        };
        Ok(data[..data.len().min(room)].to_vec())
    }
}

impl Scsi {
    fn mode_sense(&self, cdb: &Cdb, long: bool) -> Result<Vec<u8>, Sense> {
        let byte = cdb.0[2];
        mode::sense(byte & 0x3f, byte >> 6, long, self.write_cache, self.identity.forces_writes)
    }
}

/// Whether a command that only sets something has the drive bring its cache to the platters. Who switches the cache off is
/// not going to ask for that any more: Linux sends no flush to a disk without one.
fn is_flush(cdb: &Cdb, parameters: &[u8]) -> bool {
    match cdb.op() {
        op @ (op::MODE_SELECT_6 | op::MODE_SELECT_10) => {
            matches!(mode::select(parameters, op == op::MODE_SELECT_10), Ok(Some(false)))
        }
        op::ATA_PASS_THROUGH_12 | op::ATA_PASS_THROUGH_16 => TaskFile::new(cdb).is_flush(),
        _ => false,
    }
}

/// What the guest sends with a command that is not data.
fn parameters(chain: &Chain, memory: &Memory) -> Result<Vec<u8>, LabError> {
    let mut list = vec![0; total_bytes(&chain.readable) - REQUEST_BYTES];
    memory.gather(&chain.readable, REQUEST_BYTES, &mut list)?;
    Ok(list)
}

/// The range in the parameter list of UNMAP: one, as the block limits say.
fn unmapped(list: &[u8]) -> Result<Option<Extent>, Sense> {
    match list.len() {
        0 | 8 => Ok(None),
        24 => Ok(Some(Extent { block: number(&list[8..16]), blocks: number(&list[16..20]) })),
        bytes if bytes < 24 => Err(Sense::PARAMETERS_TOO_SHORT),
        _ => Err(Sense::INVALID_PARAMETER),
    }
}

/// The bytes before the data; the sizes of both parts are sure after that.
fn request(chain: &Chain, memory: &Memory) -> Result<[u8; REQUEST_BYTES], LabError> {
    let mut bytes = [0; REQUEST_BYTES];
    let complete = memory.gather(&chain.readable, 0, &mut bytes)? == REQUEST_BYTES;
    match complete && total_bytes(&chain.writable) >= RESPONSE_BYTES {
        true => Ok(bytes),
        false => Err(LabError::protocol("a request of virtio-scsi is too short")),
    }
}

fn command(request: &[u8; REQUEST_BYTES]) -> Cdb {
    let mut bytes = [0; CDB_BYTES];
    bytes.copy_from_slice(&request[19..]);
    Cdb(bytes)
}

/// Whether the address is that of the one unit there is.
fn is_unit(address: &[u8]) -> bool {
    matches!(address, [1, 0, 0 | 0x40, 0, ..])
}

/// A request for something other than a command: what is to be done, and what is answered then.
fn control(chain: &Chain, memory: &Memory) -> Result<Received, LabError> {
    let mut bytes = [0; 24];
    if memory.gather(&chain.readable, 0, &mut bytes)? < 16 {
        return Err(LabError::protocol("a control request of virtio-scsi is too short"));
    }
    let [kind, function] =
        [0, 4].map(|at| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]));
    if kind != 0 {
        // Asks for notifications: none will come.
        return Ok(Received::Task(Task::Nothing, vec![0, 0, 0, 0, response::OK]));
    }
    let tag = u64::from_le_bytes(bytes[16..].try_into().expect("eight bytes"));
    let task = match function {
        _ if !is_unit(&bytes[8..16]) => return Ok(Received::Task(Task::Nothing, vec![response::INCORRECT_LUN])),
        0 => Task::Abort(tag),
        1 | 3 => Task::AbortAll,
        4 | 5 => Task::Reset,
        _ => return Ok(Received::Task(Task::Nothing, vec![response::FUNCTION_REJECTED])),
    };
    Ok(Received::Task(task, vec![response::OK]))
}

impl Configuration for Scsi {
    fn features(&self) -> u64 {
        TRANSPORT_FEATURES | u64::from(self.hot_plug) << 1
    }

    fn queues(&self) -> usize {
        QUEUES
    }

    fn space(&self) -> Vec<u8> {
        // Request queues, segments, sectors of a command, commands of a unit, sizes of an event, sense data and command; then
        // the highest channel, target and unit: 0.
        let depth = self.identity.queue_depth;
        let words = [1, SEGMENTS, inquiry::TRANSFER_BLOCKS, depth, 16, SENSE_BYTES as u32, CDB_BYTES as u32];
        let mut space: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        space.resize(36, 0);
        space
    }

    fn write_space(&mut self, _offset: usize, _bytes: &[u8]) {
        // The sizes of sense data and command stay as they are: nobody wants others.
    }
}

impl Front for Scsi {
    fn virtio_id(&self) -> u32 {
        8
    }

    fn receive(&mut self, queue: usize, chain: &Chain, memory: &Memory) -> Result<Received, LabError> {
        match queue {
            CONTROL_QUEUE => control(chain, memory),
            EVENT_QUEUE => Ok(Received::Spare),
            _ => {
                let request = request(chain, memory)?;
                let tag = u64::from_le_bytes(request[8..16].try_into().expect("eight bytes"));
                match is_unit(&request[..8]) {
                    true => self.ask(tag, &command(&request), chain, memory).map(Received::Ask),
                    false => Ok(Received::Ask(Ask::nothing(tag))),
                }
            }
        }
    }

    fn answer(&mut self, flight: &Flight, status: Status, desk: Desk<'_>) -> Result<Answer, LabError> {
        let memory = desk.memory;
        let chain = &flight.chain;
        let request = request(chain, memory)?;
        let outcome = match is_unit(&request[..8]) {
            true => self.outcome(&command(&request), flight, status, desk)?,
            false => Outcome::Failed(response::BAD_TARGET),
        };
        let mut head = [0; RESPONSE_BYTES];
        let (moved, data_hash) = match outcome {
            Outcome::Moved(bytes, hash) => (bytes, hash),
            Outcome::Data(data) => (memory.scatter(&chain.writable, RESPONSE_BYTES, &data)?, 0),
            Outcome::Condition(sense) => {
                let sense = sense.to_bytes();
                head[..4].copy_from_slice(&(sense.len() as u32).to_le_bytes());
                head[10] = CHECK_CONDITION;
                head[12..12 + sense.len()].copy_from_slice(&sense);
                (0, 0)
            }
            Outcome::Failed(code) => {
                head[11] = code;
                (0, 0)
            }
        };
        debug_assert!(head[10] == CHECK_CONDITION || head[10] == GOOD);
        let room_in = total_bytes(&chain.writable) - RESPONSE_BYTES;
        let room_out = total_bytes(&chain.readable) - REQUEST_BYTES;
        // What a command took that is no data of the medium, it took wholly.
        let untouched =
            if room_out > 0 && flight.ask.bytes == 0 { 0 } else { room_in.max(room_out).saturating_sub(moved) };
        head[4..8].copy_from_slice(&(untouched as u32).to_le_bytes());
        memory.scatter(&chain.writable, 0, &head)?;
        let written_bytes = RESPONSE_BYTES + moved.min(room_in);
        Ok(Answer { written_bytes: written_bytes as u32, data_hash })
    }

    fn cancel(&self, flight: &Flight, memory: &Memory) -> Result<u32, LabError> {
        let mut head = [0; RESPONSE_BYTES];
        head[11] = response::ABORTED;
        memory.scatter(&flight.chain.writable, 0, &head).map(|written| written as u32)
    }

    fn busy(&self) -> Option<Vec<u8>> {
        let mut head = vec![0; RESPONSE_BYTES];
        head[10] = BUSY;
        Some(head)
    }

    fn write_cache(&self) -> bool {
        self.write_cache
    }

    fn plug_event(&self, is_gone: bool) -> Vec<u8> {
        const TRANSPORT_RESET: u32 = 1;
        let [rescan, removed] = [1_u32, 2];
        let reason = if is_gone { removed } else { rescan };
        // The unit's number as Linux reads it here: without the bits that tell the way of addressing.
        [&TRANSPORT_RESET.to_le_bytes()[..], &[1, 0, 0, 0, 0, 0, 0, 0], &reason.to_le_bytes()].concat()
    }

    fn reset(&mut self) {
        self.was_reset = true;
    }

    fn power_on(&mut self) {
        self.was_reset = true;
        self.life.losses += 1;
        self.write_cache = self.own_write_cache;
    }
}
