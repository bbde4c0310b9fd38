//! One copy of a job: fio's main loop as a state machine. It says what to do next and never waits itself.

use std::sync::Arc;

use drive::{Request, Verb};

use super::pace::Pace;
use crate::job::{Access, Direction, Job};
use crate::pattern::{Extent, Source};

/// What a worker wants at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Submit this; `direction` is `None` for a flush.
    Submit { request: Request, direction: Option<Direction> },
    /// Ask again when one of its requests has completed.
    Completion,
    /// Ask again at this time.
    Wake(u64),
    /// Nothing any more.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Asleep {
        until_ns: u64,
    },
    Issuing,
    /// Waits for all requests in flight, then sleeps: so fio holds to a rate or a thinktime.
    Quiescing {
        until_ns: u64,
        pause_ns: u64,
    },
    /// Waits for all requests in flight, then flushes if asked to.
    Closing,
    Flushing,
    Over,
}

/// Bytes and requests so far.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    issued_bytes: [u64; 3],
    completed_bytes: u64,
    issued: u64,
    completed: u64,
    writes: u64,
    pass_bytes: u64,
    pass_completed: u64,
    pass_ended_early: bool,
}

/// One copy of a job.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    job: Arc<Job>,
    number: u16,
    copy: usize,
    source: Source,
    pace: Pace,
    phase: Phase,
    free_tags: Vec<u32>,
    in_flight: u32,
    /// A flush or a trim is waited for, as fio's engines do.
    blocked: bool,
    last_was_flush: bool,
    pause_unchecked: bool,
    paused_at: u64,
    progress: Progress,
    loops_left: u64,
    measured_from_ns: u64,
    warm: bool,
    end_ns: u64,
    failed: bool,
}

impl Worker {
    /// A copy of the job with this number whose requests go where `source` says, that starts at `start_ns` and owns the tags given.
    pub fn new(
        job: Arc<Job>,
        number: u16,
        copy: usize,
        source: Source,
        start_ns: u64,
        tags: std::ops::Range<u32>,
    ) -> Self {
        let measured_from_ns = start_ns.saturating_add(job.ramp_ns);
        Self {
            source,
            pace: Pace::new(job.rate_bytes, start_ns),
            phase: Phase::Asleep { until_ns: start_ns },
            free_tags: tags.rev().collect(),
            in_flight: 0,
            blocked: false,
            last_was_flush: false,
            pause_unchecked: false,
            paused_at: 0,
            progress: Progress::default(),
            loops_left: job.loops - 1,
            measured_from_ns,
            warm: job.ramp_ns == 0,
            end_ns: job.runtime_ns.map_or(u64::MAX, |runtime_ns| measured_from_ns.saturating_add(runtime_ns)),
            failed: false,
            number,
            copy,
            job,
        }
    }

    /// Has the copy ended?
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// The job's name.
    pub fn name(&self) -> &str {
        &self.job.name
    }

    /// The job's place in its file.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Does it have a ramp time?
    pub fn ramps(&self) -> bool {
        self.job.ramp_ns > 0
    }

    /// From when on completions count.
    pub fn measured_from_ns(&self) -> u64 {
        self.measured_from_ns
    }

    /// After how many completions it looks what has become of its requests, if not after each: fio waits for all that are
    /// left at once when it has asked for its last.
    pub fn sees_after(&self) -> Option<u32> {
        (self.job.like_fio && self.phase == Phase::Closing).then_some(self.in_flight)
    }

    /// Goes on as far as it can at `now_ns`.
    pub fn step(&mut self, now_ns: u64) -> Wish {
        loop {
            match self.phase {
                Phase::Over => return Wish::Over,
                Phase::Asleep { until_ns } if now_ns < until_ns => return Wish::Wake(until_ns),
                Phase::Asleep { .. } => self.phase = Phase::Issuing,
                Phase::Issuing if self.blocked || self.free_tags.is_empty() => return Wish::Completion,
                Phase::Issuing => {
                    if let Some(wish) = self.issue(now_ns) {
                        return wish;
                    }
                }
                _ if self.in_flight > 0 => return Wish::Completion,
                Phase::Quiescing { until_ns, pause_ns } => {
                    let until_ns = until_ns.max(now_ns.saturating_add(pause_ns)).min(self.end_ns.max(now_ns));
                    self.phase = Phase::Asleep { until_ns };
                }
                Phase::Closing if self.job.flush_at_end && self.writes() && !self.failed => {
                    self.phase = Phase::Flushing;
                    return self.flush();
                }
                Phase::Closing | Phase::Flushing => self.next_pass(now_ns),
            }
        }
    }

    /// Its runtime is over at `now_ns`, and so is a sleep.
    pub fn end(&mut self, now_ns: u64) {
        self.end_ns = self.end_ns.min(now_ns);
        if let Phase::Asleep { until_ns } = &mut self.phase {
            *until_ns = now_ns.min(*until_ns);
        }
    }

