//! Where users' records lie once they have been rewritten: nothing is overwritten, so each goes to another slot.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::Range;

/// Slots are numbered as the records of a pool that is full. The first hold the records they are named after, until these
/// are rewritten.
#[derive(Clone, Debug)]
pub(super) struct Places {
    records: u64,
    /// Slots that nothing was ever written to: these come first.
    fresh: VecDeque<Range<u64>>,
    moved: HashMap<u64, u64>,
    held: BTreeSet<u64>,
    freed: BTreeSet<u64>,
    last: u64,
    /// Written since the resilver began: nothing of it is missing anywhere.
    young: HashSet<u64>,
    rewrites: u64,
}

impl Places {
    /// Of so many records in the first slots of all; what is rewritten goes to the fresh ones, in their order, then to what
    /// others have left.
    pub fn new(records: u64, fresh: VecDeque<Range<u64>>) -> Self {
        Self {
            records,
            fresh,
            moved: HashMap::new(),
            held: BTreeSet::new(),
            freed: BTreeSet::new(),
            last: 0,
            young: HashSet::new(),
            rewrites: 0,
        }
    }

    /// Where a record lies.
    pub fn of(&self, record: u64) -> u64 {
        self.moved.get(&record).copied().unwrap_or(record)
    }

    /// Writes a record anew; returns where.
    pub fn rewrite(&mut self, record: u64) -> u64 {
        self.rewrites += 1;
        let old = self.of(record);
        let new = self.free_slot().unwrap_or(old);
        if new != old {
            self.free(old);
        }
        self.moved.insert(record, new);
        self.held.insert(new);
        self.young.insert(new);
        new
    }

    /// A slot for a block that is free again at once.
    pub fn borrow(&mut self) -> u64 {
        let slot = self.free_slot().unwrap_or(0);
        self.freed.insert(slot);
        slot
    }

    fn free(&mut self, slot: u64) {
        self.held.remove(&slot);
        self.young.remove(&slot);
        self.freed.insert(slot);
    }

    fn free_slot(&mut self) -> Option<u64> {
        while let Some(range) = self.fresh.front_mut() {
            if let Some(slot) = range.next() {
                return Some(slot);
            }
            self.fresh.pop_front();
        }
        let slot = self.freed.range(self.last..).next().or_else(|| self.freed.first()).copied()?;
        self.freed.remove(&slot);
        self.last = slot;
        Some(slot)
    }

    /// A resilver begins: what is here now may miss a drive.
    pub fn grow_old(&mut self) {
        self.young.clear();
        self.rewrites = 0;
    }

    /// How many records have been written since the resilver began.
    pub fn rewrites(&self) -> u64 {
        self.rewrites
    }

    /// Was what lies there written since the resilver began?
    pub fn is_young(&self, slot: u64) -> bool {
        self.young.contains(&slot)
    }

    /// Does something lie there that was there when the resilver began?
    pub fn is_old(&self, slot: u64) -> bool {
        let is_held = self.held.contains(&slot) || (slot < self.records && !self.moved.contains_key(&slot));
        is_held && !self.is_young(slot)
    }

    /// How many slots from this one on, of so many at most, hold something old.
    pub fn old_from(&self, slot: u64, most: u64) -> u64 {
        if self.moved.is_empty() {
            return most;
        }
        (slot..slot + most).take_while(|slot| self.is_old(*slot)).count() as u64
    }

    /// Slots behind the first that hold a record.
    pub fn beyond(&self) -> Vec<u64> {
        self.held.range(self.records..).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_one_place_and_no_two_share_one() {
        let mut places = Places::new(10, [13..16, 10..13].into());
        let slots: Vec<u64> = [3, 4, 3, 5, 6, 7].map(|record| places.rewrite(record)).into();
        assert_eq!(slots[..5], [13, 14, 15, 10, 11]);
        (0..1000).for_each(|number| {
            places.rewrite(number * 7 % 10);
        });
        let now: HashSet<u64> = (0..10).map(|record| places.of(record)).collect();
        assert_eq!(now.len(), 10);
    }

    #[test]
    fn what_is_written_during_a_resilver_needs_none() {
        let mut places = Places::new(4, [4..7, 7..10].into());
        places.rewrite(1);
        places.grow_old();
        assert_eq!((places.beyond(), places.is_old(1), places.old_from(2, 3)), (vec![4], false, 3));
        assert_eq!(places.rewrite(2), 5);
        assert!(places.is_young(5) && !places.is_old(5) && !places.is_old(2) && places.is_old(4));
    }
}
