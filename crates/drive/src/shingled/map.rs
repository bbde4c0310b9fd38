//! What the persistent cache holds of each band: sorted pieces that never overlap, the newest data winning.

use super::order::Order;
use super::pieces::{Piece, Pieces, Run};
use sim::prefetch;

/// Parts of a band of which it is known apart whether they may hold pieces: as many as a word has bits.
const PARTS: u64 = 16;

/// So many of the oldest bands have been looked at before they are cleaned.
const LOOK_AHEAD: usize = 16;

/// What happened to the map's references when part of it was overwritten or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A piece is gone.
    Gone { packet: u32, entries: u32 },
    /// A piece was cut in two: one more reference, one more entry.
    Cut { packet: u32 },
}

/// The map of all bands, with the dirty ones in the order in which they became dirty.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    /// By band, a bit for each part of it that may hold pieces; none if it holds none. Small enough to stay close to the
    /// processor, and most questions are answered by it.
    parts: Vec<u16>,
    /// Blocks to parts, in 1/2^32.
    part_scale: u64,
    runs: Vec<Run>,
    pieces: Pieces,
    order: Order,
    /// The oldest bands up to this one in the order have been looked at.
    looked_at: u32,
    cached_blocks: u64,
    entries: u64,
    /// Changes so far.
    version: u64,
    /// References that changed since the log was last told.
    pub changes: Vec<Change>,
}

impl Map {
    /// A map of so many bands of at most `band_blocks`.
    pub fn new(bands: usize, band_blocks: u64) -> Self {
        Self {
            parts: vec![0; bands],
            part_scale: (PARTS << 32) / band_blocks.max(PARTS),
            runs: vec![Run::default(); bands],
            pieces: Pieces::new(),
            order: Order::new(bands),
            looked_at: 0,
            cached_blocks: 0,
            entries: 0,
            version: 0,
            changes: Vec::new(),
        }
    }

    pub fn dirty_bands(&self) -> u64 {
        self.order.len() as u64
    }

