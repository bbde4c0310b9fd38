//! All copies of all jobs, or a trace, on one device, in virtual time.

use std::collections::VecDeque;

use drive::{BlockDevice, Completion, Forwarded, Given, Reads, Request, Status, Writes};

use super::block_layer::{BlockLayer, LOOK_NS};
use super::log::{RequestColumns, RequestLog};
use super::replayer::{self, Replayer};
use super::stages::Stages;
use super::submitter::Submitter;
use super::tally::{Row, Tally};
use super::worker::Wish;
use crate::job::{Direction, JobFile};
use crate::trace::{Replay, Trace};

/// Time without end.
const NEVER: u64 = u64::MAX;

/// fio looks at the clock four times before a request goes out, and Linux once as it makes a command of it: so long after the
/// end of one comes the next, and so far apart are those that go out together. What rides in another's command needs none of
/// its own, and goes out in less.
const FIO_LOOKS: u64 = 4;
const LINUX_LOOKS: u64 = 1;

/// Fewer reads of a stream are asked for one by one.
const LEAST_FORWARDED: u64 = 64;

/// A request that the device could not carry out: its job ended there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The job's name.
    pub job: String,
    /// When it failed, in nanoseconds.
    pub at_ns: u64,
    /// How.
    pub status: Status,
}

/// What is known of a request in flight; its place is its tag.
#[derive(Clone, Copy, Debug)]
struct Slot {
    worker: u32,
    direction: Option<Direction>,
    submitted_ns: u64,
    bytes: u64,
}

const EMPTY: Slot = Slot { worker: 0, direction: None, submitted_ns: 0, bytes: 0 };

/// A running job file or trace. It owns all state of the host and borrows the device on each call, so that the same device can
/// be left alone, looked at, or given another job in between.
#[derive(Debug)]
pub struct Run {
    stages: Stages,
    workers: Vec<Submitter>,
    wake_ns: Vec<u64>,
    next_wake_ns: u64,
    /// Before that a worker is busy with its last request, or the end of one.
    busy_until_ns: Vec<u64>,
    ready: Vec<u32>,
    slots: Vec<Slot>,
    /// Requests that wait in the host because the device's queue is full.
    backlog: VecDeque<Request>,
    /// What the requests go through instead, if the host is like Linux.
    block_layer: Option<BlockLayer>,
    given: Given,
    completions: Vec<Completion>,
    /// What has completed for workers that wait for all of theirs and have not looked yet.
    unseen: Vec<Completion>,
    tallies: Vec<Tally>,
    log: Option<RequestLog>,
    now_ns: u64,
    interval_ns: u64,
    interval_start_ns: u64,
    over: bool,
    failure: Option<Failure>,
}

impl Run {
    /// Begins a job file at `now_ns`, with rows every `interval_ns` (at least 1). The same seed gives the same requests.
    pub fn start(file: JobFile, now_ns: u64, interval_ns: u64, seed: u64) -> Self {
        let tallies = Direction::ALL.into_iter().filter(|direction| file.issues(*direction)).map(Tally::new).collect();
        let stages = Stages::of(file, seed, now_ns);
        let idle = Self::idle(now_ns, interval_ns, stages.tags(), tallies);
        let mut run = Self { stages, ..idle };
        run.open_stage();
        // While every copy ramps up nothing is measured, and there are no rows.
        if run.workers.iter().all(Submitter::ramps) {
            run.interval_start_ns = run.workers.iter().map(Submitter::measured_from_ns).min().unwrap_or(now_ns);
        }
        run
    }

    /// Begins to make the requests of a trace again at `now_ns`, with rows every `interval_ns` (at least 1).
    pub fn replay(trace: Trace, replay: Replay, now_ns: u64, interval_ns: u64) -> Self {
        let holds = |direction| trace.requests().iter().any(|one| replayer::direction(one.verb) == Some(direction));
        let tallies = Direction::ALL.into_iter().filter(|direction| holds(*direction)).map(Tally::new).collect();
        let mut run = Self::idle(now_ns, interval_ns, 0, tallies);
        run.begin(vec![Submitter::Trace(Replayer::new(trace, replay, now_ns))]);
        run
    }

