//! Flushes, and writes behind which one follows (`block/blk-flush.c`): one flush is under way at a time, and all who want one
//! meanwhile, or while such writes are under way, share the next.

use std::collections::VecDeque;

use drive::Request;

/// `FLUSH_PENDING_TIMEOUT`: nobody waits longer than this for the writes of others.
const PENDING_NS: u64 = 5_000_000_000;

/// Those of one drive.
#[derive(Clone, Debug, Default)]
pub(super) struct Flushes {
    /// Writes behind which a flush follows: they overtake all others.
    writes: VecDeque<Request>,
    /// Of these so many have not ended.
    unended: u32,
    /// By their tags, those who wait for a flush that is not under way, and since when.
    wanted: Vec<u32>,
    wanted_since_ns: u64,
    /// One of those who share the flush that is under way.
    under_way: Option<u32>,
}

impl Flushes {
    /// Takes a part of a write behind which a flush follows.
    pub fn write(&mut self, request: Request) {
        self.unended += 1;
        self.writes.push_back(Request { fua: false, ..request });
    }

    /// The next of these.
    pub fn next_write(&mut self) -> Option<Request> {
        self.writes.pop_front()
    }

    /// One has ended.
    pub fn write_ended(&mut self) {
        self.unended -= 1;
    }

    /// Somebody wants a flush.
    pub fn want(&mut self, now_ns: u64, tag: u32) {
        if self.wanted.is_empty() {
            self.wanted_since_ns = now_ns;
        }
        self.wanted.push(tag);
    }

    /// Is one to go?
    pub fn is_due(&self, now_ns: u64) -> bool {
        let waits_for_writes = self.unended > 0 && now_ns < self.wanted_since_ns + PENDING_NS;
        !self.wanted.is_empty() && self.under_way.is_none() && !waits_for_writes
    }

    /// It goes: who shares it.
    pub fn take(&mut self) -> Vec<u32> {
        self.under_way = self.wanted.first().copied();
        std::mem::take(&mut self.wanted)
    }

    /// A command of these has ended.
    pub fn ended(&mut self, riders: &[u32]) {
        self.under_way = self.under_way.filter(|tag| !riders.contains(tag));
    }
}

#[cfg(test)]
mod tests {
    use drive::{Completion, Request, Status, Verb};

    use crate::run::block_layer::BlockLayer;

    const PAGE: u64 = 4096;

    fn ask(tag: u32, verb: Verb, page: u64) -> Request {
        Request { tag, verb, fua: false, offset_bytes: page * PAGE, bytes: PAGE }
    }

    fn end(tag: u32, status: Status) -> Completion {
        Completion { tag, completed_ns: 7, status }
    }

    /// The drive has room for all.
    fn whatever(_: Verb) -> bool {
        true
    }

    /// The pages of what goes, of flushes none, as long as something does.
    fn going(layer: &mut BlockLayer) -> Vec<Option<u64>> {
        let goes = std::iter::from_fn(|| layer.next(7, whatever));
        goes.map(|one| (one.verb != Verb::Flush).then_some(one.offset_bytes / PAGE)).collect()
    }

    fn answer(layer: &mut BlockLayer, tag: u32) -> Vec<Completion> {
        let mut completions = vec![end(tag, Status::Good)];
        layer.complete(&mut completions);
        completions
    }

    /// The drive knows commands by the tags in which they went: 0, 1, and so on, the last that came back first.
    #[test]
    fn writes_before_a_flush_overtake_and_share_it() {
        let mut layer = BlockLayer::default();
        layer.insert(0, ask(9, Verb::Write, 90));
        for tag in [1, 2] {
            layer.insert_before_flush(0, Request { fua: true, ..ask(tag, Verb::Write, u64::from(tag)) });
        }
        assert_eq!(going(&mut layer), [Some(1), Some(2), Some(90)]);
        assert_eq!(answer(&mut layer, 0), []);
        assert_eq!(going(&mut layer), [], "a flush waits for the other");
        assert_eq!(answer(&mut layer, 1), []);
        assert_eq!(going(&mut layer), [None]);
        layer.insert(0, Request { bytes: 0, ..ask(3, Verb::Flush, 0) });
        layer.insert(0, Request { bytes: 0, ..ask(4, Verb::Flush, 0) });
        assert_eq!(going(&mut layer), [], "one flush is under way at a time");
        assert_eq!(answer(&mut layer, 1), [end(1, Status::Good), end(2, Status::Good)]);
        assert_eq!(going(&mut layer), [None]);
        assert_eq!(answer(&mut layer, 1), [end(3, Status::Good), end(4, Status::Good)]);
        assert_eq!(answer(&mut layer, 2), [end(9, Status::Good)]);
    }

    #[test]
    fn behind_a_write_that_failed_there_is_no_flush() {
        let mut layer = BlockLayer::default();
        layer.insert_before_flush(0, ask(1, Verb::Write, 1));
        let tag = layer.next(0, whatever).unwrap().tag;
        let mut completions = vec![end(tag, Status::Gone)];
        layer.complete(&mut completions);
        assert_eq!((completions, layer.next(7, whatever)), (vec![end(1, Status::Gone)], None));
    }
}
