//! Which copies of which jobs begin when: a job file is cut into stages at its stonewalls.

use std::collections::VecDeque;
use std::sync::Arc;

use super::submitter::Submitter;
use super::worker::Worker;
use crate::job::{Job, JobFile};
use crate::pattern::Source;

/// While jobs wait for their turn fio looks every 100 ms whether those before them are over, by a sleep that is 51 µs longer,
/// as Linux' timers have it. Its next job begins two looks after the one that found them over.
const FIO_LOOKS_EVERY_NS: u64 = 100_051_300;
const FIO_LOOKS_UNTIL_NEXT: u64 = 2;

/// A copy that has not been started: which job, which copy, which thread of fio's (from 1), which tags.
#[derive(Clone, Debug)]
struct Planned {
    job: Arc<Job>,
    number: u16,
    copy: usize,
    seed: u64,
    thread: u64,
    tags: std::ops::Range<u32>,
}

/// Those that have not begun.
#[derive(Debug)]
pub(super) struct Stages {
    waiting: VecDeque<Vec<Planned>>,
    /// Whether any job is done as fio does it.
    like_fio: bool,
    tags: usize,
    started_ns: u64,
    /// When the last of those that have begun did.
    opened_ns: u64,
}

impl Stages {
    /// Nothing begins.
    pub fn none(now_ns: u64) -> Self {
        Self { waiting: VecDeque::new(), like_fio: false, tags: 0, started_ns: now_ns, opened_ns: now_ns }
    }

    /// Cuts a job file at its stonewalls and deals out tags.
    pub fn of(file: JobFile, seed: u64, now_ns: u64) -> Self {
        let mut waiting: VecDeque<Vec<Planned>> = VecDeque::new();
        let (mut next_tag, mut most_tags, mut number) = (0, 0, 0_u64);
        for (at, job) in file.jobs.into_iter().map(Arc::new).enumerate() {
            if job.stonewall || waiting.is_empty() {
                waiting.push_back(Vec::new());
                next_tag = 0;
            }
            for copy in 0..job.regions.len() {
                let tags = next_tag..next_tag + job.depth;
                next_tag = tags.end;
                most_tags = most_tags.max(next_tag);
                let seed = job.seed.unwrap_or(seed).wrapping_add(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                number += 1;
                let stage = waiting.back_mut().expect("a stage was opened above");
                stage.push(Planned {
                    job: Arc::clone(&job),
                    number: at.min(usize::from(u16::MAX)) as u16,
                    copy,
                    seed,
                    thread: number,
                    tags,
                });
            }
        }
        let like_fio = waiting.iter().flatten().any(|planned| planned.job.like_fio);
        Self { waiting, like_fio, tags: most_tags as usize, ..Self::none(now_ns) }
    }

    pub fn are_like_fio(&self) -> bool {
        self.like_fio
    }

    /// How many tags are dealt out at most.
    pub fn tags(&self) -> usize {
        self.tags
    }

    /// Those that wait for their turn never begin.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    /// The jobs behind the next stonewall, which begin now that those before it are over.
    pub fn open(&mut self, now_ns: u64) -> Option<Vec<Submitter>> {
        let stage = self.waiting.pop_front()?;
        self.opened_ns = self.begins_ns(now_ns);
        let begun = |planned: Planned| {
            let Planned { job, number, copy, seed, thread, tags } = planned;
            let start_ns = self.opened_ns.max(self.started_ns.saturating_add(job.start_delay_ns));
            let source = Source::new(Arc::clone(&job), job.regions[copy], seed, thread);
            Submitter::Job(Worker::new(job, number, copy, source, start_ns, tags))
        };
        Some(stage.into_iter().map(begun).collect())
    }

    fn begins_ns(&self, now_ns: u64) -> u64 {
        let looks = (now_ns - self.opened_ns).div_ceil(FIO_LOOKS_EVERY_NS);
        if !self.like_fio || looks == 0 {
            return now_ns;
        }
        self.opened_ns + (looks + FIO_LOOKS_UNTIL_NEXT) * FIO_LOOKS_EVERY_NS
    }
}
