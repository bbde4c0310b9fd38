//! Where bands lie.
//!
//! Outside of this file a band is where its *home addresses* are: the host's blocks in one row, band after band. On the
//! surface that row has holes, where a cache in several places and spare bands lie, and a band that was moved lies in what
//! was a hole. Where nothing of this is chosen, home addresses are blocks of the surface.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;

use crate::geometry::{Divisor, Geometry};

/// Bands of the surface, by number from the outer edge, that hold no data of the host at first.
#[derive(Clone, Copy, Debug)]
struct Hole {
    /// The home address, and the first band, behind it.
    home: u64,
    band: u64,
    /// How far the surface is ahead of the home addresses from there on.
    shift: u64,
}

/// A band and its home addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Band {
    pub number: u32,
    pub start: u64,
    pub end: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Bands {
    first_track: u64,
    end_track: u64,
    tracks_per_band: Divisor,
    first_block: u64,
    /// Behind the last home address.
    end_block: u64,
    holes: Vec<Hole>,
    /// By a band's number at first, where it lies now; empty where bands keep their place.
    places: Vec<u32>,
    /// Spare places, those free longest first.
    spare: VecDeque<u32>,
    /// The band asked for last: mostly the next question is about the same.
    last: Last,
}

/// A band in parts: so it is read as it was written, which a processor can do without waiting.
#[derive(Clone, Debug)]
struct Last {
    number: Cell<u32>,
    start: Cell<u64>,
    end: Cell<u64>,
}

impl Last {
    fn none() -> Self {
        Self { number: Cell::new(0), start: Cell::new(0), end: Cell::new(0) }
    }

    /// One comparison, since on which side of the band another lies nobody foresees.
    #[inline]
    fn holds(&self, home: u64) -> bool {
        home.wrapping_sub(self.start.get()) < self.end.get() - self.start.get()
    }

    #[inline]
    fn get(&self) -> Band {
        Band { number: self.number.get(), start: self.start.get(), end: self.end.get() }
    }
}

impl Bands {
    /// Bands on the tracks from `first_track` up to `end_track`, without holes.
    pub fn new(geometry: &Geometry, first_track: u64, end_track: u64, tracks_per_band: u64) -> Self {
        Self {
            first_track,
            end_track,
            tracks_per_band: Divisor::new(tracks_per_band),
            first_block: geometry.first_block(first_track),
            end_block: geometry.first_block(end_track),
            holes: Vec::new(),
            places: Vec::new(),
            spare: VecDeque::new(),
            last: Last::none(),
        }
    }

    /// How many there are, holes included.
    pub fn count(&self) -> u64 {
        (self.end_track - self.first_track).div_ceil(self.tracks_per_band.get())
    }

    /// The home address of the host's first block.
    pub fn first_block(&self) -> u64 {
        self.first_block
    }

    pub fn end_block(&self) -> u64 {
        self.end_block
    }

    /// Takes bands out of the row of home addresses. To be called with rising ranges.
    pub fn add_hole(&mut self, geometry: &Geometry, bands: &Range<u64>) {
        let (start, end) = (self.surface_of(geometry, bands.start).start, self.surface_of(geometry, bands.end).start);
        let before = self.holes.last().map_or(0, |hole| hole.shift);
        self.holes.push(Hole { home: start - before, band: bands.end, shift: before + end - start });
        self.end_block -= end - start;
        self.last = Last::none();
    }

    /// Lets bands move, to begin with into `spare`.
    pub fn let_move(&mut self, spare: VecDeque<u32>) {
        self.places = (0..self.count() as u32).collect();
        self.spare = spare;
    }

    /// The number of the band of a home address.
    pub fn band(&self, geometry: &Geometry, home: u64) -> u32 {
        let place = geometry.place(home + self.holes_before(home));
        self.tracks_per_band.divide(place.track - self.first_track) as u32
    }

    /// The band of a home address.
    #[inline]
    pub fn around(&self, geometry: &Geometry, home: u64) -> Band {
        if !self.last.holds(home) {
            self.find(geometry, home);
        }
        self.last.get()
    }