    /// One of its requests has completed.
    pub fn completed(&mut self, tag: u32, direction: Option<Direction>, bytes: u64, good: bool) {
        self.free_tags.push(tag);
        self.in_flight -= 1;
        if direction.is_none_or(|direction| direction == Direction::Trim) {
            self.blocked = false;
        }
        if direction.is_some() {
            self.progress.completed += 1;
            self.progress.completed_bytes += bytes;
            self.progress.pass_completed += bytes;
        }
        if !good {
            self.failed = true;
            if self.phase != Phase::Over {
                self.phase = Phase::Closing;
            }
        }
    }

    /// The reads that it will ask for, each in the moment in which the one before has completed, if that is all it does
    /// for a while: where, how long, and at most how many of them.
    pub fn reads(&self, now_ns: u64) -> Option<(Extent, u64)> {
        let alone = self.job.depth == 1 && self.in_flight == 0;
        self.stream(Direction::Read, now_ns).filter(|_| alone)
    }

    /// The same of writes, of which some are in flight, and whether these have to be durable.
    pub fn writes_on(&self, now_ns: u64) -> Option<(Extent, u64, bool)> {
        let plain = self.in_flight > 0 && self.job.flush_every.is_none();
        let (next, most) = self.stream(Direction::Write, now_ns).filter(|_| plain)?;
        Some((next, most, self.job.durable))
    }

    fn stream(&self, direction: Direction, now_ns: u64) -> Option<(Extent, u64)> {
        let plain = self.phase == Phase::Issuing && self.warm && !self.blocked;
        let free = self.job.pause.is_none() && self.job.rate_bytes == [None; 3] && now_ns < self.end_ns;
        if !plain || !free {
            return None;
        }
        let (next, left) = self.source.stream(direction)?;
        let of_pass = self.pass_left(direction, next.bytes);
        let most = [Some(left), of_pass, self.number_left()].into_iter().flatten().min()?;
        (most > 0).then_some((next, most))
    }

    /// Requests of this size until the pass is full, if that can be.
    fn pass_left(&self, direction: Direction, bytes: u64) -> Option<u64> {
        let limit_bytes = self.job.limit_bytes[self.copy].saturating_mul(self.job.loops);
        let of_all = limit_bytes.saturating_sub(self.progress.issued_bytes[direction as usize]);
        let of_pass = self.pass_bytes().saturating_sub(self.progress.pass_bytes);
        (!self.job.time_based).then(|| of_all.min(of_pass) / bytes)
    }

    fn number_left(&self) -> Option<u64> {
        let number = self.job.number_ios?.saturating_mul(self.job.loops);
        Some(number.saturating_sub(self.progress.issued))
    }

    /// When it asks for no more.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// The tags of requests that it could make now, the next last.
    pub fn free_tags(&mut self) -> &mut Vec<u32> {
        &mut self.free_tags
    }

    /// So many requests of a stream have been asked for, and so many have completed.
    pub fn forwarded(&mut self, direction: Direction, asked: u64, completed: u64, bytes: u64) {
        let progress = &mut self.progress;
        progress.issued += asked;
        progress.writes += if direction == Direction::Write { asked } else { 0 };
        progress.completed += completed;
        progress.issued_bytes[direction as usize] += asked * bytes;
        progress.completed_bytes += completed * bytes;
        progress.pass_bytes += asked * bytes;
        progress.pass_completed += completed * bytes;
        self.in_flight = (u64::from(self.in_flight) + asked - completed) as u32;
        if asked > 0 {
            self.last_was_flush = false;
            self.source.skip(direction, asked);
        }
    }

    /// One turn of fio's loop: `None` when the phase has changed instead.
    fn issue(&mut self, now_ns: u64) -> Option<Wish> {
        if !self.warm && now_ns >= self.measured_from_ns {
            self.warm = true;
            self.pace = Pace::new(self.job.rate_bytes, now_ns);
        }
        if let Some(pause_ns) = self.pause_due() {
            self.phase = Phase::Quiescing { until_ns: now_ns, pause_ns };
            return None;
        }
        if now_ns >= self.end_ns || self.pass_is_full() {
            self.phase = Phase::Closing;
            return None;
        }
        if self.flush_is_due() {
            return Some(self.flush());
        }
        let drawn = self.source.direction();
        let direction = match self.pace.choose(drawn, self.job.access, now_ns) {
            Ok(direction) => direction,
            Err(until_ns) => {
                self.phase = Phase::Quiescing { until_ns, pause_ns: 0 };
                return None;
            }
        };
        let wish = self.transfer(direction);
        if wish.is_none() {
            self.progress.pass_ended_early = true;
            self.phase = Phase::Closing;
        }
        wish
    }

