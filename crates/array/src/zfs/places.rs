//! Where users' records lie once they have been rewritten: nothing is overwritten, so each goes to another slot.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::Range;

/// How many groups later what is free may be given out again (`TXG_DEFER_SIZE` behind the one that frees it).
const DEFERRED_GROUPS: usize = 3;

/// Slots of a metaslab that nothing was ever written to. ZFS leaves a metaslab when its largest free piece is less than
/// half of the power of two that it was at first, unless that is 15/16 of all that is free there
/// (`metaslab_segment_may_passivate`): so as long as it has hardly any holes.
#[derive(Clone, Debug)]
pub(super) struct Fresh {
    slots: Range<u64>,
    /// With fewer slots left in one piece than these it may be left.
    leave_below: u64,
    begin: u64,
}

impl Fresh {
    pub fn new(slots: Range<u64>, leave_below: u64) -> Self {
        Self { begin: slots.start, slots, leave_below }
    }
}

/// Slots are numbered as the records of a pool that is full. The first hold the records they are named after, until these
/// are rewritten.
#[derive(Clone, Debug)]
pub(super) struct Places {
    records: u64,
    /// Slots that nothing was ever written to: these come first.
    fresh: VecDeque<Fresh>,
    moved: HashMap<u64, u64>,
    held: BTreeSet<u64>,
    freed: BTreeSet<u64>,
    /// Freed in the last groups, the newest last: these are not given out yet.
    deferred: VecDeque<Vec<u64>>,
    /// Of this group, for what the next one writes elsewhere.
    borrowed: Vec<u64>,
    /// How many slots of the metaslab that is filled are free again.
    holes: u64,
    last: u64,
    /// Written since the resilver began: nothing of it is missing anywhere.
    young: HashSet<u64>,
    rewrites: u64,
    /// From how many metaslabs data has gone on to another.
    gone_on: usize,
}