    #[inline(never)]
    fn find(&self, geometry: &Geometry, home: u64) {
        let shift = self.holes_before(home);
        let block = home + shift;
        let mut number = 0;
        let blocks = geometry.blocks_around(block, |track| {
            number = self.tracks_per_band.divide(track - self.first_track);
            self.tracks(number)
        });
        self.last.number.set(number as u32);
        self.last.start.set(blocks.start - shift);
        self.last.end.set(blocks.end - shift);
    }

    /// How far the surface is ahead of a home address.
    #[inline]
    fn holes_before(&self, home: u64) -> u64 {
        if self.holes.is_empty() {
            return 0;
        }
        match self.holes.partition_point(|hole| hole.home <= home) {
            0 => 0,
            behind => self.holes[behind - 1].shift,
        }
    }

    /// The home addresses of a band.
    pub fn blocks(&self, geometry: &Geometry, band: u32) -> (u64, u64) {
        let surface = self.surface_of(geometry, u64::from(band));
        let shift = match self.holes.partition_point(|hole| hole.band <= u64::from(band)) {
            0 => 0,
            behind => self.holes[behind - 1].shift,
        };
        (surface.start - shift, surface.end - shift)
    }

    /// The blocks of the largest: that at the outer edge.
    pub fn most_blocks(&self, geometry: &Geometry) -> u64 {
        let first = self.surface_of(geometry, 0);
        first.end - first.start
    }

    /// Whether home addresses are blocks of the surface.
    #[inline]
    pub fn are_home(&self) -> bool {
        self.holes.is_empty() && self.places.is_empty()
    }

    /// What to add (it wraps around) to a home address of a band for the block of the surface.
    #[inline]
    pub fn shift(&self, geometry: &Geometry, band: u32) -> u64 {
        if self.are_home() {
            return 0;
        }
        let place = self.places.get(band as usize).copied().unwrap_or(band);
        self.shift_at(geometry, band, place)
    }

    /// The same, were the band at `place`.
    pub fn shift_at(&self, geometry: &Geometry, band: u32, place: u32) -> u64 {
        self.surface_of(geometry, u64::from(place)).start.wrapping_sub(self.blocks(geometry, band).0)
    }

    /// A spare place of a band's size, if bands move and there is one: the one that has been free longest.
    #[inline]
    pub fn spare_for(&self, geometry: &Geometry, band: u32) -> Option<u32> {
        if self.spare.is_empty() {
            return None;
        }
        let blocks = |place: u32| {
            let surface = self.surface_of(geometry, u64::from(place));
            surface.end - surface.start
        };
        self.spare.iter().copied().find(|place| blocks(*place) == blocks(band))
    }

    /// The band is at the spare place `to` now, and where it was is spare.
    pub fn move_to(&mut self, band: u32, to: u32) {
        self.spare.retain(|place| *place != to);
        self.spare.push_back(std::mem::replace(&mut self.places[band as usize], to));
    }

    /// The blocks of the surface that belong to a band's first place.
    fn surface_of(&self, geometry: &Geometry, band: u64) -> Range<u64> {
        let tracks = self.tracks(band);
        geometry.first_block(tracks.start)..geometry.first_block(tracks.end)
    }

    /// The tracks of a band's first place.
    fn tracks(&self, band: u64) -> Range<u64> {
        let first = (self.first_track + band * self.tracks_per_band.get()).min(self.end_track);
        first..(first + self.tracks_per_band.get()).min(self.end_track)
    }

    /// The track in the middle of a band's first place: what a cache in several places goes by.
    pub fn middle_track(&self, band: u32) -> u64 {
        self.first_track + u64::from(band) * self.tracks_per_band.get() + self.tracks_per_band.get() / 2
    }

