//! What is on a vdev: records of one size in metaslabs, written one behind the other or scattered by age.

use std::collections::{BTreeSet, VecDeque};

use super::content::Content;
use super::filling::Written;
use super::geometry::Geometry;
use super::groups::Groups;
use super::indirects::Indirects;
use super::metaslabs::Metaslabs;
use super::own;
use super::places::{Fresh, Places};
use super::room::Room;
use super::shuffle::Shuffle;
use super::tunables::Tunables;
use crate::LayoutError;

/// A vdev with its content: which record lies where.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub geometry: Geometry,
    pub record_bytes: u64,
    pub records: u64,
    record_allocated: u64,
    pub indirects: Indirects,
    /// Where the second copies of the indirect blocks begin, if they lie in one metaslab.
    pub second_copies: Option<u64>,
    /// How many records may be written to it before users have to wait for a transaction group.
    pub unwritten_records: u64,
    pub metaslab_shift: u32,
    pub metaslabs: u64,
    filled: Metaslabs,
    /// Metaslabs with the pool's own blocks.
    pub own: [own::Copies; 3],
    /// Those that get third copies once users' data has gone on from a metaslab, from two, and so on.
    pub later_thirds: Vec<u64>,
    pub records_per_metaslab: u64,
    pub(super) groups: Groups,
    pub runs: Option<Runs>,
    /// Where users have written since.
    pub places: Places,
}

/// Runs of records scattered over slots.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    pub run_records: u64,
    pub slots: u64,
    pub used: u64,
    places: Shuffle,
    slots_per_metaslab: u64,
}

impl Runs {
    /// The run that lies in a slot, if any does.
    pub fn run_in(&self, slot: u64) -> Option<u64> {
        Some(self.places.inverse(slot)).filter(|run| *run < self.used)
    }
}

impl Pool {
    /// Fills a vdev whose smallest member holds `member_bytes`, with up to `dirty_bytes` waiting in memory.
    ///
    /// # Errors
    /// [`LayoutError::Value`] for what cannot be.
    pub fn new(
        geometry: Geometry,
        member_bytes: u64,
        content: Content,
        dirty_bytes: u64,
        tunables: &Tunables,
        seed: u64,
    ) -> Result<Self, LayoutError> {
        content.check(&geometry)?;
        let Content { record_bytes, fill, run_records, .. } = content;
        let Room { metaslab_shift, metaslabs, shown_bytes } = Room::of(&geometry, member_bytes, tunables);
        if metaslabs == 0 {
            return Err(LayoutError::value("members", member_bytes, "too small for a pool: ZFS takes 64 MiB or more"));
        }
        let record_allocated = geometry.allocated_bytes(record_bytes);
        let mut between = sim::stream(seed, "what lies between records");
        let wanted_records = (shown_bytes as f64 * fill) as u64 / record_allocated;
        let (files, all_records) = content.lengths(wanted_records);
        let indirects = Indirects::new(&geometry, files, &mut between);
        let room_for = |written: u64| {
            let counted = unwritten_allocated(shown_bytes, written * record_allocated);
            (u128::from(counted) * u128::from(record_bytes) / u128::from(record_allocated)) as u64
        };
        // Behind what is filled no group was short of room.
        let room_while_filling =
            |written: u64| if written < wanted_records { room_for(written) } else { u64::MAX >> 4 };
        let groups = match run_records {
            Some(_) => Groups::unknown(),
            None => {
                let written = Written { files, record_bytes };
                Groups::new(&geometry, written, dirty_bytes, room_while_filling, &mut between)
            }
        };
        let room = room_of_metaslab(&geometry, metaslab_shift, record_allocated, &groups, run_records.is_some());
        let fitting = indirects.fitting(room, record_allocated, all_records);
        let records_per_metaslab = content.in_whole_runs(fitting)?;
        let records = all_records.min(metaslabs * records_per_metaslab);
        let indirects = indirects.among(records, records_per_metaslab);
        let filled = Metaslabs::new(metaslabs, records.div_ceil(records_per_metaslab), run_records.is_some());
        let groups_back = filled.goes_back().then(|| {
            let begin = records.saturating_sub(1) / records_per_metaslab * records_per_metaslab;
            groups.before(records - 1) - groups.before(begin)
        });
        let empty: Vec<u64> = own::empty_metaslabs(&filled.content, groups_back)
            .skip(3)
            .take_while(|metaslab| *metaslab < metaslabs)
            .collect();
        let places = Places::new(records, fresh(records, records_per_metaslab, &filled.order, &empty));
        let mut pool = Self {
            geometry,
            record_bytes,
            records,
            record_allocated,
            indirects,
            second_copies: None,
            unwritten_records: (room_for(records) / record_bytes).max(1),
            metaslab_shift,
            metaslabs,
            own: own::own_metaslabs(&filled.content, groups_back),
            filled,
            later_thirds: empty.iter().skip(4).step_by(2).copied().collect(),
            records_per_metaslab,
            groups,
            runs: None,
            places,
        };
        pool.runs = run_records.map(|run_records| pool.scattered(run_records, seed));
        Ok(pool)
    }

