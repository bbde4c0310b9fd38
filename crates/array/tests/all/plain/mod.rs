//! A device without physics, that remembers what it was asked.

use std::collections::VecDeque;
use std::ops::Range;

use array::md::Array;
use drive::{BlockDevice, Completion, Request, Status, Verb};

const LATENCY_NS: u64 = 100_000;
const NS_PER_KIB: u64 = 5_000;
const OVERTAKEN_NS: u64 = 100_000_000;

/// One request after the other: 0.1 ms and 5 us for each KiB.
#[derive(Clone, Debug)]
pub struct Plain {
    capacity_bytes: u64,
    free_ns: u64,
    due: VecDeque<Completion>,
    asked: Vec<(Verb, Range<u64>)>,
    forced: Vec<Range<u64>>,
    overtaken: Option<u64>,
    speaks_ata: bool,
}

impl Plain {
    pub fn new(capacity_bytes: u64) -> Self {
        Self {
            capacity_bytes,
            free_ns: 0,
            due: VecDeque::new(),
            asked: Vec::new(),
            forced: Vec::new(),
            overtaken: None,
            speaks_ata: false,
        }
    }

    /// Others overtake what begins at this offset: it takes 100 ms longer.
    pub fn overtaking(self, offset_bytes: u64) -> Self {
        Self { overtaken: Some(offset_bytes), ..self }
    }

    /// As SATA has it.
    pub fn speaking_ata(self) -> Self {
        Self { speaks_ata: true, ..self }
    }

    /// The ranges read, in the order asked for.
    pub fn reads(&self) -> Vec<Range<u64>> {
        self.ranges(Verb::Read)
    }

    /// The ranges written, in the order asked for.
    pub fn writes(&self) -> Vec<Range<u64>> {
        self.ranges(Verb::Write)
    }

    /// All that it was asked for, in order.
    pub fn asked(&self) -> &[(Verb, Range<u64>)] {
        &self.asked
    }

    /// The ranges whose writing was forced to the medium, in the order asked for.
    pub fn forced(&self) -> &[Range<u64>] {
        &self.forced
    }

    fn ranges(&self, verb: Verb) -> Vec<Range<u64>> {
        self.asked.iter().filter(|(asked, _)| *asked == verb).map(|(_, range)| range.clone()).collect()
    }
}

pub fn request(tag: u32, verb: Verb, offset_bytes: u64, bytes: u64) -> Request {
    Request { tag, verb, fua: false, offset_bytes, bytes }
}

/// One request alone until its answer.
pub fn ask<D: BlockDevice>(array: &mut Array<D>, verb: Verb, offset_bytes: u64, bytes: u64) -> Completion {
    let mut done = Vec::new();
    array.submit(array.now_ns(), request(0, verb, offset_bytes, bytes));
    array.advance_to_completion(u64::MAX, &mut done);
    assert_eq!(done.len(), 1, "it is answered");
    done[0]
}

/// Every byte of `whole` lies in exactly one range, and no other byte in any.
pub fn covered_once(ranges: &[Range<u64>], whole: Range<u64>) {
    let mut sorted = ranges.to_vec();
    sorted.sort_by_key(|range| range.start);
    let mut at = whole.start;
    for range in sorted {
        assert_eq!(range.start, at, "a gap or an overlap");
        at = range.end;
    }
    assert_eq!(at, whole.end);
}

impl BlockDevice for Plain {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn queue_depth(&self) -> u32 {
        32
    }

    fn speaks_ata(&self) -> bool {
        self.speaks_ata
    }

    fn submit(&mut self, now_ns: u64, request: Request) {
        let Request { tag, verb, fua, offset_bytes, bytes } = request;
        assert!(offset_bytes + bytes <= self.capacity_bytes, "{request:?}");
        assert!(self.due.len() < self.queue_depth() as usize, "the host has overfilled the queue");
        self.asked.push((verb, offset_bytes..offset_bytes + bytes));
        self.forced.extend(fua.then_some(offset_bytes..offset_bytes + bytes));
        self.free_ns = self.free_ns.max(now_ns) + LATENCY_NS + bytes / 1024 * NS_PER_KIB;
        let waits_ns = if self.overtaken == Some(offset_bytes) { OVERTAKEN_NS } else { 0 };
        let completed_ns = self.free_ns + waits_ns;
        let at = self.due.partition_point(|other| other.completed_ns <= completed_ns);
        self.due.insert(at, Completion { tag, completed_ns, status: Status::Good });
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.due.front().map(|completion| completion.completed_ns)
    }

    fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        while self.due.front().is_some_and(|completion| completion.completed_ns <= to_ns) {
            completions.extend(self.due.pop_front());
        }
    }
}
