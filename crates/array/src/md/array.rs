//! An md array: a block device made of block devices.

use std::collections::{HashMap, VecDeque};

use drive::{BlockDevice, Completion, Request, Status, Verb};

use super::barrier::Barrier;
use super::bios::{Bio, Piece};
use super::bitmaps::Bitmaps;
use super::buffers::Buffers;
use super::journal::{is_of_filesystem, is_of_load, Journal};
use super::options::{Arrangement, Options, PAGE_BYTES};
use super::processor::Processor;
use super::recovery::Recovery;
use super::role::Role;
use super::stripes::StripeCache;
use super::superblocks::Superblocks;
use super::thread::Mood;
use super::unit::{Part, Purpose, Units, MARKING, WRITING};
use crate::command::Ask;
use crate::layout::LayoutError;
use crate::members::{Done, Members, MAX_RETRIES};

/// The bitmap's bits stand for so much of each member.
const REGION_BYTES: u64 = 64 << 20;
/// How often bits that are not needed any more are cleared.
const BITMAP_DAEMON_NS: u64 = 5_000_000_000;

/// Until when time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// The time given.
    Then,
    /// A request of the host's has ended, or the recovery has.
    Due,
    /// So much of the replacement is filled, or the recovery is over.
    Filled(u64),
}

/// An md array in virtual time. See [`BlockDevice`] for how to use it; [`Array::recover`] begins a rebuild.
#[derive(Clone, Debug)]
pub struct Array<D> {
    pub(super) options: Options,
    /// Where what the array holds begins on each member.
    pub(super) data_offset_bytes: u64,
    pub(super) members: Members<D>,
    pub(super) roles: Vec<Role>,
    pub(super) units: Units,
    pub(super) bios: Vec<Bio>,
    pub(super) free_bios: Vec<u32>,
    pub(super) due: VecDeque<Completion>,
    pub(super) gathered: Vec<Piece>,
    pub(super) stripes: StripeCache,
    /// Units of the host's that wait for stripes.
    pub(super) short_of_stripes: VecDeque<u32>,
    pub(super) superblocks: Superblocks,
    pub(super) barrier: Barrier,
    pub(super) processor: Processor,
    pub(super) journal: Option<Journal>,
    pub(super) bitmaps: Option<Bitmaps>,
    /// What programs of the load would have asked for, if they did not wait with something else.
    pub(super) behind: VecDeque<Request>,
    /// Those of them that have been asked for since, and when.
    pub(super) asked: Vec<(u32, u64)>,
    /// What has completed for programs that wait, and so do not look, the oldest first.
    pub(super) unseen: Vec<Completion>,
    /// Who has just looked: kept for its room.
    pub(super) looked: Vec<usize>,
    /// Behind the last tag of each program of the load; all other tags are one more program's.
    pub(super) program_ends: Vec<u32>,
    /// Where the arms of the members are, as far as md knows: it reads a copy that is near.
    pub(super) heads: Vec<u64>,
    pub(super) buffers: Buffers,
    /// Regions that the bitmap marks, and when they were last written to.
    marked: HashMap<u64, u64>,
    next_daemon_ns: u64,
    pub(super) recovery: Option<Recovery>,
    /// Bytes of each member that others than the recovery have had done, and that the recovery has in flight.
    pub(super) others_bytes: Vec<i64>,
    pub(super) recovery_flight: Vec<i64>,
    pub(super) now_ns: u64,
    /// Something was submitted that may not have been begun.
    fresh: bool,
    /// More members are missing than the layout survives.
    pub(super) failed: bool,
    /// When a member was left out because of an error.
    pub(super) failed_at_ns: Vec<Option<u64>>,
    done: Vec<Done>,
}

