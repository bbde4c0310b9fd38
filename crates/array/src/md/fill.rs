//! How a replacement is filled (`raid5_sync_request`, `raid1_sync_request`, `raid10_sync_request`).

use std::collections::VecDeque;

use drive::{BlockDevice, Verb};

use super::array::{Array, Until};
use super::copies::{Copies, Place};
use super::options::{Arrangement, PAGE_BYTES};
use super::recovery::{End, Recovery, BLOCK_BYTES};
use super::role::Role;
use super::thread::{Mood, Thread};
use super::unit::{Block, Part, Purpose, READING, WRITING};
use crate::command::Ask;
use crate::layout::{Layout, LayoutError};
use crate::members::Counters;
use crate::outcome::{Ended, MemberShare, Outcome};
use crate::progress::{Point, Progress};

/// How many looks at the progress are kept of a whole rebuild.
const LOOKS: u64 = 240;

impl<D: BlockDevice> Array<D> {
    /// Takes the member in place `replacement` for a new one, and begins to fill it from `from_bytes` to `to_bytes` of what
    /// the array uses of each member: from 0 to the end, unless only a part of the rebuild is looked at.
    ///
    /// # Errors
    /// When the array has nothing to rebuild a member from.
    pub fn recover(&mut self, replacement: usize, from_bytes: u64, to_bytes: u64) -> Result<(), LayoutError> {
        let used = self.options.used_bytes();
        if self.options.layout == Layout::Raid0 {
            let reason = "it has no redundancy: what was on the lost member is lost";
            return Err(LayoutError::value("layout", "raid0", reason));
        }
        if replacement >= self.options.width || from_bytes >= to_bytes || to_bytes > used {
            let reason = format!("{used} bytes of each of {} members can be rebuilt", self.options.width);
            return Err(LayoutError::value("rebuild", format!("{replacement}: {from_bytes}..{to_bytes}"), reason));
        }
        if self.recovering() {
            return Err(LayoutError::value("rebuild", replacement, "another one is under way"));
        }
        self.roles[replacement] = Role::Rebuilding;
        let mut thread = Thread::new(self.options.width, from_bytes, to_bytes, self.now_ns);
        if from_bytes > 0 {
            // As it would be by then.
            self.stripes.grown();
            self.processor.recovery_goes_on();
        } else {
            thread.mood = Mood::Joins;
        }
        self.recovery = Some(Recovery {
            thread,
            replacement,
            lost_bytes: 0,
            unguarded_bytes: 0,
            from: from_bytes,
            began_ns: self.now_ns,
            busy_before_ns: vec![0; self.options.width],
            ended: None,
            order: VecDeque::new(),
            awaited_ns: vec![0; self.options.width],
            progress: Progress::default(),
            next_look_bytes: 0,
        });
        // That there is a new drive the superblocks are told before its recovery begins (`md_ioctl`'s `ADD_NEW_DISK`).
        self.checkpoint(from_bytes);
        // It is added to an array that is suspended: nobody else has anything under way by then.
        self.recover_on();
        Ok(())
    }

    /// The drive has been added: its recovery has a thread, and the superblocks are told that once more (`remove_and_add_spares`).
    fn begin_recovery(&mut self, recovery: &mut Recovery) {
        let mut chance = sim::stream(self.options.seed, "whom a tick finds");
        self.processor.recovery_begins(self.now_ns, &mut chance);
        recovery.thread = Thread::new(self.options.width, recovery.from, recovery.thread.end, self.now_ns);
        recovery.began_ns = self.now_ns;
        recovery.busy_before_ns = (0..self.options.width).map(|member| self.members.counters(member).busy_ns).collect();
        self.checkpoint(recovery.from);
    }

    /// Is a rebuild under way?
    pub fn recovering(&self) -> bool {
        self.recovery.as_ref().is_some_and(|recovery| recovery.ended.is_none())
    }

    /// Up to where the replacement is filled; all of it without a rebuild.
    pub fn recovered_bytes(&self) -> u64 {
        self.recovery.as_ref().map_or(u64::MAX, |recovery| recovery.thread.position - recovery.thread.active_bytes)
    }

    /// Lets time pass until the rebuild is over, or `limit_ns`. Nobody else asks for anything meanwhile.
    pub fn finish_recovery(&mut self, limit_ns: u64) {
        self.recover_to(u64::MAX, limit_ns);
        if limit_ns == u64::MAX {
            self.give_up();
        }
    }

