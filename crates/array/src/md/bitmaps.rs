//! The bitmaps of an ext4 that is mounted on the array: its lazy initialiser reads them ahead, all at once (`ext4_lazyinit_thread`).

use drive::{Request, Verb};
use sim::Stream;

use super::journal::BITMAPS_TAG;
use super::options::Options;

/// Where sixteen block groups of 128 MiB keep theirs (`flex_bg`).
const EVERY_BYTES: u64 = 2 << 30;
/// Those of groups that hold something: the lab's requests are of 4 to 16 KiB.
const READ_BYTES: u64 = 8 << 10;
/// At a random time after the mount, and no later (`EXT4_DEF_LI_MAX_START_DELAY`).
const LATEST_NS: u64 = 5_000_000_000;

/// Of one filesystem.
#[derive(Clone, Debug)]
pub(super) struct Bitmaps {
    read_ns: u64,
}

impl Bitmaps {
    /// Of the filesystem on an array that was mounted so long before `now_ns`: it may have read them by then.
    pub fn of(options: &Options, now_ns: u64, mounted_before_ns: u64) -> Self {
        Self::new(now_ns, mounted_before_ns, &mut sim::stream(options.seed, "when bitmaps are read"))
    }

    fn new(now_ns: u64, mounted_before_ns: u64, chance: &mut Stream) -> Self {
        let after_ns = chance.below(LATEST_NS).checked_sub(mounted_before_ns);
        Self { read_ns: after_ns.map_or(u64::MAX, |after_ns| now_ns + after_ns) }
    }

    /// When they are read, if they are yet to be.
    pub fn next_own_ns(&self) -> u64 {
        self.read_ns
    }

    /// The reads of all of them, if it is time, on an array of so many bytes.
    pub fn next(&mut self, now_ns: u64, capacity_bytes: u64) -> impl Iterator<Item = Request> {
        let is_time = now_ns >= self.read_ns;
        if is_time {
            self.read_ns = u64::MAX;
        }
        (0..if is_time { capacity_bytes.div_ceil(EVERY_BYTES) } else { 0 }).map(|flex| Request {
            tag: BITMAPS_TAG,
            verb: Verb::Read,
            fua: false,
            offset_bytes: flex * EVERY_BYTES,
            bytes: READ_BYTES,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn they_are_read_once_all_together_up_to_five_seconds_after_the_mount() {
        let mut late = 0;
        for seed in 0..100 {
            let mut bitmaps = Bitmaps::new(7 * S, S, &mut sim::stream(seed, "when"));
            let read_ns = bitmaps.next_own_ns();
            if read_ns == u64::MAX {
                continue;
            }
            late += 1;
            assert!((7 * S..11 * S).contains(&read_ns), "seed {seed}: {read_ns}");
            assert_eq!(bitmaps.next(read_ns - 1, 12 << 30).count(), 0);
            let places: Vec<u64> = bitmaps.next(read_ns, 12 << 30).map(|read| read.offset_bytes >> 30).collect();
            assert_eq!(places, [0, 2, 4, 6, 8, 10]);
            assert_eq!(bitmaps.next(read_ns + S, 12 << 30).count(), 0);
        }
        assert!((70..90).contains(&late), "a fifth has been read before: {late}");
    }
}
