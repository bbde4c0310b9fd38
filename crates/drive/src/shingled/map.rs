//! What the persistent cache holds of each band: sorted pieces that never overlap, the newest data winning.

use super::pieces::{Pieces, Run};

/// "No band" in the list of dirty bands.
const NONE: u32 = u32::MAX;

/// A run of cached blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Block within the band.
    pub start: u32,
    pub blocks: u32,
    /// Block within the log.
    pub at: u32,
    /// The packet that holds it.
    pub packet: u32,
    /// Entries that it takes in a map that counts host writes.
    pub entries: u32,
}

impl Piece {
    pub fn end(&self) -> u32 {
        self.start + self.blocks
    }
}

/// What happened to the map's references when part of it was overwritten or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A piece is gone.
    Gone { packet: u32, entries: u32 },
    /// A piece was cut in two: one more reference, one more entry.
    Cut { packet: u32 },
}

#[derive(Clone, Copy, Debug)]
struct Band {
    run: Run,
    /// Neighbours in the list of dirty bands.
    older: u32,
    newer: u32,
}

/// The map of all bands, with the dirty ones in the order in which they became dirty.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    bands: Vec<Band>,
    pieces: Pieces,
    oldest: u32,
    newest: u32,
    dirty_bands: u64,
    cached_blocks: u64,
    entries: u64,
    /// References that changed since the log was last told.
    pub changes: Vec<Change>,
}

impl Map {
    pub fn new(bands: usize) -> Self {
        Self {
            bands: vec![Band { run: Run::default(), older: NONE, newer: NONE }; bands],
            pieces: Pieces::new(),
            oldest: NONE,
            newest: NONE,
            dirty_bands: 0,
            cached_blocks: 0,
            entries: 0,
            changes: Vec::new(),
        }
    }

    pub fn dirty_bands(&self) -> u64 {
        self.dirty_bands
    }

    pub fn cached_blocks(&self) -> u64 {
        self.cached_blocks
    }

    pub fn entries(&self) -> u64 {
        self.entries
    }

    pub fn pieces(&self, band: u32) -> &[Piece] {
        self.pieces.get(self.bands[band as usize].run)
    }

    /// Brings bands that are about to be used into the processor's caches, all at once: one after the other each would be
    /// waited for alone, which takes longer than everything that is done with it.
    pub fn touch(&self, bands: impl Iterator<Item = u32> + Clone) {
        let pieces = |band| self.pieces(band).len();
        std::hint::black_box(bands.clone().map(pieces).sum::<usize>());
        let first = |band| self.pieces(band).first().map_or(0, |piece| piece.start);
        std::hint::black_box(bands.map(first).fold(0, u32::wrapping_add));
    }

    /// The band that has been dirty longest.
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// The band that became dirty next after `band`.
    pub fn next_newer(&self, band: u32) -> Option<u32> {
        let newer = self.bands[band as usize].newer;
        (newer != NONE).then_some(newer)
    }

    /// The first piece of `band` that ends after block `start`.
    pub fn piece_after(&self, band: u32, start: u32) -> Option<&Piece> {
        let pieces = self.pieces(band);
        pieces.get(pieces.partition_point(|piece| piece.end() <= start))
    }

    /// Whether everything in `start..end` of a band is cached.
    pub fn covers(&self, band: u32, start: u32, end: u32) -> bool {
        let mut at = start;
        while at < end {
            match self.piece_after(band, at) {
                Some(piece) if piece.start <= at => at = piece.end(),
                _ => return false,
            }
        }
        true
    }

    /// Adds a piece over whatever was there; returns the blocks that it overwrote.
    pub fn insert(&mut self, band: u32, piece: Piece) -> u64 {
        let overwritten = self.cut(band, piece.start, piece.end());
        let run = self.bands[band as usize].run;
        if run.is_empty() {
            self.link(band);
        }
        let index = self.pieces.get(run).partition_point(|other| other.start < piece.start);
        self.bands[band as usize].run = self.pieces.insert(run, index, piece);
        self.cached_blocks += u64::from(piece.blocks);
        self.entries += u64::from(piece.entries);
        overwritten
    }

    /// Removes `start..end` of a band; returns how many cached blocks that were.
    pub fn remove(&mut self, band: u32, start: u32, end: u32) -> u64 {
        let was_dirty = !self.pieces(band).is_empty();
        let removed = self.cut(band, start, end);
        if was_dirty && self.pieces(band).is_empty() {
            self.unlink(band);
        }
        removed
    }