    /// A rebuild that is not over has failed: the member that it waits for does not answer any more.
    pub fn give_up(&mut self) {
        let oldest = self.recovery.as_ref().and_then(|recovery| recovery.order.front().copied());
        let outstanding = oldest.map_or(0, |number| self.units.get(number).outstanding);
        let replacement = self.recovery.as_ref().map_or(0, |recovery| recovery.replacement);
        let member = if outstanding == 0 { replacement } else { outstanding.trailing_zeros() as usize };
        self.abort_recovery(member);
    }

    /// The same, until so much of the replacement is filled.
    pub fn recover_to(&mut self, bytes: u64, limit_ns: u64) {
        if self.recovering() {
            self.run(limit_ns, Until::Filled(bytes));
        }
    }

    /// What came of the rebuild so far, or at all; `None` if there was none.
    pub fn outcome(&self) -> Option<Outcome> {
        let recovery = self.recovery.as_ref()?;
        let end = recovery.ended.clone().unwrap_or_else(|| self.end_now(Ended::Complete));
        let duration_ns = end.at_ns - recovery.began_ns;
        let counters = |member: usize| Counters {
            busy_ns: end.counters[member].busy_ns.saturating_sub(recovery.busy_before_ns[member]),
            ..end.counters[member]
        };
        let share = |member: usize| MemberShare {
            counters: counters(member),
            awaited: recovery.awaited_ns[member] as f64 / duration_ns.max(1) as f64,
            failed_at_ns: self.failed_at_ns[member].map(|at_ns| at_ns.saturating_sub(recovery.began_ns)),
            is_faulted: false,
        };
        Some(Outcome {
            duration_ns,
            members: (0..self.options.width).map(share).collect(),
            replacement: recovery.replacement,
            progress: recovery.progress.clone(),
            done: recovery.done_bytes() as f64 / (recovery.thread.end - recovery.from) as f64,
            ended: end.how,
            unguarded_bytes: recovery.unguarded_bytes,
        })
    }

    fn end_now(&self, how: Ended) -> End {
        let counters = (0..self.options.width).map(|member| self.members.counters(member)).collect();
        End { at_ns: self.now_ns, how, counters }
    }

    /// Whom the oldest unit has waited for since the time passed last. Where it waits for users or superblocks, or has not begun for
    /// their sake, that is the drive that alone has something to do.
    pub(super) fn account(&mut self, to_ns: u64) {
        let Some(recovery) = self.recovery.as_mut().filter(|recovery| recovery.ended.is_none()) else { return };
        let outstanding = recovery.order.front().map_or(0, |oldest| self.units.get(*oldest).outstanding);
        let awaited = match outstanding {
            0 => self.members.only_busy(),
            _ => outstanding.is_power_of_two().then_some(outstanding.trailing_zeros() as usize),
        };
        if let Some(member) = awaited {
            recovery.awaited_ns[member] += to_ns - self.now_ns;
        }
    }

    /// Lets the recovery's thread go on as far as it can: it asks, and what follows each other goes together. The array's own thread
    /// handles all of that when there is no more to ask for, or, where it goes first, what was asked for since the last look.
    pub(super) fn recover_on(&mut self) {
        if !self.recovering() {
            return;
        }
        let Some(mut recovery) = self.recovery.take() else { return };
        if recovery.thread.mood == Mood::Joins && !self.superblocks.is_writing() {
            self.begin_recovery(&mut recovery);
        }
        self.look_at(&mut recovery);
        let has_parity = matches!(self.options.arrangement, Arrangement::Parity(_));
        let mut from = recovery.thread.position;
        while self.thread_asks(&mut recovery.thread) {
            let bytes = self.room(&mut recovery.thread).min(recovery.thread.until_look());
            if bytes == 0 {
                break;
            }
            if has_parity {
                self.stripes.active += bytes / PAGE_BYTES;
            } else {
                self.barrier.asked(recovery.thread.position, bytes);
            }
            recovery.thread.asked(bytes);
            if has_parity
                && recovery.thread.is_about_to_look()
                && self.processor.array_thread_precedes_recovery(self.now_ns)
            {
                let to = recovery.thread.position;
                self.recover_stripes(&mut recovery, from, to);
                from = to;
            }
        }
        let to = recovery.thread.position;
        if has_parity {
            self.recover_stripes(&mut recovery, from, to);
        }
        self.recovery = Some(recovery);
        if !has_parity {
            self.recover_copies(from, to);
        }
        self.end_when_filled();
    }

