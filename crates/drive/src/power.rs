//! Loss of power and return.
//!
//! Platters, the persistent cache and its map survive; DRAM does not, and neither does what is on its way out of it. A band
//! that is being rewritten survives as well: the drive would not dare to rewrite it otherwise.

use crate::clock::TURN;
use crate::drive::Drive;
use crate::request::{Lost, SECTOR_BYTES};
use crate::work::Work;

impl Drive {
    pub(crate) fn lose_power(&mut self, at_ns: u64) -> Lost {
        self.run(self.clock.ticks(at_ns).max(self.now));
        let ranges = self.forget_writes().into_iter();
        let ranges = join(ranges.map(|range| range.start * SECTOR_BYTES..range.end * SECTOR_BYTES).collect());
        while !self.queue.is_empty() {
            self.queue.take(0);
        }
        self.due.clear();
        self.read_cache = self.read_cache.emptied();
        if let Some(layer) = &mut self.shingled {
            layer.lose_power();
        }
        self.off = true;
        self.work = Some((Work::Start, u64::MAX));
        Lost { at_ns, ranges }
    }

    /// Spins up, loads the heads, replays what the map on the platters does not know yet.
    pub(crate) fn start(&mut self, at_ns: u64) -> u64 {
        let now = self.clock.ticks(at_ns).max(self.now);
        self.run(now);
        if !self.off {
            return at_ns;
        }
        let replay = self.shingled.as_mut().map_or(0, |layer| layer.replay());
        // At least a turn, so that no answer lies before its question.
        let ready_at = now + (self.mechanics.start_ticks() + replay).max(TURN);
        self.off = false;
        (self.ready_at, self.bus_free_at, self.host_seen_at) = (ready_at, ready_at, ready_at);
        self.work = Some((Work::Start, ready_at));
        self.head = self.mechanics.head_at(1, ready_at);
        self.clock.ns(ready_at)
    }
}

/// Ranges in rising order, those that overlap or touch as one.
fn join(mut ranges: Vec<std::ops::Range<u64>>) -> Vec<std::ops::Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<std::ops::Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut().filter(|last| last.end >= range.start) {
            Some(last) => last.end = last.end.max(range.end),
            None => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn what_is_lost_is_told_in_order_and_without_borders_within() {
        let told = join(vec![40..50, 0..10, 10..20, 15..18, 21..30, 45..60]);
        assert_eq!(told, [0..20, 21..30, 40..60]);
    }
}
