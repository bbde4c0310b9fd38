//! The commands that a drive has, and what Linux does with those that it does not answer (`block/blk-timeout.c`,
//! `drivers/scsi/scsi_error.c`).
//!
//! Who has waited for 30 s is taken back: the drive goes on with it, but nobody listens any more. From then on nothing goes to
//! the drive before it has answered, or Linux has taken back, all else that it has; then those that were taken back go first.
//! Of those that were late together the last goes first: each is put at the head of a list (`blk_mq_add_to_requeue_list`),
//! which is worked off in one go (`block/blk-mq.c`).

use std::collections::VecDeque;

use drive::faults::{SD_FLUSH_TIMES, SD_MAX_RETRIES, SD_TIMEOUT_NS};
use drive::{Request, Verb};

/// A timer of Linux' that is set for many seconds goes off when jiffies, of 10 ms, are a multiple of 64; they count from five
/// minutes before the boot.
const TIMER_NS: u64 = 640_000_000;
const TIMER_FROM_NS: u64 = 480_000_000;
/// From there until commands go out again: they are aborted, and the disk is looked at three times before it is free.
const ABORT_NS: u64 = 60_000_000;

/// A command, and the program's requests that it carries out, in the order of their places.
#[derive(Clone, Debug)]
pub(super) struct Command {
    request: Request,
    riders: Vec<u32>,
    retries: u32,
}

impl Command {
    /// One that was never sent.
    pub fn new(request: Request, riders: Vec<u32>) -> Self {
        Self { request, riders, retries: 0 }
    }

    fn late_ns(&self, sent_ns: u64) -> u64 {
        let limit_ns = SD_TIMEOUT_NS * if self.request.verb == Verb::Flush { SD_FLUSH_TIMES } else { 1 };
        let rounds = sent_ns.saturating_add(limit_ns - TIMER_FROM_NS).div_ceil(TIMER_NS);
        rounds.saturating_mul(TIMER_NS).saturating_add(TIMER_FROM_NS)
    }
}

/// What the drive has.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {
    /// By tag: the command, and the number under which it was sent. None if nobody waits for its answer.
    commands: Vec<Option<(Command, u64)>>,
    free: Vec<u32>,
    /// When who is late, the soonest first: time, tag and number. Those that were answered since are among them.
    late: VecDeque<(u64, u32, u64)>,
    number: u64,
    waited_for: u32,
    taken_back: VecDeque<Command>,
    /// From when on those that were taken back may go again.
    again_ns: u64,
    holds_back: bool,
}

impl Sent {
    /// The command as the drive is to get it.
    pub fn send(&mut self, now_ns: u64, command: Command) -> Request {
        let tag = self.free.pop().unwrap_or_else(|| {
            self.commands.push(None);
            self.commands.len() as u32 - 1
        });
        let request = Request { tag, ..command.request };
        self.number += 1;
        self.waited_for += 1;
        self.late.push_back((command.late_ns(now_ns), tag, self.number));
        self.commands[tag as usize] = Some((command, self.number));
        request
    }

    /// The drive has answered: the requests that this ends.
    pub fn answered(&mut self, tag: u32) -> Vec<u32> {
        self.free.push(tag);
        self.stop_waiting(tag).map_or_else(Vec::new, |command| command.riders)
    }

    fn stop_waiting(&mut self, tag: u32) -> Option<Command> {
        let (command, _) = self.commands[tag as usize].take()?;
        self.waited_for -= 1;
        Some(command)
    }

    /// Does nothing go to the drive at this moment?
    pub fn holds_back(&mut self, now_ns: u64) -> bool {
        self.holds_back &= self.waited_for > 0 || now_ns < self.again_ns;
        self.holds_back
    }

    /// What the next of those is that were taken back.
    pub fn verb_of_next_again(&self) -> Option<Verb> {
        self.taken_back.front().map(|command| command.request.verb)
    }

    /// The next of those that were taken back.
    pub fn again(&mut self, now_ns: u64) -> Option<Request> {
        let command = self.taken_back.pop_front()?;
        Some(self.send(now_ns, command))
    }

    /// When there is something to do if the drive does not answer.
    pub fn looks_ns(&mut self) -> u64 {
        let late_ns = self.soonest_late().map_or(u64::MAX, |(late_ns, _)| late_ns);
        let again_ns = if self.holds_back && self.waited_for == 0 { self.again_ns } else { u64::MAX };
        late_ns.min(again_ns)
    }