    /// Nobody submits anything yet.
    fn idle(now_ns: u64, interval_ns: u64, slots: usize, tallies: Vec<Tally>) -> Self {
        Self {
            stages: Stages::none(now_ns),
            workers: Vec::new(),
            wake_ns: Vec::new(),
            next_wake_ns: NEVER,
            busy_until_ns: Vec::new(),
            ready: Vec::new(),
            slots: vec![EMPTY; slots],
            backlog: VecDeque::with_capacity(slots),
            block_layer: None,
            given: Given::default(),
            completions: Vec::with_capacity(slots),
            unseen: Vec::new(),
            tallies,
            log: None,
            now_ns,
            interval_ns: interval_ns.max(1),
            interval_start_ns: now_ns,
            over: false,
            failure: None,
        }
    }

    /// Keeps a row for each request that completes from now on and counts.
    pub fn log_requests(mut self) -> Self {
        self.log = Some(RequestLog::default());
        self
    }

    /// Makes the host like Linux: requests are split, merged and sorted as its block layer does it with a rotating drive.
    pub fn through_linux(mut self) -> Self {
        self.block_layer = Some(BlockLayer::default());
        self
    }

    /// The requests that have completed since the last call, in chunks; `None` if none are kept. Those that completed
    /// while their job ramped up do not count; failed ones and flushes, which have no row of their own, do.
    pub fn take_requests(&mut self) -> Option<Vec<RequestColumns>> {
        self.log.as_mut().map(RequestLog::take)
    }

    /// How many requests [`Run::take_requests`] would take.
    pub fn logged(&self) -> usize {
        self.log.as_ref().map_or(0, RequestLog::held)
    }

    /// The host's clock in nanoseconds of the device's time.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Have all jobs ended (and delivered their last rows)?
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// The first request that failed, if any did.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// Lets up to so many intervals pass. Returns a row for each of them and each direction that the job file can
    /// issue; the last interval ends with the job. Empty once the job has ended.
    ///
    /// `device` must be the same on every call, and its time must not have passed the run's.
    pub fn advance(&mut self, device: &mut impl BlockDevice, intervals: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        self.advance_briefly(device, intervals, usize::MAX, &mut rows);
        rows
    }

    /// As [`Run::advance`], but after so many events it comes back in the midst of an interval, with which the next call goes
    /// on: what the device does is the same. Adds the rows, and returns how many intervals have passed.
    pub fn advance_briefly(
        &mut self,
        device: &mut impl BlockDevice,
        intervals: usize,
        mut events: usize,
        rows: &mut Vec<Row>,
    ) -> usize {
        let mut passed = 0;
        while passed < intervals && !self.over {
            if !self.run_until(device, self.interval_start_ns.saturating_add(self.interval_ns), &mut events) {
                break;
            }
            self.close_interval(rows);
            passed += 1;
        }
        passed
    }

    /// As [`Run::advance`] for one interval, which is cut off at what happens next when the device does not go on.
    pub fn advance_while<D: BlockDevice>(&mut self, device: &mut D, goes_on: impl Fn(&D) -> bool) -> Vec<Row> {
        let end_ns = self.interval_start_ns.saturating_add(self.interval_ns);
        while !self.over && goes_on(device) && !self.run_until(device, end_ns, &mut 1) {}
        let mut rows = Vec::new();
        self.close_interval(&mut rows);
        rows
    }

    /// Lets time pass until a worker can answer at or after `due_ns`: to the end of a request, with nobody having gone on
    /// yet. Returns a row for each direction; none of its requests is later than an interval, or there was no answer.
    /// Empty once the job has ended.
    pub fn advance_to_answer(&mut self, device: &mut impl BlockDevice, due_ns: u64) -> Vec<Row> {
        let mut rows = Vec::new();
        if !self.over {
            self.run_to_answer(device, due_ns);
            self.close_interval(&mut rows);
        }
        rows
    }

    /// Ends the jobs now, as the end of their runtime does: nothing more is asked for, and those that wait for their turn never
    /// begin. What is in flight counts when it completes: advance on until all is over.
    pub fn end(&mut self) {
        self.stages.clear();
        self.busy_until_ns.fill(0);
        self.workers.iter_mut().for_each(|worker| worker.end(self.now_ns));
        self.ready.clear();
        self.ready.extend(0..self.workers.len() as u32);
    }

