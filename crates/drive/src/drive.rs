//! One drive: requests in, completions out, and what the heads do in between.
//!
//! The heads are the one resource that everything waits for. Whenever they are free, [`Drive::choose`] picks what they do
//! next and computes when that ends; nothing happens in between, so a request costs one or two events.

use std::collections::VecDeque;

use sim::LatencyHistogram;

use crate::ahead::ReadCache;
use crate::answers::{Answers, Due};
use crate::bridge::Bridge;
use crate::buffer::{InFlight, Piece, WriteBuffer};
use crate::clock::{Clock, TURN};
use crate::geometry::Geometry;
use crate::mechanics::{Arm, Head, Mechanics, NEVER};
use crate::passing::Passing;
use crate::profile::{InterfaceProfile, Profile, Protocol, QueueOrder};
use crate::queue::{Candidate, CommandQueue};
use crate::request::{BlockDevice, Completion, Forwarded, Lost, Reads, Request, Status, Verb, Writes, SECTOR_BYTES};
use crate::shingled::{reserved_bytes, Extent, Shingled};
use crate::truth::Truth;
use crate::work::{Choice, Work};
use crate::writes::durable::Waiters;
use crate::writes::rules::WriteRules;

/// What goes first when reads wait and writes press; the heads may have found it already.
pub(crate) enum First {
    Read(Option<Candidate>),
    Write(Option<Candidate>),
}

/// A modelled drive. See [`BlockDevice`] for how to use it.
#[derive(Clone, Debug)]
pub struct Drive {
    capacity_sectors: u64,
    /// The home address of the host's first block.
    pub(crate) home_block: u64,
    depth: u32,
    speaks_ata: bool,
    pub(crate) clock: Clock,
    pub(crate) mechanics: Mechanics,
    pub(crate) head: Head,
    /// Everything up to this tick has happened.
    pub(crate) now: u64,
    pub(crate) work: Option<(Work, u64)>,
    /// Idle heads look for work at this tick: at once, which is zero, when something came.
    pub(crate) idle_until: u64,
    /// Up to the first tick the host does nothing, and up to the second unless it is answered before.
    host_is_still_until: (u64, u64),
    pub(crate) queue: CommandQueue,
    pub(crate) read_cache: ReadCache,
    pub(crate) read_ahead_blocks: u64,
    pub(crate) buffer: WriteBuffer,
    pub(crate) rules: WriteRules,
    /// Pieces whose destaging is under way.
    pub(crate) in_flight: InFlight,
    /// The one of them that passes under the heads right now, if its sectors become durable one after the other.
    pub(crate) passing: Option<Passing>,
    /// Writes that wait for room in DRAM.
    pub(crate) held: VecDeque<(u64, Request)>,
    /// Requests that wait for data to be durable.
    pub(crate) durable: Waiters,
    pub(crate) sequence: u64,
    /// Whether the heads' last turn went to a read: reads and pressing writes alternate.
    pub(crate) read_last: bool,
    /// When the host last asked or was answered.
    pub(crate) host_seen_at: u64,
    pub(crate) due: Answers,
    pub(crate) bus_free_at: u64,
    bus_ticks_per_sector_fraction: u64,
    pub(crate) overhead: u64,
    /// Without power.
    pub(crate) off: bool,
    /// No command is worked on before: the drive starts.
    pub(crate) ready_at: u64,
    pub(crate) bridge: Option<Box<Bridge>>,
    /// The translation layer of a shingled drive.
    pub(crate) shingled: Option<Box<Shingled>>,
    /// Extents on their way into the persistent cache; kept for its memory.
    pub(crate) batch: Vec<Extent>,
    /// A stream's dirty data, while it passes; kept for its memory.
    pub(crate) line: VecDeque<Piece>,
    /// The bands of its pieces, in the order in which DRAM would keep them.
    pub(crate) line_places: Vec<u32>,
    pub(crate) truth: Truth,
}

