//! A test that reads see what was written, and that a loss of power takes nothing that was promised: beside a drive it is
//! kept what each place of the surface holds, as the drive's own movements put it there, and after each movement every
//! block is looked up as a read would.

use std::collections::{HashMap, HashSet};

use crate::drive::Drive;
use crate::geometry::BLOCK_SECTORS;
use crate::profile::{CachePlace, CleaningOrder, EntryCounts, FlashProfile, Mapping, Profile};
use crate::range::Range;
use crate::request::{BlockDevice, Request, Verb};
use crate::work::Work;

/// Blocks of the host that are written and read.
const BLOCKS: u64 = 600;

struct Shadow {
    drive: Drive,
    /// The newest write of each block of the host: what a read must see.
    newest: HashMap<u64, u64>,
    /// The write of each block of which the drive said that it is durable.
    promised: HashMap<u64, u64>,
    /// What was trimmed, where the drive took that advice, and not written since.
    trimmed: HashSet<u64>,
    dram: HashMap<u64, u64>,
    /// By block of the surface.
    platters: HashMap<u64, u64>,
    /// What the read cache holds.
    copies: HashMap<u64, u64>,
    /// Where each block lay at the last look, and where when the cleaning of its band began.
    places: HashMap<u64, u64>,
    began: HashMap<u64, u64>,
    work: Option<(Work, u64)>,
    /// What blocks that are on their way to the surface held there before.
    torn: HashMap<u64, Option<u64>>,
    /// That had bypassed the cache when the last write to the platters began.
    stream_bytes: u64,
    /// A write that may still wait for room in DRAM.
    pending: Option<(u64, u64, u64)>,
    sources: [u64; 4],
    lost_blocks: u64,
}

/// The sectors of a block of the host's.
fn sector_range(block: u64) -> Range {
    Range { start: block * BLOCK_SECTORS, end: (block + 1) * BLOCK_SECTORS }
}

impl Shadow {
    fn new(profile: &Profile) -> Self {
        let map = HashMap::new;
        Self {
            drive: Drive::new(profile, 3),
            newest: map(),
            promised: map(),
            trimmed: HashSet::new(),
            dram: map(),
            platters: map(),
            copies: map(),
            places: map(),
            began: map(),
            work: None,
            torn: HashMap::new(),
            stream_bytes: 0,
            pending: None,
            sources: [0; 4],
            lost_blocks: 0,
        }
    }

    fn home(&self, block: u64) -> u64 {
        self.drive.home_block + block
    }

    /// Where its band holds a block.
    fn in_band(&self, block: u64) -> u64 {
        self.home(block).wrapping_add(self.drive.shift(self.home(block)))
    }

    fn place(&self, block: u64) -> u64 {
        let home = self.home(block);
        let layer = self.drive.shingled.as_ref();
        layer.map_or(home, |layer| layer.run(&self.drive.mechanics.geometry, home, home + 1).0)
    }

    fn is_in_dram(&self, block: u64) -> bool {
        let flying = self.drive.in_flight.ranges().iter();
        let mut held = self.drive.buffer.ranges().iter().chain(flying);
        held.any(|range| (range.start..range.end).contains(&(block * BLOCK_SECTORS)))
    }

    fn is_flying(&self, block: u64) -> bool {
        let holds = |range: &Range| (range.start..range.end).contains(&(block * BLOCK_SECTORS));
        self.drive.in_flight.ranges().iter().any(holds)
    }

    fn is_read(&self, block: u64) -> bool {
        let home = self.home(block);
        self.drive.read_cache.segments().iter().any(|(first, end)| (*first..*end).contains(&home))
    }

    /// Takes note of what the last movement did and the next has begun to do.
    fn look(&mut self) {
        if let Some((first, end, id)) = self.pending.filter(|_| self.drive.held.is_empty()) {
            self.dram.extend((first..end).map(|block| (block, id)));
            self.pending = None;
        }
        for block in 0..BLOCKS {
            self.look_at(block);
        }
        if self.work != self.drive.work && matches!(self.drive.work, Some((Work::Destage, _))) {
            self.torn.clear();
            let streamed = std::mem::replace(&mut self.stream_bytes, self.drive.truth().stream_bytes);
            for range in self.drive.in_flight.ranges().to_vec() {
                for block in range.start / BLOCK_SECTORS..range.end / BLOCK_SECTORS {
                    // A stream goes to its band, whatever the map says.
                    let place = if streamed < self.stream_bytes { self.in_band(block) } else { self.place(block) };
                    let before = self.places.get(&block).copied().unwrap_or_else(|| self.in_band(block));
                    self.torn.insert(block, self.platters.get(&before).copied());
                    self.platters.insert(place, self.dram[&block]);
                    self.places.insert(block, place);
                }
            }
        }
        self.work = self.drive.work;
        self.check_spots();
        let blocks: Vec<(u64, u64)> = self.newest.iter().map(|(block, id)| (*block, *id)).collect();
        for (block, id) in blocks {
            assert_eq!(self.lookup(block), Some(id), "block {block} at {:?}", self.drive.clock.ns(self.drive.now));
        }
    }

