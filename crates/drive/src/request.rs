//! What a host may ask of a block device, and what it hears back.
//!
//! This is the only surface that a load, an array, a fault wrapper or a block server needs: submit, ask for the
//! next event, advance, collect completions. Nothing here knows a transport.

use sim::LatencyHistogram;

use crate::truth::Truth;

/// Bytes of one logical sector: every offset and length of a request is a multiple of it.
pub const SECTOR_BYTES: u64 = 512;

/// The verb of a request. In files it is its [`code`](Verb::code).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Read `bytes` from `offset_bytes`.
    Read,
    /// Write `bytes` at `offset_bytes`.
    Write,
    /// Make every write acknowledged so far durable. `offset_bytes` and `bytes` are zero.
    Flush,
    /// Tell the device that a range holds nothing of worth any more.
    Trim,
}

impl Verb {
    const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Flush, Self::Trim];

    /// Its number in the lists of kept drives and in fingerprints: there are such files, so it stays what it is.
    pub const fn code(self) -> u8 {
        match self {
            Self::Read => 0,
            Self::Write => 1,
            Self::Flush => 2,
            Self::Trim => 3,
        }
    }

    /// The verb with that number.
    pub fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.code() == code)
    }
}

/// One command of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Chosen by the host, handed back in the completion; must be unique among the requests in flight.
    pub tag: u32,
    /// What is asked.
    pub verb: Verb,
    /// Force unit access: a write is acknowledged only once it is durable.
    pub fua: bool,
    /// First byte, a multiple of [`SECTOR_BYTES`].
    pub offset_bytes: u64,
    /// Length, a multiple of [`SECTOR_BYTES`].
    pub bytes: u64,
}

/// How a request ended. Conditions of the modelled drive only: a broken socket is never one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Good,
    /// The request reaches past the end of the device, or is not aligned to sectors.
    OutOfRange,
    /// The device could not read or write the sector at this offset.
    MediumError {
        /// The first byte that could not be read or written.
        offset_bytes: u64,
    },
    /// The device is not there: unplugged, or without power.
    Gone,
    /// The host reset the link before there was an answer.
    Aborted,
}

/// The answer to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request's tag.
    pub tag: u32,
    /// When the host hears of it, in nanoseconds of virtual time.
    pub completed_ns: u64,
    /// How it ended.
    pub status: Status,
}

/// Reads of equal size, one behind the other, each asked for in the moment in which the one before has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reads {
    /// Where the first begins.
    pub offset_bytes: u64,
    /// The size of each.
    pub bytes: u64,
    /// As many, unless
    pub most: u64,
    /// they would complete after this time;
    pub limit_ns: u64,
    /// not worth while if they are fewer.
    pub least: u64,
}

/// Writes of equal size, one behind the other, each asked for in the moment in which one before has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writes {
    /// Where the next begins.
    pub offset_bytes: u64,
    /// The size of each.
    pub bytes: u64,
    /// To be durable before they complete.
    pub fua: bool,
    /// As many, unless
    pub most: u64,
    /// one would complete at this time or later.
    pub limit_ns: u64,
}

/// What came of [`Reads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forwarded {
    /// So many were read.
    pub count: u64,
    /// When the last completed.
    pub now_ns: u64,
}

/// What a loss of power took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// When.
    pub at_ns: u64,
    /// Byte ranges, in rising order and apart from each other, whose newest data was in volatile memory or on its way
    /// from there: they hold again what was durable before. What was acknowledged to be durable is never among them,
    /// unless something newer was written over it.
    pub ranges: Vec<std::ops::Range<u64>>,
}

/// Anything that takes requests in virtual time: a drive, a fault wrapper around one, an array of them.
///
/// Time is in nanoseconds since the device was made and never runs backwards: `now_ns` and `to_ns` must not be
/// smaller than any time given before.
pub trait BlockDevice {
    /// Usable bytes.
    fn capacity_bytes(&self) -> u64;

    /// How many requests the device accepts before the host has to wait (its queue depth).
    fn queue_depth(&self) -> u32;

    /// Is it a SATA drive? A flush is none of its queued commands, so that a host gives it nothing else meanwhile (see
    /// [`Given`](crate::Given)), and Linux has no single write forced to the medium, but flushes behind it (`libata.fua=0`).
    fn speaks_ata(&self) -> bool {
        false
    }

    /// Hands over a request at `now_ns`. The caller keeps at most [`queue_depth`](Self::queue_depth) in flight.
    /// Anything that falls due up to `now_ns` must have been collected with [`advance`](Self::advance) first.
    fn submit(&mut self, now_ns: u64, request: Request);

    /// A time at which to call [`advance`](Self::advance) next, not later than the next completion; `None` when
    /// no completion is outstanding (background work goes on all the same when time advances).
    fn next_event_ns(&self) -> Option<u64>;

