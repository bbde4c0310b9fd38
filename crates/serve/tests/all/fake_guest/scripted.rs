//! A device whose times are known: each request takes as long as its offset says, all of them side by side, so that answers
//! come in another order than requests.

use std::sync::{Arc, Mutex};

use drive::{BlockDevice, Completion, Request, Status, Verb};

/// What the device was asked, and when.
pub type Log = Arc<Mutex<Vec<(u64, Request)>>>;

pub struct Scripted {
    pub queue_depth: u32,
    /// Requests from here on hang for a thousand seconds.
    pub hangs_from_bytes: u64,
    /// Requests from here on (but before those that hang) end with a medium error.
    pub bad_from_bytes: u64,
    pub speaks_ata: bool,
    pub flush_ns: u64,
    pub log: Log,
    pub capacity_bytes: u64,
    pub outstanding: Vec<Completion>,
    pub now_ns: u64,
}

pub const CAPACITY_BYTES: u64 = 1 << 30;

impl Scripted {
    pub fn new() -> Self {
        Self {
            queue_depth: 32,
            hangs_from_bytes: u64::MAX,
            bad_from_bytes: u64::MAX,
            speaks_ata: false,
            flush_ns: 1_000,
            log: Log::default(),
            capacity_bytes: CAPACITY_BYTES,
            outstanding: Vec::new(),
            now_ns: 0,
        }
    }

    /// How long a request takes: up to a millisecond, by its place alone.
    pub fn takes_ns(offset_bytes: u64) -> u64 {
        (offset_bytes / 512).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44
    }
}

impl BlockDevice for Scripted {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn queue_depth(&self) -> u32 {
        self.queue_depth
    }

    fn speaks_ata(&self) -> bool {
        self.speaks_ata
    }

    fn submit(&mut self, now_ns: u64, request: Request) {
        assert!(now_ns >= self.now_ns, "time runs backwards");
        assert!(self.outstanding.len() < self.queue_depth as usize, "the host overfilled the queue");
        assert!(self.outstanding.iter().all(|other| other.tag != request.tag), "a tag twice");
        self.now_ns = now_ns;
        self.log.lock().unwrap().push((now_ns, request));
        let Request { tag, offset_bytes, bytes, verb, .. } = request;
        let (took_ns, status) = match verb {
            Verb::Flush => (self.flush_ns, Status::Good),
            _ if offset_bytes.checked_add(bytes).is_none_or(|end| end > self.capacity_bytes) => (0, Status::OutOfRange),
            _ if offset_bytes >= self.hangs_from_bytes => (1_000_000_000_000, Status::Good),
            _ if offset_bytes >= self.bad_from_bytes => {
                (Self::takes_ns(offset_bytes), Status::MediumError { offset_bytes })
            }
            _ => (Self::takes_ns(offset_bytes), Status::Good),
        };
        self.outstanding.push(Completion { tag, completed_ns: now_ns + took_ns, status });
        self.outstanding.sort_by_key(|completion| completion.completed_ns);
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.outstanding.first().map(|completion| completion.completed_ns)
    }

    fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        assert!(to_ns >= self.now_ns, "time runs backwards");
        self.now_ns = to_ns;
        let due = self.outstanding.partition_point(|completion| completion.completed_ns <= to_ns);
        completions.extend(self.outstanding.drain(..due));
    }
}
