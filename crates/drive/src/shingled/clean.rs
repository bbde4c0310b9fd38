//! Out of the persistent cache: a band is read from its first dirty track on, its pieces are collected from the log,
//! and the whole is written back, in phases that the merge buffer bounds.

use std::collections::VecDeque;
use std::ops::Range;

use super::direct::OpenBand;
use super::place::nearest;
use super::Shingled;
use crate::clock::TURN;
use crate::geometry::{Geometry, BLOCK_BYTES};
use crate::mechanics::{Arm, Mechanics, Stretch, Way};
use crate::profile::{CleaningOrder, CleaningWhen};

/// Longest collecting before others get a turn.
const COLLECT_TICKS: u64 = 6 * TURN;

/// What a pass does next for the phase at hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Read,
    /// The first piece lies there; all of them take so long.
    Collect {
        at: u64,
        ticks: u64,
    },
    /// So much is put aside on disk.
    Park {
        blocks: u64,
    },
    WriteBack,
}

/// A band under way.
#[derive(Clone, Copy, Debug, Default)]
struct Job {
    band: u32,
    /// Packets up to this one are merged; newer ones stay cached.
    newest_packet: u32,
    /// Where a band that moves will lie.
    to: Option<u32>,
    /// The band begins here and ends there.
    start: u64,
    end: u64,
    /// The phase at hand begins here and ends there.
    at: u64,
    phase_end: u64,
    /// The way over the phase where the band lies.
    stretch: Stretch,
    survey: Survey,
    step: Step,
    /// The phase at hand is under way.
    begun: bool,
}

/// What the cache holds of a phase.
#[derive(Clone, Copy, Debug, Default)]
struct Survey {
    /// As the map was then.
    version: u64,
    /// So many of its blocks.
    cached: u64,
    /// The first piece lies there in the log; to collect all of them takes so long.
    at: u64,
    ticks: u64,
}

impl Job {
    /// The phase at hand.
    fn phase(&self) -> Range<u64> {
        self.at..self.phase_end
    }

    /// A block's number within the band.
    fn inside(&self, block: u64) -> u32 {
        (block - self.start) as u32
    }
}

/// Whether a pass gives way to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// Waits while the host is heard of.
    Yielding,
    /// The host waits for its room: it runs to its end.
    Forced,
}

/// The cleaner.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cleaning {
    job: Option<Job>,
    /// Bands that this pass has still to clean, and from where on at the latest.
    pending: VecDeque<(u32, u64)>,
    forced: bool,
    /// There was no room, and not enough has been regained since for the host to get as many visits as find room.
    pressed: bool,
    /// The same, for cleaning to wait for silence as ever.
    full: bool,
    /// As the map was when that was last judged.
    judged: u64,
    /// Appends to the log that are left until the next forced pass.
    ration: u64,
    /// The forced pass is one that comes between appends.
    rationing: bool,
    /// The place of the cache that a forced pass has to make room in.
    short_of_log: Option<usize>,
    /// Lazy cleaning has passed the high mark and not yet reached the low one.
    draining: bool,
    /// A pass has ended since the last visit to the log, so the next one has that to record, too.
    unrecorded: bool,
    /// Since the last operation the heads have worked for the host.
    host_had_its_turn: bool,
    /// The band that the last operation has moved.
    moved: Option<u32>,
    /// Where the pieces of a phase lie in the log; kept for its memory.
    places: Vec<(u32, u32)>,
}

impl Cleaning {
    /// Whether nothing is under way or planned.
    #[cfg(test)]
    pub fn is_idle(&self) -> bool {
        self.job.is_none() && self.pending.is_empty() && !self.forced
    }

    /// The pass is over. What was short when it was forced may have room now, though another plan than for that was under way:
    /// it is for the host to say so again. So is that a pass comes between appends.
    fn ends(&mut self) {
        (self.forced, self.rationing) = (false, false);
        self.short_of_log = None;
    }

    /// Plans bands, each from its first dirty track on, unless they are planned already.
    fn schedule(&mut self, bands: impl Iterator<Item = u32>) {
        bands.for_each(|band| {
            if self.pending.iter().all(|(planned, _)| *planned != band) {
                self.pending.push_back((band, u64::MAX));
            }
        });
    }
}

impl Shingled {
    /// Whether cleaning goes before the host: a pass was forced, or a band is under way that has to be finished.
    pub fn pass_is_forced(&self) -> bool {
        self.cleaning.forced || self.cleaning.job.as_ref().is_some_and(|job| self.finishes(job))
    }

