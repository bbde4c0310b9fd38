//! A test that reads see what was written: beside a drive it is kept what each place of the surface holds, as
//! the drive's own movements put it there, and after each movement every block is looked up as a read would.

use std::collections::HashMap;

use crate::drive::{Drive, Work, BLOCK_SECTORS};
use crate::profile::{CleaningOrder, EntryCounts, Profile};
use crate::request::{BlockDevice, Request, Verb};

/// Blocks of the host that are written and read.
const BLOCKS: u64 = 600;

struct Shadow {
    drive: Drive,
    /// The newest write of each block of the host: what a read must see.
    newest: HashMap<u64, u64>,
    dram: HashMap<u64, u64>,
    /// By block of the surface.
    platters: HashMap<u64, u64>,
    /// What the read cache holds.
    copies: HashMap<u64, u64>,
    /// Where each block lay at the last look, and where when the cleaning of its band began.
    places: HashMap<u64, u64>,
    began: HashMap<u64, u64>,
    work: Option<(Work, u64)>,
    /// A write that may still wait for room in DRAM.
    pending: Option<(u64, u64, u64)>,
    sources: [u64; 4],
}

impl Shadow {
    fn new(profile: &Profile) -> Self {
        let map = HashMap::new;
        Self {
            drive: Drive::new(profile, 3),
            newest: map(),
            dram: map(),
            platters: map(),
            copies: map(),
            places: map(),
            began: map(),
            work: None,
            pending: None,
            sources: [0; 4],
        }
    }

    fn home(&self, block: u64) -> u64 {
        self.drive.shingled.as_ref().map_or(0, |layer| layer.first_band_block()) + block
    }

    fn place(&self, block: u64) -> u64 {
        let home = self.home(block);
        let layer = self.drive.shingled.as_ref();
        layer.map_or(home, |layer| layer.run(&self.drive.mechanics.geometry, home, home + 1).0)
    }

    fn is_in_dram(&self, block: u64) -> bool {
        let flying = self.drive.in_flight.iter().map(|piece| &piece.range);
        let mut held = self.drive.buffer.ranges().iter().chain(flying);
        held.any(|range| (range.start..range.end).contains(&(block * BLOCK_SECTORS)))
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
            for range in self.drive.in_flight.iter().map(|piece| piece.range).collect::<Vec<_>>() {
                for block in range.start / BLOCK_SECTORS..range.end / BLOCK_SECTORS {
                    let place = self.place(block);
                    self.platters.insert(place, self.dram[&block]);
                    self.places.insert(block, place);
                }
            }
        }
        self.work = self.drive.work;
        let blocks: Vec<(u64, u64)> = self.newest.iter().map(|(block, id)| (*block, *id)).collect();
        for (block, id) in blocks {
            assert_eq!(self.lookup(block), Some(id), "block {block} at {:?}", self.drive.clock.ns(self.drive.now));
        }
    }

    fn look_at(&mut self, block: u64) {
        let (home, place) = (self.home(block), self.place(block));
        match (self.is_read(block), self.copies.contains_key(&block)) {
            (true, false) => {
                let read_from = self.places.get(&block).copied().unwrap_or(home);
                let data = self.platters.get(&read_from).copied().unwrap_or(0);
                self.copies.insert(block, data);
            }
            (false, _) => {
                self.copies.remove(&block);
            }
            _ => {}
        }
        let flying =
            |piece: &crate::buffer::Piece| (piece.range.start..piece.range.end).contains(&(block * BLOCK_SECTORS));
        let before = self.places.insert(block, place).unwrap_or(home);
        if before != home && place == home && !self.drive.in_flight.iter().any(flying) {
            // Cleaning brought it home, and may bring no other data than what lay in the log when it began.
            assert_eq!(self.began.get(&block).copied().unwrap_or(before), before, "block {block}");
            if let Some(data) = self.platters.get(&before).copied() {
                self.platters.insert(home, data);
            }
        }
        let layer = self.drive.shingled.as_ref();
        if layer.is_some_and(|layer| layer.is_under_way(&self.drive.mechanics.geometry, home)) {
            self.began.entry(block).or_insert(place);
        } else {
            self.began.remove(&block);
        }
        if let Some(running) = self.drive.read_cache.running {
            let ahead = (running.next..running.limit).contains(&home);
            assert!(!ahead || place == home, "the heads read past block {block}, which is cached");
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
            (if place == self.home(block) { 2 } else { 3 }, self.platters.get(&place))
        };
        self.sources[source] += 1;
        data.copied()
    }

    /// Lets time pass up to `to`, one movement of the heads after the other.
    fn pass(&mut self, to: u64) {
        self.look();
        while self.drive.now < to {
            let now = self.drive.now;
            let cleaning = self.drive.shingled.as_ref().map_or(0, |layer| layer.clean_idle());
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
            Verb::Trim => self.newest.retain(|block, _| !(first..first + blocks).contains(block)),
            _ => {}
        }
        let now_ns = self.drive.clock.ns(self.drive.now);
        self.drive.submit(now_ns, request);
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
    }
}

fn play(profile: &Profile, seed: u64) -> [u64; 4] {
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
            let pause = random.below(shadow.drive.clock.span(2e9));
            shadow.pass(shadow.drive.now + pause);
        }
    }
    shadow.sources
}

fn small(text: &str) -> Profile {
    let mut profile = Profile::parse(text).unwrap().scaled(1000).unwrap();
    // Bands and read-ahead so small that all that is written crosses and meets them.
    (profile.geometry.outer_track_bytes, profile.geometry.inner_track_bytes) = (131_072, 65_536);
    profile.dram.read_ahead_bytes = 262_144;
    profile
}

#[test]
fn reads_see_what_was_written() {
    let conventional = small(include_str!("../../../drives/st12000vn0007.toml"));
    let mut by_writes = small(include_str!("../../../drives/canvio-3tb.toml"));
    by_writes.dram.write_back = true;
    let shingled = by_writes.shingled.as_mut().unwrap();
    shingled.tracks_per_band = 4;
    (shingled.cache.entries, shingled.cache.packet_writes) = (24, 4);
    shingled.cache.entry_counts = EntryCounts::Write;
    let mut by_packets = small(include_str!("../../../drives/wd40efax.toml"));
    let shingled = by_packets.shingled.as_mut().unwrap();
    shingled.tracks_per_band = 4;
    (shingled.cache.bytes, shingled.cache.packet_bytes, shingled.cache.packet_writes) = (1 << 20, 65_536, 3);
    shingled.cleaning.order = CleaningOrder::MostDirty;
    (shingled.streams.min_request_bytes, shingled.streams.min_run_bytes) = (65_536, 262_144);
    for profile in [conventional, by_writes, by_packets] {
        let mut sources = [0; 4];
        for seed in 0..6 {
            let found = play(&profile, seed);
            (0..4).for_each(|index| sources[index] += found[index]);
        }
        assert!(sources[..3].iter().all(|count| *count > 0), "{sources:?}");
        assert_eq!(sources[3] > 0, profile.shingled.is_some(), "{sources:?}");
    }
}