    fn scattered(&self, run_records: u64, seed: u64) -> Runs {
        let slots_per_metaslab = self.records_per_metaslab / run_records;
        let slots = (self.metaslabs * slots_per_metaslab).max(1);
        let used = self.records.div_ceil(run_records).min(slots);
        Runs { run_records, slots, used, places: Shuffle::new(slots, seed), slots_per_metaslab }
    }

    /// Allocated bytes of a record.
    pub fn record_allocated(&self) -> u64 {
        self.record_allocated
    }

    /// Where on the vdev a record lies that was not rewritten; of others, the slot of this number.
    pub fn record_offset(&self, record: u64) -> u64 {
        match &self.runs {
            None => self.place(record / self.records_per_metaslab, record % self.records_per_metaslab),
            Some(runs) => {
                self.slot_offset(runs.places.forward(record / runs.run_records))
                    + record % runs.run_records * self.record_allocated
            }
        }
    }

    /// Where a slot begins.
    pub fn slot_offset(&self, slot: u64) -> u64 {
        let runs = self.runs.as_ref().expect("only an aged pool has slots");
        self.place(slot / runs.slots_per_metaslab, slot % runs.slots_per_metaslab * runs.run_records)
    }

    /// Where a record of a metaslab lies; behind all, what comes there.
    pub(super) fn place(&self, metaslab: u64, record: u64) -> u64 {
        let first = metaslab * self.records_per_metaslab;
        self.behind_records(metaslab, record, self.indirects.bytes_between(first..first + record))
    }

    /// Behind so many records of a metaslab, and indirect blocks of so many bytes.
    pub(super) fn behind_records(&self, metaslab: u64, records: u64, indirect_bytes: u64) -> u64 {
        let first = metaslab * self.records_per_metaslab;
        let between = indirect_bytes + self.groups.free_between(first, first + records);
        let made_bytes = self.made_bytes(self.filled.order[metaslab as usize]);
        self.metaslab_offset(metaslab) + made_bytes + records * self.record_allocated + between
    }

    pub fn are_in_one_metaslab(&self, first: u64, second: u64) -> bool {
        first >> self.metaslab_shift == second >> self.metaslab_shift
    }

    pub(super) fn metaslab_offset(&self, metaslab: u64) -> u64 {
        self.begin_of(self.filled.order[metaslab as usize])
    }

    /// Where a metaslab begins.
    pub fn begin_of(&self, metaslab: u64) -> u64 {
        (metaslab << self.metaslab_shift).next_multiple_of(self.geometry.alignment_bytes())
    }

    /// What was written to a metaslab when the pool was made, before any data.
    pub fn made_bytes(&self, metaslab: u64) -> u64 {
        u64::from(self.runs.is_none() && metaslab < own::COPIES) * own::made_bytes(&self.geometry)
    }

    /// What users work on: a file.
    pub fn users_bytes(&self) -> u64 {
        let long = self.indirects.files.long;
        let records = if long == 0 { self.records } else { long.min(self.records) };
        records * self.record_bytes
    }

    /// The metaslabs that hold content, by their place.
    pub(super) fn content(&self) -> &[u64] {
        &self.filled.content
    }

    /// Which record comes at a step of who goes by place.
    pub fn record_by_place(&self, step: u64) -> u64 {
        self.filled.record_by_place(step, self.records, self.records_per_metaslab)
    }

    /// How many records lie in one piece from this one on, the metaslab's others included.
    pub fn left_in_stretch(&self, record: u64) -> u64 {
        self.indirects.left_before(record).min(self.groups.left(record)).min(self.left_in_metaslab(record))
    }

    /// How many records the metaslab of this record still holds from it on.
    pub fn left_in_metaslab(&self, record: u64) -> u64 {
        self.records_per_metaslab - record % self.records_per_metaslab
    }
}

/// How many bytes a metaslab has for records and indirect blocks.
fn room_of_metaslab(geometry: &Geometry, shift: u32, record_allocated: u64, groups: &Groups, aged: bool) -> u64 {
    let room = (1 << shift) - geometry.alignment_bytes();
    let made_bytes = if aged { 0 } else { own::made_bytes(geometry) };
    room.saturating_sub(made_bytes + groups.most_free_among(room / record_allocated))
}

