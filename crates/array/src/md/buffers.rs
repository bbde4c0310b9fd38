//! What a block of the recovery of copies takes of memory: pages that it is read into, and pieces for what the kernel notes of it
//! (`r1buf_pool_alloc`, `r10buf_pool_alloc`).

use super::options::PAGE_BYTES;
use super::pages::Pages;
use super::recovery::BLOCK_BYTES;
use super::slabs::Slabs;
use super::unit::{Block, Unit};
use crate::layout::Layout;

const BLOCK_PAGES: u32 = (BLOCK_BYTES / PAGE_BYTES) as u32;

/// The memory, and how many pieces of 257 to 512 bytes a block takes.
#[derive(Clone, Debug)]
pub(super) struct Buffers {
    pages: Pages,
    slabs: Slabs,
    before_pages: usize,
    after_pages: usize,
}

impl Buffers {
    /// Raid1 has two requests for each member, of 16 pages each; raid10 two, and a list of the pages of both. Other pieces are a page
    /// of them for many blocks, or several pages at once.
    pub fn new(layout: Layout, width: usize) -> Self {
        let (before_pages, after_pages) = match layout {
            Layout::Raid1 => (2 * width - 1, 1),
            _ => (1, 2),
        };
        Self { pages: Pages::default(), slabs: Slabs::default(), before_pages, after_pages }
    }

    /// Takes what a block of a unit needs.
    pub fn take(&mut self, unit: &mut Unit, bytes: u64) {
        let count = self.before_pages + self.after_pages;
        unit.slabs.extend((0..count).map(|_| self.slabs.take(&mut self.pages)));
        let (runs, segments) = self.pages.take(BLOCK_PAGES, &mut unit.pages);
        unit.blocks.push(Block { bytes, runs, segments });
    }

    /// Gives all of a unit back, block by block: pages when all requests but one are.
    pub fn give_back(&mut self, unit: &Unit) {
        let (mut slabs, mut pages) = (unit.slabs.iter(), unit.pages.as_slice());
        for block in &unit.blocks {
            let (runs, rest) = pages.split_at(usize::from(block.runs));
            pages = rest;
            slabs.by_ref().take(self.before_pages).for_each(|slab| self.slabs.give_back(*slab, &mut self.pages));
            self.pages.give_back(runs);
            slabs.by_ref().take(self.after_pages).for_each(|slab| self.slabs.give_back(*slab, &mut self.pages));
        }
    }
}
