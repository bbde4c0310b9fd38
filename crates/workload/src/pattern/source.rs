//! The stream of extents of one copy of a job: fio's choice of direction, offset and length.

use std::sync::Arc;

use sim::{stream, Stream};

use super::cover::Cover;
use super::covered::Covered;
use super::skew::Skew;
use super::taus88;
use crate::job::{Access, Direction, Distribution, Job, Region, Sequencer};

/// One request's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub offset_bytes: u64,
    pub bytes: u64,
}

/// Random draws of one copy, one stream a purpose.
#[derive(Clone, Debug)]
struct Draws {
    direction: Stream,
    offset: Stream,
    random: Stream,
    bytes: Stream,
}

impl Draws {
    fn new(seed: u64) -> Self {
        Self {
            direction: stream(seed, "direction"),
            offset: stream(seed, "offset"),
            random: stream(seed, "sequential or random"),
            bytes: stream(seed, "bytes"),
        }
    }
}

/// The map that keeps random requests from repeating: a permutation, shared by the directions if their blocks are the
/// same, and where lengths vary, or places are drawn as fio draws them, also what is covered.
#[derive(Clone, Debug)]
struct Map {
    order: Cover,
    covered: Option<Covered>,
}

/// Where one direction stands.
#[derive(Clone, Debug)]
struct Place {
    /// Whole blocks in the region at this direction's alignment.
    blocks: u64,
    skew: Skew,
    /// Which map of the source keeps it from repeating.
    map: Option<usize>,
    /// The last extent; a fresh one ends where the region begins.
    last: Extent,
}

/// Yields the extents of one copy of a job, pass after pass.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    job: Arc<Job>,
    region: Region,
    seed: u64,
    draws: Draws,
    places: [Place; 3],
    /// The draws of fio, for a job that is to be like fio's.
    fio: Option<taus88::Draws>,
    maps: Vec<Map>,
    until_random: u64,
    trimmed: Option<Extent>,
}

impl Source {
    /// The extents of a copy within its region; fio would have started it as its thread number `thread` (from 1).
    pub fn new(job: Arc<Job>, region: Region, seed: u64, thread: u64) -> Self {
        let mut draws = Draws::new(seed);
        let maps = maps(&job, region, &mut draws.offset);
        let fresh = Extent { offset_bytes: region.begin_bytes, bytes: 0 };
        let mut setup = stream(seed, "skew");
        let places = Direction::ALL.map(|direction| {
            let at = direction as usize;
            let blocks = blocks(&job, region, direction);
            let skew = Skew::new(&job.distribution, at, blocks.max(1), job.align_bytes[at], &mut setup);
            let map = (!maps.is_empty()).then(|| at.min(maps.len() - 1));
            Place { blocks, skew, map, last: fresh }
        });
        let fio = job.drawn_like_fio.then(|| taus88::Draws::new(job.seed, thread));
        Self { until_random: job.sequence, job, region, seed, draws, places, fio, maps, trimmed: None }
    }

    /// Back to the beginning of the region, for the next pass.
    pub fn rewind(&mut self) {
        if self.job.repeats_draws {
            self.draws = Draws::new(self.seed);
        }
        for place in &mut self.places {
            place.last = Extent { offset_bytes: self.region.begin_bytes, bytes: 0 };
        }
        self.trimmed = None;
        self.forget_map();
    }

    /// The direction of the next request.
    pub fn direction(&mut self) -> Direction {
        match self.job.access {
            Access::Only(direction) => direction,
            Access::Mixed { read_percent } => {
                let reads = match &mut self.fio {
                    Some(fio) => fio.mix.next_reads(read_percent),
                    None => self.draws.direction.below(100) < u64::from(read_percent),
                };
                if reads {
                    Direction::Read
                } else {
                    Direction::Write
                }
            }
            Access::TrimThenWrite if self.trimmed.is_some() => Direction::Write,
            Access::TrimThenWrite => Direction::Trim,
        }
    }

