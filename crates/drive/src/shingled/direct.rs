//! Past the persistent cache: a stream's data goes straight to its band.
//!
//! Writing a track of a band destroys the tracks after it and none before. So a band that a stream writes from somewhere
//! to its end costs nothing but the writing (and a turn to merge the first track, if the stream entered in the middle of one);
//! a band that a stream leaves before its end has lost what followed, and the drive reads that ahead of the heads
//! and writes it back: the band stays *open* until then, and closing it is cleaning it from where the stream left. A stream
//! writes a band where it lies, also one that would move when it is cleaned.

use super::Shingled;
use crate::clock::TURN;
use crate::geometry::BLOCK_BYTES;
use crate::mechanics::{Arm, Way};

/// A band whose end is missing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenBand {
    pub band: u32,
    /// Up to here the stream has written.
    pub written_to: u64,
}

/// A write in place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub ends: u64,
    /// When it passes under the heads, and where on the surface, unless it is merged with what lies there.
    pub passes: Option<(u64, u64)>,
}

impl OpenBand {
    /// Whether writing from `first` on leaves no gap. A write that ended within a physical sector goes on in the same.
    fn goes_on_at(&self, first: u64) -> bool {
        first == self.written_to || first + 1 == self.written_to
    }
}

impl Shingled {
    /// Whether writing `first..` of the surface in place leaves an open band behind that has to be closed first.
    pub fn must_close_before(&self, mechanics: &crate::mechanics::Mechanics, first: u64) -> bool {
        let band = self.bands.band(&mechanics.geometry, first);
        match self.open.iter().find(|open| open.band == band) {
            Some(open) => !open.goes_on_at(first),
            None => self.open.len() >= self.streams.limit(),
        }
    }

    /// The open band that has to be closed before `first..` can be written: its own, or the one open longest.
    pub fn closes_before(&mut self, mechanics: &crate::mechanics::Mechanics, first: u64) -> OpenBand {
        let band = self.bands.band(&mechanics.geometry, first);
        let index = self.open.iter().position(|open| open.band == band).unwrap_or(0);
        self.open.remove(index)
    }

    /// Writes `first..end`, within one band, in place.
    pub fn write_direct(&mut self, arm: &mut Arm, begin: u64, first: u64, end: u64) -> Written {
        let geometry = &arm.mechanics.geometry;
        let band = self.bands.band(geometry, first);
        let (_, band_end) = self.bands.blocks(geometry, band);
        let shift = self.bands.shift(geometry, band);
        let (at, until) = (first.wrapping_add(shift), end.wrapping_add(shift));
        let partial = geometry.place(at).sector != 0;
        self.drop_cached(geometry, first, end);
        self.counters.stream_bytes += (end - first) * BLOCK_BYTES;
        let known = self.open.iter().position(|open| open.band == band);
        let merge = if known.is_none() && partial { TURN } else { 0 };
        match known {
            Some(index) if end == band_end => drop(self.open.remove(index)),
            Some(index) => self.open[index].written_to = end,
            None if end == band_end => {}
            None => self.open.push(OpenBand { band, written_to: end }),
        }
        let access = arm.transfer(begin, at, until, Way::Write);
        let ends = access.ends + merge;
        arm.head.rested_at = ends;
        Written { ends, passes: (merge == 0).then_some((access.begins, at)) }
    }
}
