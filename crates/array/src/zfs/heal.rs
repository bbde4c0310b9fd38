//! The scan and its blocks: what is asked for next, and what becomes of it.

use drive::BlockDevice;

use super::column::Column;
use super::flow::{Flow, Others, Purpose, Target};
use super::geometry::{Spread, LABEL_START_BYTES};
use super::order::{Order, Work};
use super::phase::Phase;
use super::queue::Class;
use super::resilver::Resilver;
use super::role::Role;

/// `zfs_vdev_mirror_rotating_seek_offset`.
const NEAR_BYTES: u64 = 1 << 20;

/// `zfs_vdev_mirror_rotating_seek_inc`.
const SEEK_LOAD: usize = 5;

impl<D: BlockDevice> Resilver<D> {
    /// Asks for as much of the scan as may be in flight.
    pub(super) fn heal_on(&mut self) {
        while self.may_issue() {
            match self.phase {
                Phase::Scanning { asked } => self.scan(asked),
                _ => self.issue_next(),
            }
        }
    }

    /// Nothing is left to be done.
    pub(super) fn end(&mut self) {
        self.turn(0.0);
        self.note_progress();
        self.phase = Phase::Over;
    }

    fn may_issue(&self) -> bool {
        if self.held_until_ns > self.now_ns || !self.phase.scans() {
            return false;
        }
        let flight = self.plan.flight();
        let room = self.flight_flows < flight.flows && self.flight_bytes < flight.bytes;
        if self.plan.order == Order::Sequential {
            return room;
        }
        // A scan begins when the blocks before it are done, and ends when all it reads is there.
        if let Phase::Scanning { asked } = self.phase {
            if self.flight_flows > 0 && (asked == 0 || asked == self.windows[0].scan_count) {
                return false;
            }
        }
        self.txg_lets_scan() && room
    }

    /// The next window, or the end.
    pub(super) fn open_window(&mut self) {
        let Some(window) = self.windows.front().copied() else {
            self.turn(1.0);
            self.phase = Phase::Draining;
            return;
        };
        self.walk.go_to(window.first, window.counted, window.end, &self.pool);
        self.tally.is_sampled |= window.is_sampled();
        let made_ns = self.now_ns - self.began_ns;
        if window.is_sampled() && made_ns > 0 {
            let stands_for = self.clock.at(self.now_ns) / made_ns as f64;
            self.rewritten.look(self.pool.places.rewrites(), self.pool.records, stands_for);
        }
        if self.plan.order == Order::Sorted {
            self.turn(if window.is_sampled() { 0.0 } else { 1.0 });
            self.phase = Phase::Scanning { asked: 0 };
        } else {
            self.begin_issuing();
        }
    }

    fn begin_issuing(&mut self) {
        let window = self.windows[0];
        self.turn(if window.is_sampled() { 0.0 } else { window.weight });
        self.phase = Phase::Issuing;
    }

    /// Reads an indirect block to learn of the blocks below it; the sort begins when the window's are all there.
    fn scan(&mut self, asked: u64) {
        let window = self.windows[0];
        if asked == 0 {
            self.turn(window.scan_weight);
        }
        if asked < window.scan_count && !self.names_are_in_memory() {
            let indirect = window.scan_first + (asked as f64 * window.scan_step) as u64;
            self.phase = Phase::Scanning { asked: asked + 1 };
            self.read_indirect(indirect.min(self.pool.indirects.count() - 1));
        } else {
            // Of a window that stands for others it counts what is issued: few groups of all see the scan at its end.
            if !window.is_sampled() {
                self.end_visit();
            }
            self.begin_issuing();
        }
    }

    /// Who has just filled a pool, or read it, has what names its records in memory: of an aged one nobody does.
    fn names_are_in_memory(&self) -> bool {
        self.pool.runs.is_none() && self.users.memory().holds_names(self.pool.indirects.all_bytes())
    }

    fn read_indirect(&mut self, indirect: u64) {
        let (offsets, bytes) = (self.pool.indirect_offsets(indirect), self.pool.indirects.size(indirect).bytes);
        let number = self.begin(Flow::new(Purpose::Scan, offsets[0], bytes));
        self.read_data(number, Class::Scrub);
        if self.flows.get(number).left == 0 {
            self.end_flight(number);
        }
    }

