//! What stands between a driver of the guest and a modelled drive: a kind of virtio device.

use drive::{Status, Verb};

use super::error::LabError;
use super::media::Media;
use super::memory::Memory;
use super::port::Configuration;
use super::ring::Chain;

/// What a drive is asked for one command of the guest. Commands that move no data are reads of no bytes, so that
/// whatever befalls the drive befalls them, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub verb: Verb,
    pub fua: bool,
    pub offset_bytes: u64,
    pub bytes: u64,
    /// By what the guest calls it.
    pub tag: u64,
}

impl Ask {
    /// A command that moves no data.
    pub fn nothing(tag: u64) -> Self {
        Self { verb: Verb::Read, fua: false, offset_bytes: 0, bytes: 0, tag }
    }

    /// Does it move none?
    pub fn moves_nothing(&self) -> bool {
        self.verb == Verb::Read && self.bytes == 0
    }
}

/// Something to be done with commands that are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Forget the command with that tag.
    Abort(u64),
    /// Forget all commands.
    AbortAll,
    /// Forget all commands and start afresh.
    Reset,
    /// Nothing; only to be answered.
    Nothing,
}

/// What a chain from the driver turns out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Received {
    Ask(Ask),
    /// With the answer that the driver gets when it is done.
    Task(Task, Vec<u8>),
    /// A buffer for what the driver is told by itself.
    Spare,
}

/// A command of the guest that is not answered yet.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub queue: usize,
    pub chain: Chain,
    pub ask: Ask,
    pub arrived_ns: u64,
    /// The guest has given it up and been told so; the drive may still be at it.
    pub cancelled: bool,
    /// The number of a flush, where the past is kept.
    pub flush: u64,
}

/// What went into the chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub written_bytes: u32,
    pub data_hash: u64,
}

/// With what an answer is made.
pub(super) struct Desk<'a> {
    pub now_ns: u64,
    pub memory: &'a Memory,
    pub media: &'a mut Media,
}

/// One kind of device.
pub(super) trait Front: Configuration + Send {
    /// The virtio device id.
    fn virtio_id(&self) -> u32;

    /// Understands what the driver has put into a queue.
    fn receive(&mut self, queue: usize, chain: &Chain, memory: &Memory) -> Result<Received, LabError>;

    /// Moves the data and writes the answer, now that the drive has ended a command with `status`.
    fn answer(&mut self, flight: &Flight, status: Status, desk: Desk<'_>) -> Result<Answer, LabError>;

    /// Writes that the command was aborted; how many bytes that took.
    fn cancel(&self, flight: &Flight, memory: &Memory) -> Result<u32, LabError>;

    /// The answer to a command behind a flush that stands alone, if the driver knows to ask again: who commands such drives
    /// does not send it before, so that no clock runs against it.
    fn busy(&self) -> Option<Vec<u8>>;

    /// Whether the drive may acknowledge writes before they are durable.
    fn write_cache(&self) -> bool;

    /// How the driver is told that the drive was unplugged, or plugged in again.
    fn plug_event(&self, is_gone: bool) -> Vec<u8>;

    /// The drive was reset.
    fn reset(&mut self);

    /// The drive has lost its power: it starts with the settings that it came with.
    fn power_on(&mut self);
}