    fn end_when_filled(&mut self) {
        let is_filled = |thread: &Thread| thread.position == thread.end && thread.active_bytes == 0;
        let Some(mut recovery) = self.recovery.take_if(|recovery| is_filled(&recovery.thread)) else { return };
        let ended = match recovery.lost_bytes {
            0 => Ended::Complete,
            lost_bytes => Ended::WithLosses { lost_bytes },
        };
        self.end(&mut recovery, ended);
        self.recovery = Some(recovery);
    }

    /// Whether the thread is awake and wants more.
    fn thread_asks(&mut self, thread: &mut Thread) -> bool {
        let goes_on = match thread.mood {
            Mood::Asks => true,
            Mood::Joins => false,
            Mood::Sleeps { until_ns, .. } => self.now_ns >= until_ns,
            Mood::Drains => thread.active_bytes == 0,
            Mood::Blocked => self.stripes.is_roomy(),
        };
        if !goes_on {
            return false;
        }
        if thread.mood == Mood::Blocked {
            // Who had to wait sleeps a little, and may find the cache full again.
            self.stripes.blocked = false;
            thread.nap(self.now_ns, self.options.jiffy_ns);
            return false;
        }
        if matches!(thread.mood, Mood::Sleeps { .. }) {
            self.processor.ticks(self.now_ns);
        }
        thread.goes_on();
        let others = self.others_bytes.iter().zip(&self.recovery_flight).map(|(others, own)| others - own);
        if thread.position >= thread.end || !thread.look(self.now_ns, &self.options, others) {
            return false;
        }
        if !thread.is_checkpoint_due(self.now_ns, self.options.used_bytes()) {
            return true;
        }
        if thread.active_bytes > 0 {
            thread.mood = Mood::Drains;
            return false;
        }
        // It goes on asking; what the array's own thread has to do for it waits until they are written.
        thread.checkpoints(self.now_ns);
        self.checkpoint(thread.position);
        true
    }

    /// How many bytes there is room for now.
    fn room(&mut self, thread: &mut Thread) -> u64 {
        match self.options.layout {
            Layout::Raid5 | Layout::Raid6 => {
                let free = self.stripes.size.saturating_sub(self.stripes.active);
                if free == 0 || self.stripes.blocked {
                    thread.mood = Mood::Blocked;
                    self.stripes.block();
                    return 0;
                }
                free * PAGE_BYTES
            }
            _ => self.barrier.room(thread, self.now_ns, self.options.jiffy_ns),
        }
    }

    /// Reads the same pages of all members in sync, and writes what follows from them.
    fn recover_stripes(&mut self, recovery: &mut Recovery, from: u64, to: u64) {
        let most_bytes = self.options.longest_request_bytes();
        let in_sync = self.roles.iter().filter(|role| **role == Role::InSync).count();
        if self.roles.len() - in_sync >= self.options.parity_count() {
            recovery.unguarded_bytes += (to - from) * in_sync as u64;
        }
        let mut at = from;
        while at < to {
            let bytes = most_bytes.min(to - at);
            let number = self.units.make(Purpose::Recovery);
            let unit = self.units.get_mut(number);
            unit.recovers_bytes = bytes;
            for member in (0..self.roles.len()).filter(|member| self.roles[*member] == Role::InSync) {
                unit.part(READING, Verb::Read, member, self.data_offset_bytes + at, bytes);
            }
            unit.part(WRITING, Verb::Write, recovery.replacement, self.data_offset_bytes + at, bytes);
            recovery.order.push_back(number);
            self.begin(number);
            // They were counted when the thread took them.
            self.units.get_mut(number).stripes = bytes / PAGE_BYTES;
            at += bytes;
        }
    }

    /// Reads blocks where there is a copy, and writes them. Those that lie in one chunk are a unit, as long as nothing parts them; with
    /// others that follow them they are put together on their way to the drive.
    fn recover_copies(&mut self, from: u64, to: u64) {
        let copies = self.options.copies();
        let most_bytes = (self.options.max_request_bytes / BLOCK_BYTES).max(1) * BLOCK_BYTES;
        self.members.plug();
        let mut at = from;
        while at < to {
            let end = to.min(at + most_bytes).min(at - at % copies.chunk_bytes + copies.chunk_bytes);
            let end = end.min(self.barrier.end(at));
            self.recover_blocks(&copies, at, end);
            at = end;
        }
        self.members.unplug();
    }