    fn issue_next(&mut self) {
        let window = self.windows[0];
        if self.walk.is_beyond_halt() && self.clock.weight() == 0.0 {
            self.turn(window.weight);
        }
        match self.walk.next(&self.pool) {
            Some(Work::Block { records: 1, .. }) if self.rewritten.is_next() => {}
            Some(work) => self.heal(work),
            None => {
                let added = self.turn(0.0);
                if window.is_sampled() {
                    self.clock.strata_ns.push(added);
                }
                self.note_progress();
                self.windows.pop_front();
                self.open_window();
            }
        }
    }

    /// From now on time and work stand for so much.
    pub(super) fn turn(&mut self, weight: f64) -> f64 {
        self.tally.take(&self.members, self.clock.weight());
        self.waiting.pass(self.now_ns, self.clock.weight());
        self.clock.turn(self.now_ns, weight)
    }

    pub(super) fn begin(&mut self, flow: Flow) -> u32 {
        if flow.purpose.is_of_scan() {
            self.flight_bytes += flow.flight_bytes;
            self.flight_flows += 1;
        }
        let number = self.flows.take(|| flow);
        *self.flows.get_mut(number) = flow;
        number
    }

    fn end_flight(&mut self, number: u32) {
        self.leave_group(number);
        self.flight_bytes -= self.flows.get(number).flight_bytes;
        self.flight_flows -= 1;
        self.flows.release(number);
    }

    /// Resilvers what lost a column, a block of which any copy did with all its copies (`dsl_scan_scrub_cb`); passes over the rest.
    fn heal(&mut self, work: Work) {
        let (geometry, lost) = (&self.pool.geometry, self.plan.lost);
        let (flow, allocated, misses) = match work {
            Work::Block { offset_bytes, bytes, records, others } => {
                let mut copies = others.into_iter().flatten().chain([offset_bytes]);
                let misses = copies.any(|copy| geometry.is_on(lost, copy, bytes));
                let flow = Flow { records, others, ..Flow::new(Purpose::Heal, offset_bytes, bytes) };
                (flow, geometry.allocated_bytes(bytes), misses)
            }
            Work::Segment { offset_bytes, allocated, records } => {
                let misses = geometry.segment_is_on(lost, offset_bytes, allocated);
                let flow = Flow { records, is_segment: true, ..Flow::new(Purpose::Heal, offset_bytes, allocated) };
                (flow, allocated, misses)
            }
        };
        let counted = allocated as f64 * self.clock.weight();
        self.tally.examined_bytes += counted;
        if misses {
            self.tally.issued_bytes += counted;
            self.make_anew(flow);
        } else {
            self.tally.skipped_bytes += counted;
        }
    }

    /// Asks for the columns that are needed.
    fn make_anew(&mut self, flow: Flow) {
        let mut columns = std::mem::take(&mut self.columns);
        columns.clear();
        let Flow { offset_bytes, bytes, is_segment, .. } = flow;
        if is_segment {
            self.pool.geometry.segment_columns(offset_bytes, bytes, &mut columns);
        } else {
            self.pool.geometry.columns(offset_bytes, bytes, &mut columns);
        }
        if flow.others == Others::default() {
            self.tally.unguarded_bytes += self.unguarded_bytes(&columns) as f64 * self.clock.weight();
        }
        self.hold_back_for_users();
        let number = self.begin(Flow { spared: self.pool.geometry.spared(columns.len()), ..flow });
        if is_segment {
            self.shrink_flight(number);
            self.join_group(number);
        }
        self.read_around(number, &columns);
        self.columns = columns;
    }

    /// What is to be read of columns that the members left spare none of: of a mirror the only copy that is left, else all.
    fn unguarded_bytes(&self, columns: &[Column]) -> u64 {
        let group = columns.len() / self.pool.geometry.groups(columns.len());
        let left = |group: &[Column]| {
            let is_there = |column: &&Column| self.roles[column.member as usize] == Role::Good;
            let there = group.iter().filter(is_there).count() as u64;
            let spares_none = group.len() as u64 - there >= self.pool.geometry.redundancy();
            let bytes: u64 = group.iter().filter(is_there).map(|column| column.bytes).sum();
            if spares_none {
                bytes
            } else {
                0
            }
        };
        columns.chunks(group.max(1)).map(left).sum()
    }