    /// Whether a band that is under way goes on before the host is served.
    fn finishes(&self, job: &Job) -> bool {
        self.rules.finishes_band || (self.rules.finishes_phase && (job.begun || self.cleaning.full))
    }

    /// Whether the band of a block is being cleaned: what is written to it now would be overwritten with the old.
    pub fn is_under_way(&self, geometry: &Geometry, block: u64) -> bool {
        self.cleaning.job.as_ref().is_some_and(|job| job.band == self.bands.band(geometry, block))
    }

    /// How long the host has to be silent before there is something to do; `None`: there is nothing.
    pub fn cleans_after(&mut self) -> Option<u64> {
        if self.cleaning.full && self.cleaning.judged != self.map.version() {
            self.cleaning.judged = self.map.version();
            self.cleaning.full = self.fill() > self.rules.full_until;
        }
        let silence = self.rules.full_idle.filter(|_| self.cleaning.full && self.open.is_empty());
        let silence = silence.unwrap_or(self.rules.clean_idle);
        let closes = self.closes_in_silence() && !self.open.is_empty();
        if self.cleaning.job.is_some() || !self.cleaning.pending.is_empty() || closes {
            return Some(silence);
        }
        if self.map.dirty_bands() == 0 {
            return None;
        }
        if self.rules.when == CleaningWhen::Lazy {
            let mark = if self.cleaning.draining { self.rules.low_mark } else { self.rules.high_mark };
            self.cleaning.draining = self.fill() > mark;
            if !self.cleaning.draining {
                return self.rules.clean_rest;
            }
        }
        Some(silence)
    }

    /// Whether bands that streams left are closed once the host is silent. Cleaning that waits for no silence cannot tell a
    /// stream that left from one that goes on with the next request: there a band stays open until its place, or its being
    /// dirty, calls for it.
    fn closes_in_silence(&self) -> bool {
        !self.rules.by_pressure
    }

    /// Whether cleaning that waits for no silence goes before what the host asks for: after each of the host's turns.
    pub fn takes_its_turn(&mut self) -> bool {
        self.rules.by_pressure && self.cleaning.host_had_its_turn && self.cleans_after() == Some(0)
    }

    /// Whether cleaning may come between two writes of a stream.
    pub fn disturbs_streams(&self) -> bool {
        self.rules.by_pressure || self.pass_is_forced()
    }

    /// The heads have worked for the host.
    pub fn count_turn(&mut self) {
        self.cleaning.host_had_its_turn = true;
    }

    /// From now on the pass under way, or a new one, does not give way.
    pub fn force_pass(&mut self) {
        debug_assert!(!self.cleaning.forced, "nobody is served before a forced pass is over");
        self.counters.forced_passes += 1;
        self.cleaning.forced = true;
    }

    /// There is no room in the log: from now on appends are rationed and little silence is enough, if the drive does that.
    pub fn press(&mut self) {
        self.cleaning.pressed = self.rules.ration_appends > 0;
        self.cleaning.full = self.rules.full_idle.is_some();
    }

    /// Whether the host has used up its appends and a pass is due before the next, which has waited since `arrived`.
    pub fn ration_is_spent(&self, arrived: u64) -> bool {
        let spent = self.cleaning.pressed && self.cleaning.ration == 0 && self.map.dirty_bands() > 0;
        spent && (self.rules.ration_bands == 0 || self.follows(arrived))
    }

    /// Whether what has waited since `arrived` follows the last visit without a pause of the host.
    fn follows(&self, arrived: u64) -> bool {
        arrived <= self.last_visit.1
    }

    /// Whether the next visit to the log has a pass to record beside its own packets.
    pub(super) fn has_unrecorded_pass(&self) -> bool {
        self.cleaning.unrecorded
    }

    /// Counts an append, which records the passes before it; rationing ends once enough room has been regained.
    pub(super) fn count_append(&mut self) {
        self.cleaning.unrecorded = false;
        self.cleaning.ration = self.cleaning.ration.saturating_sub(1);
        self.cleaning.pressed = self.cleaning.pressed && self.fill() > self.rules.ration_until;
    }

    /// A pass that does not give way, where a place of the cache has no room for so many packets, which have waited since
    /// `arrived`, or more come than the ration allows.
    pub fn force_pass_for(&mut self, region: usize, packets: u64, arrived: u64) {
        self.cleaning.rationing = self.cleaning.pressed && self.rules.ration_bands > 0 && self.follows(arrived);
        let short = self.log_lacks_room(region, packets) && self.regions[region].log.used_blocks() > 0;
        self.cleaning.short_of_log = short.then_some(region);
        self.force_pass();
    }