impl<D: BlockDevice> Array<D> {
    /// An array of members that are all in their place, at `now_ns`.
    ///
    /// # Errors
    /// When the members are not as many or not as large as the options say, or these contradict themselves.
    pub fn new(options: Options, devices: Vec<D>, now_ns: u64) -> Result<Self, LayoutError> {
        options.check()?;
        if devices.len() != options.width {
            return Err(LayoutError::value("members", devices.len(), format!("{} are expected", options.width)));
        }
        if let Some(at) = devices.iter().position(|device| device.capacity_bytes() < options.member_bytes) {
            let reason = format!("member {at} has only {} bytes", devices[at].capacity_bytes());
            return Err(LayoutError::value("member size", options.member_bytes, reason));
        }
        let width = options.width;
        Ok(Self {
            members: Members::new(devices, now_ns, options.longest_request_bytes(), MAX_RETRIES)
                .with_max_segments(options.max_segments)
                .with_command_timeout_ns(options.command_timeout_ns),
            roles: vec![Role::InSync; width],
            units: Units::default(),
            bios: Vec::new(),
            free_bios: Vec::new(),
            due: VecDeque::new(),
            gathered: Vec::new(),
            stripes: StripeCache::new(&options),
            short_of_stripes: VecDeque::new(),
            superblocks: Superblocks::new(),
            barrier: Barrier::new(options.layout),
            processor: Processor::new(options.processors, options.jiffy_ns),
            journal: options.journal_at_bytes.map(|at| {
                let chance = &mut sim::stream(options.seed, "where a second begins");
                Journal::new(at, now_ns, options.mounted_before_ns, options.jiffy_ns, chance)
            }),
            bitmaps: options.journal_at_bytes.map(|_| Bitmaps::of(&options, now_ns, options.mounted_before_ns)),
            behind: VecDeque::new(),
            asked: Vec::new(),
            unseen: Vec::new(),
            looked: Vec::new(),
            program_ends: Vec::new(),
            heads: vec![0; width],
            buffers: Buffers::new(options.layout, width),
            marked: HashMap::new(),
            next_daemon_ns: u64::MAX,
            recovery: None,
            others_bytes: vec![0; width],
            recovery_flight: vec![0; width],
            now_ns,
            fresh: false,
            failed: false,
            failed_at_ns: vec![None; width],
            done: Vec::new(),
            data_offset_bytes: options.data_offset_bytes(),
            options,
        })
    }

    /// The load is several programs, which wait one by one: behind the last tag of each, in their order. All others are one more.
    pub fn set_programs(&mut self, ends: Vec<u32>) {
        self.program_ends = ends;
    }

    /// What the array is made of.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The drives.
    pub fn members(&self) -> &Members<D> {
        &self.members
    }

    /// The drives, to be put elsewhere.
    pub fn into_devices(self) -> Vec<D> {
        self.members.into_devices()
    }

    /// The time up to which everything has happened.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Is more missing than the layout survives?
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Lets time pass up to `to_ns`, or less.
    pub(super) fn run(&mut self, to_ns: u64, until: Until) {
        let recovering = self.recovering();
        loop {
            self.start_what_can();
            let over = recovering && !self.recovering();
            let enough = match until {
                Until::Then => false,
                Until::Due => over || !self.due.is_empty(),
                Until::Filled(bytes) => over || self.recovered_bytes() >= bytes,
            };
            if enough || self.now_ns >= to_ns {
                return;
            }
            let limit_ns = self.next_own_ns().min(to_ns);
            if limit_ns == u64::MAX && self.members.next_event_ns().is_none() {
                // Nothing will ever happen: a drive hangs.
                return;
            }
            let mut done = std::mem::take(&mut self.done);
            let at_ns = self.members.step(limit_ns, &mut done);
            self.pass_time(at_ns);
            if matches!(self.options.arrangement, Arrangement::Copies { .. }) {
                // What the array's thread has to do by now it does behind a plug; stripes are put together already.
                self.members.plug();
            }
            done.drain(..).for_each(|one| self.finished(one));
            self.members.unplug();
            self.done = done;
        }
    }

    fn pass_time(&mut self, at_ns: u64) {
        self.account(at_ns);
        self.now_ns = at_ns;
    }

    /// When something happens that no member brings about.
    fn next_own_ns(&self) -> u64 {
        let thread = self.recovery.as_ref().map(|recovery| recovery.thread.mood);
        let runs_until_ns = self.processor.program_runs_until_ns();
        let wakes_ns = match thread {
            Some(Mood::Sleeps { until_ns, .. }) if self.recovering() => until_ns.max(runs_until_ns),
            Some(_) if self.now_ns < runs_until_ns => runs_until_ns,
            _ => u64::MAX,
        };
        let journal_ns = self.journal.as_ref().map_or(u64::MAX, Journal::next_own_ns);
        let bitmaps_ns = self.bitmaps.as_ref().map_or(u64::MAX, Bitmaps::next_own_ns);
        let filesystem_ns = journal_ns.min(bitmaps_ns);
        let looks_ns = self.processor.next_look_ns();
        wakes_ns
            .min(looks_ns)
            .min(self.next_daemon_ns)
            .min(filesystem_ns)
            .min(self.superblocks.next_own_ns())
            .max(self.now_ns)
    }