    /// Leaves the job as it is. Nothing more is counted; what the device has in its queue it finishes, which takes its time.
    pub fn stop(&mut self, device: &mut impl BlockDevice) {
        self.over = true;
        self.backlog.clear();
        if let Some(block_layer) = &mut self.block_layer {
            block_layer.clear();
        }
        while self.given.commands() > 0 {
            let Some(next_ns) = device.next_event_ns() else {
                break;
            };
            self.pass_time(device, next_ns.max(self.now_ns));
            self.given.answered(self.completions.len() as u32);
        }
    }

    fn close_interval(&mut self, rows: &mut Vec<Row>) {
        let duration_ns = self.now_ns.saturating_sub(self.interval_start_ns);
        if duration_ns > 0 || self.tallies.iter().any(|tally| !tally.is_empty()) {
            let start_ns = self.interval_start_ns;
            rows.extend(self.tallies.iter_mut().map(|tally| tally.close(start_ns, duration_ns)));
        }
        self.interval_start_ns = self.now_ns.max(self.interval_start_ns);
    }

    /// Returns whether it came to the end before the events were used up.
    fn run_until(&mut self, device: &mut impl BlockDevice, end_ns: u64, events: &mut usize) -> bool {
        while *events > 0 {
            self.forward(device, end_ns);
            self.let_workers_go_on(device);
            if self.over || self.now_ns >= end_ns {
                return true;
            }
            self.await_event(device, end_ns);
            *events -= 1;
        }
        false
    }

    fn run_to_answer(&mut self, device: &mut impl BlockDevice, due_ns: u64) {
        let end_ns = due_ns.max(self.now_ns).saturating_add(self.interval_ns);
        loop {
            self.let_workers_go_on(device);
            if self.over || self.now_ns >= end_ns {
                return;
            }
            self.await_event(device, end_ns);
            // A row that nothing happened in would be none.
            if self.now_ns >= due_ns.max(self.interval_start_ns + 1) && !self.completions.is_empty() {
                return;
            }
        }
    }

    /// Lets time pass to what happens next, at most to `end_ns`, and tells who waits for it.
    fn await_event(&mut self, device: &mut impl BlockDevice, end_ns: u64) {
        let looks_ns = self.block_layer.as_mut().map_or(NEVER, BlockLayer::looks_ns);
        let limit_ns = self.next_wake_ns.min(looks_ns).min(end_ns).max(self.now_ns);
        self.completions.clear();
        self.now_ns = device.advance_to_completion(limit_ns, &mut self.completions).max(self.now_ns);
        self.given.answered(self.completions.len() as u32);
        if let Some(block_layer) = &mut self.block_layer {
            block_layer.complete(&mut self.completions);
            if looks_ns <= self.now_ns {
                block_layer.look(self.now_ns, &mut self.completions);
            }
        }
        if self.stages.are_like_fio() {
            self.keep_from_who_waits_for_all();
        }
        self.retire(device);
        self.wake_sleepers();
        self.feed(device);
    }

    /// Lets a stream of reads pass at once, if the only worker is at one, the device knows how, and nobody wants to know of
    /// each. Everything is then as if they had been asked for one by one.
    fn forward(&mut self, device: &mut impl BlockDevice, end_ns: u64) {
        if self.log.is_some() || self.block_layer.is_some() {
            return;
        }
        let ([Submitter::Job(worker)], [0]) = (self.workers.as_mut_slice(), self.ready.as_slice()) else {
            return;
        };
        let Some((next, most)) = worker.reads(self.now_ns) else {
            return self.forward_writes(device, end_ns);
        };
        let Some(tally) = self.tallies.iter_mut().find(|tally| tally.direction() == Direction::Read) else {
            return;
        };
        let limit_ns = end_ns.min(worker.end_ns()).min(self.next_wake_ns);
        let least = tally.until_many().max(LEAST_FORWARDED);
        let reads = Reads { offset_bytes: next.offset_bytes, bytes: next.bytes, most, limit_ns, least };
        let Forwarded { count, now_ns } = device.forward_reads(self.now_ns, &reads, tally.many());
        if count > 0 {
            tally.add_many(count * next.bytes);
            worker.forwarded(Direction::Read, count, count, next.bytes);
            self.now_ns = now_ns;
        }
    }