    /// A pass that only closes a band which a stream left.
    pub fn force_close(&mut self, open: OpenBand) {
        self.counters.streams_broken += 1;
        self.cleaning.forced = true;
        self.cleaning.pending.push_front((open.band, open.written_to));
    }

    /// The pass under way ends where it is. Its band comes first in the next one; what was not yet home is still cached.
    pub fn abandon_pass(&mut self) {
        if let Some(job) = self.cleaning.job.take() {
            let from = if job.to.is_some() { u64::MAX } else { job.at };
            self.cleaning.pending.push_front((job.band, from));
        }
        self.cleaning.ends();
    }

    /// The next physical operation of the pass under way, or the first of a new one; returns when it is done, or `None`
    /// when there was nothing to do after all. Where a band is to be finished, its further operations follow at once, as
    /// far as those before them end while the cleaner is `alone`: nobody can come between them then.
    pub fn clean(&mut self, arm: &mut Arm, begin: u64, alone_before: u64) -> Option<u64> {
        let mut job = Job::default();
        match self.cleaning.job.take() {
            Some(under_way) => job = under_way,
            None if self.begin_next(arm.mechanics, &mut job) => {}
            None => return None,
        }
        self.cleaning.host_had_its_turn = false;
        let mut ends = begin;
        let done = loop {
            let done;
            (ends, done) = self.step(arm, ends, &mut job);
            if done || ends >= alone_before || !(self.cleaning.forced || self.finishes(&job)) {
                break done;
            }
        };
        if done {
            self.retire(&job);
            if self.cleaning.pending.is_empty() {
                self.cleaning.unrecorded = true;
                self.cleaning.ends();
                self.cleaning.ration = self.rules.ration_appends;
            }
        } else {
            self.cleaning.job = Some(job);
        }
        Some(ends)
    }

    /// Begins the first band of those planned that there is something to do for, or of a new plan. False: there is none.
    #[inline]
    fn begin_next(&mut self, mechanics: &Mechanics, job: &mut Job) -> bool {
        let mut planned = false;
        loop {
            match self.cleaning.pending.pop_front() {
                // It may have become clean since it was planned.
                Some((band, from)) if self.begin(mechanics, band, from, job) => return true,
                Some(_) => {}
                None if planned => {
                    self.cleaning.ends();
                    return false;
                }
                None => {
                    self.plan(if self.cleaning.forced { Pass::Forced } else { Pass::Yielding });
                    planned = true;
                }
            }
        }
    }

    /// The home addresses of the band that the last operation has moved, if it has moved one.
    pub fn take_moved(&mut self, geometry: &Geometry) -> Option<std::ops::Range<u64>> {
        let (first, end) = self.bands.blocks(geometry, self.cleaning.moved.take()?);
        Some(first..end)
    }

    /// Chooses the bands of a pass. What is short decides: for room in the log only its tail helps, whatever the order, for
    /// entries or packets any band.
    /// A pass that closes bands which streams left cleans its other bands as well, also of a lazy drive below its mark: no source
    /// tells, and who is there already need not come again.
    fn plan(&mut self, pass: Pass) {
        if pass == Pass::Yielding && self.closes_in_silence() {
            for open in self.open.drain(..) {
                self.counters.streams_broken += 1;
                self.cleaning.pending.push_back((open.band, open.written_to));
            }
        }
        let short = self.cleaning.short_of_log.take();
        let rationing = std::mem::take(&mut self.cleaning.rationing);
        let count = if rationing { self.rules.ration_bands } else { self.rules.bands_per_pass };
        if self.rules.order == CleaningOrder::Fifo || short.is_some() {
            self.map.touch_oldest();
            let region = |band| nearest(&self.regions, self.bands.middle_track(band));
            let oldest = self.map.dirty().filter(|band| short.is_none_or(|short| short == region(*band)));
            self.cleaning.schedule(oldest.take(count));
        } else {
            self.cleaning.schedule(self.most_dirty(count).into_iter());
        }
    }

