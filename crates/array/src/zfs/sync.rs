//! How transaction groups are written (`spa_sync`): users' data and uberblocks every few seconds, and in between a scan goes on.

use std::array::from_fn;
use std::ops::Range;

use drive::BlockDevice;

use super::flow::{Flow, Purpose, Target};
use super::geometry::LABEL_START_BYTES;
use super::indirects::Size;
use super::labels::{configurations, uberblocks, whole_labels};
use super::order::Order;
use super::own;
use super::phase::Phase;
use super::queue::Class;
use super::resilver::Resilver;
use super::role::Role;
use super::txg::{Stage, Txg};

/// `TXG_CONCURRENT_STATES`: open, about to be written, and written.
const CONCURRENT_GROUPS: u64 = 3;

/// `zfs_dirty_data_sync_percent`: with this share of what may be dirty an open group is to be written.
const SYNC_SHARE: f64 = 0.2;

/// By which of the two groups that may be under way are told apart.
fn bit(group: u64) -> usize {
    (group & 1) as usize
}

impl<D: BlockDevice> Resilver<D> {
    /// May the scan issue more?
    pub(super) fn txg_lets_scan(&self) -> bool {
        matches!(self.txg.stage, Stage::Scan { .. }) && !self.txg.visited
    }

    /// When the group goes on by itself.
    pub(super) fn next_txg_ns(&self) -> u64 {
        match self.txg.stage {
            Stage::Scan { .. } if !self.scans() => self.now_ns,
            Stage::Scan { since_ns } => self.scan_ends_ns(since_ns),
            Stage::Open { until_ns } => until_ns,
            Stage::Quiesced | Stage::Data | Stage::Names | Stage::Drain | Stage::Flush => u64::MAX,
            Stage::Own { .. } | Stage::Labels { .. } | Stage::Attach => u64::MAX,
        }
    }

    /// Is users' data being written?
    pub(super) fn writes_data(&self) -> bool {
        matches!(self.txg.stage, Stage::Data)
    }

    fn is_sequential(&self) -> bool {
        self.plan.order == Order::Sequential
    }

    /// Has this group anything to do for the scan?
    fn scans(&self) -> bool {
        !self.is_sequential() && !self.txg.visited && self.phase.scans()
    }

    fn scan_ends_ns(&self, since_ns: u64) -> u64 {
        let tunables = &self.plan.tunables;
        let least_ns = since_ns + tunables.resilver_min_time_ns;
        let is_hurried = self.dirty_share() >= 0.3 || self.group_is_awaited();
        let due_ns = if is_hurried { 0 } else { self.txg.began_ns + tunables.txg_timeout_ns };
        least_ns.max(due_ns)
    }

    /// Does somebody wait for the group that is written, or for the one behind it (`txg_sync_waiting`)? Who has filled an open one wants
    /// that, and goes on to want it while it is written (`txg_kick`).
    fn group_is_awaited(&self) -> bool {
        let kicks = self.plan.tunables.kicks_ahead;
        self.users_wait() || (kicks && (self.txg.was_kicked || self.open_group_is_large()))
    }

    fn open_group_is_large(&self) -> bool {
        self.dirty_share() >= SYNC_SHARE
    }

    /// The scan knows what there is; this group has no more to do for it (`dsl_scan_sync` either visits or issues).
    pub(super) fn end_visit(&mut self) {
        self.txg.visited = true;
    }

    /// One of the parts that the stage waits for is done.
    pub(super) fn txg_part_done(&mut self) {
        self.txg.parts_left -= 1;
    }