    /// Removes the pieces of a band that lie in packets up to `newest`; returns their blocks.
    pub fn remove_up_to(&mut self, band: u32, newest: u32) -> u64 {
        let run = self.bands[band as usize].run;
        let was_dirty = !run.is_empty();
        let (mut blocks, mut entries) = (0, 0);
        let changes = &mut self.changes;
        self.bands[band as usize].run = self.pieces.retain(run, |piece| {
            let keep = (piece.packet.wrapping_sub(newest) as i32) > 0;
            if !keep {
                blocks += u64::from(piece.blocks);
                entries += u64::from(piece.entries);
                changes.push(Change::Gone { packet: piece.packet, entries: piece.entries });
            }
            keep
        });
        self.cached_blocks -= blocks;
        self.entries -= entries;
        if was_dirty {
            self.unlink(band);
            if !self.pieces(band).is_empty() {
                self.link_by_age(band);
            }
        }
        blocks
    }

    /// Removes `start..end` from a band's pieces, which may leave it without any but still in the list.
    fn cut(&mut self, band: u32, start: u32, end: u32) -> u64 {
        let mut run = self.bands[band as usize].run;
        let mut index = self.pieces.get(run).partition_point(|piece| piece.end() <= start);
        let mut removed = 0;
        while let Some(&piece) = self.pieces.get(run).get(index).filter(|piece| piece.start < end) {
            let (left, right) = (start.saturating_sub(piece.start), piece.end().saturating_sub(end));
            removed += u64::from(piece.blocks - left - right);
            let tail = Piece { start: end, blocks: right, at: piece.at + (piece.blocks - right), ..piece };
            match (left > 0, right > 0) {
                (false, false) => {
                    run = self.pieces.remove(run, index);
                    self.entries -= u64::from(piece.entries);
                    self.changes.push(Change::Gone { packet: piece.packet, entries: piece.entries });
                    continue;
                }
                (true, false) => self.pieces.get_mut(run)[index].blocks = left,
                (false, true) => self.pieces.get_mut(run)[index] = tail,
                (true, true) => {
                    self.pieces.get_mut(run)[index].blocks = left;
                    run = self.pieces.insert(run, index + 1, Piece { entries: 1, ..tail });
                    self.entries += 1;
                    self.changes.push(Change::Cut { packet: piece.packet });
                    index += 1;
                }
            }
            index += 1;
        }
        self.bands[band as usize].run = run;
        self.cached_blocks -= removed;
        removed
    }

    /// Puts back a band to which writes came while it was cleaned: behind those with older data. Its cleaning may have
    /// rested for long, and then the tail of the log waits for just this band.
    fn link_by_age(&mut self, band: u32) {
        let Some(packet) = self.oldest_packet(band) else { return };
        let mut newer = NONE;
        let mut older = self.newest;
        while older != NONE && self.oldest_packet(older).is_some_and(|other| (other.wrapping_sub(packet) as i32) > 0) {
            newer = older;
            older = self.bands[older as usize].older;
        }
        self.link_between(older, band, newer);
    }

    fn oldest_packet(&self, band: u32) -> Option<u32> {
        let packets = self.pieces(band).iter().map(|piece| piece.packet);
        // Numbers wrap around, and those in the log lie close together.
        packets.reduce(|oldest, packet| if (packet.wrapping_sub(oldest) as i32) < 0 { packet } else { oldest })
    }

    fn link(&mut self, band: u32) {
        if self.newest == band || self.bands[band as usize].newer != NONE {
            return;
        }
        self.link_between(self.newest, band, NONE);
    }

    fn link_between(&mut self, older: u32, band: u32, newer: u32) {
        let this = &mut self.bands[band as usize];
        (this.older, this.newer) = (older, newer);
        match older {
            NONE => self.oldest = band,
            older => self.bands[older as usize].newer = band,
        }
        match newer {
            NONE => self.newest = band,
            newer => self.bands[newer as usize].older = band,
        }
        self.dirty_bands += 1;
    }

