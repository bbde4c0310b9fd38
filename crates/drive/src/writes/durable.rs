//! Requests that are answered when data is durable.

use std::cell::Cell;
use std::ops::Deref;

use crate::buffer::Dirty;
use crate::range::Range;
use crate::request::Request;

/// A request that is answered when data is durable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Durable {
    pub tag: u32,
    pub arrived: u64,
    pub need: Need,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Need {
    /// A write through the cache: this range, as it was after this write. What is written there later is no concern.
    Range(Range, u64),
    /// A flush: everything up to this write.
    UpTo(u64),
}

impl Need {
    /// Whether what becomes durable within a range may be what was missing.
    pub fn is_met_within(&self, range: &Range) -> bool {
        match self {
            Self::Range(needed, _) => needed.overlaps(range),
            Self::UpTo(_) => true,
        }
    }
}

impl Durable {
    pub fn awaits(&self, range: &Range) -> bool {
        matches!(&self.need, Need::Range(needed, _) if needed.overlaps(range))
    }

    pub fn of(request: &Request, range: Range, about: &Dirty) -> Self {
        Self { tag: request.tag, arrived: about.arrived, need: Need::Range(range, about.sequence) }
    }

    /// The range that a write waits for, if it is one.
    pub fn range(&self) -> Option<&Range> {
        match &self.need {
            Need::Range(range, _) => Some(range),
            Need::UpTo(_) => None,
        }
    }

    pub fn ends_by(&self, sector: u64) -> bool {
        self.range().is_some_and(|range| range.end <= sector)
    }
}

/// All of them, in no order. What each choice of the heads asks for is known without going through them.
#[derive(Clone, Debug)]
pub(crate) struct Waiters {
    waiting: Vec<Durable>,
    flushes: usize,
    /// None of them arrived before; the oldest may have gone since.
    not_before: Cell<u64>,
}

impl Waiters {
    pub fn with_capacity(count: usize) -> Self {
        Self { waiting: Vec::with_capacity(count), flushes: 0, not_before: Cell::new(u64::MAX) }
    }

    pub fn push(&mut self, durable: Durable) {
        self.flushes += usize::from(durable.range().is_none());
        self.not_before.set(self.not_before.get().min(durable.arrived));
        self.waiting.push(durable);
    }

    /// Takes one out; the last takes over its index.
    pub fn take(&mut self, index: usize) -> Durable {
        let durable = self.waiting.swap_remove(index);
        self.flushes -= usize::from(durable.range().is_none());
        durable
    }

    pub fn clear(&mut self) {
        self.waiting.clear();
        self.flushes = 0;
        self.not_before.set(u64::MAX);
    }

    /// The newest write that a flush waits for; 0 when none does.
    pub fn barrier(&self) -> u64 {
        if self.flushes == 0 {
            return 0;
        }
        let flushes = self.waiting.iter().filter_map(|durable| match durable.need {
            Need::UpTo(sequence) => Some(sequence),
            Need::Range(..) => None,
        });
        flushes.max().unwrap_or(0)
    }

    /// When the oldest arrived, if who arrived then `starves`.
    pub fn starving_since(&self, starves: impl Fn(u64) -> bool) -> Option<u64> {
        if !starves(self.not_before.get()) {
            return None;
        }
        self.not_before.set(self.waiting.iter().map(|durable| durable.arrived).min().unwrap_or(u64::MAX));
        Some(self.not_before.get()).filter(|since| starves(*since))
    }
}

impl Deref for Waiters {
    type Target = [Durable];

    fn deref(&self) -> &[Durable] {
        &self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::Drive;
    use crate::profile::Profile;
    use proptest::prelude::*;

    /// The fifth write wrote sectors 8 to 16, and a flush came behind it. Both wait for what is no newer, the write only for what lies
    /// there, in DRAM or on its way out of it.
    #[test]
    fn nobody_waits_for_what_was_written_later_or_elsewhere() {
        let profile = Profile::parse(include_str!("../../../../drives/st12000vn0007.toml")).unwrap();
        let drive = Drive::new(&profile, 1);
        let [write, flush] = [Need::Range(Range { start: 8, end: 16 }, 5), Need::UpTo(5)];
        assert!(drive.is_durable(&write) && drive.is_durable(&flush));
        for (start, end, overlaps) in [(0, 8, false), (0, 9, true), (10, 12, true), (15, 24, true), (16, 24, false)] {
            for sequence in 4..7 {
                let (range, is_old) = (Range { start, end }, sequence <= 5);
                let (mut dirty, mut flying) = (drive.clone(), drive.clone());
                let about =
                    Dirty { sequence, arrived: 0, writes: 1, direct: false, wanted: false, band: (0, 0), spot: None };
                dirty.buffer.push(range, &about);
                flying.in_flight.push(range, sequence);
                for drive in [dirty, flying] {
                    let durable = (drive.is_durable(&write), drive.is_durable(&flush));
                    assert_eq!(durable, (!(overlaps && is_old), !is_old), "{start}..{end} of write {sequence}");
                }
            }
        }
    }

    proptest! {
        /// Whoever comes and goes, the answers are those of going through all.
        #[test]
        fn what_is_known_of_all_is_true(
            steps in prop::collection::vec((any::<bool>(), any::<bool>(), 0..50_u64), 1..100),
        ) {
            let (mut waiters, mut all) = (Waiters::with_capacity(4), Vec::new());
            for (comes, flush, number) in steps {
                if comes || all.is_empty() {
                    let range = Range { start: number, end: number + 8 };
                    let need = if flush { Need::UpTo(number) } else { Need::Range(range, number) };
                    waiters.push(Durable { tag: 0, arrived: number, need });
                    all.push((number, flush));
                } else {
                    let index = number as usize % all.len();
                    prop_assert_eq!(waiters.take(index).arrived, all.swap_remove(index).0);
                }
                let barrier = all.iter().filter(|(_, flush)| *flush).map(|(number, _)| *number).max();
                prop_assert_eq!(waiters.barrier(), barrier.unwrap_or(0));
                let oldest = all.iter().map(|(arrived, _)| *arrived).min();
                let too_long = |since: u64| since < number;
                prop_assert_eq!(waiters.starving_since(too_long), oldest.filter(|since| too_long(*since)));
            }
        }
    }
}
