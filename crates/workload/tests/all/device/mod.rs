//! A device that takes a fixed time for each request, checks the host's manners, and writes down what it was asked.

use std::collections::VecDeque;

use drive::{BlockDevice, Completion, Request, Status, Verb};

/// Serves up to `queue_depth` requests side by side, each in `latency_ns`.
pub struct FixedLatency {
    pub capacity_bytes: u64,
    pub queue_depth: u32,
    pub latency_ns: u64,
    pub fails_at: Option<u64>,
    pub speaks_ata: bool,
    pub asked: Vec<(u64, Request)>,
    in_flight: VecDeque<(u64, Request)>,
    now_ns: u64,
}

impl FixedLatency {
    pub fn new(capacity_bytes: u64, queue_depth: u32, latency_ns: u64) -> Self {
        let (asked, in_flight) = (Vec::new(), VecDeque::new());
        Self { capacity_bytes, queue_depth, latency_ns, fails_at: None, speaks_ata: false, asked, in_flight, now_ns: 0 }
    }
}

impl BlockDevice for FixedLatency {
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
        assert!(now_ns >= self.now_ns, "time ran backwards");
        assert!(self.in_flight.len() < self.queue_depth as usize, "the queue is over full");
        assert!(self.in_flight.iter().all(|(_, other)| other.tag != request.tag), "tag {} twice", request.tag);
        assert!(self.in_flight.iter().all(|(due_ns, _)| *due_ns >= now_ns), "completions were left behind");
        let flushes = [request.verb].into_iter().chain(self.in_flight.iter().map(|(_, other)| other.verb));
        let beside = !self.in_flight.is_empty() && flushes.into_iter().any(|verb| verb == Verb::Flush);
        assert!(!(self.speaks_ata && beside), "a flush beside others");
        assert!(request.offset_bytes % 512 == 0 && request.bytes % 512 == 0, "{request:?}");
        assert!(request.offset_bytes + request.bytes <= self.capacity_bytes, "{request:?}");
        self.now_ns = now_ns;
        self.asked.push((now_ns, request));
        self.in_flight.push_back((now_ns + self.latency_ns, request));
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.in_flight.front().map(|(due_ns, _)| *due_ns)
    }

    fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        assert!(to_ns >= self.now_ns, "time ran backwards");
        self.now_ns = to_ns;
        while let Some(&(completed_ns, request)) = self.in_flight.front().filter(|(due_ns, _)| *due_ns <= to_ns) {
            self.in_flight.pop_front();
            let fails = self
                .fails_at
                .is_some_and(|at| (request.offset_bytes..request.offset_bytes + request.bytes).contains(&at));
            let status = if fails { Status::MediumError { offset_bytes: request.offset_bytes } } else { Status::Good };
            completions.push(Completion { tag: request.tag, completed_ns, status });
        }
    }
}