    fn columns_at(&self, offsets_bytes: Others, bytes: u64) -> Vec<Column> {
        let mut columns = Vec::new();
        offsets_bytes.into_iter().flatten().for_each(|offset| self.pool.geometry.columns(offset, bytes, &mut columns));
        columns
    }

    /// Writes the copies that were not read, of which the pool knows no more than that the vdev misses something. As each
    /// copy is read in its turn, all are written as often as there are copies (`vdev_mirror_io_done`). Drives that have theirs are
    /// passed over, but not in a dRAID (`zio_vdev_io_start`). Returns whether there was any.
    fn write_other_copies(&mut self, number: u32) -> bool {
        let flow = self.flows.get_mut(number);
        let (others, bytes) = (std::mem::take(&mut flow.others), flow.bytes);
        let (lost, spares_nobody) = (self.plan.lost, matches!(self.pool.geometry.spread, Spread::Draid(_)));
        for column in self.columns_at(others, bytes) {
            let target = self.place(&column).filter(|_| spares_nobody || column.member as usize == lost);
            if let Some(target) = target {
                self.ask(number, Class::AsyncWrite, true, target);
            }
        }
        self.flows.get(number).left > 0
    }

    /// A stretch counts by its data, without parity.
    fn shrink_flight(&mut self, number: u32) {
        if let Spread::Draid(draid) = &self.pool.geometry.spread {
            let flow = self.flows.get_mut(number);
            let data = flow.bytes / draid.width() * draid.data;
            self.flight_bytes -= flow.flight_bytes - data;
            flow.flight_bytes = data;
        }
    }

    /// `zfs_resilver_delay`: a scan of old waits a little before each block while users are active.
    fn hold_back_for_users(&mut self) {
        let delay_ns = self.plan.tunables.resilver_delay_ns;
        if delay_ns > 0 && self.users.active_within(self.now_ns, 500_000_000) {
            self.held_until_ns = self.now_ns + delay_ns;
        }
    }

    pub(super) fn read_around(&mut self, number: u32, columns: &[Column]) {
        let class = self.flows.get(number).healing_class();
        let is_mirror = self.pool.geometry.spread == Spread::Mirror;
        for column in columns {
            let target = self.place(column);
            let role = self.roles[column.member as usize];
            if column.member as usize == self.plan.lost {
                if let Some(target) = target {
                    self.flows.get_mut(number).add_target(target);
                }
                self.flows.get_mut(number).missing += u32::from(!is_mirror);
            } else if !is_mirror && role == Role::Good {
                self.ask(number, class, false, target.expect("a good member has a place"));
            } else if !is_mirror {
                self.flows.get_mut(number).missing += 1;
            }
        }
        if is_mirror {
            self.read_copy(number, class);
        }
        if self.flows.get(number).left == 0 {
            self.read_for_healing(number);
        }
    }

    /// Reads from the member of a mirror that has least to do and has not been asked yet; returns whether there is one.
    pub(super) fn read_copy(&mut self, number: u32, class: Class) -> bool {
        let flow = *self.flows.get(number);
        let (mut least, mut members) = (usize::MAX, 0_u128);
        // As many as `tried` can tell of.
        for member in 0..self.roles.len().min(u128::BITS as usize) {
            if !self.has(member, &flow) || flow.tried >> member & 1 == 1 {
                continue;
            }
            let load = self.mirror_load(member, flow.offset_bytes);
            if load < least {
                (least, members) = (load, 0);
            }
            members |= u128::from(load == least) << member;
        }
        if members == 0 {
            return false;
        }
        // Of those who have as little to do, the place decides (`vdev_mirror_preferred_child_randomize`).
        for _ in 0..(flow.offset_bytes >> 21) % u64::from(members.count_ones()) {
            members &= members - 1;
        }
        let member = members.trailing_zeros();
        self.flows.get_mut(number).tried |= 1 << member;
        let bytes = flow.bytes.next_multiple_of(self.pool.geometry.sector_bytes());
        self.ask(number, class, false, Target { member, offset_bytes: flow.offset_bytes, bytes });
        true
    }