    /// When who is late, of those that are still waited for.
    fn soonest_late(&mut self) -> Option<(u64, u32)> {
        while let Some(&(late_ns, tag, number)) = self.late.front() {
            if matches!(&self.commands[tag as usize], Some((_, sent)) if *sent == number) {
                return Some((late_ns, tag));
            }
            self.late.pop_front();
        }
        None
    }

    /// Takes back who is late; returns the requests of those for which it was once too often.
    pub fn take_back(&mut self, now_ns: u64) -> Vec<Vec<u32>> {
        let mut failed = Vec::new();
        let before = self.taken_back.len();
        while let Some((_, tag)) = self.soonest_late().filter(|(late_ns, _)| *late_ns <= now_ns) {
            let command = self.stop_waiting(tag).expect("who is late is waited for");
            (self.holds_back, self.again_ns) = (true, now_ns + ABORT_NS);
            match command.retries {
                SD_MAX_RETRIES => failed.push(command.riders),
                retries => self.taken_back.push_back(Command { retries: retries + 1, ..command }),
            }
        }
        self.taken_back.make_contiguous()[before..].reverse();
        self.holds_back(now_ns);
        failed
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, Sent, ABORT_NS, SD_MAX_RETRIES, SD_TIMEOUT_NS, TIMER_NS};
    use drive::{Request, Verb};

    fn command(tag: u32) -> Command {
        let request = Request { tag, verb: Verb::Write, fua: false, offset_bytes: u64::from(tag) << 20, bytes: 4096 };
        Command::new(request, vec![tag])
    }

    #[test]
    fn who_was_taken_back_goes_again_once_the_drive_has_nothing_that_is_waited_for() {
        let mut sent = Sent::default();
        let (first, second) = (sent.send(0, command(7)), sent.send(5 * TIMER_NS, command(8)));
        let late_ns = sent.looks_ns();
        assert!((SD_TIMEOUT_NS..SD_TIMEOUT_NS + TIMER_NS).contains(&late_ns));
        assert!(sent.take_back(late_ns).is_empty());
        assert!(sent.holds_back(late_ns + ABORT_NS), "the other is still waited for");
        assert_eq!(sent.answered(second.tag), [8]);
        assert!(sent.holds_back(late_ns));
        assert_eq!(sent.looks_ns(), late_ns + ABORT_NS);
        assert!(!sent.holds_back(late_ns + ABORT_NS));
        let again = sent.again(late_ns + ABORT_NS).unwrap();
        assert_eq!(again.offset_bytes, first.offset_bytes);
        assert_ne!(again.tag, first.tag, "the drive has the first one still");
        assert!(sent.answered(first.tag).is_empty(), "nobody listens any more");
        assert_eq!(sent.answered(again.tag), [7]);
        assert_eq!(sent.looks_ns(), u64::MAX);
    }

    #[test]
    fn of_those_that_were_late_together_the_last_goes_first() {
        let mut sent = Sent::default();
        for tag in 1..=3 {
            sent.send(u64::from(tag), command(tag));
        }
        sent.send(5 * TIMER_NS, command(4));
        let mut now_ns = 0;
        for _ in 0..2 {
            now_ns = sent.looks_ns();
            assert!(sent.take_back(now_ns).is_empty());
        }
        let again: Vec<u64> =
            std::iter::from_fn(|| sent.again(now_ns + ABORT_NS)).map(|request| request.offset_bytes >> 20).collect();
        assert_eq!(again, [3, 2, 1, 4]);
    }

    #[test]
    fn late_is_when_a_timer_goes_off() {
        // In the lab, of commands that were sent at 397.192 and 427.420 s: some went again at 427.420 and 457.480 s.
        for (sent_ms, late_ms) in [(397_192, 427_360), (427_420, 457_440)] {
            assert_eq!(command(1).late_ns(sent_ms * 1_000_000), late_ms * 1_000_000);
        }
    }

    #[test]
    fn a_command_fails_that_is_late_once_too_often() {
        let mut sent = Sent::default();
        let mut now_ns = 0;
        sent.send(now_ns, command(7));
        for _ in 0..SD_MAX_RETRIES {
            now_ns = sent.looks_ns();
            assert!(sent.take_back(now_ns).is_empty());
            now_ns = sent.looks_ns();
            assert!(!sent.holds_back(now_ns));
            sent.again(now_ns).unwrap();
        }
        now_ns = sent.looks_ns();
        assert_eq!(sent.take_back(now_ns), [[7]]);
        assert!(sent.again(now_ns + ABORT_NS).is_none());
    }
}
