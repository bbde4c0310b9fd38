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
