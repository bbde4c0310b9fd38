//! What users ask of the pool while it is resilvered: one file, read and rewritten through the cache and the intent log (`dmu_read`, `dmu_write`,
//! `zil_commit`).

use std::cmp::Reverse;
use std::collections::BTreeSet;

use drive::{BlockDevice, Completion, Request, Status, Verb};

use super::column::Column;
use super::flow::{Flow, Purpose};
use super::geometry::Spread;
use super::queue::Class;
use super::resilver::Resilver;
use super::role::Role;
use super::users::Bio;

/// The longest write of the intent log.
const LOG_BYTES: u64 = 128 << 10;

impl<D: BlockDevice> Resilver<D> {
    /// Records that are in memory alone.
    pub(super) fn unwritten(&self) -> u64 {
        let written_now = if self.writes_data() { self.users.syncing.len() } else { 0 };
        (self.users.dirty.len() + written_now) as u64
    }

    /// The share of what may be dirty that is.
    pub(super) fn dirty_share(&self) -> f64 {
        self.unwritten() as f64 / self.users.most_dirty as f64
    }

    /// Does somebody wait for a transaction group?
    pub(super) fn users_wait(&self) -> bool {
        !self.users.waiting.is_empty()
    }

    /// So many programs make the users' requests; without this each has a program of its own.
    pub fn set_programs(&mut self, programs: usize) {
        self.users.programs = programs.max(1);
    }

    /// Gives out answers, and takes what programs ask for then.
    pub(super) fn serve_users(&mut self) {
        while self.users.next_answer_ns().is_some_and(|at_ns| at_ns <= self.now_ns) {
            self.users.due.extend(self.users.answers.pop_front());
            self.users.at_work -= 1;
        }
        while self.users.at_work < self.users.programs {
            let Some(request) = self.users.asked.pop_front() else { return };
            self.users.at_work += 1;
            self.take_request(request);
        }
    }

    /// What users had in memory is written, and what they have read stays: as another resilver of the same vdev begins.
    pub(super) fn take_over_users(&mut self, before: &Self) {
        self.pool.places = before.pool.places.clone();
        self.users.memory = before.users.memory.clone();
        (self.txg.own_taken, self.txg.own_room_at) = (before.txg.own_taken, before.txg.own_room_at);
        self.users.programs = before.users.programs;
        let (dirty, syncing) = (&before.users.order, &before.users.syncing);
        // What has no place yet of the group that was being written, the next one last, and then of the open one.
        for record in before.users.unplaced.iter().rev().chain(dirty) {
            self.pool.places.rewrite(*record);
        }
        syncing.iter().chain(dirty).for_each(|record| self.users.memory.synced(*record));
        self.pool.places.grow_old();
    }

    fn take_request(&mut self, request: Request) {
        self.users.active_ns = Some(self.now_ns);
        let Request { tag, verb, fua, offset_bytes, bytes } = request;
        let bio = Bio { tag, left: 1, status: Status::Good, is_durable: fua || verb == Verb::Flush };
        if offset_bytes.checked_add(bytes).is_none_or(|end| end > self.capacity_bytes()) {
            self.users.answer(self.now_ns, tag, Status::OutOfRange);
            return;
        }
        let most_unwritten = self.users.most_dirty.min(self.pool.unwritten_records);
        if verb == Verb::Write && self.unwritten() >= most_unwritten {
            self.users.waiting.push_back(request);
            return;
        }
        let number = self.users.bios.take(|| bio);
        *self.users.bios.get_mut(number) = bio;
        match verb {
            Verb::Read => self.touch_records(number, offset_bytes, bytes, false),
            Verb::Write => self.touch_records(number, offset_bytes, bytes, true),
            Verb::Flush | Verb::Trim => {}
        }
        self.let_go(number);
    }

    fn touch_records(&mut self, bio: u32, offset_bytes: u64, bytes: u64, is_write: bool) {
        let record_bytes = self.pool.record_bytes;
        let end = offset_bytes + bytes;
        for record in offset_bytes / record_bytes..end.div_ceil(record_bytes) {
            let start = record * record_bytes;
            let whole = offset_bytes <= start && end >= start + record_bytes;
            let is_being_written = self.writes_data() && self.users.syncing.contains(&record);
            let in_memory = self.users.dirty.contains(&record) || is_being_written;
            if is_write && whole && self.users.memory.is_direct() {
                self.write_past_memory(bio, record);
                continue;
            }
            let is_there = in_memory
                || match is_write {
                    true => self.users.memory.takes_in(record) || whole,
                    false => self.users.memory.has_for_read(record),
                };
            if !is_there {
                self.read_record(bio, record);
            }
            if is_write && self.users.dirty.insert(record) {
                self.users.order.push(record);
            }
        }
        if is_write {
            self.users.unlogged_bytes += bytes;
        }
    }