    /// What the heads choose by is where the extents go now, also after their bands have moved.
    fn check_spots(&self) {
        for piece in (0..self.drive.buffer.ranges().len()).map(|index| self.drive.buffer.get(index)) {
            if let Some(spot) = piece.about.spot {
                let expected = self.drive.mechanics.spot(self.in_band(piece.range.start / BLOCK_SECTORS));
                assert_eq!(spot, expected, "{piece:?}");
            }
        }
    }

    /// No part of what was just trimmed waits to be written, nor is it cached if the drive took the advice.
    fn check_gone(&self, mut blocks: std::ops::Range<u64>, taken: bool) {
        let waits = |block: u64| self.drive.buffer.ranges().iter().any(|range| range.overlaps(&sector_range(block)));
        assert!(!blocks.clone().any(waits), "{blocks:?}");
        assert!(!taken || blocks.all(|block| self.place(block) == self.in_band(block)), "{blocks:?}");
    }

    /// The drive spares the reading of what was trimmed, and of nothing else.
    fn check_trimmed(&self) {
        let Some(layer) = &self.drive.shingled else { return };
        for block in 0..BLOCKS + 8 {
            assert_eq!(layer.is_trimmed(self.home(block)), self.trimmed.contains(&block), "block {block}");
        }
    }

    fn look_at(&mut self, block: u64) {
        let (home, in_band, place) = (self.home(block), self.in_band(block), self.place(block));
        match (self.is_read(block), self.copies.contains_key(&block)) {
            (true, false) => {
                let read_from = self.places.get(&block).copied().unwrap_or(in_band);
                let data = self.platters.get(&read_from).copied().unwrap_or(0);
                self.copies.insert(block, data);
            }
            (false, _) => {
                self.copies.remove(&block);
            }
            _ => {}
        }
        let before = self.places.insert(block, place).unwrap_or(in_band);
        if before != in_band && place == in_band && !self.is_flying(block) {
            // Cleaning brought it there, and may bring no other data than what lay where it was when that began.
            // What was trimmed meanwhile is of no worth.
            let began = self.began.get(&block).copied().unwrap_or(before);
            assert!(began == before || !self.newest.contains_key(&block), "block {block}");
            if let Some(data) = self.platters.get(&before).copied() {
                self.platters.insert(place, data);
            }
        }
        let layer = self.drive.shingled.as_ref();
        if layer.is_some_and(|layer| layer.is_under_way(&self.drive.mechanics.geometry, home)) {
            self.began.entry(block).or_insert(place);
        } else {
            self.began.remove(&block);
        }
        if let Some(mut running) = self.drive.read_cache.running {
            self.drive.find_limit(&mut running);
            let ahead = (running.next..running.limit).contains(&home);
            assert!(
                !ahead || place == home.wrapping_add(running.shift),
                "the heads read past block {block}, which is cached"
            );
        }
    }

    /// Where a read takes a block from, as the model does: DRAM first, then what was read, then the surface.
    fn lookup(&mut self, block: u64) -> Option<u64> {
        let place = self.place(block);
        let (source, data) = if self.is_in_dram(block) {
            (0, self.dram.get(&block))
        } else if self.is_read(block) {
            (1, self.copies.get(&block))
        } else {
            (if place == self.in_band(block) { 2 } else { 3 }, self.platters.get(&place))
        };
        self.sources[source] += 1;
        data.copied()
    }

    /// Lets time pass up to `to`, one movement of the heads after the other.
    fn pass(&mut self, to: u64) {
        self.look();
        while self.drive.now < to {
            let now = self.drive.now;
            let cleaning = self.drive.shingled.as_mut().and_then(|layer| layer.cleans_after()).unwrap_or(0);
            let waits = [self.drive.rules.idle, cleaning].map(|span| self.drive.silent_at(span));
            let next = match self.drive.work {
                Some((_, until)) => until,
                None => waits.into_iter().filter(|at| *at > now).min().unwrap_or(to),
            };
            let next_ns = self.drive.clock.ns(next.min(to));
            self.drive.advance(next_ns, &mut Vec::new());
            self.look();
        }
    }