    fn start_what_can(&mut self) {
        self.fresh = false;
        if self.now_ns >= self.next_daemon_ns {
            self.clear_marks();
        }
        self.tend_journal();
        self.tend_bitmaps();
        self.tend_superblocks();
        self.lower_barrier();
        if self.now_ns >= self.processor.next_look_ns() {
            self.programs_look();
        }
        self.begin_gathered();
        if self.serve_short_of_stripes() {
            self.load_goes_on();
            self.begin_gathered();
        }
        if self.now_ns >= self.processor.program_runs_until_ns() {
            self.recover_on();
        }
    }

    /// Begins a unit: its first stage that has something to do.
    pub(super) fn begin(&mut self, number: u32) {
        let stripes = self.units.get(number).stripes;
        self.stripes.active += stripes;
        self.units.get_mut(number).stage = MARKING;
        self.go_on(number);
    }

    /// Issues what belongs to the stage of a unit, or to the next that has something; without any, it is over.
    pub(super) fn go_on(&mut self, number: u32) {
        if self.put_off(number) {
            return;
        }
        loop {
            let unit = self.units.get(number);
            let (stage, count) = (unit.stage, unit.parts.len());
            if stage > WRITING {
                self.complete(number);
                return;
            }
            for index in 0..count {
                if self.units.get(number).parts[index].stage == stage {
                    self.issue(number, index);
                }
            }
            let unit = self.units.get_mut(number);
            if unit.requests > 0 {
                return;
            }
            unit.stage += 1;
        }
    }

    /// Hands one part to its member, which is skipped if it is missing.
    pub(super) fn issue(&mut self, number: u32, index: usize) {
        if self.roles[self.units.get(number).parts[index].member] == Role::Missing {
            return;
        }
        let rest = self.split_as_fits(number, index);
        let unit = self.units.get_mut(number);
        let part = unit.parts[index];
        unit.requests += 1;
        unit.outstanding |= 1 << part.member;
        let segments = unit.segments();
        if unit.purpose == Purpose::Recovery {
            self.recovery_flight[part.member] += part.bytes as i64;
        }
        let token = u64::from(number) << 32 | index as u64;
        let forced = unit.purpose == Purpose::Superblock || unit.bios.iter().any(|bio| self.bios[*bio as usize].fua);
        let fua = forced && part.verb == Verb::Write;
        if matches!(self.options.arrangement, Arrangement::Parity(_)) && self.is_the_threads(number) {
            self.processor.array_thread_asks(self.now_ns);
        }
        let Part { member, verb, offset_bytes, bytes, .. } = part;
        self.members.ask(member, Ask { verb, fua, offset_bytes, bytes, segments }, token);
        if let Some(rest) = rest {
            self.go_on(rest);
        }
    }

    fn finished(&mut self, done: Done) {
        let (number, index) = ((done.token >> 32) as u32, (done.token & 0xFFFF_FFFF) as usize);
        let unit = self.units.get_mut(number);
        let part = unit.parts[index];
        unit.requests -= 1;
        unit.outstanding &= !(1 << part.member);
        match unit.purpose {
            Purpose::Recovery => self.recovery_flight[part.member] -= part.bytes as i64,
            _ => self.others_bytes[part.member] += part.bytes as i64,
        }
        if done.status != Status::Good {
            self.part_failed(number, index, done.status);
        }
        self.arm_moved(number, part);
        let unit = self.units.get_mut(number);
        if unit.requests == 0 {
            // Its stage has been issued: what follows is the next one.
            unit.stage += 1;
            self.go_on(number);
        }
    }

    fn complete(&mut self, number: u32) {
        let unit = self.units.get_mut(number);
        self.stripes.active -= unit.stripes;
        let (bios, spoiled, purpose) = (std::mem::take(&mut unit.bios), unit.spoiled, unit.purpose);
        for bio in &bios {
            if spoiled {
                self.bios[*bio as usize].status = Status::Aborted;
            }
            self.let_go(*bio);
        }
        self.units.get_mut(number).bios = bios;
        match purpose {
            Purpose::Recovery => self.recovered(number),
            Purpose::Superblock => self.superblock_written(),
            Purpose::Foreground | Purpose::Bitmap => {}
        }
        self.units.release(number);
    }