impl Drive {
    /// A drive as `profile` describes it, idle and with empty caches; `seed` decides where the platters stand.
    pub fn new(profile: &Profile, seed: u64) -> Self {
        let clock = Clock::new(profile.geometry.rpm);
        let phase = sim::stream(seed, "platter phase").below(TURN);
        let geometry = Geometry::new(&profile.geometry, reserved_bytes(profile)).turned(phase);
        let mechanics = Mechanics::new(&profile.mechanics, geometry, &clock);
        let cylinders = mechanics.geometry.cylinders();
        let head = mechanics.head_at(1, NEVER);
        let span = |ms: f64| clock.span(ms * 1e6);
        let depth = profile.queue.depth as u32;
        let layer = profile.shingled.as_ref().map(|part| Shingled::new(part, &mechanics.geometry, &clock));
        let sector_ns = SECTOR_BYTES as f64 * 1e3 / profile.interface.rate_mb_s;
        let sector_fraction = sector_ns / clock.ns_per_tick() * (1_u64 << 32) as f64;
        Self {
            capacity_sectors: profile.geometry.capacity_bytes / SECTOR_BYTES,
            home_block: layer.as_ref().map_or(0, Shingled::first_band_block),
            depth: profile.queue_depth(),
            speaks_ata: profile.interface.protocol == Protocol::Ata,
            mechanics,
            head,
            now: 0,
            work: None,
            idle_until: 0,
            host_is_still_until: (0, 0),
            queue: CommandQueue::new(depth, cylinders, profile.queue.order, span(profile.queue.starvation_ms)),
            read_cache: ReadCache::new(profile.dram.read_segments as usize),
            read_ahead_blocks: profile.dram.read_ahead_bytes / crate::geometry::BLOCK_BYTES,
            buffer: WriteBuffer::with_segments(profile.dram.write_segments as usize, cylinders),
            rules: WriteRules::new(profile, span(profile.dram.destage_idle_ms)),
            in_flight: InFlight::with_segments(profile.dram.write_segments as usize),
            passing: None,
            held: VecDeque::with_capacity(depth as usize),
            durable: Waiters::with_capacity(depth as usize),
            sequence: 0,
            read_last: false,
            host_seen_at: 0,
            due: Answers::with_capacity(depth as usize + 1),
            bus_free_at: 0,
            bus_ticks_per_sector_fraction: sector_fraction as u64,
            // At least a tick: the last tick before a host's nanosecond may lie before it.
            overhead: clock.span(command_us(&profile.interface) * 1e3).max(1),
            off: false,
            ready_at: 0,
            bridge: profile.interface.bridge.as_ref().map(|part| Box::new(Bridge::new(part, depth))),
            shingled: layer.map(Box::new),
            batch: Vec::with_capacity(profile.dram.write_segments as usize),
            line: VecDeque::with_capacity(4),
            line_places: Vec::with_capacity(4),
            truth: Truth::default(),
            clock,
        }
    }

    /// Does it have a persistent cache that remembers?
    pub fn is_shingled(&self) -> bool {
        self.shingled.is_some()
    }

    /// What is going on inside, at the time last advanced to.
    pub fn truth(&self) -> Truth {
        let dram_dirty_bytes = (self.buffer.sectors() + self.in_flight.sectors()) * SECTOR_BYTES;
        let truth = Truth { dram_dirty_bytes, ..self.truth };
        self.shingled.as_ref().map_or(truth, |layer| layer.truth(truth))
    }

    /// Lets everything up to `to` happen.
    #[inline]
    pub(crate) fn run(&mut self, to: u64) {
        self.run_towards(to, to);
    }

    /// The same where the host does nothing up to a `later` tick, unless it is answered before.
    #[inline]
    fn run_towards(&mut self, to: u64, later: u64) {
        self.host_is_still_until = (to, later);
        while self.turns_at() <= to {
            self.turn();
        }
        self.now = self.now.max(to);
    }

    /// When the heads' work ends, or they have to look for some.
    #[inline]
    fn turns_at(&self) -> u64 {
        self.work.map_or(self.idle_until, |(_, until)| until)
    }

    /// Ends the work and begins the next. Apart from [`run`](Self::run), which mostly finds that nothing happens.
    #[inline(never)]
    fn turn(&mut self) {
        self.now = self.now.max(self.turns_at());
        if let Some((work, _)) = self.work.take() {
            self.finish(work);
        }
        if let Choice::Rest(until) = self.choose() {
            self.idle_until = until.unwrap_or(u64::MAX);
        }
    }

    fn finish(&mut self, work: Work) {
        if let (Work::Read | Work::Destage, Some(layer)) = (work, &mut self.shingled) {
            layer.count_turn();
        }
        match work {
            Work::Read | Work::Clean | Work::Start => {}
            Work::Destage => self.finish_destage(),
        }
    }