    /// Goes through as many stages as nothing is waited for in.
    pub(super) fn advance_txg(&mut self) {
        loop {
            if self.txg.parts_left > 0 {
                return;
            }
            // Unless the pool was lost while the group's data was written.
            if self.txg.stage == Stage::Names && self.txg.begins_scan() && self.is_to_begin() {
                self.begin_scan();
            }
            let scans = self.scans();
            let next = match self.txg.stage {
                Stage::Quiesced if self.txg.rebuilding[bit(self.txg.number)] > 0 => return,
                Stage::Quiesced => Stage::Data,
                Stage::Data => Stage::Names,
                Stage::Names if scans => Stage::Scan { since_ns: self.now_ns },
                Stage::Names => Stage::Own { pass: 0 },
                Stage::Scan { since_ns } if scans && self.now_ns < self.scan_ends_ns(since_ns) => return,
                Stage::Scan { .. } => Stage::Drain,
                Stage::Drain if !self.is_sequential() && self.flight_flows > 0 => return,
                Stage::Drain => Stage::Own { pass: 0 },
                Stage::Own { pass } if pass + 1 < self.own_passes().len() => Stage::Own { pass: pass + 1 },
                Stage::Own { .. } => Stage::Flush,
                Stage::Flush => Stage::Labels { part: self.label_parts().start },
                Stage::Labels { part } if part + 1 < self.label_parts().end => Stage::Labels { part: part + 1 },
                Stage::Labels { .. } => {
                    self.users_are_synced();
                    if self.txg.is_last && !self.is_over() {
                        self.end();
                    }
                    let waits = self.is_sequential() || matches!(self.phase, Phase::Draining | Phase::Over);
                    let until_ns = if waits { self.txg.began_ns + self.plan.tunables.txg_timeout_ns } else { 0 };
                    Stage::Open { until_ns: until_ns.max(self.now_ns) }
                }
                Stage::Open { until_ns } if self.now_ns < until_ns && !self.group_is_wanted() => return,
                Stage::Open { .. } if self.is_to_begin() && self.txg.number == 0 && self.plan.spare.is_none() => {
                    Stage::Attach
                }
                Stage::Open { .. } | Stage::Attach => Stage::Quiesced,
            };
            self.enter(next);
            if self.phase == Phase::Over && matches!(self.txg.stage, Stage::Open { .. }) {
                return;
            }
        }
    }

    /// A scan begins with the first group that nobody can have begun to fill before the drive was put in (`dtl_max_txg`), the
    /// fourth. With nothing to write those between are empty and not counted: then it is the second.
    fn is_time_to_scan(&self) -> bool {
        let is_time = self.txg.number > CONCURRENT_GROUPS || (self.txg.number > 1 && self.unwritten() == 0);
        self.is_to_begin() && is_time
    }

    /// Users whose data fills memory want a group; so does who has put in the new drive, until what may be under way
    /// without it is written (`spa_vdev_attach`). Nobody hurries a later one, in which a rebuild is told to be done.
    fn group_is_wanted(&self) -> bool {
        let attaches = self.is_sequential() && self.phase != Phase::Over && self.txg.number < CONCURRENT_GROUPS;
        self.open_group_is_large() || self.users_wait() || attaches
    }

    /// What a sequential rebuild asks for is of the group that is open, which is not written before it is done.
    pub(super) fn join_group(&mut self, flow: u32) {
        let open = bit(self.txg.number + 1);
        self.flows.get_mut(flow).group = open as u8;
        self.txg.rebuilding[open] += 1;
    }

    pub(super) fn leave_group(&mut self, flow: u32) {
        let Flow { is_segment, group, .. } = *self.flows.get(flow);
        self.txg.rebuilding[usize::from(group)] -= u64::from(is_segment);
    }

    fn is_drained(&self) -> bool {
        self.phase == Phase::Draining && self.flight_flows == 0
    }