    /// The next extent in a direction; `None` when the pass has come to its end.
    pub fn next(&mut self, direction: Direction) -> Option<Extent> {
        if let Some(extent) = self.trimmed.take() {
            return Some(extent);
        }
        let extent = if self.takes_random(direction) {
            self.random(direction)
        } else if self.job.random && self.job.sequence > 1 && self.job.sequencer == Sequencer::Identical {
            let last = self.places[direction as usize].last;
            self.cut(direction, last.offset_bytes)
        } else {
            self.sequential(direction)
        }?;
        self.places[direction as usize].last = extent;
        if self.job.access == Access::TrimThenWrite {
            self.trimmed = Some(extent);
        }
        Some(extent)
    }

    /// Where the next extent begins, its length, and how many like it follow up to the region's end: if nothing else can
    /// come in a direction before that.
    pub fn stream(&self, direction: Direction) -> Option<(Extent, u64)> {
        let sizes = &self.job.sizes[direction as usize];
        let only = self.job.access == Access::Only(direction) && !self.job.random && self.job.hole_bytes == 0;
        let last = self.places[direction as usize].last;
        let offset_bytes = last.offset_bytes + last.bytes;
        let left = self.region.end_bytes.saturating_sub(offset_bytes) / sizes.min_bytes;
        (only && sizes.min_bytes == sizes.max_bytes).then_some((Extent { offset_bytes, bytes: sizes.min_bytes }, left))
    }

    /// As if so many extents of the stream had been asked for, at least one.
    pub fn skip(&mut self, direction: Direction, count: u64) {
        let last = &mut self.places[direction as usize].last;
        let bytes = self.job.sizes[direction as usize].min_bytes;
        *last = Extent { offset_bytes: last.offset_bytes + last.bytes + (count - 1) * bytes, bytes };
    }

    fn takes_random(&mut self, direction: Direction) -> bool {
        if !self.job.random {
            return false;
        }
        self.until_random -= 1;
        if self.until_random > 0 {
            return false;
        }
        self.until_random = self.job.sequence;
        let share = self.job.random_percent[direction as usize];
        let drawn = |draws: &mut Self| match &mut draws.fio {
            Some(fio) => fio.random[direction as usize].below(100),
            None => draws.draws.random.below(100),
        };
        share == 100 || drawn(self) < u64::from(share)
    }

    fn sequential(&mut self, direction: Direction) -> Option<Extent> {
        let last = self.places[direction as usize].last;
        let mut offset_bytes = last.offset_bytes + last.bytes;
        if offset_bytes >= self.region.end_bytes {
            if self.job.time_based {
                offset_bytes = self.region.begin_bytes;
            } else if self.job.random {
                return self.random(direction);
            } else {
                return None;
            }
        }
        if last.bytes > 0 && self.job.hole_bytes > 0 {
            // A hole that reaches past the end leads back to the beginning, as in fio.
            let after_hole = offset_bytes.saturating_add(self.job.hole_bytes);
            offset_bytes = if after_hole < self.region.end_bytes { after_hole } else { self.region.begin_bytes };
        }
        self.cut(direction, offset_bytes)
    }

    fn random(&mut self, direction: Direction) -> Option<Extent> {
        let at = direction as usize;
        let place = &self.places[at];
        if place.blocks == 0 {
            return None;
        }
        let Some(map) = place.map else {
            let block = match &mut self.fio {
                Some(fio) if self.job.distribution == Distribution::Uniform => fio.place.below(place.blocks),
                _ => place.skew.draw(place.blocks, &mut self.draws.offset),
            };
            return self.cut(direction, self.region.begin_bytes + block * self.job.align_bytes[at]);
        };
        let block = self.uncovered(map).or_else(|| {
            // fio starts a new round within the pass only when time alone ends the job.
            self.job.time_based.then(|| self.forget_map()).and_then(|()| self.uncovered(map))
        })?;
        let unit = self.job.sizes[at].min_bytes;
        let mut extent = self.cut(direction, self.region.begin_bytes + block * unit)?;
        if let Some(covered) = &mut self.maps[map].covered {
            extent.bytes = extent.bytes.min(unit * covered.cover(block, extent.bytes.div_ceil(unit)));
        }
        Some(extent)
    }

