//! What a drive held before, as long as a loss of power could bring it back.
//!
//! The model says which bytes a loss of power takes, not what they held before: that is kept here, from one flush to the
//! next. Where several writes met between two flushes and the last of them is lost, what comes back is what was there at
//! the earlier flush, although the drive may have got further: no host may count on more.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use drive::SECTOR_BYTES;

use super::blocks::Blocks;
use super::error::LabError;

const SECTOR: usize = SECTOR_BYTES as usize;

/// What sectors held when they were first written since a flush was asked for; `None` for zeros.
type Epoch = BTreeMap<u64, Option<Box<[u8; SECTOR]>>>;

/// The past of one drive.
#[derive(Debug)]
pub(super) struct Undo {
    /// By the flushes that were asked for and are not over: the oldest first, the present one last.
    epochs: VecDeque<Epoch>,
    /// The number of the oldest one.
    oldest: u64,
}

impl Undo {
    pub fn new() -> Self {
        Self { epochs: VecDeque::from([Epoch::new()]), oldest: 0 }
    }

    /// A flush is asked for: what is written from now on is not its business. Returns the flush's number.
    pub fn flush_begins(&mut self) -> u64 {
        self.epochs.push_back(Epoch::new());
        self.oldest + self.epochs.len() as u64 - 2
    }

    /// That flush is over: what was written before it was asked for cannot be lost any more.
    pub fn flush_ends(&mut self, flush: u64) {
        while self.oldest <= flush && self.epochs.len() > 1 {
            self.epochs.pop_front();
            self.oldest += 1;
        }
    }

    /// A range is about to be written, or trimmed.
    pub fn overwrite(&mut self, range: Range<u64>, blocks: &Blocks) -> Result<(), LabError> {
        let epoch = self.epochs.back_mut().expect("the present one");
        for sector in sectors(&range) {
            if let std::collections::btree_map::Entry::Vacant(entry) = epoch.entry(sector) {
                let mut old = [0; SECTOR];
                blocks.read(sector * SECTOR_BYTES, &mut old)?;
                entry.insert((old != [0; SECTOR]).then(|| Box::new(old)));
            }
        }
        Ok(())
    }

    /// A range was written and is durable.
    pub fn forget(&mut self, range: Range<u64>) {
        for epoch in &mut self.epochs {
            sectors(&range).for_each(|sector| drop(epoch.remove(&sector)));
        }
    }

    /// The newest data of those ranges is lost.
    pub fn lose(&mut self, ranges: &[Range<u64>], blocks: &mut Blocks) -> Result<(), LabError> {
        for range in ranges {
            // From the newest to the oldest, so that the oldest stays.
            for epoch in self.epochs.iter().rev() {
                for (sector, old) in epoch.range(sectors(range)) {
                    match old {
                        Some(old) => blocks.write(sector * SECTOR_BYTES, old.as_slice())?,
                        None => blocks.clear(sector * SECTOR_BYTES, SECTOR_BYTES)?,
                    }
                }
            }
        }
        *self = Self { epochs: VecDeque::from([Epoch::new()]), oldest: self.oldest + self.epochs.len() as u64 };
        Ok(())
    }
}

fn sectors(range: &Range<u64>) -> Range<u64> {
    range.start / SECTOR_BYTES..range.end.div_ceil(SECTOR_BYTES)
}