    fn enter(&mut self, stage: Stage) {
        self.txg.stage = stage;
        match stage {
            Stage::Quiesced => {
                let (is_last, began_ns) = (self.is_drained(), self.now_ns);
                let was_kicked = self.open_group_is_large();
                self.txg = Txg { is_last, began_ns, was_kicked, visited: false, behind: 0..0, ..self.txg };
                self.txg.number += 1;
            }
            Stage::Data => {
                if self.is_time_to_scan() {
                    self.txg.begun_in = Some(self.txg.number);
                    // What was written before may miss the drive, what this group writes does not.
                    self.pool.places.grow_old();
                }
                self.txg.parts_left = self.write_users_data();
            }
            Stage::Names => {
                self.data_is_written();
                self.txg.parts_left = self.write_names();
            }
            Stage::Own { pass } => {
                // That a sequential rebuild is done is told while the group is written, of a scan when it is
                // (`vdev_rebuild_complete_sync`, `dsl_scan_done` in the next one).
                if self.txg.is_last && pass == 0 && !self.is_over() {
                    self.end();
                }
                self.txg.parts_left = self.write_own_blocks(pass);
            }
            Stage::Labels { part: 0 } => self.write_labels(&configurations(self.plan.member_bytes, 0)),
            Stage::Labels { part: 2 } => self.write_labels(&uberblocks(self.plan.member_bytes)),
            Stage::Labels { part: 4 } => self.write_labels(&configurations(self.plan.member_bytes, 1)),
            Stage::Flush | Stage::Labels { .. } => {
                // A sequential rebuild goes on while a group is written: what is not done at its beginning is of the next.
                self.txg.is_last |= !self.is_sequential() && self.is_drained();
                let number = self.begin(Flow::new(Purpose::Label { is_flush: true }, 0, 0));
                self.txg.parts_left = 1;
                self.flush_members(number);
            }
            Stage::Attach => {
                self.write_labels_to(self.plan.lost..self.plan.lost + 1, &whole_labels(self.plan.member_bytes))
            }
            Stage::Scan { .. } | Stage::Drain | Stage::Open { .. } => {}
        }
    }

    /// Which of the pool's own blocks the group writes.
    fn own_passes(&self) -> own::Passes {
        match (self.has_tasks(), self.group_has_data()) {
            (true, _) => own::PASSES_WITH_TASKS,
            (false, true) => own::PASSES_WITH_DATA,
            (false, false) => own::PASSES_OF_SCAN,
        }
    }

    /// Is anything to be done in this group, or in the next, beside writing what has changed? A drive is put in
    /// with the first. Who has ordered that hears of it when the group is written in which the scan begins, and notes it in the pool's history: in
    /// the second one behind that, since users' data has begun the next. Where nobody writes it is noted before the scan's turn.
    fn has_tasks(&self) -> bool {
        let is_noted_later = matches!(self.groups_behind_begin(), Some(1 | 2)) && self.pool.places.were_rewritten();
        is_noted_later || (self.is_to_begin() && self.txg.number == 1)
    }

    fn groups_behind_begin(&self) -> Option<u64> {
        self.txg.begun_in.map(|begun_in| self.txg.number - begun_in)
    }

    /// Does any of that still wait to be done (`spa_has_pending_synctask`)? What is of the group itself is done before the scan's turn,
    /// once users' data is written and what it has changed of the pool's own (`dsl_pool_sync`, in its first pass): that is the first pass
    /// here, too, where no scan has its turn before it. What is of the next group waits all along.
    pub(super) fn tasks_wait(&self) -> bool {
        let are_done = match self.txg.stage {
            Stage::Scan { .. } | Stage::Drain => true,
            Stage::Own { pass } => pass > 0 || !self.is_to_begin(),
            _ => false,
        };
        self.has_tasks() && (!are_done || self.groups_behind_begin() == Some(1))
    }

    /// Returns how many blocks there are.
    fn write_own_blocks(&mut self, pass: usize) -> u64 {
        if pass == 0 {
            self.txg.own_first = self.places_of_own_blocks();
        }
        let block = self.pool.geometry.allocated_bytes(own::BLOCK_BYTES);
        let (numbers, firsts) = (self.own_passes()[pass], self.txg.own_first);
        for (number, first) in numbers.iter().flat_map(|number| firsts.map(|first| (number, first))) {
            self.write_part(first + number * block, own::BLOCK_BYTES);
        }
        numbers.len() as u64 * own::COPIES
    }

    /// Where the group writes the pool's own blocks: the first copies behind users' data, if there has been any.
    fn places_of_own_blocks(&mut self) -> own::Copies {
        let blocks = own::blocks_of(&self.own_passes());
        let bytes = blocks * self.pool.geometry.allocated_bytes(own::BLOCK_BYTES);
        let has_data = self.pool.places.were_rewritten();
        from_fn(|copy| if copy == 0 && has_data { self.behind_data(bytes) } else { self.take_own(copy, bytes) })
    }