    /// What idle heads do next. Reads come first, unless writes press too. Cleaning waits for silence, unless a pass was
    /// forced: then everybody waits for that.
    fn choose(&mut self) -> Choice {
        if self.shingled.as_mut().is_some_and(|layer| layer.pass_is_forced() || layer.takes_its_turn()) {
            if let Choice::Busy = self.start_cleaning() {
                return Choice::Busy;
            }
        }
        let pressing = self.writes_press();
        if !self.queue.is_empty() {
            match if pressing { self.first_of_both() } else { First::Read(None) } {
                First::Read(next) => {
                    self.read_last = true;
                    return self.start_read(next);
                }
                First::Write(next @ Some(_)) => {
                    self.read_last = false;
                    return self.start_destage(next);
                }
                First::Write(None) => {}
            }
        }
        self.read_last = false;
        match self.choose_destage(pressing) {
            Choice::Busy => Choice::Busy,
            Choice::Rest(destage_at) => self.choose_cleaning(destage_at),
        }
    }

    /// Whether the next read goes before the next of the writes that press, or that before it, if that is known by now.
    /// In the order of the shortest way it is the nearer of the two. A visit to the log has no place among the others,
    /// so there, as in the order of arrival, both take turns.
    fn first_of_both(&mut self) -> First {
        if self.shingled.is_some() || self.queue.order() == QueueOrder::Fifo {
            return if self.read_last { First::Write(None) } else { First::Read(None) };
        }
        self.claim_heads(self.now);
        if let Some(first) = self.nearest_of_both() {
            return first;
        }
        let extent = self.next_extent();
        let within = extent.map_or(u64::MAX, |extent| extent.reach);
        match self.next_read(within) {
            Some(read) if extent.is_none_or(|extent| read.precedes(&extent)) => First::Read(Some(read)),
            _ => First::Write(extent),
        }
    }

    /// Cleans once the host is silent, or has no work for the heads where that is enough; `otherwise` is when something else will have to be done.
    fn choose_cleaning(&mut self, otherwise: Option<u64>) -> Choice {
        let Some(layer) = &mut self.shingled else {
            return Choice::Rest(otherwise);
        };
        let Some(silence) = layer.cleans_after() else {
            return Choice::Rest(otherwise);
        };
        let at = self.host_seen_at.saturating_add(silence);
        if self.now < at {
            return Choice::Rest(Some(otherwise.map_or(at, |other| other.min(at))));
        }
        match self.start_cleaning() {
            Choice::Busy => Choice::Busy,
            Choice::Rest(_) => Choice::Rest(otherwise),
        }
    }

    /// The next operations of the cleaning pass, as far as nothing can come between them.
    pub(crate) fn start_cleaning(&mut self) -> Choice {
        self.claim_heads(self.now);
        let (surely, unanswered) = self.host_is_still_until;
        let answers_at = self.due.first().map_or(u64::MAX, |due| due.at);
        let alone_before = answers_at.min(unanswered.saturating_add(1)).max(surely.saturating_add(1));
        let Some(layer) = &mut self.shingled else {
            return Choice::Rest(None);
        };
        let mut arm = Arm { mechanics: &self.mechanics, head: &mut self.head, truth: &mut self.truth };
        let ends = layer.clean(&mut arm, self.now, alone_before);
        if let Some(band) = layer.take_moved(&self.mechanics.geometry) {
            self.follow_band(band);
        }
        match ends {
            Some(ends) => self.busy(Work::Clean, ends),
            None => Choice::Rest(None),
        }
    }

    pub(crate) fn busy(&mut self, work: Work, until: u64) -> Choice {
        self.work = Some((work, until));
        Choice::Busy
    }

    /// Takes the heads from reading ahead, if that is what they do.
    #[inline]
    pub(crate) fn claim_heads(&mut self, at: u64) {
        let Some(mut running) = self.read_cache.running.take() else {
            return;
        };
        let mut read = running.read_by(&self.mechanics.geometry, &self.head.place, at);
        if running.is_uncertain_at(running.next + read) {
            self.find_limit(&mut running);
            read = running.read_by(&self.mechanics.geometry, &self.head.place, at);
        }
        self.read_cache.stop(&running, read, &self.mechanics.geometry, &mut self.head, at);
    }

