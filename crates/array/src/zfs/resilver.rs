//! A vdev with a drive replaced, in virtual time: what reads, rebuilds and writes when.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::convert::Infallible;

use drive::{BlockDevice, Status, Verb};
use sim::prefetch;

use super::column::Column;
use super::errors::Errors;
use super::flow::{Flow, Purpose, Slab, Target};
use super::geometry::{Spread, LABEL_START_BYTES};
use super::order::{Order, Walk};
use super::phase::Phase;
use super::plan::Plan;
use super::pool::Pool;
use super::queue::{Class, Entry, VdevQueue};
use super::role::Role;
use super::sample::{windows, Clock, Rewritten, Window};
use super::tally::Tally;
use super::txg::Txg;
use super::users::{dirty_max_bytes, Users};
use super::waiting::Waiting;
use crate::members::{Done, Members};
use crate::LayoutError;

/// The longest request that the block layer hands to a drive: `max_sectors_kb` of current kernels.
const MAX_REQUEST_BYTES: u64 = 1280 << 10;

/// `zfs_vdev_failfast_mask`: what has timed out is not asked again by `sd`. Who reads goes elsewhere.
const MAX_RETRIES: u32 = 0;
/// What a request is for lies anywhere in memory: it is asked for so many of them ahead.
const ASKED_AHEAD: usize = 8;
/// Between two words of how far it is.
const TOLD_PASSES: u64 = 4096;

/// What a request to a drive is made of.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub entries: Vec<Entry>,
    pub class: Option<Class>,
}

/// A resilver under way. It is a block device, too: the users' file, as large as what is written to the pool.
#[derive(Clone, Debug)]
pub struct Resilver<D> {
    pub(super) plan: Plan,
    pub(super) pool: Pool,
    pub(super) members: Members<D>,
    pub(super) roles: Vec<Role>,
    pub(super) queues: Vec<VdevQueue>,
    pub(super) errors: Vec<Errors>,
    /// Who is to be set faulty when.
    pub(super) faults_due: Vec<(u64, usize)>,
    pub(super) flows: Slab<Flow>,
    commands: Slab<Command>,
    pub(super) walk: Walk,
    pub(super) windows: VecDeque<Window>,
    pub(super) phase: Phase,
    pub(super) flight_bytes: u64,
    pub(super) flight_flows: u64,
    /// No block of the scan is issued before.
    pub(super) held_until_ns: u64,
    computing: BinaryHeap<Reverse<(u64, u32)>>,
    cores_free_ns: Vec<u64>,
    pub(super) txg: Txg,
    pub(super) users: Users,
    pub(super) clock: Clock,
    pub(super) rewritten: Rewritten,
    pub(super) tally: Tally,
    pub(super) waiting: Waiting,
    pub(super) began_ns: u64,
    pub(super) now_ns: u64,
    done: Vec<Done>,
    taken: Vec<Entry>,
    pub(super) columns: Vec<Column>,
}

impl<D: BlockDevice> Resilver<D> {
    /// Begins at `now_ns`. The replacement stands in `devices` in the place of the lost drive; with a distributed spare
    /// that one's device is never asked for anything.
    ///
    /// # Errors
    /// [`LayoutError`] for a plan that cannot be, such as a replacement that is too small.
    pub fn new(plan: Plan, devices: Vec<D>, now_ns: u64) -> Result<Self, LayoutError> {
        Ok(Self::whole(plan, devices, now_ns)?.with_new_drive())
    }