/// Slots of records in the order in which users' data takes them: the first metaslab of those that the last import has taken, then
/// every second that is empty, since the one behind it gets the third copies. So it is in the lab, where a pool is imported twice
/// before there are users: behind content in metaslabs 0 and 3 come 8, 11 and 13, then those that hold little.
fn fresh(records: u64, records_per_metaslab: u64, order: &[u64], empty: &[u64]) -> VecDeque<Fresh> {
    let used = records.div_ceil(records_per_metaslab);
    let others = &order[used as usize..];
    let firsts: Vec<u64> = empty.first().into_iter().chain(empty.iter().skip(3).step_by(2)).copied().collect();
    let are_first: BTreeSet<u64> = firsts.iter().copied().collect();
    let rest = others.iter().filter(|metaslab| !are_first.contains(metaslab));
    let slots = |metaslab: &u64| {
        let index = used + others.binary_search(metaslab).expect("the others are sorted") as u64;
        index * records_per_metaslab..(index + 1) * records_per_metaslab
    };
    // Those that hold something are filled to their ends in the lab's lists of requests.
    let wholly_free = firsts.iter().map(|metaslab| Fresh::new(slots(metaslab), records_per_metaslab / 2));
    let partly_free = rest.map(|metaslab| Fresh::new(slots(metaslab), 0));
    let behind_content = Fresh::new(records..used * records_per_metaslab, 0);
    wholly_free.chain(partly_free).chain([behind_content]).collect()
}

/// A write has to wait once all that are not yet written would fill the pool and a 32nd of it more, each being taken to need 24 times its
/// size (`dsl_dir_tempreserve_impl`, `spa_asize_inflation`). Of whole drives memory is full long before.
fn unwritten_allocated(shown: u64, used: u64) -> u64 {
    (shown + shown / 32).saturating_sub(used) / 24
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zfs::content::Files;
    use std::collections::HashSet;

    fn pool(run_records: Option<u64>, fill: f64) -> Pool {
        of_files(run_records, fill, Files::One)
    }

    fn of_files(run_records: Option<u64>, fill: f64, files: Files) -> Pool {
        let geometry = Geometry::raidz(2, 6, 12).unwrap();
        Pool::new(
            geometry,
            40 << 30,
            Content { record_bytes: 128 << 10, fill, run_records, files },
            1 << 30,
            &Tunables::v2_3(),
            1,
        )
        .unwrap()
    }

    #[test]
    fn the_fill_is_what_is_asked_for() {
        let (full, half, empty) = (pool(None, 1.0), pool(None, 0.5), pool(None, 0.0));
        assert_eq!(empty.records, 0);
        assert!((half.records * 2).abs_diff(full.records) * 50 < full.records);
        let shown = 6.0 * 40.0 * f64::from(1 << 30) * 31.0 / 32.0;
        assert!((full.allocated_bytes() as f64 / shown - 1.0).abs() < 0.02);
    }

    #[test]
    fn an_aged_pool_keeps_its_runs_together_and_finds_them_again() {
        let pool = pool(Some(8), 0.5);
        let runs = pool.runs.as_ref().unwrap();
        let used: HashSet<u64> = (0..runs.slots).filter_map(|slot| runs.run_in(slot)).collect();
        assert_eq!(used.len() as u64, runs.used);
        for slot in 0..200 {
            if let Some(run) = runs.run_in(slot) {
                assert_eq!(pool.record_offset(run * 8), pool.slot_offset(slot));
            }
        }
    }

    #[test]
    fn a_run_longer_than_a_metaslab_is_refused() {
        let content =
            Content { record_bytes: 128 << 10, fill: 0.2, run_records: Some(100_000_000_000), files: Files::One };
        let refusal = Pool::new(Geometry::raidz(1, 4, 12).unwrap(), 40 << 30, content, 1 << 30, &Tunables::v2_3(), 1)
            .unwrap_err();
        assert!(refusal.to_string().contains("a metaslab has room for"), "{refusal}");
    }

    /// Of a dRAID of 42 metaslabs of which data fills five and a little of a sixth, which lies among them.
    #[test]
    fn who_goes_by_place_finds_each_record_once_in_the_order_of_their_places() {
        let geometry = Geometry::draid(2, 2, 6, 0, 12).unwrap();
        let content = Content { record_bytes: 128 << 10, fill: 0.12, run_records: None, files: Files::One };
        let pool = Pool::new(geometry, 4_000_787_030, content, 200 << 20, &Tunables::v2_3(), 1).unwrap();
        let metaslab = |record| pool.record_offset(record) >> pool.metaslab_shift;
        assert_eq!([0, pool.records - pool.records_per_metaslab, pool.records - 1].map(metaslab), [0, 9, 4]);
        let found: Vec<u64> = (0..pool.records).map(|step| pool.record_by_place(step)).collect();
        assert!(found.windows(2).all(|pair| pool.record_offset(pair[0]) < pool.record_offset(pair[1])));
        assert_eq!(found.iter().max(), Some(&(pool.records - 1)));
        let users = [0, 1, 2].map(|number| pool.clone().places.rewrite(number)).map(metaslab);
        assert_eq!(users, [13; 3]);
    }
}