    fn read_record(&mut self, bio: u32, record: u64) {
        self.users.bios.get_mut(bio).left += 1;
        let slot = self.pool.places.of(record);
        let flow = Flow::new(Purpose::User { bio }, self.pool.record_offset(slot), self.pool.record_bytes);
        let number = self.begin(Flow { is_young: self.pool.places.is_young(slot), ..flow });
        self.read_data(number, Class::SyncRead);
        if self.flows.get(number).left == 0 {
            self.user_served(number, bio);
        }
    }

    /// A whole record is written at once, and waited for (`dmu_write_direct`).
    fn write_past_memory(&mut self, bio: u32, record: u64) {
        self.users.bios.get_mut(bio).left += 1;
        self.users.memory.drop_record(record);
        if self.users.dirty.remove(&record) {
            self.users.order.retain(|dirty| *dirty != record);
        }
        let slot = self.pool.places.rewrite(record);
        self.write_for(bio, slot, self.pool.record_bytes);
    }

    /// Writes a block that a user waits for.
    fn write_for(&mut self, bio: u32, slot: u64, bytes: u64) {
        let number = self.begin(Flow::new(Purpose::Durable { bio }, self.pool.record_offset(slot), bytes));
        self.write_block(number, Class::SyncWrite);
        if self.flows.get(number).left == 0 {
            self.flows.release(number);
            self.durable(bio);
        }
    }

    /// Reads the data columns of a block; with one of them gone, all that there are. Where some were read in vain, the others.
    pub(super) fn read_data(&mut self, number: u32, class: Class) {
        if self.pool.geometry.spread == Spread::Mirror {
            self.read_copy(number, class);
            return;
        }
        let flow = *self.flows.get(number);
        let mut columns = std::mem::take(&mut self.columns);
        columns.clear();
        self.pool.geometry.columns(flow.offset_bytes, flow.bytes, &mut columns);
        self.flows.get_mut(number).spared = self.pool.geometry.spared(columns.len());
        let unreadable = |column: &Column| !self.has(column.member as usize, &flow);
        let has_data = flow.missing > 0;
        let all = has_data || columns.iter().any(|column| !column.is_parity && unreadable(column));
        // With all of it asked for there is nothing to be asked for again.
        self.flows.get_mut(number).tried |= u128::from(all);
        for column in columns.iter().filter(|column| if column.is_parity { all } else { !has_data }) {
            if self.has(column.member as usize, &flow) {
                let target = self.place(column).expect("who has it has a place");
                self.ask(number, class, false, target);
            } else {
                self.flows.get_mut(number).missing += 1;
            }
        }
        self.columns = columns;
    }

    /// A record that a user waits for is there, or what could be read of it.
    pub(super) fn user_served(&mut self, number: u32, bio: u32) {
        let flow = *self.flows.get(number);
        let is_mirror = self.pool.geometry.spread == Spread::Mirror;
        let lacks = |flow: &Flow| {
            if is_mirror {
                flow.missing >= flow.tried.count_ones()
            } else {
                flow.missing > flow.spared
            }
        };
        let reads_others = if is_mirror { lacks(&flow) } else { flow.missing > 0 && flow.tried == 0 };
        if reads_others && !flow.writes {
            self.read_data(number, Class::SyncRead);
            if self.flows.get(number).left > 0 {
                return;
            }
        }
        let failed = lacks(self.flows.get(number));
        if failed && self.reads_once_more(number, Class::SyncRead) || !failed && self.repairs(number) {
            return;
        }
        if failed {
            self.users.bios.get_mut(bio).status = Status::MediumError { offset_bytes: flow.offset_bytes };
        }
        self.flows.release(number);
        self.let_go(bio);
    }

    /// One thing that a request waits for is done; the last answers it, durably if it wants that.
    fn let_go(&mut self, number: u32) {
        let bio = self.users.bios.get_mut(number);
        bio.left -= 1;
        if bio.left > 0 {
            return;
        }
        let unlogged = std::mem::take(&mut bio.is_durable).then(|| std::mem::take(&mut self.users.unlogged_bytes));
        if let Some(bytes) = unlogged.filter(|bytes| *bytes > 0) {
            self.users.bios.get_mut(number).left = 1;
            let slot = self.pool.places.borrow();
            self.write_for(number, slot, bytes.min(LOG_BYTES));
            return;
        }
        let Bio { tag, status, .. } = *self.users.bios.get(number);
        let status = if self.survives() { status } else { Status::Gone };
        self.users.answer(self.now_ns, tag, status);
        self.users.bios.release(number);
    }