    fn ask(&mut self, verb: Verb, first: u64, blocks: u64, fua: bool, id: u64) {
        let (offset_bytes, bytes) = (first * 4096, blocks * 4096);
        let request = Request { tag: 0, verb, fua, offset_bytes, bytes };
        match verb {
            Verb::Write => {
                self.pending = Some((first, first + blocks, id));
                self.newest.retain(|block, _| !(first..first + blocks).contains(block));
            }
            Verb::Trim => {
                self.newest.retain(|block, _| !(first..first + blocks).contains(block));
                self.promised.retain(|block, _| !(first..first + blocks).contains(block));
            }
            _ => {}
        }
        let now_ns = self.drive.clock.ns(self.drive.now);
        let takes_advice = self.drive.shingled.as_ref().is_some_and(|layer| layer.room_to_cut());
        self.drive.submit(now_ns, request);
        match verb {
            Verb::Write => self.trimmed.retain(|block| !(first..first + blocks).contains(block)),
            Verb::Trim if takes_advice => self.trimmed.extend(first..first + blocks),
            _ => {}
        }
        if verb == Verb::Trim {
            self.check_gone(first..first + blocks, takes_advice);
        }
        self.look();
        while let Some(event_ns) = self.drive.next_event_ns() {
            self.drive.advance(event_ns, &mut Vec::new());
            self.look();
        }
        if verb == Verb::Write {
            assert_eq!(self.pending, None);
            self.newest.extend((first..first + blocks).map(|block| (block, id)));
            self.look();
        }
        self.check_trimmed();
        match verb {
            Verb::Write if fua => self.promised.extend((first..first + blocks).map(|block| (block, id))),
            Verb::Flush => self.promised.clone_from(&self.newest),
            _ => {}
        }
    }

    /// The power fails and comes back. What the drive does not name as lost must read as before, and what it names as
    /// before the writes that were lost: never older than promised.
    fn fail(&mut self) {
        let flying: Vec<u64> = self.torn.keys().copied().filter(|block| self.is_flying(*block)).collect();
        let now_ns = self.drive.clock.ns(self.drive.now);
        let lost = self.drive.power_loss(now_ns);
        let named = |block: &u64| lost.ranges.iter().any(|range| range.contains(&(block * 4096)));
        // What is not named had passed under the heads.
        for block in flying.into_iter().filter(|block| named(block)) {
            // The model's map is ahead of the platters: the place holds what the old one held.
            let place = self.place(block);
            match self.torn[&block] {
                Some(before) => self.platters.insert(place, before),
                None => self.platters.remove(&place),
            };
        }
        self.copies.clear();
        self.dram.clear();
        let ready_ns = self.drive.power_on(now_ns + 1_000_000_000);
        self.drive.advance(ready_ns, &mut Vec::new());
        for block in 0..BLOCKS {
            let (place, newest) = (self.place(block), self.newest.get(&block).copied());
            let found = self.platters.get(&place).copied();
            let promised = self.promised.get(&block).copied();
            if newest.is_none() {
                continue;
            }
            assert!(named(&block) || found == newest, "block {block} is lost and not named");
            assert!(found >= promised, "block {block} was promised to be {promised:?} and is {found:?}");
            if found != newest {
                self.lost_blocks += 1;
                match found {
                    Some(found) => self.newest.insert(block, found),
                    None => self.newest.remove(&block),
                };
            }
        }
        (self.work, self.pending) = (self.drive.work, None);
        self.began.clear();
        self.look();
    }
}

fn play(profile: &Profile, seed: u64, fails: bool) -> Shadow {
    let mut shadow = Shadow::new(profile);
    let mut random = sim::stream(seed, "requests");
    let mut next = 0;
    for id in 1..400 {
        let verb = [Verb::Write, Verb::Write, Verb::Write, Verb::Read, Verb::Read, Verb::Trim, Verb::Flush];
        let verb = verb[random.below(7) as usize];
        let most = [2, 8, 64][random.below(3) as usize];
        let blocks = 1 + random.below(most);
        // A third goes on where the last one ended, so that there are streams.
        let first = if random.below(3) == 0 && next + blocks <= BLOCKS { next } else { random.below(BLOCKS - blocks) };
        next = first + blocks;
        let (first, blocks) = if verb == Verb::Flush { (0, 0) } else { (first, blocks) };
        shadow.ask(verb, first, blocks, random.below(3) == 0, id);
        if random.below(4) == 0 {
            let longest = [2e7, 2e9][random.below(2) as usize];
            let pause = random.below(shadow.drive.clock.span(longest));
            shadow.pass(shadow.drive.now + pause);
        }
        if fails && random.below(12) == 0 {
            shadow.fail();
        }
    }
    shadow
}