    /// What moves the heads.
    #[inline]
    pub(crate) fn arm(&mut self) -> Arm<'_> {
        Arm { mechanics: &self.mechanics, head: &mut self.head, truth: &mut self.truth }
    }

    /// When the host has been silent for `span`, unless it is heard of before.
    pub(crate) fn silent_at(&self, span: u64) -> u64 {
        self.host_seen_at + span
    }

    /// Answers a request whose data moved, or can move, between `begins` and `ends`, over a link that takes its time.
    /// Where the platters are slower than the link, their data passes between that of others; only what comes
    /// faster occupies the link.
    pub(crate) fn answer(&mut self, tag: u32, begins: u64, ends: u64, sectors: u64) -> u64 {
        let carried = self.bus_free_at.max(begins) + self.carry_ticks(sectors);
        if carried > ends {
            self.bus_free_at = carried;
        }
        let at = ends.max(carried);
        self.complete(tag, at, Status::Good);
        at
    }

    fn carry_ticks(&self, sectors: u64) -> u64 {
        ((u128::from(sectors) * u128::from(self.bus_ticks_per_sector_fraction)) >> 32) as u64
    }

    /// When `sectors` handed over from `from` on are in DRAM.
    pub(crate) fn carry_in(&mut self, from: u64, sectors: u64) -> u64 {
        self.bus_free_at = self.bus_free_at.max(from) + self.carry_ticks(sectors);
        self.bus_free_at
    }

    pub(crate) fn complete(&mut self, tag: u32, at: u64, status: Status) {
        self.host_seen_at = self.host_seen_at.max(at);
        let completion = Completion { tag, completed_ns: self.clock.ns(at), status };
        self.due.push(Due { at, completion });
    }

    pub(crate) fn capacity_sectors(&self) -> u64 {
        self.capacity_sectors
    }

    /// From the host's asking until a link that is free has carried so much.
    pub(crate) fn link_ticks(&self, sectors: u64) -> u64 {
        self.overhead + self.carry_ticks(sectors)
    }

    pub(crate) fn link_is_free_at(&self, at: u64) -> bool {
        self.bus_free_at <= at
    }

    /// Whether nothing is asked for, dirty or under way, and the host speaks to the drive itself.
    pub(crate) fn is_quiet(&self) -> bool {
        let idle = self.work.is_none() && self.due.is_empty() && !self.waiting();
        self.bridge.is_none() && idle && self.buffer.is_empty() && self.in_flight.ranges().is_empty()
    }

    fn waiting(&self) -> bool {
        !(self.queue.is_empty() && self.held.is_empty() && self.durable.is_empty())
    }

    /// Takes a command of the host's, or of the bridge's.
    fn accept(&mut self, now_ns: u64, request: Request) {
        let now = self.clock.ticks(now_ns).max(self.now);
        self.run(now);
        self.host_seen_at = self.host_seen_at.max(now);
        let arrives = (now + self.overhead).max(self.ready_at);
        match request.verb {
            _ if self.off => self.complete(request.tag, arrives, Status::Gone),
            _ if !self.is_valid(&request) => self.complete(request.tag, arrives, Status::OutOfRange),
            Verb::Flush => self.flush(request.tag, arrives),
            _ if request.bytes == 0 => self.complete(request.tag, arrives, Status::Good),
            Verb::Read => self.read(request, arrives),
            Verb::Write => self.write(request, arrives),
            Verb::Trim => self.trim(request, arrives),
        }
        self.idle_until = 0;
        self.run(now);
    }

    /// Lets time pass and hands over the answers to commands that fell due.
    #[inline(always)]
    fn collect_due(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        self.run(self.clock.ticks(to_ns));
        while let Some(Due { completion, .. }) = self.due.first().filter(|due| due.completion.completed_ns <= to_ns) {
            completions.push(*completion);
            self.truth.completed += 1;
            self.due.pop();
        }
    }

    /// The same with a bridge before the drive: each answer lets its next command pass at that very time.
    fn advance_bridge(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        loop {
            let event_ns = self.next_event_ns().map_or(to_ns, |event_ns| event_ns.min(to_ns));
            let from = completions.len();
            self.collect_due(event_ns, completions);
            if let Some(bridge) = &mut self.bridge {
                bridge.take_back(completions, from);
            }
            self.pass_on(event_ns);
            if event_ns == to_ns {
                return;
            }
        }
    }

    /// Hands over what the bridge has for the drive.
    fn pass_on(&mut self, now_ns: u64) {
        while let Some(command) = self.bridge.as_mut().and_then(|bridge| bridge.pass_on()) {
            self.accept(now_ns, command);
        }
    }

    fn is_valid(&self, request: &Request) -> bool {
        let aligned = request.offset_bytes % SECTOR_BYTES == 0 && request.bytes % SECTOR_BYTES == 0;
        let end = request.offset_bytes.checked_add(request.bytes);
        aligned && end.is_some_and(|end| end <= self.capacity_sectors * SECTOR_BYTES)
    }
}