    /// What a user waits for is on the drives.
    pub(super) fn durable(&mut self, bio: u32) {
        self.let_go(bio);
    }

    /// Has a member its part of a block?
    pub(super) fn has(&self, member: usize, flow: &Flow) -> bool {
        let has_new = self.roles[member] == Role::Target && !self.is_to_begin();
        self.roles[member] == Role::Good || (flow.is_young && has_new)
    }

    pub(super) fn write_block(&mut self, number: u32, class: Class) {
        let flow = *self.flows.get(number);
        let mut columns = std::mem::take(&mut self.columns);
        columns.clear();
        self.pool.geometry.columns(flow.offset_bytes, flow.bytes, &mut columns);
        for column in &columns {
            if let Some(target) = self.place(column) {
                self.ask(number, class, true, target);
            }
        }
        self.columns = columns;
    }

    /// A transaction group begins to write what is dirty; returns how many blocks these are. The first are given places as they
    /// come. The others wait, and of these the one with the least number is next (`zio_dva_throttle`, `zio_bookmark_compare`).
    pub(super) fn write_users_data(&mut self) -> u64 {
        let mut records = std::mem::take(&mut self.users.order);
        self.users.syncing = std::mem::take(&mut self.users.dirty).into_iter().collect();
        self.users.unlogged_bytes = 0;
        self.pool.places.begin_group();
        let blocks = records.len() as u64;
        let at_once = self.plan.tunables.def_queue_depth.map_or(blocks, |depth| blocks.min(depth));
        let mut unplaced = records.split_off(at_once as usize);
        unplaced.sort_unstable_by_key(|record| Reverse(*record));
        self.users.unplaced = unplaced;
        records.into_iter().for_each(|record| self.write_record(record));
        blocks
    }

    /// One of the group's blocks is written: the next is given a place (`zio_allocate_dispatch`).
    pub(super) fn write_next_record(&mut self) {
        if let Some(record) = self.users.unplaced.pop() {
            self.write_record(record);
        }
    }

    fn write_record(&mut self, record: u64) {
        let slot = self.pool.places.rewrite(record);
        self.write_part(self.pool.record_offset(slot), self.pool.record_bytes);
    }

    /// Does the group that is being written have any of users' data?
    pub(super) fn group_has_data(&self) -> bool {
        !self.users.syncing.is_empty()
    }

    /// How many indirect blocks name what the group has written.
    pub(super) fn names_to_write(&self) -> u64 {
        let named: BTreeSet<u64> = self.users.syncing.iter().map(|record| self.pool.indirects.of(*record)).collect();
        named.len() as u64
    }

    /// The group's data is on the drives: from now on it is read there, but for the last of it (`dbuf_write_done`).
    pub(super) fn data_is_written(&mut self) {
        for record in &self.users.syncing {
            self.users.memory.synced(*record);
        }
    }

    /// A transaction group is on the drives.
    pub(super) fn users_are_synced(&mut self) {
        self.users.syncing.clear();
        for request in std::mem::take(&mut self.users.waiting) {
            self.take_request(request);
        }
    }
}

impl<D: BlockDevice> BlockDevice for Resilver<D> {
    fn capacity_bytes(&self) -> u64 {
        self.pool.users_bytes()
    }

    fn queue_depth(&self) -> u32 {
        1024
    }

    fn submit(&mut self, now_ns: u64, request: Request) {
        if now_ns > self.now_ns {
            self.advance_until(now_ns, false);
        }
        self.users.asked.push_back(request);
        self.start_what_can();
    }

    fn next_event_ns(&self) -> Option<u64> {
        if !self.users.due.is_empty() {
            return Some(self.now_ns);
        }
        let own_ns = Some(self.next_own_ns()).filter(|at_ns| *at_ns < u64::MAX);
        self.members().next_event_ns().into_iter().chain(own_ns).min()
    }

    fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        self.advance_until(to_ns, false);
        completions.extend(self.users.due.drain(..));
    }

    fn advance_to_completion(&mut self, limit_ns: u64, completions: &mut Vec<Completion>) -> u64 {
        self.advance_until(limit_ns, true);
        completions.extend(self.users.due.drain(..));
        self.now_ns()
    }
}

impl<D: BlockDevice> Resilver<D> {
    fn advance_until(&mut self, to_ns: u64, until_due: bool) {
        loop {
            let over = self.is_over();
            if until_due && !self.users.due.is_empty() {
                return;
            }
            self.pass(to_ns);
            let ends = !over && self.is_over();
            if self.now_ns() >= to_ns || (until_due && ends) {
                return;
            }
        }
    }
}
