//! The pieces of all bands: a band's only one in its own row, more in one piece of memory, dealt out in runs of 2, 4, 8, ...
//! places.
//!
//! Most dirty bands hold one piece or two. All of them together then take a few megabytes and stay close to the
//! processor; a vector for each band would scatter them over ten times as much. To look at a band with one piece is to
//! look at one place.

use sim::prefetch;

/// So many lie in a line of the processor's caches, whole.
const PIECES_IN_A_LINE: usize = 64 / size_of::<Piece>();

/// More lines than these are not asked for at once.
const MOST_LINES: usize = 32;

/// "No run" in the lists of free ones.
const NONE: u32 = u32::MAX;

/// A run of cached blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Block within the band.
    pub start: u32,
    pub blocks: u32,
    /// Block within the log.
    pub at: u32,
    /// The packet that holds it.
    pub packet: u32,
    /// Entries that it takes in a map that counts host writes.
    pub entries: u32,
}

impl Piece {
    pub fn end(&self) -> u32 {
        self.start + self.blocks
    }
}

const NOTHING: Piece = Piece { start: 0, blocks: 0, at: 0, packet: 0, entries: 0 };

/// A band's row. Its places in the memory, if it has any, are the next power of two of its length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    len: u32,
    /// The only piece; where there are more, its `at` names the first of their places.
    only: Piece,
}

impl Default for Run {
    fn default() -> Self {
        Self { len: 0, only: NOTHING }
    }
}

impl Run {
    fn places(&self) -> std::ops::Range<usize> {
        self.only.at as usize..(self.only.at + self.len) as usize
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

    #[inline]
    pub fn get<'a>(&'a self, run: &'a Run) -> &'a [Piece] {
        match run.len {
            0 => &[],
            1 => std::slice::from_ref(&run.only),
            _ => &self.places[run.places()],
        }
    }

    /// Asks for the pieces of a run, if they do not lie in its row: for all of them at once, since who looks for one in a long
    /// run would wait for each place where it looks. Of thousands for some, evenly spread, where a search begins.
    #[inline]
    pub fn touch(&self, run: &Run) {
        if run.len > 1 {
            let apart = PIECES_IN_A_LINE.max(run.len as usize / MOST_LINES);
            self.places[run.places()].iter().step_by(apart).for_each(prefetch);
        }
    }

    pub fn get_mut<'a>(&'a mut self, run: &'a mut Run) -> &'a mut [Piece] {
        match run.len {
            0 => &mut [],
            1 => std::slice::from_mut(&mut run.only),
            _ => &mut self.places[run.places()],
        }
    }

    /// Inserts a piece before the one at `index`.
    pub fn insert(&mut self, run: &mut Run, index: usize, piece: Piece) {
        let len = run.len;
        if len == 0 {
            *run = Run { len: 1, only: piece };
            return;
        }
        if len == 1 || class(len + 1) != class(len) {
            self.move_to(run, class(len + 1), len);
        }
        run.len = len + 1;
        let pieces = self.get_mut(run);
        pieces.copy_within(index..len as usize, index + 1);
        pieces[index] = piece;
    }

    /// Removes the piece at `index`.
    pub fn remove(&mut self, run: &mut Run, index: usize) {
        self.get_mut(run).copy_within(index + 1.., index);
        self.shorten(run, run.len - 1);
    }

    /// Keeps the pieces for which `keep` says so, in their order.
    pub fn retain(&mut self, run: &mut Run, mut keep: impl FnMut(&Piece) -> bool) {
        let pieces = self.get_mut(run);
        let mut kept = 0;
        for index in 0..pieces.len() {
            let piece = pieces[index];
            if keep(&piece) {
                pieces[kept] = piece;
                kept += 1;
            }
        }
        self.shorten(run, kept as u32);
    }

    /// Leaves a run its first `len` pieces.
    fn shorten(&mut self, run: &mut Run, len: u32) {
        if len == run.len || (len > 1 && class(len) == class(run.len)) {
            run.len = len;
            return;
        }
        match len {
            0 | 1 => {
                let from = *run;
                *run = self.get(&from).first().map_or(Run::default(), |only| Run { len, only: *only });
                self.give_back(&from);
            }
            _ => self.move_to(run, class(len), len),
        }
        run.len = len;
    }

    /// Moves a run's first `len` pieces to 2^`class` places.
    fn move_to(&mut self, run: &mut Run, class: usize, len: u32) {
        let to = self.take(class);
        if run.len == 1 {
            self.places[to as usize] = run.only;
        } else {
            let from = run.only.at as usize;
            self.places.copy_within(from..from + len as usize, to as usize);
        }
        self.give_back(run);
        run.only.at = to;
    }

    fn take(&mut self, class: usize) -> u32 {
        let at = self.free[class];
        if at != NONE {
            self.free[class] = self.places[at as usize].at;
            return at;
        }
        let at = self.places.len();
        self.places.resize(at + (1 << class), NOTHING);
        at as u32
    }

    /// The places of a run are free.
    fn give_back(&mut self, run: &Run) {
        if run.len > 1 {
            let first = &mut self.free[class(run.len)];
            self.places[run.only.at as usize].at = std::mem::replace(first, run.only.at);
        }
    }
}

/// The power of two that has room for so many, at least one.
fn class(len: u32) -> usize {
    len.next_power_of_two().trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three pieces come and go in bands, two of which have some at a time: memory is for those, and for one on its way to more places.
    #[test]
    fn places_are_used_again() {
        let mut pieces = Pieces::new();
        let mut runs = [Run::default(); 2];
        for round in 0..1000 {
            for index in 0..3 {
                pieces.insert(&mut runs[round % 2], index, Piece { start: index as u32, blocks: 1, ..NOTHING });
            }
            let before = &mut runs[(round + 1) % 2];
            while !pieces.get(before).is_empty() {
                pieces.remove(before, 0);
            }
        }
        assert!(pieces.places.len() <= 2 * (2 + 4), "{}", pieces.places.len());
    }
}
