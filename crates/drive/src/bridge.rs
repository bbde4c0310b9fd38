//! A USB bridge, or any transport that passes the host's requests on as commands of bounded size, so many at a time.

use std::collections::VecDeque;

use crate::profile::BridgeProfile;
use crate::request::{Completion, Request, Status};

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
        }
    }

    /// Takes a request; what the drive does not take is passed on in one piece, for it to refuse.
    pub fn take(&mut self, request: Request, is_valid: bool) {
        let step_bytes = if is_valid { self.max_transfer_bytes } else { u64::MAX };
        let (passed, status) = (false, Status::Good);
        self.passing.push_back(Passing { request, step_bytes, passed_bytes: 0, passed, under_way: 0, status });
    }

    pub fn forget(&mut self) {
        self.passing.clear();
        self.commands.clear();
    }

    /// Of the answers to commands, which begin at `from`, makes those to the requests that they complete.
    pub fn take_back(&mut self, answers: &mut Vec<Completion>, from: usize) {
        let mut end = from;
        for index in from..answers.len() {
            if let Some(completion) = self.completes(answers[index]) {
                answers[end] = completion;
                end += 1;
            }
        }
        answers.truncate(end);
    }

    /// The answer to a request, if that to this command was its last.
    fn completes(&mut self, answer: Completion) -> Option<Completion> {
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

    /// The next command for the drive, if it may have one more.
    pub fn pass_on(&mut self) -> Option<Request> {
        if self.commands.len() == self.queue {
            return None;
        }
        let passing = self.passing.iter_mut().find(|passing| !passing.passed)?;
        let Request { tag, offset_bytes, bytes, .. } = passing.request;
        let step_bytes = passing.step_bytes.min(bytes - passing.passed_bytes);
        let offset_bytes = offset_bytes.saturating_add(passing.passed_bytes);
        let command = Request { tag: self.next_tag, offset_bytes, bytes: step_bytes, ..passing.request };
        passing.passed_bytes += step_bytes;
        passing.passed = passing.passed_bytes == bytes;
        passing.under_way += 1;
        self.commands.push((self.next_tag, tag));
        self.next_tag = self.next_tag.wrapping_add(1);
        Some(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Verb;

    fn commands(is_valid: bool) -> Vec<(u64, u64)> {
        let mut bridge = Bridge::new(&BridgeProfile { bridge_us: 0.0, max_transfer_bytes: 4096, bridge_queue: 8 }, 8);
        let (offset_bytes, bytes) = (20_480, 10_240);
        bridge.take(Request { tag: 7, verb: Verb::Write, fua: false, offset_bytes, bytes }, is_valid);
        std::iter::from_fn(|| bridge.pass_on()).map(|command| (command.offset_bytes, command.bytes)).collect()
    }

    #[test]
    fn a_request_is_passed_on_in_pieces_one_behind_the_other() {
        assert_eq!(commands(true), [(20_480, 4096), (24_576, 4096), (28_672, 2048)]);
        assert_eq!(commands(false), [(20_480, 10_240)], "what is to be refused in one");
    }

    /// Of three commands two fail, whichever comes back first.
    #[test]
    fn a_request_ends_as_the_first_of_its_commands_that_was_not_good() {
        let bad = |offset_bytes| Status::MediumError { offset_bytes };
        for (statuses, told) in [
            ([Status::Good, Status::Good, Status::Good], Status::Good),
            ([bad(0), Status::Good, Status::Good], bad(0)),
            ([Status::Good, bad(4096), bad(8192)], bad(4096)),
            ([bad(8192), bad(0), Status::Good], bad(8192)),
        ] {
            let mut bridge =
                Bridge::new(&BridgeProfile { bridge_us: 0.0, max_transfer_bytes: 4096, bridge_queue: 3 }, 8);
            bridge.take(Request { tag: 7, verb: Verb::Read, fua: false, offset_bytes: 0, bytes: 3 * 4096 }, true);
            let commands: Vec<_> = std::iter::from_fn(|| bridge.pass_on()).collect();
            assert_eq!(commands.len(), 3);
            let mut answers = Vec::new();
            for (at, status) in (1..).zip(statuses) {
                let from = answers.len();
                answers.push(Completion { tag: commands[at as usize - 1].tag, completed_ns: at, status });
                bridge.take_back(&mut answers, from);
            }
            assert_eq!(answers, [Completion { tag: 7, completed_ns: 3, status: told }]);
        }
    }
}