    /// Adds what marks a region of the members in the bitmap, if there is one and the region is not marked.
    pub(super) fn mark(&mut self, number: u32, offset_bytes: u64) {
        if !self.options.bitmap {
            return;
        }
        let region = offset_bytes / REGION_BYTES;
        if self.marked.insert(region, self.now_ns).is_none() {
            let page = bitmap_page(region);
            for member in (0..self.roles.len()).filter(|member| self.roles[*member] == Role::InSync) {
                self.units.get_mut(number).part(MARKING, Verb::Write, member, page, PAGE_BYTES);
            }
            self.next_daemon_ns = self.next_daemon_ns.min(self.now_ns + BITMAP_DAEMON_NS);
        }
    }

    /// Clears the marks of regions that have not been written to for a while, a page of the bitmap at a time.
    fn clear_marks(&mut self) {
        let before_ns = self.now_ns.saturating_sub(BITMAP_DAEMON_NS);
        let mut pages: Vec<u64> = Vec::new();
        self.marked.retain(|region, written_ns| {
            let stays = *written_ns > before_ns;
            if !stays && !pages.contains(&bitmap_page(*region)) {
                pages.push(bitmap_page(*region));
            }
            stays
        });
        pages.sort_unstable();
        for page in pages {
            let number = self.units.make(Purpose::Bitmap);
            for member in (0..self.roles.len()).filter(|member| self.roles[*member] == Role::InSync) {
                self.units.get_mut(number).part(WRITING, Verb::Write, member, page, PAGE_BYTES);
            }
            self.begin(number);
        }
        self.next_daemon_ns = if self.marked.is_empty() { u64::MAX } else { self.now_ns + BITMAP_DAEMON_NS };
    }

    /// Returns whether somebody who has waited for stripes has them now.
    fn serve_short_of_stripes(&mut self) -> bool {
        let before = self.short_of_stripes.len();
        while let Some(number) = self.short_of_stripes.front().copied() {
            if !self.stripes.is_roomy() || !self.stripes.has(self.units.get(number).stripes) {
                break;
            }
            self.stripes.blocked = false;
            self.short_of_stripes.pop_front();
            self.begin(number);
        }
        self.short_of_stripes.len() < before
    }
}

/// Where the bit of a region is kept: behind the superblock and a header of 256 bytes (`filemap_get_page`).
fn bitmap_page(region: u64) -> u64 {
    2 * PAGE_BYTES + (256 + region / 8) / PAGE_BYTES * PAGE_BYTES
}

impl<D: BlockDevice> BlockDevice for Array<D> {
    fn capacity_bytes(&self) -> u64 {
        self.options.capacity_bytes()
    }

    fn queue_depth(&self) -> u32 {
        // md takes whatever comes.
        1 << 20
    }

    fn submit(&mut self, now_ns: u64, request: Request) {
        // Who submits several at once is not interrupted: the array's own thread has its turn when that is done.
        if now_ns > self.now_ns {
            self.run(now_ns, Until::Then);
        }
        debug_assert!(!is_of_filesystem(request.tag), "tag {} is the filesystem's", request.tag);
        self.processor.program_asks(now_ns, is_of_load(&request));
        // Of an earlier request with that tag, nobody wanted to know.
        self.asked.retain(|(tag, _)| *tag != request.tag);
        self.ask(request);
        self.fresh = true;
    }

    fn asked_ns(&mut self, tag: u32) -> Option<u64> {
        let at = self.asked.iter().position(|(asked, _)| *asked == tag)?;
        Some(self.asked.swap_remove(at).1)
    }

    fn next_event_ns(&self) -> Option<u64> {
        if let Some(due) = self.due.front() {
            return Some(due.completed_ns);
        }
        let nobody_waits = self.barrier.held.is_empty() && self.superblocks.held.is_empty() && self.unseen.is_empty();
        if self.bios.len() == self.free_bios.len() && nobody_waits {
            return None;
        }
        let own_ns = if self.fresh { self.now_ns } else { self.next_own_ns() };
        Some(self.members.next_event_ns().map_or(own_ns, |at_ns| at_ns.min(own_ns)))
    }

    fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        self.run(to_ns, Until::Then);
        completions.extend(self.due.drain(..));
    }

    fn advance_to_completion(&mut self, limit_ns: u64, completions: &mut Vec<Completion>) -> u64 {
        self.run(limit_ns, Until::Due);
        completions.extend(self.due.drain(..));
        self.now_ns
    }
}
