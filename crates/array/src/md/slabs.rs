//! Small pieces of memory, eight to a page (`kmalloc-512`): the kernel keeps them in slabs, as SLUB does on one processor.
//!
//! They are why pages that go round part with time: a page that becomes a slab, or is none any more, comes between those of a block.

use std::collections::VecDeque;

use slab::Slab;

use super::pages::Pages;

/// Pieces of a page.
const PIECES: u8 = 8;
/// So many slabs with free pieces are kept though all of one are free (`set_min_partial`).
const KEPT: usize = 5;

/// A slab: a page, and how many of its pieces are in use.
#[derive(Clone, Copy, Debug)]
struct Page {
    number: u32,
    in_use: u8,
}

/// Pieces of one size.
#[derive(Clone, Debug, Default)]
pub(super) struct Slabs {
    slabs: Slab<Page>,
    /// The one that pieces are taken from until it has none, and others with free ones. The first goes first.
    current: Option<u32>,
    partial: VecDeque<u32>,
}

impl Slabs {
    /// Takes a piece, and tells of which slab.
    pub fn take(&mut self, pages: &mut Pages) -> u32 {
        let number = match self.current.filter(|current| self.slabs[*current as usize].in_use < PIECES) {
            Some(current) => current,
            None => self
                .partial
                .pop_front()
                .unwrap_or_else(|| self.slabs.insert(Page { number: pages.take_one(), in_use: 0 }) as u32),
        };
        self.current = Some(number);
        self.slabs[number as usize].in_use += 1;
        number
    }

    /// A piece of a slab is free again; so is the slab's page, if it was the last and there are enough others (`__slab_free`).
    pub fn give_back(&mut self, number: u32, pages: &mut Pages) {
        let slab = &mut self.slabs[number as usize];
        let was_full = slab.in_use == PIECES;
        slab.in_use -= 1;
        if self.current == Some(number) {
            return;
        }
        if slab.in_use == 0 && self.partial.len() >= KEPT {
            pages.give_back(&[self.slabs.remove(number as usize).number]);
            self.partial.retain(|other| *other != number);
        } else if was_full {
            self.partial.push_back(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slab_is_a_page_until_all_its_pieces_are_back_and_there_are_others() {
        let (mut slabs, mut pages) = (Slabs::default(), Pages::default());
        let count = 8 * (KEPT + 3);
        let taken: Vec<u32> = (0..count).map(|_| slabs.take(&mut pages)).collect();
        assert_eq!(
            taken.chunks(8).map(|of| of.iter().all(|slab| *slab == of[0])).filter(|same| *same).count(),
            KEPT + 3
        );
        assert_eq!(pages.take_one(), KEPT as u32 + 3, "a page for each");
        taken.iter().for_each(|slab| slabs.give_back(*slab, &mut pages));
        // The last is current; of the others five stay, and the two that were emptied behind them are pages again.
        assert_eq!([(); 2].map(|()| pages.take_one()), [6, 5]);
        let again: Vec<u32> = (0..8).map(|_| slabs.take(&mut pages)).collect();
        assert_eq!(again, vec![taken[count - 1]; 8], "the current one goes first");
        assert_eq!(slabs.take(&mut pages), taken[0], "then the one that came back first");
    }

    #[test]
    fn a_slab_that_has_a_piece_in_use_stays_a_page_of_its_own() {
        let (mut slabs, mut pages) = (Slabs::default(), Pages::default());
        let taken: Vec<u32> = (0..8 * 20).map(|_| slabs.take(&mut pages)).collect();
        taken.iter().skip(1).step_by(2).for_each(|slab| slabs.give_back(*slab, &mut pages));
        assert_eq!(pages.take_one(), 20, "none came back");
        assert_eq!((0..8 * 10).map(|_| slabs.take(&mut pages)).max(), Some(19), "nor is any more needed");
    }
}