    /// Lets time pass up to `to_ns` and appends the completions that fell due, in order of their time.
    fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>);

    /// Lets time pass until a completion falls due, but not beyond `limit_ns`; appends it, with all that fall due at the
    /// same time, and returns the time. `completions` must be empty.
    fn advance_to_completion(&mut self, limit_ns: u64, completions: &mut Vec<Completion>) -> u64 {
        loop {
            let to_ns = self.next_event_ns().map_or(limit_ns, |event_ns| event_ns.min(limit_ns));
            self.advance(to_ns, completions);
            if to_ns == limit_ns || !completions.is_empty() {
                return to_ns;
            }
        }
    }

    /// Lets a stream of reads pass that begins at `now_ns`, the time last advanced to, while nothing else is in flight.
    /// The outcome is that of submitting them one after the other, their latencies counted in `latencies`: a device that
    /// knows no shorter way, or is not in a state for it, reads none.
    fn forward_reads(&mut self, now_ns: u64, _reads: &Reads, _latencies: &mut LatencyHistogram) -> Forwarded {
        Forwarded { count: 0, now_ns }
    }

    /// Lets a stream of writes pass that is going on at `now_ns`, the time last advanced to, while nothing but earlier ones of it is
    /// in flight. The outcome is that of submitting one for each of the `free_tags`, the last first, and again for those of what
    /// completes, in the moment in which it does. Appends what has completed, in order, and returns when the last has, or `now_ns`;
    /// tags that are free then are left. A device that knows no shorter way, or is not in a state for it, does nothing.
    fn forward_writes(
        &mut self,
        now_ns: u64,
        _writes: &Writes,
        _free_tags: &mut Vec<u32>,
        _completions: &mut Vec<Completion>,
    ) -> u64 {
        now_ns
    }

    /// The power fails at `at_ns`. Requests in flight are never answered, and until [`power_on`](Self::power_on) every
    /// request is [`Gone`](Status::Gone). A device without volatile memory loses nothing.
    fn power_loss(&mut self, at_ns: u64) -> Lost {
        Lost { at_ns, ranges: Vec::new() }
    }

    /// The power is back at `at_ns`; returns when the device is ready. Requests before that wait for it.
    fn power_on(&mut self, at_ns: u64) -> u64 {
        at_ns
    }

    /// The host resets the link at `now_ns`: what hangs is [`Aborted`](Status::Aborted). A device in which nothing
    /// hangs does nothing.
    fn reset(&mut self, now_ns: u64) {
        let _ = now_ns;
    }

    /// Would a question that needs no medium, whether the device is ready, be answered at `now_ns`? A device that is busy does.
    fn is_ready(&self, now_ns: u64) -> bool {
        let _ = now_ns;
        true
    }

    /// When the program that submitted what has now completed came to ask for it, if it had to wait with something else until then;
    /// `None`: when it was submitted. Tells it once.
    fn asked_ns(&mut self, tag: u32) -> Option<u64> {
        let _ = tag;
        None
    }

    /// What losses of power that were planned (see [`faults`](crate::faults)) took so far.
    fn losses(&self) -> &[Lost] {
        &[]
    }

    /// Of the planned faults around it, from within outwards, whether a request or a loss of power has met each.
    fn faults_met(&self) -> Vec<bool> {
        Vec::new()
    }

    /// What only the model knows of the one drive within; `None` if there is none, or more.
    fn truth(&self) -> Option<Truth> {
        None
    }
}

impl<D: BlockDevice + ?Sized> BlockDevice for Box<D> {
    fn advance_to_completion(&mut self, limit_ns: u64, completions: &mut Vec<Completion>) -> u64 {
        (**self).advance_to_completion(limit_ns, completions)
    }

    fn forward_reads(&mut self, now_ns: u64, reads: &Reads, latencies: &mut LatencyHistogram) -> Forwarded {
        (**self).forward_reads(now_ns, reads, latencies)
    }

    fn forward_writes(
        &mut self,
        now_ns: u64,
        writes: &Writes,
        free_tags: &mut Vec<u32>,
        completions: &mut Vec<Completion>,
    ) -> u64 {
        (**self).forward_writes(now_ns, writes, free_tags, completions)
    }

    fn asked_ns(&mut self, tag: u32) -> Option<u64> {
        (**self).asked_ns(tag)
    }

    fn capacity_bytes(&self) -> u64 {
        (**self).capacity_bytes()
    }

    fn queue_depth(&self) -> u32 {
        (**self).queue_depth()
    }

    fn speaks_ata(&self) -> bool {
        (**self).speaks_ata()
    }

    fn submit(&mut self, now_ns: u64, request: Request) {
        (**self).submit(now_ns, request);
    }

    fn next_event_ns(&self) -> Option<u64> {
        (**self).next_event_ns()
    }

    fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        (**self).advance(to_ns, completions);
    }

    fn power_loss(&mut self, at_ns: u64) -> Lost {
        (**self).power_loss(at_ns)
    }

    fn power_on(&mut self, at_ns: u64) -> u64 {
        (**self).power_on(at_ns)
    }

    fn reset(&mut self, now_ns: u64) {
        (**self).reset(now_ns);
    }

    fn is_ready(&self, now_ns: u64) -> bool {
        (**self).is_ready(now_ns)
    }

    fn losses(&self) -> &[Lost] {
        (**self).losses()
    }

    fn faults_met(&self) -> Vec<bool> {
        (**self).faults_met()
    }

    fn truth(&self) -> Option<Truth> {
        (**self).truth()
    }
}