    /// The bands that lie wholly between two tracks.
    pub fn within(&self, tracks: &Range<u64>) -> Range<u64> {
        let before = |track: u64| track.clamp(self.first_track, self.end_track) - self.first_track;
        let first = before(tracks.start).div_ceil(self.tracks_per_band.get());
        first..(before(tracks.end) / self.tracks_per_band.get()).max(first)
    }

    /// The blocks of the surface that some bands take.
    pub fn surface(&self, geometry: &Geometry, bands: &Range<u64>) -> Range<u64> {
        self.surface_of(geometry, bands.start).start..self.surface_of(geometry, bands.end).start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    fn geometry() -> Geometry {
        let profile = Profile::parse(include_str!("../../../../drives/wd40efax.toml")).unwrap().scaled(100).unwrap();
        Geometry::new(&profile.geometry, 0)
    }

    #[test]
    fn home_addresses_leave_out_the_holes_and_nothing_else() {
        let geometry = geometry();
        let mut bands = Bands::new(&geometry, 3, geometry.tracks() - 5, 7);
        let holes = [0..2, 5..6, 40..44];
        holes.iter().for_each(|hole| bands.add_hole(&geometry, hole));
        let mut home = bands.first_block();
        for band in (0..bands.count()).filter(|band| !holes.iter().any(|hole| hole.contains(band))) {
            let band = band as u32;
            let (start, end) = bands.blocks(&geometry, band);
            assert_eq!(start, home, "band {band} begins where the one before ended");
            assert_eq!((bands.band(&geometry, start), bands.band(&geometry, end - 1)), (band, band));
            for block in [start, (start + end) / 2, end - 1] {
                assert_eq!(bands.around(&geometry, block), Band { number: band, start, end });
            }
            let surface = start.wrapping_add(bands.shift(&geometry, band));
            assert_eq!(geometry.place(surface), geometry.place(geometry.first_block(3 + u64::from(band) * 7)));
            home = end;
        }
        assert_eq!(home, bands.end_block());
    }

    /// Bands of seven tracks from track 3 on: 3 to 9, 10 to 16, 17 to 23, and so on.
    #[test]
    fn only_whole_bands_lie_between_two_tracks() {
        let geometry = geometry();
        let bands = Bands::new(&geometry, 3, geometry.tracks(), 7);
        for (tracks, within) in
            [(0..17, 0..2), (3..17, 0..2), (4..24, 1..3), (10..23, 1..2), (4..16, 1..1), (0..3, 0..0)]
        {
            assert_eq!(bands.within(&tracks), within, "{tracks:?}");
        }
        assert_eq!([0, 1, 2].map(|band| bands.middle_track(band)), [6, 13, 20]);
    }

    #[test]
    fn the_spare_place_that_has_been_free_longest_comes_first() {
        let geometry = geometry();
        let mut bands = Bands::new(&geometry, 0, geometry.tracks(), 7);
        bands.add_hole(&geometry, &(4..6));
        bands.let_move(VecDeque::from([4, 5]));
        let taken = [1, 2, 3, 1].map(|band| {
            let spare = bands.spare_for(&geometry, band).unwrap();
            bands.move_to(band, spare);
            spare
        });
        assert_eq!(taken, [4, 5, 1, 2], "each leaves its own place behind all that are free");
    }

    #[test]
    fn a_band_that_moves_leaves_its_place_to_others_of_its_size() {
        let geometry = geometry();
        let mut bands = Bands::new(&geometry, 0, geometry.tracks(), 7);
        bands.add_hole(&geometry, &(4..5));
        bands.let_move(VecDeque::from([4]));
        assert_eq!(bands.spare_for(&geometry, 2), Some(4));
        assert_eq!(bands.spare_for(&geometry, bands.count() as u32 - 1), None, "inner bands are smaller");
        bands.move_to(2, 4);
        assert_eq!(bands.spare_for(&geometry, 3), Some(2));
        bands.move_to(3, 2);
        let at = |band: u32| bands.blocks(&geometry, band).0.wrapping_add(bands.shift(&geometry, band));
        assert_eq!([at(2), at(3)], [4, 2].map(|place| geometry.first_block(place * 7)));
    }
}
