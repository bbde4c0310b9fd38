//! The guest's clock: the calendar's side of the kernel's `time-travel=ext` protocol (`linux/um_timetravel.h`), as
//! `lab/patches` changes it.
//!
//! The guest runs in no time at all until it waits; then the lab decides what time it is. While one of them acts the other
//! is asleep, so each says all that it has to say at once, and nothing needs to be confirmed:
//!
//! - the guest: which queues it has put something into (KICK), when it wants to run again (REQUEST), that it waits (WAIT);
//! - the clock: which queues were served (CALL), how far the guest may run without asking (FREE_UNTIL), that it may (RUN).
//!
//! All times here are the lab's, which goes on over several boots; on the wire they count from the boot.

use std::fs::File;
use std::os::fd::AsFd;

use super::error::LabError;
use super::link::Link;

/// A time that never comes: the protocol's times are signed.
pub(super) const NEVER_NS: u64 = i64::MAX as u64;
/// What the time of day is when the lab's clock starts, with drives that are new: 2023-11-14T22:13:20Z. Any moment would
/// do; this one is after the birth of all tools and before the end of all certificates.
pub(super) const TIME_OF_DAY_NS: u64 = 1_700_000_000_000_000_000;
/// Bytes of a message: operation, sequence number (`u32` each), time (`u64`).
const MESSAGE_BYTES: usize = 16;

/// Operations of the protocol.
pub(super) mod op {
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
}

/// A queue of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Which {
    pub drive: usize,
    pub queue: usize,
}

impl Which {
    fn of(number: u32) -> Self {
        Self { drive: (number >> 8) as usize, queue: (number & 0xff) as usize }
    }

    fn number(self) -> u32 {
        (self.drive << 8 | self.queue) as u32
    }
}

/// One message, in either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub op: u32,
    pub seq: u32,
    pub time_ns: u64,
}

impl Message {
    pub fn to_bytes(self) -> [u8; MESSAGE_BYTES] {
        let mut bytes = [0; MESSAGE_BYTES];
        bytes[..4].copy_from_slice(&self.op.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.seq.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.time_ns.to_ne_bytes());
        bytes
    }

    pub fn from_bytes(bytes: &[u8; MESSAGE_BYTES]) -> Self {
        let (words, time) = bytes.split_at(8);
        let word = |at: usize| u32::from_ne_bytes([words[at], words[at + 1], words[at + 2], words[at + 3]]);
        let time_ns = u64::from_ne_bytes(time.try_into().expect("the other half"));
        Self { op: word(0), seq: word(4), time_ns }
    }
}

/// The clock of one boot.
pub(super) struct Clock {
    link: Link,
    /// The lab's time when the guest booted.
    boot_ns: u64,
    now_ns: u64,
    /// The guest waits; it runs again when it is told so.
    waiting: bool,
    /// When the guest wants to run next.
    wanted_ns: u64,
    /// What the guest has put something into since it ran.
    kicks: Vec<Which>,
    /// What it is told as soon as it runs.
    outbox: Vec<u8>,
    /// Messages of the guest so far.
    pub messages: u64,
}

impl Clock {
    pub fn new(link: Link, boot_ns: u64) -> Self {
        Self {
            link,
            boot_ns,
            now_ns: boot_ns,
            waiting: false,
            wanted_ns: NEVER_NS,
            kicks: Vec::new(),
            outbox: Vec::new(),
            messages: 0,
        }
    }

    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    pub fn wanted_ns(&self) -> u64 {
        self.wanted_ns
    }

    pub fn is_waiting(&self) -> bool {
        self.waiting
    }

    /// The queues into which the guest has put something, in its order.
    pub fn kicks(&mut self) -> std::vec::Drain<'_, Which> {
        self.kicks.drain(..)
    }

    /// Takes in what the guest has said; `false` if it is gone.
    pub fn listen(&mut self) -> Result<bool, LabError> {
        if !self.link.receive()? {
            return Ok(false);
        }
        while let Some(bytes) = self.link.arrived().first_chunk() {
            let message = Message::from_bytes(bytes);
            self.link.consume(MESSAGE_BYTES);
            self.hear(message)?;
        }
        Ok(true)
    }

    fn hear(&mut self, message: Message) -> Result<(), LabError> {
        self.messages += 1;
        let mut answer_ns = 0;
        match message.op {
            op::START => return self.welcome(message.seq),
            op::KICK => {
                self.kicks.push(Which::of(message.seq));
                return self.update(self.lab_ns(message.time_ns));
            }
            op::REQUEST => {
                self.wanted_ns = self.lab_ns(message.time_ns);
                return Ok(());
            }
            op::WAIT => {
                self.waiting = true;
                return Ok(());
            }
            op::GET => answer_ns = self.now_ns - self.boot_ns,
            op::UPDATE => self.update(self.lab_ns(message.time_ns))?,
            op::GET_TOD => answer_ns = TIME_OF_DAY_NS + self.now_ns,
            other => return Err(LabError::protocol(format!("the clock does not know operation {other}"))),
        }
        self.link.send(&Message { op: op::ACK, seq: message.seq, time_ns: answer_ns }.to_bytes())
    }

    /// Kernels from 6.12 on expect two descriptors with the answer, for memory that they would share with the clock and
    /// for a log. What cannot be mapped is declined politely; older kernels do not look.
    fn welcome(&self, seq: u32) -> Result<(), LabError> {
        let nothing = File::open("/dev/null").map_err(|source| LabError::System { what: "open /dev/null", source })?;
        let answer = Message { op: op::ACK, seq, time_ns: 0 };
        self.link.send_with(&answer.to_bytes(), &[nothing.as_fd(), nothing.as_fd()])
    }

    /// The running guest says what time it is.
    fn update(&mut self, now_ns: u64) -> Result<(), LabError> {
        if now_ns < self.now_ns {
            return Err(LabError::protocol(format!("its time runs backwards, from {} to {now_ns} ns", self.now_ns)));
        }
        self.now_ns = now_ns;
        Ok(())
    }

    /// While the guest waits it becomes `now_ns`.
    pub fn advance(&mut self, now_ns: u64) {
        debug_assert!(self.waiting && now_ns >= self.now_ns, "{now_ns} after {}", self.now_ns);
        self.now_ns = now_ns;
    }

    /// The guest is to look at a queue now: that is when it wants to run.
    pub fn call(&mut self, which: Which) {
        debug_assert!(self.waiting);
        self.wanted_ns = self.now_ns;
        self.say(op::CALL, which.number(), self.now_ns);
    }

    /// Lets the guest run at the time that it wants; nothing else happens before `free_until_ns`.
    pub fn run(&mut self, free_until_ns: u64) -> Result<(), LabError> {
        self.advance(self.wanted_ns);
        self.waiting = false;
        self.wanted_ns = NEVER_NS;
        self.say(op::FREE_UNTIL, 0, free_until_ns);
        self.say(op::RUN, 0, self.now_ns);
        self.link.send(&self.outbox)?;
        self.outbox.clear();
        Ok(())
    }

    fn say(&mut self, op: u32, seq: u32, lab_ns: u64) {
        let time_ns = if lab_ns >= NEVER_NS { NEVER_NS } else { lab_ns - self.boot_ns };
        self.outbox.extend(Message { op, seq, time_ns }.to_bytes());
    }

    fn lab_ns(&self, guest_ns: u64) -> u64 {
        if guest_ns >= NEVER_NS {
            NEVER_NS
        } else {
            (self.boot_ns + guest_ns).min(NEVER_NS)
        }
    }
}

impl AsFd for Clock {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.link.as_fd()
    }
}
