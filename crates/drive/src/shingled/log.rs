//! The persistent cache's log: packets appended in a circle, room regained only at its tail.

use std::collections::VecDeque;

use crate::geometry::Divisor;
use sim::prefetch;

/// A packet's space and how many pieces of the map still need it.
#[derive(Clone, Copy, Debug)]
struct Packet {
    space_blocks: u32,
    live_pieces: u32,
}

/// The circular log, in blocks from its start. A packet is known by a number that wraps around.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    packets: VecDeque<Packet>,
    tail_id: u32,
    write_at: u64,
    used_blocks: u64,
    capacity_blocks: u64,
    live_packets: u64,
}

impl Log {
    pub fn new(capacity_blocks: u64) -> Self {
        Self { packets: VecDeque::new(), tail_id: 0, write_at: 0, used_blocks: 0, capacity_blocks, live_packets: 0 }
    }

    pub fn used_blocks(&self) -> u64 {
        self.used_blocks
    }

    pub fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    pub fn live_packets(&self) -> u64 {
        self.live_packets
    }

    /// How many packets of `space_blocks` fit now, the first of which takes `first_blocks` more.
    pub fn room_packets(&self, space_blocks: Divisor, first_blocks: u64) -> u64 {
        // A packet does not go around the end: what is left there is wasted.
        let free = self.capacity_blocks - self.used_blocks;
        let left = self.capacity_blocks - self.write_at;
        let fit = |blocks: u64| space_blocks.divide(blocks.saturating_sub(first_blocks));
        match (fit(left), free.checked_sub(left)) {
            (0, Some(beyond)) => fit(beyond),
            (before_end, Some(beyond)) => before_end + space_blocks.divide(beyond),
            (_, None) => fit(free),
        }
    }

    /// Appends a packet that nothing refers to yet; returns its number and its first block. There must be room.
    pub fn append(&mut self, space_blocks: u64) -> (u32, u64) {
        let left = self.capacity_blocks - self.write_at;
        if left < space_blocks {
            self.push(left);
            self.write_at = 0;
        }
        let at = self.write_at;
        self.push(space_blocks);
        self.write_at += space_blocks;
        debug_assert!(self.used_blocks <= self.capacity_blocks);
        (self.tail_id.wrapping_add(self.packets.len() as u32 - 1), at)
    }

    /// The number of the newest packet.
    pub fn newest_id(&self) -> u32 {
        self.tail_id.wrapping_add(self.packets.len() as u32).wrapping_sub(1)
    }

    /// So many more pieces, at least one, need a packet.
    pub fn retain(&mut self, id: u32, pieces: usize) {
        let packet = &mut self.packets[id.wrapping_sub(self.tail_id) as usize];
        self.live_packets += u64::from(packet.live_pieces == 0);
        packet.live_pieces += pieces as u32;
    }

    /// A piece no longer needs its packet. Dead packets at the tail are given back.
    pub fn release(&mut self, id: u32) {
        let packet = &mut self.packets[id.wrapping_sub(self.tail_id) as usize];
        packet.live_pieces -= 1;
        if packet.live_pieces == 0 {
            self.live_packets -= 1;
            self.trim_tail();
        }
    }

    /// Asks memory for what is known of a packet.
    pub fn touch(&self, id: u32) {
        self.packets.get(id.wrapping_sub(self.tail_id) as usize).into_iter().for_each(prefetch);
    }

    fn trim_tail(&mut self) {
        while let Some(packet) = self.packets.front().filter(|packet| packet.live_pieces == 0) {
            self.used_blocks -= u64::from(packet.space_blocks);
            self.packets.pop_front();
            self.tail_id = self.tail_id.wrapping_add(1);
        }
    }

    fn push(&mut self, space_blocks: u64) {
        self.used_blocks += space_blocks;
        self.packets.push_back(Packet { space_blocks: space_blocks as u32, live_pieces: 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::{Divisor, Log};

    fn room_packets(log: &Log, space_blocks: u64, first_blocks: u64) -> u64 {
        log.room_packets(Divisor::new(space_blocks), first_blocks)
    }

    /// By hand: of 100 blocks 30 are left before the end and 40 behind it, of which the first packet's records take 5.
    #[test]
    fn packets_fit_on_both_sides_of_the_end() {
        let mut log = Log::new(100);
        for blocks in [40, 30] {
            let (id, _) = log.append(blocks);
            log.retain(id, 1);
        }
        assert_eq!(room_packets(&log, 10, 5), 2, "none behind the end yet");
        log.release(0);
        assert_eq!(room_packets(&log, 10, 5), 2 + 4);
        assert_eq!(room_packets(&log, 32, 0), 1, "only behind the end");
    }

    #[test]
    fn room_comes_back_only_at_the_tail() {
        let mut log = Log::new(100);
        let ids: Vec<u32> = (0..4)
            .map(|_| {
                let (id, _) = log.append(25);
                log.retain(id, 1);
                id
            })
            .collect();
        assert_eq!(room_packets(&log, 25, 0), 0);
        log.release(ids[1]);
        assert_eq!((room_packets(&log, 25, 0), log.live_packets()), (0, 3));
        log.release(ids[0]);
        assert_eq!((room_packets(&log, 25, 0), log.used_blocks()), (2, 50));
    }

    #[test]
    fn the_first_packet_of_a_visit_may_take_more() {
        let mut log = Log::new(100);
        assert_eq!((room_packets(&log, 20, 0), room_packets(&log, 20, 10), room_packets(&log, 20, 90)), (5, 4, 0));
        let (first, _) = log.append(70);
        log.retain(first, 1);
        let (second, _) = log.append(20);
        log.retain(second, 1);
        log.release(first);
        // The ten blocks before the end hold none, so all of them lie behind it.
        assert_eq!(room_packets(&log, 20, 10), 3);
    }

    #[test]
    fn a_packet_never_wraps_around_the_end() {
        let mut log = Log::new(100);
        let (first, _) = log.append(70);
        log.retain(first, 1);
        assert_eq!(room_packets(&log, 40, 0), 0);
        log.release(first);
        assert_eq!(room_packets(&log, 40, 0), 1);
        assert_eq!(log.append(40).1, 0);
    }
}
