//! The dirty bands, in the order in which they became dirty.
//!
//! A queue, since cleaning mostly takes the oldest: then what comes next is known, and a band that becomes dirty needs no look
//! at any other. A band that goes from the middle leaves a gap.

use std::collections::VecDeque;

/// A gap in the queue.
const GONE: u32 = u32::MAX;

/// Gaps that are put up with whatever the length of the queue.
const FEW_GAPS: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct Order {
    /// The oldest first; it begins with no gap.
    queue: VecDeque<u32>,
    /// Bands ever taken from the front of the queue; wraps around.
    taken: u32,
    /// By band, its place in the queue, counted from the first band of all. Means nothing for a band that is not dirty.
    places: Vec<u32>,
    len: usize,
}

impl Order {
    pub fn new(bands: usize) -> Self {
        Self { queue: VecDeque::with_capacity(bands + FEW_GAPS), taken: 0, places: vec![0; bands], len: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// All, the oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> + Clone + '_ {
        self.queue.iter().copied().filter(|band| *band != GONE)
    }

    /// The band at a place from the front on, if there is none of the gaps.
    pub fn get(&self, at: usize) -> Option<u32> {
        self.queue.get(at).copied().filter(|band| *band != GONE)
    }

    /// Bands ever taken from the front, gaps included: tells how far the order has moved on. Wraps around.
    pub fn taken(&self) -> u32 {
        self.taken
    }

    pub fn push(&mut self, band: u32) {
        if self.queue.len() == self.queue.capacity() {
            self.close_gaps();
        }
        self.places[band as usize] = self.taken.wrapping_add(self.queue.len() as u32);
        self.queue.push_back(band);
        self.len += 1;
    }

    pub fn remove(&mut self, band: u32) {
        self.len -= 1;
        if self.queue.front() != Some(&band) {
            let at = self.places[band as usize].wrapping_sub(self.taken);
            self.queue[at as usize] = GONE;
            return;
        }
        self.queue.pop_front();
        self.taken = self.taken.wrapping_add(1);
        while self.queue.front() == Some(&GONE) {
            self.queue.pop_front();
            self.taken = self.taken.wrapping_add(1);
        }
    }

    /// Adds a band before all those at the end that are `newer`.
    pub fn insert_before(&mut self, band: u32, newer: impl Fn(u32) -> bool) {
        let behind = self.iter().rev().take_while(|other| newer(*other)).count();
        self.push(band);
        self.close_gaps();
        let at = self.queue.len() - 1 - behind;
        self.queue.make_contiguous()[at..].rotate_right(1);
        self.number(at);
    }

    fn close_gaps(&mut self) {
        self.queue.retain(|band| *band != GONE);
        self.number(0);
    }

    fn number(&mut self, from: usize) {
        for (at, band) in self.queue.iter().enumerate().skip(from) {
            self.places[*band as usize] = self.taken.wrapping_add(at as u32);
        }
    }
}