    /// The bands with most entries, of equals those that have been dirty longer.
    fn most_dirty(&self, count: usize) -> Vec<u32> {
        // By size, then by age, which is its place in the order.
        let by_size = |band: u32| std::cmp::Reverse(self.map.pieces(band).len());
        let mut bands: Vec<_> = self.map.dirty().enumerate().map(|(age, band)| (by_size(band), age, band)).collect();
        if bands.len() > count {
            bands.select_nth_unstable(count - 1);
            bands.truncate(count);
        }
        bands.sort_unstable();
        bands.into_iter().map(|(_, _, band)| band).collect()
    }

    /// Begins a band, from its first dirty track or from `from`, whichever comes first. False: nothing is left to do.
    fn begin(&mut self, mechanics: &Mechanics, band: u32, from: u64, job: &mut Job) -> bool {
        let geometry = &mechanics.geometry;
        let (start, end) = self.bands.blocks(geometry, band);
        let dirty = self.map.pieces(band).first().map(|piece| start + u64::from(piece.start));
        let open = self.open.iter().position(|open| open.band == band).map(|index| self.open.remove(index).written_to);
        let first = dirty.unwrap_or(u64::MAX).min(open.unwrap_or(u64::MAX)).min(from);
        if first >= end {
            return false;
        }
        let log = &self.regions[self.region(band)].log;
        let newest_packet = log.newest_id();
        // They will be released when the band is home.
        self.map.pieces(band).iter().for_each(|piece| log.touch(piece.packet));
        // What a stream left half written is completed where it is, and so is what an abandoned pass had begun to.
        let whole = open.is_none() && from >= end;
        let to = if whole { self.bands.spare_for(geometry, band) } else { None };
        let shift = self.bands.shift(geometry, band);
        let place = match to {
            Some(_) => geometry.place(start.wrapping_add(shift)),
            None => geometry.place(first.wrapping_add(shift)).track_start(),
        };
        let at = place.block.wrapping_sub(shift);
        let phase_end = (at + self.rules.merge_blocks).min(end);
        let stretch = mechanics.stretch_from(&place, phase_end - at);
        let survey = self.survey(band, start, at..phase_end);
        *job =
            Job { band, newest_packet, to, start, end, at, phase_end, stretch, survey, step: Step::Read, begun: false };
        if self.needs_no_reading(job) {
            job.step = self.collect(job);
        }
        true
    }

    /// Prepares the phase after the one that ended at `job.phase_end`.
    fn next_phase(&mut self, mechanics: &Mechanics, job: &mut Job) {
        job.begun = false;
        job.at = job.phase_end;
        job.phase_end = (job.at + self.rules.merge_blocks).min(job.end);
        job.stretch = mechanics.stretch_behind(&job.stretch, job.phase_end - job.at);
        job.survey = self.survey(job.band, job.start, job.phase());
        job.step = if self.needs_no_reading(job) { self.collect(job) } else { Step::Read };
    }

    /// The way over the phase, were its band at `place`.
    fn stretch_at(&self, mechanics: &Mechanics, job: &Job, place: u32) -> Stretch {
        let shift = self.bands.shift_at(&mechanics.geometry, job.band, place);
        mechanics.stretch(job.at.wrapping_add(shift), job.phase_end.wrapping_add(shift))
    }

    /// Everything in the phase is cached or trimmed, and the drive heeds that.
    #[inline]
    fn needs_no_reading(&self, job: &Job) -> bool {
        !self.rules.merge_whole
            && (job.survey.cached == job.phase_end - job.at
                || (!self.trimmed.is_empty() && self.is_cached_or_trimmed(job)))
    }

    fn is_cached_or_trimmed(&self, job: &Job) -> bool {
        let cached_in = |gap: &Range<u64>| self.map.cached_in(job.band, job.inside(gap.start), job.inside(gap.end));
        self.trimmed.gaps(&job.phase()).all(|gap| cached_in(&gap) == gap.end - gap.start)
    }