    /// The dirty bands, those first that have been dirty longest.
    pub fn dirty(&self) -> impl DoubleEndedIterator<Item = u32> + Clone + '_ {
        self.order.iter()
    }

    pub fn cached_blocks(&self) -> u64 {
        self.cached_blocks
    }

    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Another number after each change of what is cached where.
    pub fn version(&self) -> u64 {
        self.version
    }

    pub fn pieces(&self, band: u32) -> &[Piece] {
        self.pieces.get(&self.runs[band as usize])
    }

    /// Whether anything of a band is cached.
    pub fn is_dirty(&self, band: u32) -> bool {
        self.parts[band as usize] != 0
    }

    /// False: nothing in `start..end` of a band is cached.
    #[inline]
    pub fn may_hold(&self, band: u32, start: u32, end: u32) -> bool {
        self.parts[band as usize] & self.parts_of(start, end) != 0
    }

    /// The bits of the parts that `start..end` touches.
    #[inline]
    fn parts_of(&self, start: u32, end: u32) -> u16 {
        let part = |block: u32| (u64::from(block) * self.part_scale) >> 32;
        ((2_u64 << part(end - 1)) - (1 << part(start))) as u16
    }

    /// Asks for what is known of a band that will be used soon. Nothing depends on the answer, so nobody waits for it: it comes
    /// into the processor's caches while other things are done.
    #[inline]
    pub fn touch(&self, band: u32) {
        prefetch(&self.parts[band as usize]);
        prefetch(&self.runs[band as usize]);
    }

    /// The same for the pieces of a band that has been touched before.
    #[inline]
    pub fn touch_pieces(&self, band: u32) {
        self.pieces.touch(&self.runs[band as usize]);
    }

    /// The same for those that have been dirty longest: who cleans in this order waits for few.
    pub fn touch_oldest(&mut self) {
        let taken = self.order.taken();
        let ahead = self.looked_at.wrapping_sub(taken) as i32;
        for at in ahead.max(0) as usize..LOOK_AHEAD {
            self.order.get(at).into_iter().for_each(|band| self.touch(band));
            self.order.get(at.saturating_sub(LOOK_AHEAD / 2)).into_iter().for_each(|band| self.touch_pieces(band));
        }
        self.looked_at = taken.wrapping_add(LOOK_AHEAD as u32);
    }

    /// The first piece of `band` that ends after block `start`.
    pub fn piece_after(&self, band: u32, start: u32) -> Option<&Piece> {
        self.touch_pieces(band);
        let pieces = self.pieces(band);
        pieces.get(pieces.partition_point(|piece| piece.end() <= start))
    }

    /// The pieces of a band that reach into `start..end`.
    #[inline]
    pub fn pieces_in(&self, band: u32, start: u32, end: u32) -> impl Iterator<Item = &Piece> {
        let pieces = self.pieces(band);
        let first = pieces.partition_point(|piece| piece.end() <= start);
        pieces[first..].iter().take_while(move |piece| piece.start < end)
    }

    /// How many blocks in `start..end` of a band are cached.
    pub fn cached_in(&self, band: u32, start: u32, end: u32) -> u64 {
        let inside = |piece: &Piece| u64::from(piece.end().min(end) - piece.start.max(start));
        self.pieces_in(band, start, end).map(inside).sum()
    }

    /// Adds a piece over whatever was there; returns the blocks that it overwrote.
    pub fn insert(&mut self, band: u32, piece: Piece) -> u64 {
        let overwritten = self.cut(band, piece.start, piece.end());
        if !self.is_dirty(band) {
            self.order.push(band);
        }
        self.version += 1;
        self.parts[band as usize] |= self.parts_of(piece.start, piece.end());
        let run = &mut self.runs[band as usize];
        let index = self.pieces.get(run).partition_point(|other| other.start < piece.start);
        self.pieces.insert(run, index, piece);
        self.cached_blocks += u64::from(piece.blocks);
        self.entries += u64::from(piece.entries);
        overwritten
    }

    /// Removes `start..end` of a band; returns how many cached blocks that were.
    pub fn remove(&mut self, band: u32, start: u32, end: u32) -> u64 {
        let removed = self.cut(band, start, end);
        if self.is_dirty(band) && self.pieces(band).is_empty() {
            self.order.remove(band);
            self.parts[band as usize] = 0;
        }
        removed
    }

    /// Removes the pieces of a band that lie in packets up to `newest`; returns their blocks.
    pub fn remove_up_to(&mut self, band: u32, newest: u32) -> u64 {
        if !self.is_dirty(band) {
            return 0;
        }
        self.version += 1;
        let (mut blocks, mut entries) = (0, 0);
        let changes = &mut self.changes;
        self.pieces.retain(&mut self.runs[band as usize], |piece| {
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
        self.order.remove(band);
        let kept = self.pieces(band).iter();
        self.parts[band as usize] = kept.fold(0, |parts, piece| parts | self.parts_of(piece.start, piece.end()));
        self.put_back_by_age(band);
        blocks
    }

    /// Removes `start..end` from a band's pieces, which may leave it without any but still dirty.
    fn cut(&mut self, band: u32, start: u32, end: u32) -> u64 {
        if !self.may_hold(band, start, end) {
            return 0;
        }
        self.version += 1;
        let mut run = self.runs[band as usize];
        let mut index = self.pieces.get(&run).partition_point(|piece| piece.end() <= start);
        let mut removed = 0;
        while let Some(&piece) = self.pieces.get(&run).get(index).filter(|piece| piece.start < end) {
            let (left, right) = (start.saturating_sub(piece.start), piece.end().saturating_sub(end));
            removed += u64::from(piece.blocks - left - right);
            let tail = Piece { start: end, blocks: right, at: piece.at + (piece.blocks - right), ..piece };
            match (left > 0, right > 0) {
                (false, false) => {
                    self.pieces.remove(&mut run, index);
                    self.entries -= u64::from(piece.entries);
                    self.changes.push(Change::Gone { packet: piece.packet, entries: piece.entries });
                    continue;
                }
                (true, false) => self.pieces.get_mut(&mut run)[index].blocks = left,
                (false, true) => self.pieces.get_mut(&mut run)[index] = tail,
                (true, true) => {
                    self.pieces.get_mut(&mut run)[index].blocks = left;
                    self.pieces.insert(&mut run, index + 1, Piece { entries: 1, ..tail });
                    self.entries += 1;
                    self.changes.push(Change::Cut { packet: piece.packet });
                    index += 1;
                }
            }
            index += 1;
        }
        self.runs[band as usize] = run;
        self.cached_blocks -= removed;
        removed
    }

    /// Puts back a band to which writes came while it was cleaned: behind those with older data. Its cleaning may have
    /// rested for long, and then the tail of the log waits for just this band.
    fn put_back_by_age(&mut self, band: u32) {
        let Some(packet) = oldest_packet(self.pieces(band)) else { return };
        let (runs, pieces) = (&self.runs, &self.pieces);
        let is_newer = |other: u32| {
            let oldest = oldest_packet(pieces.get(&runs[other as usize]));
            oldest.is_some_and(|oldest| (oldest.wrapping_sub(packet) as i32) > 0)
        };
        self.order.insert_before(band, is_newer);
    }
}

fn oldest_packet(pieces: &[Piece]) -> Option<u32> {
    let packets = pieces.iter().map(|piece| piece.packet);
    // Numbers wrap around, and those in the log lie close together.
    packets.reduce(|oldest, packet| if (packet.wrapping_sub(oldest) as i32) < 0 { packet } else { oldest })
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
                map.insert(band, Piece { start, blocks, at: *next, packet: *next, entries: 1 + start % 3 });
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

    /// Whether the packets' numbers wrap around meanwhile or not.
    #[test]
    fn a_band_whose_cleaning_rested_keeps_its_place_by_age() {
        for before in [0, u32::MAX - 4, u32::MAX - 3, u32::MAX - 2, u32::MAX - 1, u32::MAX] {
            let mut map = Map::new(4, 64);
            let number = |packet: u32| packet.wrapping_add(before);
            let piece = |packet| Piece { start: packet, blocks: 1, at: packet, packet: number(packet), entries: 1 };
            map.insert(0, piece(1));
            // Its cleaning began with packet 1 and rested; meanwhile it and others were written to.
            for (band, packet) in [(0, 2), (1, 3), (2, 4), (0, 5)] {
                map.insert(band, piece(packet));
            }
            assert_eq!(map.remove_up_to(0, number(1)), 1);
            let order: Vec<u32> = map.dirty().collect();
            assert_eq!(order, [0, 1, 2], "packet 2, at the tail of the log, is the first to be cleaned");
            assert_eq!(map.remove_up_to(0, number(2)), 1);
            let order: Vec<u32> = map.dirty().collect();
            assert_eq!(order, [1, 2, 0]);
            assert_eq!(map.dirty_bands(), 3);
        }
    }

    proptest! {
        #[test]
        fn lookups_equal_a_naive_map(steps in prop::collection::vec(step(), 1..200)) {
            let mut map = Map::new(BANDS as usize, u64::from(BAND_BLOCKS));
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
            let listed: Vec<u32> = map.dirty().collect();
            prop_assert_eq!(map.dirty_bands() as usize, listed.len());
            prop_assert_eq!(listed, order);
        }
    }
}