    fn unlink(&mut self, band: u32) {
        let this = &mut self.bands[band as usize];
        let (older, newer) = (this.older, this.newer);
        (this.older, this.newer) = (NONE, NONE);
        match older {
            NONE => self.oldest = newer,
            older => self.bands[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.bands[newer as usize].older = older,
        }
        self.dirty_bands -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rangemap::RangeMap;

    const BANDS: u32 = 4;
    const BAND_BLOCKS: u32 = 64;

    #[derive(Clone, Debug)]
    enum Step {
        Insert { band: u32, start: u32, blocks: u32 },
        Remove { band: u32, start: u32, blocks: u32 },
        Clean { band: u32 },
    }

    fn step() -> impl Strategy<Value = Step> {
        let place = (0..BANDS, 0..BAND_BLOCKS, 1..24_u32);
        prop_oneof![
            6 => place.clone().prop_map(|(band, start, blocks)| Step::Insert { band, start, blocks: blocks.min(BAND_BLOCKS - start) }),
            1 => place.prop_map(|(band, start, blocks)| Step::Remove { band, start, blocks: blocks.min(BAND_BLOCKS - start) }),
            1 => (0..BANDS).prop_map(|band| Step::Clean { band }),
        ]
    }

    /// Log blocks are handed out one after the other, so a block's place tells the write that put it there.
    fn apply(map: &mut Map, reference: &mut [RangeMap<u32, i64>], step: &Step, next: &mut u32, order: &mut Vec<u32>) {
        match *step {
            Step::Insert { band, start, blocks } => {
                map.insert(band, Piece { start, blocks, at: *next, packet: *next, entries: 1 });
                reference[band as usize].insert(start..start + blocks, i64::from(*next) - i64::from(start));
                *next += blocks;
                if !order.contains(&band) {
                    order.push(band);
                }
            }
            Step::Remove { band, start, blocks } => {
                map.remove(band, start, start + blocks);
                reference[band as usize].remove(start..start + blocks);
            }
            Step::Clean { band } => {
                let before: u64 = map.pieces(band).iter().map(|piece| u64::from(piece.blocks)).sum();
                assert_eq!(map.remove_up_to(band, *next), before);
                reference[band as usize].clear();
            }
        }
        order.retain(|band| !reference[*band as usize].is_empty());
    }

    #[test]
    fn a_band_whose_cleaning_rested_keeps_its_place_by_age() {
        let mut map = Map::new(4);
        let piece = |packet: u32| Piece { start: packet, blocks: 1, at: packet, packet, entries: 1 };
        map.insert(0, piece(1));
        // Its cleaning began with packet 1 and rested; meanwhile it and others were written to.
        for (band, packet) in [(0, 2), (1, 3), (2, 4), (0, 5)] {
            map.insert(band, piece(packet));
        }
        assert_eq!(map.remove_up_to(0, 1), 1);
        let order: Vec<u32> = std::iter::successors(map.oldest(), |band| map.next_newer(*band)).collect();
        assert_eq!(order, [0, 1, 2], "packet 2, at the tail of the log, is the first to be cleaned");
        assert_eq!(map.remove_up_to(0, 2), 1);
        let order: Vec<u32> = std::iter::successors(map.oldest(), |band| map.next_newer(*band)).collect();
        assert_eq!(order, [1, 2, 0]);
        assert_eq!(map.dirty_bands(), 3);
    }

    proptest! {
        #[test]
        fn lookups_equal_a_naive_map(steps in prop::collection::vec(step(), 1..200)) {
            let mut map = Map::new(BANDS as usize);
            let mut reference = vec![RangeMap::new(); BANDS as usize];
            let (mut next, mut order) = (0, Vec::new());
            for step in &steps {
                apply(&mut map, &mut reference, step, &mut next, &mut order);
            }
            for band in 0..BANDS {
                for block in 0..BAND_BLOCKS {
                    let found = map.piece_after(band, block).filter(|piece| piece.start <= block);
                    let at = found.map(|piece| i64::from(piece.at + block - piece.start));
                    let expected = reference[band as usize].get(&block).map(|shift| shift + i64::from(block));
                    prop_assert_eq!(at, expected, "band {} block {}", band, block);
                }
                prop_assert!(map.pieces(band).windows(2).all(|pair| pair[0].end() <= pair[1].start));
            }
            let all = || (0..BANDS).flat_map(|band| map.pieces(band));
            prop_assert_eq!(map.cached_blocks(), all().map(|piece| u64::from(piece.blocks)).sum::<u64>());
            prop_assert_eq!(map.entries(), all().map(|piece| u64::from(piece.entries)).sum::<u64>());
            let listed: Vec<u32> = std::iter::successors(map.oldest(), |band| map.next_newer(*band)).collect();
            prop_assert_eq!(map.dirty_bands() as usize, listed.len());
            prop_assert_eq!(listed, order);
        }
    }
}
