//! Commands that wait for the heads, and which of them goes next.

use crate::buffer::Range;
use crate::mechanics::{Head, Mechanics, Way};
use crate::profile::QueueOrder;

/// A read that waits for the heads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub tag: u32,
    pub arrived: u64,
    pub range: Range,
    /// Where the first sector lies that DRAM did not hold when the read came.
    pub track: u64,
    pub phase: u64,
}

/// The reads that wait, at most as many as the queue is deep.
#[derive(Clone, Debug)]
pub(crate) struct CommandQueue {
    waiting: Vec<Waiting>,
    order: QueueOrder,
    starvation: u64,
}

impl CommandQueue {
    pub fn new(depth: u32, order: QueueOrder, starvation: u64) -> Self {
        Self { waiting: Vec::with_capacity(depth as usize), order, starvation }
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn push(&mut self, waiting: Waiting) {
        self.waiting.push(waiting);
    }

    /// Takes out the read that goes next: the oldest if it starves or the order is first come first served, else
    /// the one whose first sector can be reached soonest (of equals the older).
    pub fn take(&mut self, mechanics: &Mechanics, head: &Head, now: u64) -> Option<Waiting> {
        let oldest = self.waiting.iter().enumerate().min_by_key(|(_, read)| (read.arrived, read.tag))?;
        let starves = now.saturating_sub(oldest.1.arrived) > self.starvation;
        let index = if self.order == QueueOrder::Fifo || starves || self.waiting.len() == 1 {
            oldest.0
        } else {
            let places = self.waiting.iter().enumerate().map(|(index, read)| (index, read.track, read.phase));
            nearest(places, mechanics, head, now, Way::Read)?
        };
        Some(self.waiting.swap_remove(index))
    }
}

/// The index of that place (index, track, phase) which the heads reach soonest; of equals the first.
///
/// A place cannot be reached before it comes by, so most are dismissed by their phase alone.
pub(crate) fn nearest(
    places: impl Iterator<Item = (usize, u64, u64)>,
    mechanics: &Mechanics,
    head: &Head,
    now: u64,
    way: Way,
) -> Option<usize> {
    let mut best = (u64::MAX, None);
    for (index, track, phase) in places {
        if Mechanics::rotation_ticks(now, phase) < best.0 {
            let reach = mechanics.reach_ticks(head, now, track, phase, way);
            if reach < best.0 {
                best = (reach, Some(index));
            }
        }
    }
    best.1
}