impl BlockDevice for Drive {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_sectors * SECTOR_BYTES
    }

    fn queue_depth(&self) -> u32 {
        self.depth
    }

    fn speaks_ata(&self) -> bool {
        self.speaks_ata
    }

    fn submit(&mut self, now_ns: u64, request: Request) {
        if self.bridge.is_none() {
            return self.accept(now_ns, request);
        }
        let is_valid = self.is_valid(&request);
        if let Some(bridge) = &mut self.bridge {
            bridge.take(request, is_valid);
        }
        self.pass_on(now_ns);
    }

    fn advance_to_completion(&mut self, limit_ns: u64, completions: &mut Vec<Completion>) -> u64 {
        let limit = self.clock.ticks(limit_ns);
        loop {
            while let Some((_, until)) = self.work.filter(|(_, until)| *until <= limit && self.waiting()) {
                if self.due.first().is_some_and(|due| due.at <= until) {
                    break;
                }
                self.run_towards(until, limit);
            }
            let to_ns = self.due.first().map_or(limit_ns, |due| due.completion.completed_ns.min(limit_ns));
            match self.bridge {
                None => self.collect_due(to_ns, completions),
                Some(_) => self.advance_bridge(to_ns, completions),
            }
            // What was due may have been for the bridge alone.
            if to_ns == limit_ns || !completions.is_empty() {
                return to_ns;
            }
        }
    }

    fn forward_reads(&mut self, now_ns: u64, reads: &Reads, latencies: &mut LatencyHistogram) -> Forwarded {
        self.forward(now_ns, reads, latencies)
    }

    fn forward_writes(&mut self, now_ns: u64, writes: &Writes, tags: &mut Vec<u32>, done: &mut Vec<Completion>) -> u64 {
        self.stream(now_ns, writes, tags, done)
    }

    fn next_event_ns(&self) -> Option<u64> {
        let due = self.due.first().map(|due| due.at);
        let free = self.work.filter(|_| self.waiting()).map(|(_, until)| until);
        due.into_iter().chain(free).min().map(|at| self.clock.ns(at))
    }

    fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        match self.bridge {
            None => self.collect_due(to_ns, completions),
            Some(_) => self.advance_bridge(to_ns, completions),
        }
    }

    fn truth(&self) -> Option<Truth> {
        Some(self.truth())
    }

    fn power_loss(&mut self, at_ns: u64) -> Lost {
        if let Some(bridge) = &mut self.bridge {
            bridge.forget();
        }
        self.lose_power(at_ns)
    }

    fn power_on(&mut self, at_ns: u64) -> u64 {
        self.start(at_ns)
    }
}

/// What a command costs before the drive works on it.
fn command_us(interface: &InterfaceProfile) -> f64 {
    interface.overhead_us + interface.bridge.as_ref().map_or(0.0, |bridge| bridge.bridge_us)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::BLOCK_SECTORS;

    fn drive() -> Drive {
        Drive::new(&Profile::parse(include_str!("../../../drives/st12000vn0007.toml")).unwrap(), 1)
    }

    fn request(tag: u32, verb: Verb, share: f64, drive: &Drive) -> Request {
        let block = (share * (drive.capacity_sectors / BLOCK_SECTORS - 1) as f64) as u64;
        Request { tag, verb, fua: true, offset_bytes: block * 4096, bytes: 4096 }
    }

    /// Both sides are kept busy with near requests, so that the far ones would wait for ever.
    #[test]
    fn nobody_waits_for_ever() {
        let mut drive = drive();
        let mut near = sim::stream(1, "near");
        (0..30).for_each(|tag| {
            let verb = if tag % 2 == 0 { Verb::Read } else { Verb::Write };
            drive.submit(0, request(tag, verb, near.unit() / 1e4, &drive));
        });
        drive.submit(0, request(1000, Verb::Read, 0.999, &drive));
        drive.submit(0, request(1001, Verb::Write, 0.99, &drive));
        let (mut done, mut last): (Vec<Completion>, Vec<u64>) = (Vec::new(), Vec::new());
        while last.len() < 2 {
            let event_ns = drive.next_event_ns().unwrap();
            drive.advance(event_ns, &mut done);
            for completion in done.drain(..) {
                if completion.tag >= 1000 {
                    last.push(completion.completed_ns);
                    continue;
                }
                let verb = if completion.tag % 2 == 0 { Verb::Read } else { Verb::Write };
                drive.submit(event_ns, request(completion.tag, verb, near.unit() / 1e4, &drive));
            }
        }
        // The limit is a second; then those go first that have waited longer.
        assert!(last.iter().all(|ns| (500_000_000..2_000_000_000).contains(ns)), "{last:?}");
    }
}
