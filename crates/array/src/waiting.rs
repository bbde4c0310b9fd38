//! Commands that wait for room in a drive, as Linux's block layer keeps them: what comes is merged with one that it goes on behind
//! (`blk_mq_sched_bio_merge`).

use std::collections::VecDeque;

use crate::command::{Command, Limits};

/// Those of one drive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    /// Flushes, what one follows behind, and what is asked again: they overtake all others.
    ahead: VecDeque<Command>,
    /// The others, the oldest first.
    queue: VecDeque<Command>,
}

impl Waiting {
    pub fn len(&self) -> usize {
        self.ahead.len() + self.queue.len()
    }

    /// What is asked again.
    pub fn again(&mut self, command: Command) {
        self.ahead.push_front(command);
    }

    /// All of them, which nobody waits for any more.
    pub fn drain(&mut self) -> impl Iterator<Item = Command> + '_ {
        self.ahead.drain(..).chain(self.queue.drain(..))
    }

    /// It is not merged with any.
    pub fn push(&mut self, command: Command) {
        self.queue.push_back(command);
    }

    /// It overtakes all others.
    pub fn push_ahead(&mut self, command: Command) {
        self.ahead.push_back(command);
    }

    /// The place of one that waits which another goes on behind and has room for it (`elv_merge`).
    pub fn before(&self, command: &Command, limits: Limits) -> Option<usize> {
        self.queue.iter().rposition(|other| other.has_room_for(command, limits))
    }

    /// The one at a place.
    pub fn get(&self, at: usize) -> &Command {
        &self.queue[at]
    }

    /// Merges another with the one at a place, and that with who begins where it ends now (`attempt_back_merge`), who is returned.
    pub fn merge(&mut self, at: usize, command: &mut Command, limits: Limits) -> Option<Command> {
        self.queue[at].take_in(command);
        let behind = (0..self.queue.len()).find(|other| self.queue[at].has_room_for(&self.queue[*other], limits))?;
        let mut behind_command = self.queue.remove(behind)?;
        let at = if behind < at { at - 1 } else { at };
        self.queue[at].take_in(&mut behind_command);
        Some(behind_command)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Who goes next, and stays.
    pub fn first(&self) -> Option<&Command> {
        self.ahead.front().or_else(|| self.queue.front())
    }

    /// Who goes next.
    pub fn next(&mut self) -> Option<Command> {
        self.ahead.pop_front().or_else(|| self.queue.pop_front())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Ask;
    use drive::Verb;

    const BLOCK: u64 = 64 << 10;
    const LIMITS: Limits = Limits { bytes: 20 * BLOCK, segments: 254 };

    fn command(verb: Verb, block: u64, blocks: u64, segments: u64) -> Command {
        let ask = Ask { verb, fua: false, offset_bytes: block * BLOCK, bytes: blocks * BLOCK, segments };
        Command::new(ask, 0, 0, Vec::new())
    }

    /// Merges it if that can be; else it waits.
    fn add(waiting: &mut Waiting, mut command: Command) {
        match waiting.before(&command, LIMITS) {
            Some(at) => _ = waiting.merge(at, &mut command, LIMITS),
            None => waiting.push(command),
        }
    }

    /// Where they begin and how many blocks they have, in the order in which they go.
    fn order(mut waiting: Waiting) -> Vec<(u64, u64)> {
        std::iter::from_fn(|| waiting.next()).map(|one| (one.offset_bytes / BLOCK, one.bytes / BLOCK)).collect()
    }

    #[test]
    fn five_blocks_that_wait_take_ten_more_and_the_others_begin_anew() {
        let mut waiting = Waiting::default();
        (0..20).for_each(|block| add(&mut waiting, command(Verb::Write, block, 1, 16)));
        assert_eq!(order(waiting), [(0, 15), (15, 5)]);
    }

    #[test]
    fn who_fills_a_gap_joins_both_sides_if_there_is_room() {
        for (segments, expected) in [(1, vec![(0, 17)]), (16, vec![(9, 8), (0, 9)])] {
            let mut waiting = Waiting::default();
            add(&mut waiting, command(Verb::Write, 9, 8, 8 * segments));
            add(&mut waiting, command(Verb::Write, 0, 8, 8 * segments));
            add(&mut waiting, command(Verb::Write, 8, 1, segments));
            assert_eq!(order(waiting), expected);
        }
    }

    #[test]
    fn reads_and_writes_do_not_merge() {
        let mut waiting = Waiting::default();
        add(&mut waiting, command(Verb::Read, 0, 1, 1));
        add(&mut waiting, command(Verb::Write, 1, 1, 1));
        assert_eq!(order(waiting), [(0, 1), (1, 1)]);
    }

    #[test]
    fn flushes_and_what_is_asked_again_overtake() {
        let mut waiting = Waiting::default();
        waiting.push(command(Verb::Write, 1, 1, 1));
        waiting.push_ahead(command(Verb::Flush, 0, 0, 0));
        waiting.again(command(Verb::Write, 7, 1, 1));
        assert_eq!(order(waiting), [(7, 1), (0, 0), (1, 1)]);
    }
}