fn small(text: &str) -> Profile {
    let mut profile = Profile::parse(text).unwrap().scaled(1000).unwrap();
    // Bands and read-ahead so small that all that is written crosses and meets them.
    (profile.geometry.outer_track_bytes, profile.geometry.inner_track_bytes) = (131_072, 65_536);
    profile.dram.read_ahead_bytes = 262_144;
    if let Some(shingled) = &mut profile.shingled {
        shingled.tracks_per_band = 4;
    }
    profile
}

fn by_writes() -> Profile {
    let mut profile = small(include_str!("../../../drives/canvio-3tb.toml"));
    profile.dram.write_back = true;
    let shingled = profile.shingled.as_mut().unwrap();
    (shingled.cache.entries, shingled.cache.packet_writes) = (24, 4);
    shingled.cache.entry_counts = EntryCounts::Write;
    profile
}

fn by_packets() -> Profile {
    let mut profile = small(include_str!("../../../drives/wd40efax.toml"));
    let shingled = profile.shingled.as_mut().unwrap();
    (shingled.cache.bytes, shingled.cache.packet_bytes, shingled.cache.packet_writes) = (1 << 20, 65_536, 3);
    shingled.cleaning.order = CleaningOrder::MostDirty;
    (shingled.streams.min_request_bytes, shingled.streams.min_run_bytes) = (32_768, 131_072);
    profile
}

/// `by_packets` with another place of the cache.
fn placed(place: CachePlace) -> Profile {
    let mut profile = by_packets();
    profile.shingled.as_mut().unwrap().cache.place = place;
    profile
}

/// Every way to lay out and to map.
fn profiles() -> Vec<Profile> {
    let flash = FlashProfile { flash_read_us: 100.0, flash_write_us: 500.0, flash_rate_mb_s: 200.0 };
    let mut moving = by_packets();
    moving.shingled.as_mut().unwrap().mapping = Mapping::Dynamic { spare_bands: 2 };
    let mut all = placed(CachePlace::Spread { regions: 3 });
    let shingled = all.shingled.as_mut().unwrap();
    (shingled.mapping, shingled.cleaning.merge_on_disk) = (Mapping::Dynamic { spare_bands: 1 }, true);
    shingled.cleaning.merge_bytes = 65_536;
    let conventional = small(include_str!("../../../drives/st12000vn0007.toml"));
    let placed = [CachePlace::Inner, CachePlace::Spread { regions: 3 }, CachePlace::Flash(flash)].map(placed);
    [conventional, by_writes(), by_packets(), moving, all].into_iter().chain(placed).collect()
}

#[test]
fn reads_see_what_was_written() {
    for profile in profiles() {
        let mut sources = [0; 4];
        let mut truth = crate::Truth::default();
        for seed in 0..3 {
            let shadow = play(&profile, seed, false);
            (0..4).for_each(|index| sources[index] += shadow.sources[index]);
            truth.bands_moved += shadow.drive.truth().bands_moved;
        }
        assert!(sources[..3].iter().all(|count| *count > 0), "{sources:?}");
        let shingled = profile.shingled.as_ref();
        assert_eq!(sources[3] > 0, shingled.is_some(), "{sources:?}");
        let moves = shingled.is_some_and(|shingled| shingled.mapping != Mapping::Static);
        assert_eq!(truth.bands_moved > 0, moves, "{profile:?}");
    }
}

#[test]
fn a_loss_of_power_takes_nothing_that_was_promised_and_names_what_it_takes() {
    for profile in profiles() {
        let played: Vec<Shadow> = (0..3).map(|seed| play(&profile, seed, true)).collect();
        assert!(played.iter().map(|shadow| shadow.lost_blocks).sum::<u64>() > 10, "{}", profile.name);
        for truth in played.iter().map(|shadow| shadow.drive.truth()) {
            let booked = truth.bytes_cleaned + truth.bytes_overwritten + truth.cached_bytes;
            assert_eq!(truth.bytes_cached, booked, "{truth:?}");
        }
    }
}
