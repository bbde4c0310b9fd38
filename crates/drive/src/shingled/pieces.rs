//! Memory for the pieces of all bands: one piece of memory, dealt out in runs of 1, 2, 4, 8, ... places.
//!
//! Most dirty bands hold one piece or two. All of them together then take a few megabytes and stay close to the
//! processor; a vector for each band would scatter them over ten times as much.

use super::map::Piece;

/// "No run" in the lists of free ones.
const NONE: u32 = u32::MAX;

/// Where the pieces of a band lie. Its places are the next power of two of its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Run {
    at: u32,
    len: u32,
}

impl Run {
    fn all(self) -> std::ops::Range<usize> {
        self.at as usize..(self.at + self.len) as usize
    }
}

/// The memory.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    places: Vec<Piece>,
    /// The first free run of 2^i places; its first piece's `at` names the next.
    free: [u32; 32],
}

impl Pieces {
    pub fn new() -> Self {
        Self { places: Vec::new(), free: [NONE; 32] }
    }

    pub fn get(&self, run: Run) -> &[Piece] {
        &self.places[run.all()]
    }

    pub fn get_mut(&mut self, run: Run) -> &mut [Piece] {
        &mut self.places[run.all()]
    }

    /// Inserts a piece before the one at `index`.
    pub fn insert(&mut self, run: Run, index: usize, piece: Piece) -> Run {
        let longer = Run { len: run.len + 1, ..run };
        let longer =
            if class(longer.len) == class(run.len) && run.len > 0 { longer } else { self.moved(run, longer.len) };
        let pieces = self.get_mut(longer);
        pieces.copy_within(index..run.len as usize, index + 1);
        pieces[index] = piece;
        longer
    }

    /// Removes the piece at `index`.
    pub fn remove(&mut self, run: Run, index: usize) -> Run {
        self.get_mut(run).copy_within(index + 1.., index);
        self.shortened(run, run.len - 1)
    }

    /// Keeps the pieces for which `keep` says so, in their order.
    pub fn retain(&mut self, run: Run, mut keep: impl FnMut(&Piece) -> bool) -> Run {
        let pieces = self.get_mut(run);
        let mut kept = 0;
        for index in 0..pieces.len() {
            let piece = pieces[index];
            if keep(&piece) {
                pieces[kept] = piece;
                kept += 1;
            }
        }
        self.shortened(run, kept as u32)
    }

    fn shortened(&mut self, run: Run, len: u32) -> Run {
        if len == run.len || (len > 0 && class(len) == class(run.len)) {
            return Run { len, ..run };
        }
        self.moved(run, len)
    }

    /// Moves what there is of a run's first `len` pieces to where so many have room.
    fn moved(&mut self, run: Run, len: u32) -> Run {
        let to = if len > 0 { Run { at: self.take(class(len)), len } } else { Run::default() };
        let kept = run.len.min(len) as usize;
        self.places.copy_within(run.at as usize..run.at as usize + kept, to.at as usize);
        if run.len > 0 {
            let first = &mut self.free[class(run.len)];
            self.places[run.at as usize].at = std::mem::replace(first, run.at);
        }
        to
    }

    fn take(&mut self, class: usize) -> u32 {
        let at = self.free[class];
        if at != NONE {
            self.free[class] = self.places[at as usize].at;
            return at;
        }
        let at = self.places.len();
        self.places.resize(at + (1 << class), Piece { start: 0, blocks: 0, at: 0, packet: 0, entries: 0 });
        at as u32
    }
}

/// The power of two that has room for so many, at least one.
fn class(len: u32) -> usize {
    len.next_power_of_two().trailing_zeros() as usize
}