    fn recover_blocks(&mut self, copies: &Copies, at: u64, end: u64) {
        let Some(recovery) = &self.recovery else { return };
        let replacement = recovery.replacement;
        let sources = self.sources(copies, replacement, at);
        let Some(recovery) = &mut self.recovery else { return };
        let bytes = end - at;
        if sources.len() == 1 {
            recovery.unguarded_bytes += bytes;
        }
        let Some(source) = sources.first() else {
            recovery.thread.active_bytes -= bytes;
            self.barrier.done(at, bytes);
            return;
        };
        let number = self.units.make(Purpose::Recovery);
        recovery.order.push_back(number);
        let unit = self.units.get_mut(number);
        unit.part(READING, Verb::Read, source.member, self.data_offset_bytes + source.offset_bytes, bytes);
        unit.part(WRITING, Verb::Write, replacement, self.data_offset_bytes + at, bytes);
        unit.recovers_bytes = bytes;
        for block in (at..end).step_by(BLOCK_BYTES as usize) {
            self.buffers.take(unit, BLOCK_BYTES.min(end - block));
        }
        self.begin(number);
    }

    /// Blocks of a unit that have no room in one request with the others are a unit of their own from here on, which is returned.
    pub(super) fn split_as_fits(&mut self, number: u32, index: usize) -> Option<u32> {
        let unit = self.units.get(number);
        let is_whole = unit.parts.len() == 2 && unit.unreadable.is_empty();
        if unit.blocks.len() < 2 || !is_whole {
            return None;
        }
        let Part { member, verb, offset_bytes, .. } = unit.parts[index];
        let Block { bytes, segments, .. } = unit.blocks[0];
        let first = Ask { verb, fua: false, offset_bytes, bytes, segments: u64::from(segments) };
        let fit = unit.blocks_within(self.members.room_for(member, first));
        if fit == unit.blocks.len() {
            return None;
        }
        let rest = self.units.split(number, fit);
        let order = &mut self.recovery.as_mut()?.order;
        let place = order.iter().position(|other| *other == number).map_or(order.len(), |place| place + 1);
        order.insert(place, rest);
        Some(rest)
    }

    /// The copies in sync of what belongs at an offset of the replacement; none for what the array does not use.
    fn sources(&self, copies: &Copies, replacement: usize, offset_bytes: u64) -> Vec<Place> {
        let mut places = Vec::with_capacity(4);
        if let Some(origin) = copies.origin(Place { member: replacement, offset_bytes }) {
            copies.find(origin, &mut places);
        }
        places.retain(|place| self.roles[place.member] == Role::InSync);
        places
    }

    /// A unit of the recovery is over.
    pub(super) fn recovered(&mut self, number: u32) {
        let unit = self.units.get(number);
        let bytes = unit.recovers_bytes;
        if let Some(written) = unit.parts.iter().find(|part| part.stage == WRITING && !unit.blocks.is_empty()) {
            self.barrier.done(written.offset_bytes - self.data_offset_bytes, bytes);
        }
        self.buffers.give_back(unit);
        if let Some(recovery) = &mut self.recovery {
            recovery.thread.active_bytes -= bytes;
            if let Some(place) = recovery.order.iter().position(|other| *other == number) {
                recovery.order.remove(place);
            }
        }
    }

    /// Keeps what the status would have shown, every so many bytes.
    fn look_at(&self, recovery: &mut Recovery) {
        let done_bytes = recovery.done_bytes();
        if done_bytes < recovery.next_look_bytes || recovery.thread.mood == Mood::Joins {
            return;
        }
        let whole_bytes = recovery.thread.end - recovery.from;
        recovery.next_look_bytes = done_bytes + (whole_bytes / LOOKS).max(1);
        let (shown_bytes_per_s, left_ns) = recovery.thread.shown(self.now_ns);
        let at_ns = self.now_ns - recovery.began_ns;
        // In the first second nothing is done yet, and the estimate is as long as the number is wide.
        let left_ns = (shown_bytes_per_s > 0.0).then_some(left_ns);
        recovery.progress.points.push(Point { at_ns, done_bytes, shown_bytes_per_s, left_ns });
    }

    /// The rebuild is over.
    pub(super) fn end(&mut self, recovery: &mut Recovery, ended: Ended) {
        recovery.next_look_bytes = 0;
        self.look_at(recovery);
        if !matches!(ended, Ended::Failed { .. }) {
            self.roles[recovery.replacement] = Role::InSync;
        }
        recovery.ended = Some(self.end_now(ended));
    }

    /// The rebuild cannot go on.
    pub(super) fn abort_recovery(&mut self, member: usize) {
        if let Some(mut recovery) = self.recovery.take() {
            if recovery.ended.is_none() {
                let at_ns = self.now_ns - recovery.began_ns;
                self.end(&mut recovery, Ended::Failed { at_ns, member });
            }
            self.recovery = Some(recovery);
        }
    }
}