    /// What the cache holds of a phase of the band that begins at `start`, collected in the order in which it lies in the
    /// log. What lies right behind the piece before costs no more than the turning past it: a stream that was cached is
    /// one long piece.
    fn survey(&mut self, band: u32, start: u64, phase: Range<u64>) -> Survey {
        let (first, end) = ((phase.start - start) as u32, (phase.end - start) as u32);
        let version = self.map.version();
        if !self.map.may_hold(band, first, end) {
            return Survey { version, cached: 0, at: 0, ticks: 0 };
        }
        let places = &mut self.cleaning.places;
        places.clear();
        let mut cached = 0;
        for piece in self.map.pieces_in(band, first, end) {
            cached += u64::from(piece.end().min(end) - piece.start.max(first));
            places.push((piece.at, piece.at + piece.blocks));
        }
        places.sort_unstable();
        let places = &self.cleaning.places;
        let Some(&(first, _)) = places.first() else {
            return Survey { version, cached, at: 0, ticks: 0 };
        };
        let region = &self.regions[self.region(band)];
        if self.flash.is_some() {
            let ticks = places.iter().map(|place| self.flash_ticks(u64::from(place.1 - place.0))).sum();
            return Survey { version, cached, at: region.at, ticks };
        }
        let pass_ticks = |blocks: u32| region.pass_ticks(u64::from(blocks));
        let data: u64 = places.iter().map(|place| pass_ticks(place.1 - place.0)).sum();
        let gaps = places.windows(2).map(|pair| pass_ticks(pair[1].0 - pair[0].1).min(self.rules.collect_ticks));
        let ticks = data + self.rules.collect_ticks + gaps.sum::<u64>();
        Survey { version, cached, at: region.at + u64::from(first), ticks }
    }

    /// Surveys the phase anew if the map has changed since.
    #[inline]
    fn refresh(&mut self, job: &mut Job) {
        if job.survey.version != self.map.version() {
            job.survey = self.survey(job.band, job.start, job.phase());
        }
    }

    /// The step that collects the phase's pieces, if there are any.
    fn collect(&mut self, job: &mut Job) -> Step {
        self.refresh(job);
        match job.survey {
            Survey { cached: 0, .. } => self.after_collecting(job),
            Survey { at, ticks, .. } => Step::Collect { at, ticks },
        }
    }

    /// Put aside is what would be lost if the power failed while it is overwritten: not the data of a band that moves,
    /// which keeps its old place until it is complete, and not what the cache holds until then, unless phases are merged whole.
    fn after_collecting(&mut self, job: &mut Job) -> Step {
        self.refresh(job);
        if !self.rules.merge_on_disk || job.to.is_some() || self.needs_no_reading(job) {
            return Step::WriteBack;
        }
        let spared = if self.rules.merge_whole { 0 } else { job.survey.cached };
        Step::Park { blocks: job.phase_end - job.at - spared }
    }

    /// One physical operation; returns when it ends and whether the band is done.
    fn step(&mut self, arm: &mut Arm, begin: u64, job: &mut Job) -> (u64, bool) {
        job.begun = true;
        match job.step {
            Step::Read => {
                job.step = self.collect(job);
                (arm.pass_over(begin, &job.stretch, Way::Read).ends, false)
            }
            Step::Collect { at, ticks } => {
                let now = ticks.min(COLLECT_TICKS);
                let ends = if self.flash.is_some() { begin + now } else { arm.visit(begin, at, now) };
                let rest = Step::Collect { at, ticks: ticks - now };
                job.step = if ticks > now { rest } else { self.after_collecting(job) };
                (ends, false)
            }
            Step::Park { blocks } => {
                job.step = Step::WriteBack;
                let stretch = arm.mechanics.stretch_from(&self.regions[self.region(job.band)].merge_at, blocks);
                (arm.pass_over(begin, &stretch, Way::Write).ends + self.rules.merge_ticks, false)
            }
            Step::WriteBack => {
                let elsewhere = job.to.map(|to| self.stretch_at(arm.mechanics, job, to));
                let ends = arm.pass_over(begin, elsewhere.as_ref().unwrap_or(&job.stretch), Way::Write).ends;
                let done = job.phase_end == job.end;
                if !done {
                    self.next_phase(arm.mechanics, job);
                }
                (ends, done)
            }
        }
    }

    /// The band is home: its entries and their packets are free, and the place that it left, if it moved.
    fn retire(&mut self, job: &Job) {
        if let Some(to) = job.to {
            self.bands.move_to(job.band, to);
            self.cleaning.moved = Some(job.band);
            self.counters.bands_moved += 1;
        }
        let blocks = self.map.remove_up_to(job.band, job.newest_packet);
        self.counters.bytes_cleaned += blocks * BLOCK_BYTES;
        self.counters.bands_cleaned += 1;
        self.settle_log(self.region(job.band));
    }
}

#[cfg(test)]
mod tests {
    use super::Cleaning;

    #[test]
    fn a_pass_that_is_over_leaves_no_place_to_make_room_in() {
        let mut cleaning = Cleaning { forced: true, rationing: true, short_of_log: Some(3), ..Cleaning::default() };
        cleaning.ends();
        assert!(cleaning.is_idle() && cleaning.short_of_log.is_none() && !cleaning.rationing);
    }
}