    fn transfer(&mut self, direction: Direction) -> Option<Wish> {
        let extent = self.source.next(direction)?;
        let verb = match direction {
            Direction::Read => Verb::Read,
            Direction::Write => Verb::Write,
            Direction::Trim => Verb::Trim,
        };
        self.progress.issued += 1;
        self.progress.writes += u64::from(verb == Verb::Write);
        self.progress.issued_bytes[direction as usize] += extent.bytes;
        self.progress.pass_bytes += extent.bytes;
        self.pace.issued(direction, extent.bytes);
        self.last_was_flush = false;
        self.pause_unchecked = self.job.pause.is_some();
        self.blocked = verb == Verb::Trim;
        let request = Request {
            tag: self.take_tag(),
            verb,
            fua: self.job.durable && verb == Verb::Write,
            offset_bytes: extent.offset_bytes,
            bytes: extent.bytes,
        };
        Some(Wish::Submit { request, direction: Some(direction) })
    }

    fn flush(&mut self) -> Wish {
        self.last_was_flush = true;
        self.blocked = true;
        let request = Request { tag: self.take_tag(), verb: Verb::Flush, fua: false, offset_bytes: 0, bytes: 0 };
        Wish::Submit { request, direction: None }
    }

    fn take_tag(&mut self) -> u32 {
        self.in_flight += 1;
        self.free_tags.pop().expect("a request is only issued when a tag is free")
    }

    /// fio looks at its thinktime after each request, or when its queue is full after the next completion.
    fn pause_due(&mut self) -> Option<u64> {
        if !std::mem::take(&mut self.pause_unchecked) {
            return None;
        }
        let pause = self.job.pause?;
        let done = if pause.counts_issues { self.progress.issued } else { self.progress.completed };
        if done < self.paused_at + pause.requests {
            return None;
        }
        self.paused_at = done;
        Some(pause.pause_ns)
    }

    fn flush_is_due(&self) -> bool {
        let due = |every| self.progress.writes > 0 && self.progress.writes % every == 0;
        !self.last_was_flush && self.writes() && self.job.flush_every.is_some_and(due)
    }

    fn writes(&self) -> bool {
        self.job.access.issues(Direction::Write)
    }

    fn pass_is_full(&self) -> bool {
        if self.job.time_based {
            return false;
        }
        let pairs = self.job.access == Access::TrimThenWrite;
        let loops = self.job.loops;
        let issued = match self.job.access {
            Access::Only(direction) => self.progress.issued_bytes[direction as usize],
            Access::Mixed { .. } => self.progress.issued_bytes.iter().sum(),
            Access::TrimThenWrite => self.progress.issued_bytes[Direction::Write as usize],
        };
        let limit_bytes = self.job.limit_bytes[self.copy];
        let pass_bytes = self.pass_bytes().saturating_mul(1 + u64::from(pairs));
        issued >= limit_bytes.saturating_mul(loops)
            || self.progress.pass_bytes >= pass_bytes
            || self.number_is_reached()
    }

    /// Random writes without a map are not held to one region's worth of bytes a pass.
    fn pass_bytes(&self) -> u64 {
        let pass_bytes = self.job.pass_bytes[self.copy];
        if self.job.random && !self.job.covers && self.writes() {
            return pass_bytes.max(self.job.limit_bytes[self.copy]);
        }
        pass_bytes
    }

    fn number_is_reached(&self) -> bool {
        let pairs = 1 + u64::from(self.job.access == Access::TrimThenWrite);
        self.job
            .number_ios
            .is_some_and(|number| self.progress.issued >= number.saturating_mul(self.job.loops).saturating_mul(pairs))
    }

    fn next_pass(&mut self, now_ns: u64) {
        if !self.goes_on(now_ns) {
            self.phase = Phase::Over;
            return;
        }
        self.progress.pass_bytes = 0;
        self.progress.pass_completed = 0;
        self.progress.pass_ended_early = false;
        self.last_was_flush = false;
        self.source.rewind();
        self.phase = Phase::Issuing;
    }

    /// fio's question after each pass.
    fn goes_on(&mut self, now_ns: u64) -> bool {
        if self.failed || now_ns >= self.end_ns || self.progress.pass_completed == 0 {
            return false;
        }
        if self.job.time_based {
            return true;
        }
        if self.loops_left > 0 {
            self.loops_left -= 1;
            return true;
        }
        let limit_bytes = self.job.limit_bytes[self.copy];
        let left = limit_bytes.saturating_sub(self.progress.completed_bytes);
        let longest = self.job.sizes.iter().map(|sizes| sizes.max_bytes).max().unwrap_or(0);
        let repeats = self.job.repeats_to_limit || !self.progress.pass_ended_early;
        !self.number_is_reached() && left > 0 && left >= longest && repeats
    }
}