    /// `vdev_mirror_load`: going on where the arm stands costs nothing, and near it little. A drive that is being put in stands under
    /// a `replacing` vdev, and the queue of that is looked at, which no request ever enters: it always seems to have nothing to do.
    fn mirror_load(&self, member: usize, offset_bytes: u64) -> usize {
        if self.roles[member] == Role::Target {
            return SEEK_LOAD;
        }
        let queue = &self.queues[member];
        let way_bytes = queue.last_end().abs_diff(LABEL_START_BYTES + offset_bytes);
        queue.load() + usize::from(way_bytes > 0) * if way_bytes < NEAR_BYTES { SEEK_LOAD / 2 } else { SEEK_LOAD }
    }

    /// What could be read is there: rebuild the rest, if enough is.
    pub(super) fn read_for_healing(&mut self, number: u32) {
        let flow = *self.flows.get(number);
        let class = flow.healing_class();
        let is_mirror = self.pool.geometry.spread == Spread::Mirror;
        let enough = if is_mirror {
            let copies = flow.tried.count_ones();
            if copies == flow.missing && self.read_copy(number, class) {
                return;
            }
            copies > flow.missing
        } else {
            flow.missing <= flow.spared
        };
        if enough {
            self.compute(number);
        } else if flow.is_segment {
            self.rebuild_blindly(number);
        } else if !self.reads_once_more(number, class) {
            // A record without one of its columns fails its checksum as a whole.
            self.tally.lost_bytes += flow.flight_bytes as f64 * self.clock.weight();
            self.end_flight(number);
        }
    }

    /// A block is where it should be.
    pub(super) fn healed(&mut self, number: u32) {
        if self.write_other_copies(number) {
            return;
        }
        let flow = *self.flows.get(number);
        let weight = self.clock.weight();
        let is_there = |target: &&Target| self.roles[target.member as usize] != Role::Dead;
        let written: u64 = flow.targets().iter().filter(is_there).map(|target| target.bytes).sum();
        self.tally.done_bytes += written as f64 * weight;
        self.tally.done_records += flow.records as f64 * weight;
        self.look_at_progress();
        self.end_flight(number);
    }
}

#[cfg(test)]
mod tests {
    use drive::Drive;

    use super::super::example::{drives, plan};
    use super::super::order::Walk;
    use super::super::{Geometry, Plan, Sampling, Tunables};
    use super::*;
    use crate::Outcome;

    const MIB: u64 = 1 << 20;

    /// Gone through to its end; the most blocks and bytes that were in flight.
    fn gone_through(plan: &Plan) -> (Resilver<Drive>, u64, u64) {
        let mut resilver = Resilver::new(plan.clone(), drives(plan), 0).unwrap();
        let (mut flows, mut bytes) = (0, 0);
        while !resilver.is_over() {
            resilver.pass(u64::MAX);
            (flows, bytes) = (flows.max(resilver.flight_flows), bytes.max(resilver.flight_bytes));
        }
        (resilver, flows, bytes)
    }

    fn mirror(order: Order) -> Plan {
        plan(Geometry::mirror(2, 12).unwrap(), order, 2 << 30)
    }

    #[test]
    fn no_more_is_in_flight_than_may_be_and_not_much_less() {
        let old = Plan { tunables: Tunables::v0_6(), ..mirror(Order::Blocks) };
        assert_eq!(gone_through(&old).1, 32);
        let new =
            Plan { tunables: Tunables { scan_vdev_limit_bytes: 2 * MIB, ..Tunables::v2_3() }, ..mirror(Order::Sorted) };
        let bytes = gone_through(&new).2;
        assert!((2 * MIB..2 * MIB + (128 << 10)).contains(&bytes), "{bytes}");
        // Nine drives, and segments of a MiB of data, with parity thrice as long, which does not count.
        let draid = plan(Geometry::draid(3, 1, 9, 0, 12).unwrap(), Order::Sequential, 2 << 30);
        let tunables = Tunables { rebuild_vdev_limit_bytes: MIB, ..Tunables::v2_3() };
        let bytes = gone_through(&Plan { tunables, ..draid }).2;
        assert!((9 * MIB..10 * MIB).contains(&bytes), "{bytes}");
    }