    /// The same of writes, where nobody of those in flight waits for room in the device.
    fn forward_writes(&mut self, device: &mut impl BlockDevice, end_ns: u64) {
        let [Submitter::Job(worker)] = self.workers.as_mut_slice() else {
            return;
        };
        let Some((next, most, fua)) = worker.writes_on(self.now_ns).filter(|_| !self.stages.are_like_fio()) else {
            return;
        };
        let Some(tally) = self.tallies.iter_mut().find(|tally| tally.direction() == Direction::Write) else {
            return;
        };
        if !self.backlog.is_empty() || worker.free_tags().len() as u32 + self.given.commands() > device.queue_depth() {
            return;
        }
        let limit_ns = end_ns.min(worker.end_ns()).min(self.next_wake_ns);
        let writes = Writes { offset_bytes: next.offset_bytes, bytes: next.bytes, fua, most, limit_ns };
        // Each is asked for when the one that had its tag has completed.
        for tag in worker.free_tags().iter() {
            self.slots[*tag as usize].submitted_ns = self.now_ns;
        }
        self.completions.clear();
        let free = worker.free_tags().len() as u64;
        self.now_ns = device.forward_writes(self.now_ns, &writes, worker.free_tags(), &mut self.completions);
        for Completion { tag, completed_ns, .. } in &self.completions {
            let submitted_ns = std::mem::replace(&mut self.slots[*tag as usize].submitted_ns, *completed_ns);
            tally.record(next.bytes, completed_ns - submitted_ns);
        }
        let completed = self.completions.len() as u64;
        let asked = completed + free - worker.free_tags().len() as u64;
        worker.forwarded(Direction::Write, asked, completed, next.bytes);
        self.given.give_many(asked as u32);
        self.given.answered(completed as u32);
    }

    fn pass_time(&mut self, device: &mut impl BlockDevice, to_ns: u64) {
        self.now_ns = to_ns;
        self.completions.clear();
        device.advance(to_ns, &mut self.completions);
    }

    /// A worker that waits for all of its requests at once sees none of them before the last has completed.
    fn keep_from_who_waits_for_all(&mut self) {
        if self.workers.iter().all(|worker| worker.sees_after().is_none()) {
            return;
        }
        for completion in std::mem::take(&mut self.completions) {
            let of = self.slots[completion.tag as usize].worker;
            let Some(count) = self.workers[of as usize].sees_after() else {
                self.completions.push(completion);
                continue;
            };
            self.unseen.push(completion);
            let is_his = |one: &Completion| self.slots[one.tag as usize].worker == of;
            if self.unseen.iter().filter(|one| is_his(one)).count() == count as usize {
                let (his, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.unseen).into_iter().partition(is_his);
                self.unseen = others;
                let seen_ns = completion.completed_ns;
                self.completions.extend(his.into_iter().map(|one| Completion { completed_ns: seen_ns, ..one }));
            }
        }
    }

    /// Counts what has completed and makes its workers ready.
    fn retire(&mut self, device: &mut impl BlockDevice) {
        for completion in &self.completions {
            let slot = self.slots[completion.tag as usize];
            let submitted_ns = device.asked_ns(completion.tag).unwrap_or(slot.submitted_ns);
            let worker = &mut self.workers[slot.worker as usize];
            let good = completion.status == Status::Good;
            worker.completed(completion.tag, slot.direction, slot.bytes, good);
            if let Some(log) = self.log.as_mut().filter(|_| completion.completed_ns >= worker.measured_from_ns()) {
                log.completed(completion, submitted_ns, worker.number());
            }
            if self.stages.are_like_fio() {
                let busy_until_ns = &mut self.busy_until_ns[slot.worker as usize];
                *busy_until_ns = (*busy_until_ns).max(self.now_ns + (FIO_LOOKS + LINUX_LOOKS) * LOOK_NS);
            }
            if self.ready.last() != Some(&slot.worker) {
                self.ready.push(slot.worker);
            }
            if !good {
                if let Some(job) = worker.ended_by_failure() {
                    self.failure.get_or_insert_with(|| Failure {
                        job: job.to_owned(),
                        at_ns: completion.completed_ns,
                        status: completion.status,
                    });
                }
            } else if let Some(direction) =
                slot.direction.filter(|_| completion.completed_ns >= worker.measured_from_ns())
            {
                let latency_ns = completion.completed_ns - submitted_ns;
                let tally = self.tallies.iter_mut().find(|tally| tally.direction() == direction);
                tally.expect("a direction that is issued is tallied").record(slot.bytes, latency_ns);
            }
        }
    }