    /// Room for so much with the pool's own blocks, behind what was taken before.
    fn take_own(&mut self, copy: usize, bytes: u64) -> u64 {
        let (first, room_bytes) = self.pool.own_room(copy, self.plan.tunables.copies_apart);
        if first != self.txg.own_room_at[copy] {
            (self.txg.own_room_at[copy], self.txg.own_taken[copy]) = (first, 0);
        }
        let taken = &mut self.txg.own_taken[copy];
        if *taken % room_bytes + bytes > room_bytes {
            *taken = taken.next_multiple_of(room_bytes);
        }
        let last = (self.pool.metaslabs << self.pool.metaslab_shift).saturating_sub(bytes);
        let at = (first + *taken % room_bytes).min(last);
        *taken += bytes;
        at
    }

    /// A block of the group.
    pub(super) fn write_part(&mut self, offset_bytes: u64, bytes: u64) {
        let flow = self.begin(Flow::new(Purpose::Data, offset_bytes, bytes));
        self.write_block(flow, Class::AsyncWrite);
    }

    /// Indirect blocks above what users have changed: the first copies behind that, the second ones behind the pool's own.
    /// Returns how many blocks there are.
    fn write_names(&mut self) -> u64 {
        let changed = self.names_to_write();
        let Size { bytes, allocated, .. } = self.pool.indirects.size(0);
        let second = self.take_own(1, changed * allocated);
        for number in 0..changed {
            let first = self.behind_data(allocated);
            self.write_part(first, bytes);
            self.write_part(second + number * allocated, bytes);
        }
        2 * changed
    }

    /// Room for so much behind the group's data, one behind the other. It is free again at once. Where no slots lie in one piece
    /// it reaches over others, and only the way of the arm is right.
    fn behind_data(&mut self, allocated: u64) -> u64 {
        let slot_bytes = self.pool.record_allocated();
        let mut behind = self.txg.behind.clone();
        for _ in 0..=allocated.div_ceil(slot_bytes) {
            if behind.end - behind.start >= allocated {
                break;
            }
            let slot = self.pool.places.borrow();
            let first = self.pool.record_offset(slot);
            let begins = if first == behind.end { behind.start } else { first };
            behind = begins..first + slot_bytes;
        }
        let last = (self.pool.metaslabs << self.pool.metaslab_shift) - allocated;
        let first = behind.start.min(last);
        self.txg.behind = first + allocated..behind.end.max(first + allocated);
        first
    }

    /// Members and their bytes at which blocks may begin that the pool wrote of itself.
    pub fn own_places(&self) -> Vec<(usize, u64)> {
        let mut columns = Vec::new();
        let block = self.pool.geometry.allocated_bytes(own::BLOCK_BYTES) as usize;
        let written = (0..own::COPIES as usize).flat_map(|copy| {
            let (first, room_bytes) = self.pool.own_room(copy, self.plan.tunables.copies_apart);
            (first..first + self.txg.own_taken[copy].min(room_bytes)).step_by(block)
        });
        for offset_bytes in written.chain(self.pool.kept().into_iter().flatten()) {
            self.pool.geometry.columns(offset_bytes, own::BLOCK_BYTES, &mut columns);
        }
        let places = columns.iter().filter_map(|column| self.place(column));
        places.map(|target| (target.member as usize, LABEL_START_BYTES + target.offset_bytes)).collect()
    }

    /// Which parts of the labels a group writes: the configuration is another where there is a drive that was not, and
    /// where a scan begins.
    fn label_parts(&self) -> Range<u8> {
        let attaches = self.is_to_begin() && self.txg.number == 1;
        if self.txg.number == 0 || attaches || self.txg.begins_scan() {
            0..6
        } else {
            2..4
        }
    }

    fn write_labels(&mut self, parts: &[(u64, u64)]) {
        self.write_labels_to(0..self.roles.len(), parts);
    }

    fn write_labels_to(&mut self, members: Range<usize>, parts: &[(u64, u64)]) {
        let number = self.begin(Flow::new(Purpose::Label { is_flush: false }, 0, 0));
        for member in members {
            let has_labels = self.roles[member] != Role::Dead;
            for (offset_bytes, bytes) in parts.iter().copied().filter(|_| has_labels) {
                let target = Target { member: member as u32, offset_bytes, bytes };
                self.ask_at(number, Class::SyncWrite, true, target);
            }
        }
        self.txg.parts_left = 1;
    }
}