    /// Of all blocks: what they take, their records, and what the lost drive has of them.
    fn there_is(plan: &Plan, pool: &super::super::pool::Pool) -> [f64; 3] {
        let mut walk = Walk::new(pool, plan.order, &plan.tunables, &plan.host);
        walk.go_to(0, 0, walk.steps(pool), pool);
        let (mut columns, mut all) = (Vec::new(), [0.0; 3]);
        while let Some(work) = walk.next(pool) {
            columns.clear();
            let (allocated, records) = match work {
                Work::Block { offset_bytes, bytes, records, .. } => {
                    pool.geometry.columns(offset_bytes, bytes, &mut columns);
                    (pool.geometry.allocated_bytes(bytes), records)
                }
                Work::Segment { offset_bytes, allocated, records } => {
                    pool.geometry.segment_columns(offset_bytes, allocated, &mut columns);
                    (allocated, records)
                }
            };
            let lost = columns.iter().filter(|column| column.member as usize == plan.lost).map(|column| column.bytes);
            let lost = lost.sum::<u64>();
            all = [all[0] + allocated as f64, all[1] + records as f64 * f64::from(lost > 0), all[2] + lost as f64];
        }
        all
    }

    #[test]
    fn a_report_on_the_way_is_of_all_until_then() {
        let plan = mirror(Order::Sorted);
        let mut resilver = Resilver::new(plan.clone(), drives(&plan), 0).unwrap();
        while resilver.is_to_begin() {
            resilver.pass(u64::MAX);
        }
        let before = resilver.members().counters(0).bytes_read;
        while resilver.tally.done_records < 1000.0 {
            resilver.pass(u64::MAX);
        }
        let reported = resilver.report().outcome.members[0].counters.bytes_read;
        assert_eq!(reported, resilver.members().counters(0).bytes_read - before);
        assert!(reported >= 1000 << 17);
    }

    /// Of a wide raidz every other block has nothing on the lost drive. Little is in flight, so that a sample of small pools is one.
    #[test]
    fn all_is_examined_and_what_was_lost_is_made_anew_also_where_a_part_stands_for_it() {
        let little = Tunables { scan_vdev_limit_bytes: MIB, ..Tunables::v2_3() };
        let old = Plan { tunables: Tunables::v0_6(), ..mirror(Order::Blocks) };
        let wide = plan(Geometry::raidz(1, 60, 12).unwrap(), Order::Sorted, 1 << 29);
        let draid = plan(Geometry::draid(1, 4, 15, 0, 12).unwrap(), Order::Sequential, 2 << 30);
        goes_through_all(&draid, 1e-9);
        for (plan, larger) in [(old, 20), (mirror(Order::Sorted), 20), (Plan { tunables: little, ..wide }, 5)] {
            goes_through_all(&plan, 1e-9);
            let sampling = Sampling { records: 1, window_records: 20, first_records: 0 };
            goes_through_all(&Plan { sampling, member_bytes: plan.member_bytes * larger, ..plan }, 0.03);
        }
    }

    /// To within so much of each sum.
    fn goes_through_all(plan: &Plan, off: f64) {
        let (resilver, ..) = gone_through(plan);
        let (tally, [allocated, records, lost]) = (&resilver.tally, there_is(plan, &resilver.pool));
        let found = [
            (tally.examined_bytes, allocated),
            (tally.issued_bytes + tally.skipped_bytes, allocated),
            (tally.done_records, records),
            (tally.done_bytes, lost),
        ];
        let what = format!("{:?} of {}", plan.order, plan.geometry.width());
        assert!(found.iter().all(|(one, other)| (one / other - 1.0).abs() < off), "{what}: {found:?}");
        let is_sampled = plan.sampling != Sampling::NONE;
        assert_eq!([resilver.is_sampled(), resilver.clock.deviation_ns() > 0.0], [is_sampled; 2], "{what}");
        let Outcome { members, duration_ns, progress, .. } = resilver.report().outcome;
        let awaited: f64 = members.iter().map(|member| member.awaited).sum();
        assert!(awaited <= 1.0, "{what}: {awaited}");
        let busiest =
            members.iter().map(|member| member.counters.busy_ns).max().unwrap_or(0) as f64 / duration_ns as f64;
        assert!((0.3..1.01).contains(&busiest), "{what}: {busiest}");
        // Of a whole one as often as a 240th of all records is made anew, which is not all, and less often where many are done at once; of a
        // sample with each window.
        let looks = if is_sampled { 16.0 } else { 240.0 * records / resilver.pool.records as f64 };
        let found = progress.points.len() as f64;
        assert!((0.75 * looks..1.1 * looks + 6.0).contains(&found), "{what}: {found} for {looks}");
    }
}