    fn uncovered(&mut self, map: usize) -> Option<u64> {
        let Map { order, covered } = &mut self.maps[map];
        match (&mut self.fio, covered) {
            (_, None) => order.next(),
            (Some(fio), Some(covered)) if self.job.distribution == Distribution::Uniform => {
                covered.free_from(fio.place.below(covered.blocks()))
            }
            (_, Some(covered)) => order.find(|block| !covered.contains(*block)),
        }
    }

    fn forget_map(&mut self) {
        for map in &mut self.maps {
            map.order = Cover::new(map.order.blocks(), &mut self.draws.offset);
            if let Some(covered) = &mut map.covered {
                covered.clear();
            }
        }
    }

    /// An extent of the right length at an offset, if it fits into the region.
    fn cut(&mut self, direction: Direction, offset_bytes: u64) -> Option<Extent> {
        let sizes = &self.job.sizes[direction as usize];
        let left = self.region.end_bytes.checked_sub(offset_bytes).filter(|left| *left >= sizes.min_bytes)?;
        if sizes.min_bytes == sizes.max_bytes {
            return Some(Extent { offset_bytes, bytes: sizes.min_bytes });
        }
        loop {
            let raw = if sizes.split.is_empty() {
                sizes.min_bytes + (sizes.max_bytes as f64 * self.draws.bytes.unit()) as u64
            } else {
                let share = self.draws.bytes.below(100) as u8;
                sizes.split.iter().find(|(_, upper)| share < *upper).map_or(sizes.min_bytes, |(bytes, _)| *bytes)
            };
            // As fio does: down to a multiple of the shortest, and drawn again if it does not fit.
            let bytes = (raw - raw % sizes.min_bytes).min(sizes.max_bytes);
            if bytes <= left {
                return Some(Extent { offset_bytes, bytes });
            }
        }
    }
}

/// Whole blocks at a direction's alignment whose shortest request fits into the region.
fn blocks(job: &Job, region: Region, direction: Direction) -> u64 {
    let (min_bytes, align_bytes) = (job.sizes[direction as usize].min_bytes, job.align_bytes[direction as usize]);
    let room = region.bytes().saturating_sub(min_bytes.saturating_sub(align_bytes));
    // Alignments above the block size leave room for the block itself after the last multiple.
    let fitting = (room + align_bytes.saturating_sub(min_bytes)) / align_bytes;
    if region.bytes() < min_bytes {
        0
    } else {
        fitting
    }
}

/// The directions that a map is kept for: one stands for all if all have the same blocks.
fn mapped(job: &Job) -> Vec<Direction> {
    if !(job.random && job.covers) {
        return Vec::new();
    }
    let used: Vec<Direction> = Direction::ALL.into_iter().filter(|direction| job.access.issues(*direction)).collect();
    let same =
        used.windows(2).all(|pair| job.sizes[pair[0] as usize].min_bytes == job.sizes[pair[1] as usize].min_bytes);
    if same {
        used[..1].to_vec()
    } else {
        Direction::ALL.to_vec()
    }
}

fn maps(job: &Job, region: Region, stream: &mut Stream) -> Vec<Map> {
    let directions = mapped(job);
    let vary = job
        .sizes
        .iter()
        .enumerate()
        .any(|(at, sizes)| job.access.issues(Direction::ALL[at]) && sizes.min_bytes != sizes.max_bytes);
    let is_kept = vary || job.drawn_like_fio;
    directions
        .into_iter()
        .map(|direction| {
            let blocks = blocks(job, region, direction).max(1);
            Map { order: Cover::new(blocks, stream), covered: is_kept.then(|| Covered::new(blocks)) }
        })
        .collect()
}