impl Places {
    /// Of so many records in the first slots of all; what is rewritten goes to the fresh ones, in their order, then to what
    /// others have left.
    pub fn new(records: u64, fresh: VecDeque<Fresh>) -> Self {
        Self {
            records,
            fresh,
            moved: HashMap::new(),
            held: BTreeSet::new(),
            freed: BTreeSet::new(),
            deferred: VecDeque::from([Vec::new()]),
            borrowed: Vec::new(),
            holes: 0,
            last: 0,
            young: HashSet::new(),
            rewrites: 0,
            gone_on: 0,
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

    /// A slot for blocks of which each group writes new ones: the next group frees it.
    pub fn borrow(&mut self) -> u64 {
        let slot = self.free_slot();
        // Of a pool that is full none is free before, and none behind.
        self.borrowed.extend(slot);
        slot.unwrap_or(0)
    }

    fn free(&mut self, slot: u64) {
        self.held.remove(&slot);
        self.young.remove(&slot);
        self.deferred.back_mut().expect("there is a group").push(slot);
    }

    /// A transaction group begins to be written.
    pub fn begin_group(&mut self) {
        self.deferred.push_back(std::mem::take(&mut self.borrowed));
        if self.deferred.len() > DEFERRED_GROUPS {
            let free = self.deferred.pop_front().unwrap_or_default();
            let filled = self.fresh.front().map_or(0..0, |fresh| fresh.begin..fresh.slots.start);
            self.holes += free.iter().filter(|slot| filled.contains(slot)).count() as u64;
            self.freed.extend(free);
        }
    }

    /// Is the metaslab that is filled to be left?
    fn is_to_leave(&self) -> bool {
        self.fresh.front().is_some_and(|Fresh { slots, leave_below, .. }| {
            let left = slots.end - slots.start;
            (1..*leave_below).contains(&left) && left * 16 <= (left + self.holes) * 15
        })
    }

    fn free_slot(&mut self) -> Option<u64> {
        if self.is_to_leave() {
            // What is left of it comes behind all that are emptier.
            let rest = self.next_metaslab().map(|Fresh { slots, .. }| Fresh::new(slots, 0));
            self.fresh.extend(rest);
        }
        while let Some(fresh) = self.fresh.front_mut() {
            if let Some(slot) = fresh.slots.next() {
                return Some(slot);
            }
            self.next_metaslab();
        }
        if self.freed.is_empty() {
            self.freed.extend(self.deferred.iter_mut().flat_map(std::mem::take));
        }
        let slot = self.freed.range(self.last..).next().or_else(|| self.freed.first()).copied()?;
        self.freed.remove(&slot);
        self.last = slot;
        Some(slot)
    }

    /// Leaves the metaslab that is filled.
    fn next_metaslab(&mut self) -> Option<Fresh> {
        self.holes = 0;
        self.gone_on += 1;
        self.fresh.pop_front()
    }

    /// From how many metaslabs that were filled data has gone on to another.
    pub fn gone_on(&self) -> usize {
        self.gone_on
    }

    /// Have users ever written anything anew?
    pub fn were_rewritten(&self) -> bool {
        !self.moved.is_empty()
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
        let mut places = Places::new(10, [13..16, 10..13].map(|slots| Fresh::new(slots, 0)).into());
        let slots: Vec<u64> = [3, 4, 3, 5, 6, 7].map(|record| places.rewrite(record)).into();
        assert_eq!(slots[..5], [13, 14, 15, 10, 11]);
        (0..1000).for_each(|number| {
            places.rewrite(number * 7 % 10);
        });
        let now: HashSet<u64> = (0..10).map(|record| places.of(record)).collect();
        assert_eq!(now.len(), 10);
    }

    /// Also what is left of a metaslab that data has gone on from. Then what is free again comes, in the order of places.
    #[test]
    fn what_was_never_written_comes_before_what_is_free_again() {
        let mut places = Places::new(100, [Fresh::new(100..200, 50), Fresh::new(200..300, 0)].into());
        assert!(!places.is_old(100), "nothing was ever there");
        let mut written = (0..400).map(|number| {
            if number % 10 == 0 {
                places.begin_group();
            }
            places.rewrite(number % 20)
        });
        let fresh: HashSet<u64> = written.by_ref().take(200).collect();
        assert_eq!(fresh, (100..300).collect());
        let again: Vec<u64> = written.collect();
        let backward = again.windows(2).filter(|pair| pair[1] <= pair[0]).count();
        assert!(backward <= 1, "{again:?}");
    }

    #[test]
    fn a_full_pool_gives_nobodys_place_away() {
        let mut places = Places::new(4, VecDeque::new());
        for record in [3, 1, 0, 2, 1] {
            places.borrow();
            places.begin_group();
            places.rewrite(record);
            let now: HashSet<u64> = (0..4).map(|record| places.of(record)).collect();
            assert_eq!(now.len(), 4, "behind {record}");
        }
    }

    #[test]
    fn what_is_written_during_a_resilver_needs_none() {
        let mut places = Places::new(4, [4..7, 7..10].map(|slots| Fresh::new(slots, 0)).into());
        places.rewrite(1);
        places.grow_old();
        assert_eq!((places.beyond(), places.is_old(1), places.old_from(2, 3)), (vec![4], false, 3));
        assert_eq!(places.rewrite(2), 5);
        assert!(places.is_young(5) && !places.is_old(5) && !places.is_old(2) && places.is_old(4));
    }

    /// Of records that are rewritten once only nothing is free again where they are written.
    #[test]
    fn what_each_group_writes_of_the_pool_itself_leaves_holes() {
        let left_at = |borrowed: usize| {
            let mut places = Places::new(100, [Fresh::new(100..200, 50), Fresh::new(200..300, 0)].into());
            let mut written = (0..80).map(|number| {
                if number % 10 == 0 {
                    places.begin_group();
                    (0..borrowed).for_each(|_| _ = places.borrow());
                }
                places.rewrite(number)
            });
            written.position(|slot| slot >= 200)
        };
        // Of the first two groups they are free again when the sixth begins.
        assert_eq!([0, 2].map(left_at), [None, Some(50)]);
    }

    #[test]
    fn a_metaslab_with_holes_is_left_by_half() {
        let filled = |rewritten: bool| {
            let mut places = Places::new(100, [Fresh::new(100..200, 50), Fresh::new(200..300, 0)].into());
            let record = |number| if rewritten { number % 20 } else { number };
            let slots: Vec<u64> = (0..80)
                .map(|number| {
                    if number % 10 == 0 {
                        places.begin_group();
                    }
                    places.rewrite(record(number))
                })
                .collect();
            slots.windows(2).find(|pair| pair[1] != pair[0] + 1).map(|pair| pair[0])
        };
        // With half of it written 30 slots are holes of three groups and more ago.
        assert_eq!(filled(true), Some(150));
        assert_eq!(filled(false), None);
    }
}