    /// The same behind the users of a vdev that was whole: what they have rewritten lies elsewhere.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn after(before: &Self, plan: Plan, devices: Vec<D>, now_ns: u64) -> Result<Self, LayoutError> {
        let mut resilver = Self::whole(plan, devices, now_ns)?;
        resilver.take_over_users(before);
        Ok(resilver.with_new_drive())
    }

    /// A scan begins some groups later; what is to be rebuilt sequentially is at once.
    fn with_new_drive(mut self) -> Self {
        let lost = self.plan.lost;
        self.roles[lost] = if self.plan.spare.is_some() { Role::Dead } else { Role::Target };
        self.phase = Phase::Attached;
        if self.plan.order == Order::Sequential {
            self.begin_scan();
        } else {
            self.txg.before_attach(self.now_ns, self.roles.len());
        }
        self.start_what_can();
        self
    }

    /// From now on what is done is the resilver's.
    pub(super) fn begin_scan(&mut self) {
        self.phase = Phase::Over;
        (self.began_ns, self.clock) = (self.now_ns, Clock::new(self.now_ns));
        self.tally = self.tally.begun_anew(&self.members);
        self.walk = Walk::new(&self.pool, self.plan.order, &self.plan.tunables, &self.plan.host);
        self.windows = windows(&self.walk, &self.pool, &self.plan).into();
        self.note_progress();
        if !self.windows.is_empty() {
            self.open_window();
        }
    }

    /// Is the drive put in, and the scan not yet begun?
    pub fn is_to_begin(&self) -> bool {
        self.phase == Phase::Attached
    }

    /// The same vdev before anything failed: with users, and nothing to resilver.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn healthy(plan: Plan, devices: Vec<D>, now_ns: u64) -> Result<Self, LayoutError> {
        let mut resilver = Self::whole(Plan { second_failure: None, ..plan }, devices, now_ns)?;
        resilver.start_what_can();
        Ok(resilver)
    }

    fn whole(plan: Plan, devices: Vec<D>, now_ns: u64) -> Result<Self, LayoutError> {
        let capacities: Vec<u64> = devices.iter().map(BlockDevice::capacity_bytes).collect();
        plan.check(&capacities)?;
        let dirty_bytes = dirty_max_bytes(plan.host.memory_bytes);
        let Plan { member_bytes, content, seed, .. } = plan;
        let mut pool = Pool::new(plan.geometry.clone(), member_bytes, content, dirty_bytes, &plan.tunables, seed)?;
        if plan.tunables.copies_apart.is_none() {
            pool.gather_second_copies();
        }
        let width = devices.len();
        let walk = Walk::new(&pool, plan.order, &plan.tunables, &plan.host);
        let cores = plan.host.cores.max(1) as usize;
        let members = Members::new(devices, now_ns, MAX_REQUEST_BYTES, MAX_RETRIES)
            .with_command_timeout_ns(plan.host.command_timeout_ns);
        Ok(Self {
            tally: Tally::new(&members),
            waiting: Waiting::new(width, now_ns),
            members,
            roles: vec![Role::Good; width],
            queues: vec![VdevQueue::default(); width],
            errors: vec![Errors::default(); width],
            faults_due: Vec::new(),
            flows: Slab::default(),
            commands: Slab::default(),
            walk,
            windows: VecDeque::new(),
            phase: Phase::Over,
            flight_bytes: 0,
            flight_flows: 0,
            held_until_ns: 0,
            computing: BinaryHeap::new(),
            cores_free_ns: vec![now_ns; cores],
            txg: Txg::new(now_ns),
            users: Users::new(&plan, pool.records * pool.record_bytes),
            clock: Clock::new(now_ns),
            rewritten: Rewritten::new(plan.seed),
            began_ns: now_ns,
            now_ns,
            done: Vec::new(),
            taken: Vec::new(),
            columns: Vec::new(),
            pool,
            plan,
        })
    }

    /// Is everything rebuilt, or lost?
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// The time up to which everything has happened.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// How long it has been going on, in nanoseconds, had all of it been made.
    pub fn elapsed_ns(&self) -> u64 {
        self.clock.at(self.now_ns) as u64
    }

    /// The drives.
    pub fn members(&self) -> &Members<D> {
        &self.members
    }

    /// Lets the resilver go on to its end, with no users.
    pub fn finish(&mut self) {
        let Ok(()) = self.finish_telling::<Infallible>(&mut |_done| Ok(()));
    }

    /// The same for those who wait: `told` hears several times in a second which share is done, 0..=1.
    ///
    /// # Errors
    /// Those of `told`, which end it there.
    pub fn finish_telling<E>(&mut self, told: &mut dyn FnMut(f64) -> Result<(), E>) -> Result<(), E> {
        let mut passes: u64 = 0;
        while !self.is_over() {
            self.pass(u64::MAX);
            passes += 1;
            if passes % TOLD_PASSES == 0 {
                told(self.done())?;
            }
        }
        Ok(())
    }

    /// Lets time pass to the next thing that happens, but not beyond `to_ns`.
    pub(super) fn pass(&mut self, to_ns: u64) {
        let limit_ns = self.next_own_ns().min(to_ns);
        let mut done = std::mem::take(&mut self.done);
        self.now_ns = self.members.step(limit_ns, &mut done);
        for one in done.drain(..) {
            self.answered(one);
        }
        self.done = done;
        while self.computing.peek().is_some_and(|Reverse((at_ns, _))| *at_ns <= self.now_ns) {
            let Reverse((_, flow)) = self.computing.pop().expect("one was just seen");
            self.write_targets(flow);
        }
        self.start_what_can();
    }

    /// When something happens of which no drive tells.
    pub(super) fn next_own_ns(&self) -> u64 {
        let computed_ns = self.computing.peek().map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns);
        let held_ns = if self.held_until_ns > self.now_ns { self.held_until_ns } else { u64::MAX };
        let answer_ns = self.users.next_answer_ns().unwrap_or(u64::MAX);
        let fault_ns = self.faults_due.iter().map(|(at_ns, _)| *at_ns).min().unwrap_or(u64::MAX);
        computed_ns.min(held_ns).min(answer_ns).min(fault_ns).min(self.next_txg_ns()).max(self.now_ns)
    }

    pub(super) fn start_what_can(&mut self) {
        self.fail_when_due();
        self.serve_users();
        self.advance_txg();
        self.heal_on();
    }

    /// A column's request, for the queue of its member, which gives the drive what it may have at once: what comes first
    /// goes alone (`vdev_queue_io`).
    pub(super) fn ask(&mut self, flow: u32, class: Class, is_write: bool, target: Target) {
        self.ask_at(flow, class, is_write, Target { offset_bytes: LABEL_START_BYTES + target.offset_bytes, ..target });
    }

    /// The same at a place of the partition.
    pub(super) fn ask_at(&mut self, flow: u32, class: Class, is_write: bool, target: Target) {
        let Target { member, offset_bytes, bytes } = target;
        let asking = self.flows.get_mut(flow);
        asking.left += 1;
        if asking.purpose.is_of_scan() {
            self.waiting.ask(member as usize, self.now_ns, self.clock.weight());
        }
        // Only what is written anew, and not what is repaired (`vdev_raidz_io_start_write`).
        let fills_padding =
            asking.purpose == Purpose::Data && matches!(self.pool.geometry.spread, Spread::Raidz { .. });
        let entry = Entry::new(self.now_ns, offset_bytes, bytes, is_write, flow);
        let entry = entry.alone(asking.is_retry).padded(fills_padding);
        self.queues[member as usize].push(class, entry);
        self.issue(member as usize);
    }

    /// A request at a place of the partition, past the queue: a flush, or what failed as a part of a larger one.
    fn ask_drive(&mut self, member: usize, verb: Verb, class: Option<Class>, entry: Entry) {
        let command = self.commands.take(|| Command { entries: Vec::new(), class: None });
        let slot = self.commands.get_mut(command);
        slot.entries.clear();
        slot.entries.push(entry);
        slot.class = class;
        self.give(member, verb, entry.offset_bytes, entry.bytes(), command);
    }

    /// Flushes every member that is there.
    pub(super) fn flush_members(&mut self, flow: u32) {
        for member in 0..self.roles.len() {
            if self.roles[member] != Role::Dead {
                self.flows.get_mut(flow).left += 1;
                self.ask_drive(member, Verb::Flush, None, Entry::new(self.now_ns, 0, 0, true, flow));
            }
        }
    }

    /// Gives a drive what its queue lets through.
    fn issue(&mut self, member: usize) {
        if self.queues[member].is_idle() {
            return;
        }
        // What is to be done besides is done as fast as can be (`vdev_queue_max_async_writes`).
        let dirty = if self.tasks_wait() { 1.0 } else { self.dirty_share() };
        let mut taken = std::mem::take(&mut self.taken);
        while let Some(issued) = self.queues[member].issue(&self.plan.tunables, dirty, &mut taken) {
            let command = self.commands.take(|| Command { entries: Vec::new(), class: None });
            let slot = self.commands.get_mut(command);
            slot.class = Some(issued.class);
            std::mem::swap(&mut slot.entries, &mut taken);
            let verb = if issued.is_write { Verb::Write } else { Verb::Read };
            self.give(member, verb, issued.offset_bytes, issued.bytes, command);
        }
        self.taken = taken;
    }

    fn give(&mut self, member: usize, verb: Verb, offset_bytes: u64, bytes: u64, command: u32) {
        let of_drive_bytes = self.plan.partition_at_bytes + offset_bytes;
        self.members.submit(member, verb, of_drive_bytes, bytes, u64::from(command));
    }

    fn answered(&mut self, done: Done) {
        let number = done.token as u32;
        let command = self.commands.get_mut(number);
        let class = command.class;
        let mut entries = std::mem::take(&mut command.entries);
        if let Some(class) = class {
            self.queues[done.member].done(class, &self.plan.tunables);
        }
        if done.status == Status::Gone {
            self.lose(done.member);
        } else if class.is_some() {
            self.issue(done.member);
        }
        let bad = done.status != Status::Good;
        let dead = self.roles[done.member] == Role::Dead;
        if bad && !dead && class.is_some() {
            self.note_errors(done.member, entries.len());
        }
        if bad && !dead && entries.len() > 1 && entries[0].is_write {
            // OpenZFS notes what a drive misses, and resilvers that behind this (`vdev_dtl_dirty`). Here it is made up for at once.
            for entry in &entries {
                if let Some(class) = class {
                    self.queues[done.member].begin(class);
                }
                self.ask_drive(done.member, Verb::Write, class, *entry);
            }
        } else {
            // The parts of a request are told of its end in reverse (`zio_walk_parents`, of a list that grows at its head).
            // What is rebuilt of them is written so: the last two alone, the others when one of these is done.
            for (at, entry) in entries.iter().enumerate().rev() {
                at.checked_sub(ASKED_AHEAD).into_iter().for_each(|ahead| prefetch(self.flows.get(entries[ahead].flow)));
                self.column_done(done.member, *entry, bad || dead);
            }
        }
        entries.clear();
        self.commands.get_mut(number).entries = entries;
        self.commands.release(number);
    }

    pub(super) fn column_done(&mut self, member: usize, entry: Entry, failed: bool) {
        let flow = self.flows.get_mut(entry.flow);
        flow.left -= 1;
        if flow.purpose.is_of_scan() {
            self.waiting.answered(member, self.now_ns, self.clock.weight());
        }
        if failed {
            self.column_failed(member, entry);
        }
        if self.flows.get(entry.flow).left == 0 {
            self.stage_done(entry.flow);
        }
    }

    fn column_failed(&mut self, member: usize, entry: Entry) {
        let repairs = self.roles[member] == Role::Good && !entry.is_write;
        let flow = self.flows.get_mut(entry.flow);
        flow.missing += u32::from(!entry.is_write);
        if repairs {
            let offset_bytes = entry.offset_bytes - LABEL_START_BYTES.min(entry.offset_bytes);
            flow.add_target(Target { member: member as u32, offset_bytes, bytes: entry.bytes() });
        }
    }

    /// All columns of a flow that were out are in.
    fn stage_done(&mut self, number: u32) {
        let flow = *self.flows.get(number);
        match flow.purpose {
            Purpose::Heal if !flow.writes => self.read_for_healing(number),
            Purpose::Heal => self.healed(number),
            Purpose::Scan => {
                self.flight_bytes -= flow.flight_bytes;
                self.flight_flows -= 1;
                self.flows.release(number);
            }
            Purpose::User { bio } => self.user_served(number, bio),
            Purpose::Durable { bio } => {
                self.flows.release(number);
                self.durable(bio);
            }
            Purpose::Data | Purpose::Label { .. } => {
                self.flows.release(number);
                self.txg_part_done();
                self.write_next_record();
            }
        }
    }

    /// Verifies and rebuilds what was read, on a core of the host.
    pub(super) fn compute(&mut self, number: u32) {
        let Some(rate) = self.plan.host.rebuilt_bytes_per_s else {
            self.write_targets(number);
            return;
        };
        let takes_ns = (self.flows.get(number).flight_bytes as f64 / rate * 1e9) as u64;
        let core = self.cores_free_ns.iter_mut().min().expect("a host has a core");
        *core = (*core).max(self.now_ns) + takes_ns;
        self.tally.computed_ns += takes_ns;
        self.computing.push(Reverse((*core, number)));
    }

    fn write_targets(&mut self, number: u32) {
        let flow = self.flows.get_mut(number);
        flow.writes = true;
        let class = if flow.is_segment { Class::Rebuild } else { Class::AsyncWrite };
        let flow = *flow;
        for target in flow.targets() {
            if self.roles[target.member as usize] != Role::Dead {
                self.ask(number, class, true, *target);
            }
        }
        if self.flows.get(number).left == 0 {
            self.healed(number);
        }
    }

    /// Where the column of a member lies now: what was lost is written to the replacement, or to the spare.
    pub(super) fn place(&self, column: &Column) -> Option<Target> {
        let Column { member, offset_bytes, bytes, .. } = *column;
        let at = match (&self.pool.geometry.spread, self.plan.spare) {
            (Spread::Draid(draid), Some(spare)) if member as usize == self.plan.lost => {
                draid.spare_at(spare, offset_bytes)
            }
            _ => member as usize,
        };
        (self.roles[at] != Role::Dead).then_some(Target { member: at as u32, offset_bytes, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{drives, plan};
    use super::super::{Geometry, Tunables};
    use super::*;

    /// `ditto_same_vdev_distance_shift`: an eighth of the vdev further on; since 0.8 all in the metaslab behind the first.
    #[test]
    fn the_second_copies_of_a_pool_of_old_lie_an_eighth_further_on() {
        let apart = |tunables| {
            let plan = Plan { tunables, ..plan(Geometry::mirror(2, 12).unwrap(), Order::Blocks, 40 << 30) };
            let pool = Resilver::new(plan.clone(), drives(&plan), 0).unwrap().pool;
            let metaslab = |copy: usize| pool.indirect_offsets(0)[copy] >> pool.metaslab_shift;
            assert!((60..80).contains(&pool.metaslabs), "{}", pool.metaslabs);
            (metaslab(0), metaslab(1), pool.metaslabs / 8)
        };
        let (first, second, eighth) = apart(Tunables::v0_6());
        assert!((second - first).abs_diff(eighth) <= 1, "{first} and {second}: {eighth} apart");
        assert_eq!(apart(Tunables::v2_1()).1, 1);
    }
}
