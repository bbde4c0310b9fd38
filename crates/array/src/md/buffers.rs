//! What a block of the recovery of copies takes of memory: pages that it is read into, and pieces for what the kernel notes of it
//! (`r1buf_pool_alloc`, `r10buf_pool_alloc`).

use super::options::PAGE_BYTES;
use super::pages::Pages;
use super::recovery::BLOCK_BYTES;
use super::slabs::Slabs;
use super::unit::{Block, Unit};
use crate::layout::Layout;

const BLOCK_PAGES: usize = (BLOCK_BYTES / PAGE_BYTES) as usize;

/// The memory, and how many pieces of 257 to 512 bytes a block takes: those that are free before its pages, and behind them.
#[derive(Clone, Debug)]
pub(super) struct Buffers {
    pages: Pages,
    slabs: Slabs,
    first_pieces: usize,
    last_pieces: usize,
}

impl Buffers {
    /// Raid1 has two requests for each member, of 16 pages each; raid10 two, and a list of the pages of both. Other pieces are a page
    /// of them for many blocks, or several pages at once.
    pub fn new(layout: Layout, width: usize) -> Self {
        let (first_pieces, last_pieces) = match layout {
            Layout::Raid1 => (2 * width - 1, 1),
            _ => (1, 2),
        };
        Self { pages: Pages::default(), slabs: Slabs::default(), first_pieces, last_pieces }
    }

    /// Takes what a block of a unit needs.
    pub fn take(&mut self, unit: &mut Unit, bytes: u64) {
        let count = self.first_pieces + self.last_pieces;
        unit.slabs.extend((0..count).map(|_| self.slabs.take(&mut self.pages)));
        let first = unit.pages.len();
        self.pages.take(BLOCK_PAGES, &mut unit.pages);
        unit.blocks.push(Block { bytes, segments: pieces(&unit.pages[first..]) });
    }

    /// Gives all of a unit back, block by block: pages when all requests but one are.
    pub fn give_back(&mut self, unit: &Unit) {
        let mut slabs = unit.slabs.iter();
        for pages in unit.pages.chunks_exact(BLOCK_PAGES) {
            slabs.by_ref().take(self.first_pieces).for_each(|slab| self.slabs.give_back(*slab, &mut self.pages));
            self.pages.give_back(pages);
            slabs.by_ref().take(self.last_pieces).for_each(|slab| self.slabs.give_back(*slab, &mut self.pages));
        }
    }
}

/// In how many pieces of memory pages lie that follow each other in a request.
pub(super) fn pieces(pages: &[u32]) -> u16 {
    1 + pages.windows(2).filter(|pair| pair[1] != pair[0] + 1).count() as u16
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::super::unit::{Purpose, Units};
    use super::*;

    /// As a raid1's recovery has them: 31 blocks are asked for, in requests of as many as have room, and as many again as come back.
    /// Now and then all of them end. In how many pieces each block lies.
    fn pieces_of_blocks(mut buffers: Buffers, turns: usize) -> Vec<f64> {
        let (mut under_way, mut pieces) = (VecDeque::<Unit>::new(), Vec::new());
        for turn in 0..turns {
            let ended = if turn % 30 == 0 { under_way.len() } else { 1 };
            let ended: Vec<Unit> = under_way.drain(..ended).collect();
            ended.iter().for_each(|unit| buffers.give_back(unit));
            let blocks = if turn % 30 == 0 { 31 } else { ended[0].blocks.len() };
            let mut units = Units::default();
            for _ in 0..blocks {
                let number = units.make(Purpose::Recovery);
                let mut block = units.get(number).clone();
                buffers.take(&mut block, BLOCK_BYTES);
                pieces.push(block.segments() as f64);
                match under_way.back_mut().filter(|last| last.segments() + block.segments() <= 254) {
                    Some(last) => {
                        last.blocks.append(&mut block.blocks);
                        last.pages.append(&mut block.pages);
                        last.slabs.append(&mut block.slabs);
                    }
                    None => under_way.push_back(block),
                }
            }
        }
        pieces
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn blocks_lie_in_more_pieces_with_each_turn_since_slabs_come_between() {
        let with_slabs = Buffers::new(Layout::Raid1, 2);
        let alone = Buffers { first_pieces: 0, last_pieces: 0, ..with_slabs.clone() };
        let [parting, alone] = [with_slabs, alone].map(|buffers| pieces_of_blocks(buffers, 500));
        assert!(mean(&parting[..200]) < 11.0 && mean(&parting[7000..8000]) > 15.0, "{parting:?}");
        assert!((8.0..9.0).contains(&mean(&alone[7000..8000])), "{alone:?}");
    }

    #[test]
    fn a_unit_that_was_split_gives_back_all_it_took() {
        let mut buffers = Buffers::new(Layout::Raid10, 4);
        let mut units = Units::default();
        let number = units.make(Purpose::Recovery);
        (0..10).for_each(|_| buffers.take(units.get_mut(number), BLOCK_BYTES));
        units.get_mut(number).recovers_bytes = 10 * BLOCK_BYTES;
        let rest = units.split(number, 4);
        let held = |number: u32| (units.get(number).pages.len(), units.get(number).slabs.len());
        assert_eq!([number, rest].map(held), [(4 * 16, 4 * 3), (6 * 16, 6 * 3)]);
    }
}
