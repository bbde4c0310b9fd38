//! A USB bridge, or any transport that passes the host's requests on as commands of bounded size, so many at a time.

use std::collections::VecDeque;

use crate::drive::Drive;
use crate::profile::BridgeProfile;
use crate::request::{BlockDevice, Completion, Request, Status};

/// A request of the host's on its way through.
#[derive(Clone, Copy, Debug)]
struct Passing {
    request: Request,
    /// Bytes of a command at most.
    step_bytes: u64,
    passed_bytes: u64,
    /// Nothing more is to be passed on.
    passed: bool,
    /// Commands passed on and not yet answered.
    under_way: usize,
    /// The first that was not good.
    status: Status,
}

#[derive(Clone, Debug)]
pub(crate) struct Bridge {
    max_transfer_bytes: u64,
    queue: usize,
    /// In the order of their arrival.
    passing: VecDeque<Passing>,
    /// The tag of each command and of the request that it belongs to.
    commands: Vec<(u32, u32)>,
    next_tag: u32,
    /// Answers of the drive; kept for its memory.
    answered: Vec<Completion>,
}

impl Bridge {
    pub fn new(profile: &BridgeProfile, depth: u32) -> Self {
        let queue = profile.bridge_queue as usize;
        Self {
            max_transfer_bytes: profile.max_transfer_bytes,
            queue,
            passing: VecDeque::with_capacity(depth as usize),
            commands: Vec::with_capacity(queue),
            next_tag: 0,
            answered: Vec::with_capacity(queue),
        }
    }

    pub fn submit(&mut self, drive: &mut Drive, now_ns: u64, request: Request) {
        // What the drive refuses is refused as a whole.
        let step_bytes = if drive.is_valid(&request) { self.max_transfer_bytes } else { u64::MAX };
        let (passed, status) = (false, Status::Good);
        self.passing.push_back(Passing { request, step_bytes, passed_bytes: 0, passed, under_way: 0, status });
        self.pass_on(drive, now_ns);
    }

    /// Every answer lets the next command pass at that very time.
    pub fn advance(&mut self, drive: &mut Drive, to_ns: u64, completions: &mut Vec<Completion>) {
        loop {
            let event_ns = drive.next_event_ns().map_or(to_ns, |event_ns| event_ns.min(to_ns));
            drive.collect_due(event_ns, &mut self.answered);
            for index in 0..self.answered.len() {
                completions.extend(self.take_back(self.answered[index]));
            }
            self.answered.clear();
            self.pass_on(drive, event_ns);
            if event_ns == to_ns {
                return;
            }
        }
    }

    pub fn forget(&mut self) {
        self.passing.clear();
        self.commands.clear();
    }

    /// The answer to a command; returns that to its request if it was the last.
    fn take_back(&mut self, answer: Completion) -> Option<Completion> {
        let command = self.commands.iter().position(|(tag, _)| *tag == answer.tag)?;
        let (_, tag) = self.commands.swap_remove(command);
        let index = self.passing.iter().position(|passing| passing.request.tag == tag)?;
        let passing = &mut self.passing[index];
        passing.under_way -= 1;
        if passing.status == Status::Good {
            passing.status = answer.status;
        }
        let done = passing.passed && passing.under_way == 0;
        let completion = Completion { tag, completed_ns: answer.completed_ns, status: passing.status };
        done.then(|| {
            self.passing.remove(index);
            completion
        })
    }

    fn pass_on(&mut self, drive: &mut Drive, now_ns: u64) {
        while self.commands.len() < self.queue {
            let Some(passing) = self.passing.iter_mut().find(|passing| !passing.passed) else {
                return;
            };
            let Request { tag, offset_bytes, bytes, .. } = passing.request;
            let step_bytes = passing.step_bytes.min(bytes - passing.passed_bytes);
            let offset_bytes = offset_bytes.saturating_add(passing.passed_bytes);
            let command = Request { tag: self.next_tag, offset_bytes, bytes: step_bytes, ..passing.request };
            passing.passed_bytes += step_bytes;
            passing.passed = passing.passed_bytes == bytes;
            passing.under_way += 1;
            self.commands.push((self.next_tag, tag));
            self.next_tag = self.next_tag.wrapping_add(1);
            drive.accept(now_ns, command);
        }
    }
}