    fn wake_sleepers(&mut self) {
        if self.next_wake_ns > self.now_ns {
            return;
        }
        for (at, wake_ns) in self.wake_ns.iter().enumerate() {
            if *wake_ns <= self.now_ns {
                self.ready.push(at as u32);
            }
        }
    }

    fn let_workers_go_on(&mut self, device: &mut impl BlockDevice) {
        while !self.ready.is_empty() {
            let mut timers_changed = false;
            for at in 0..self.ready.len() {
                timers_changed |= self.let_worker_go_on(device, self.ready[at]);
            }
            self.ready.clear();
            if timers_changed {
                self.next_wake_ns = self.wake_ns.iter().copied().min().unwrap_or(NEVER);
            }
            if self.workers.iter().all(Submitter::is_over) {
                self.open_stage();
            }
        }
    }

    /// Submits what a worker wants to; returns whether its alarm clock has changed.
    fn let_worker_go_on(&mut self, device: &mut impl BlockDevice, at: u32) -> bool {
        let wake_ns = loop {
            if self.now_ns < self.busy_until_ns[at as usize] {
                break self.busy_until_ns[at as usize];
            }
            match self.workers[at as usize].step(self.now_ns) {
                Wish::Submit { request, direction } => {
                    if self.slots.len() <= request.tag as usize {
                        self.slots.resize(request.tag as usize + 1, EMPTY);
                    }
                    self.slots[request.tag as usize] =
                        Slot { worker: at, direction, submitted_ns: self.now_ns, bytes: request.bytes };
                    if let Some(log) = &mut self.log {
                        log.submitted(request);
                    }
                    let looks = FIO_LOOKS + self.submit(device, request);
                    if self.stages.are_like_fio() {
                        self.busy_until_ns[at as usize] = self.now_ns + looks * LOOK_NS;
                    }
                }
                Wish::Completion | Wish::Over => break NEVER,
                Wish::Wake(wake_ns) => break wake_ns,
            }
        };
        std::mem::replace(&mut self.wake_ns[at as usize], wake_ns) != wake_ns
    }

    /// Returns how often Linux looks at the clock for it.
    fn submit(&mut self, device: &mut impl BlockDevice, request: Request) -> u64 {
        let looks = match &mut self.block_layer {
            Some(block_layer) if request.fua && device.speaks_ata() => {
                block_layer.insert_before_flush(self.now_ns, request)
            }
            Some(block_layer) => block_layer.insert(self.now_ns, request),
            None => {
                self.backlog.push_back(request);
                LINUX_LOOKS
            }
        };
        self.feed(device);
        looks
    }

    /// Hands over what has waited for room in the device's queue.
    fn feed(&mut self, device: &mut impl BlockDevice) {
        loop {
            let may_go = |verb| self.given.leaves_room_for(verb, device);
            let next = match &mut self.block_layer {
                Some(block_layer) => block_layer.next(self.now_ns, may_go),
                None if self.backlog.front().is_some_and(|request| may_go(request.verb)) => self.backlog.pop_front(),
                None => None,
            };
            let Some(request) = next else {
                return;
            };
            self.given.give(request.verb, device);
            device.submit(self.now_ns, request);
        }
    }

    /// Starts the jobs behind the next stonewall; without one, all is over.
    fn open_stage(&mut self) {
        match self.stages.open(self.now_ns) {
            Some(workers) => self.begin(workers),
            None => self.over = true,
        }
    }

    fn begin(&mut self, workers: Vec<Submitter>) {
        self.workers = workers;
        self.wake_ns = vec![NEVER; self.workers.len()];
        self.next_wake_ns = NEVER;
        self.busy_until_ns = vec![0; self.workers.len()];
        self.ready.extend(0..self.workers.len() as u32);
    }
}
