//! Sequential streams: writes of the host that go on where an earlier one ended.

use crate::profile::StreamsProfile;
use crate::request::SECTOR_BYTES;

#[derive(Clone, Copy, Debug)]
struct Stream {
    next_sector: u64,
    run_sectors: u64,
    used: u64,
}

/// The streams followed at a time; the one unused longest makes room for a new one.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    followed: Vec<Stream>,
    limit: usize,
    min_request_sectors: u64,
    min_run_sectors: u64,
    durable: bool,
    clock: u64,
}

impl Streams {
    pub fn new(profile: &StreamsProfile) -> Self {
        Self {
            followed: Vec::with_capacity(profile.tracked as usize),
            limit: profile.tracked as usize,
            min_request_sectors: profile.min_request_bytes.div_ceil(SECTOR_BYTES),
            min_run_sectors: profile.min_run_bytes.div_ceil(SECTOR_BYTES),
            durable: profile.durable,
            clock: 0,
        }
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Follows none any more.
    pub fn forget(&mut self) {
        self.followed.clear();
    }

    /// Whether a write at a sector goes on with a stream that is long enough to bypass the cache.
    pub fn passes(&self, start_sector: u64, durable: bool) -> bool {
        let long = |stream: &Stream| stream.run_sectors >= self.min_run_sectors;
        let mut followed = self.followed.iter();
        (self.durable || !durable) && followed.any(|stream| stream.next_sector == start_sector && long(stream))
    }

    /// Takes note of a write, which may have to be `durable` at once; true when it belongs to a stream that is long
    /// enough to bypass the cache. Small writes neither begin a stream nor count for its length, but they go on with
    /// one: an array's rebuild has some of every size, and passes (R005).
    pub fn observe(&mut self, start_sector: u64, sectors: u64, durable: bool) -> bool {
        if self.limit == 0 || (durable && !self.durable) {
            return false;
        }
        let end = start_sector + sectors;
        let counts = sectors >= self.min_request_sectors;
        if let Some(stream) = self.longest_at(start_sector) {
            self.clock += 1;
            let run_sectors = self.followed[stream].run_sectors + if counts { sectors } else { 0 };
            self.followed[stream] = Stream { next_sector: end, run_sectors, used: self.clock };
            return run_sectors >= self.min_run_sectors;
        }
        if !counts {
            return false;
        }
        self.clock += 1;
        let fresh = Stream { next_sector: end, run_sectors: sectors, used: self.clock };
        if self.followed.len() < self.limit {
            self.followed.push(fresh);
        } else if let Some(idlest) = self.followed.iter_mut().min_by_key(|stream| stream.used) {
            *idlest = fresh;
        }
        sectors >= self.min_run_sectors
    }

    /// Which of the streams that have come to a sector goes on: the longest, so that no stream ends where it comes to a
    /// place that another has come to before it.
    fn longest_at(&self, sector: u64) -> Option<usize> {
        let here = |index: &usize| self.followed[*index].next_sector == sector;
        (0..self.followed.len()).rev().filter(here).max_by_key(|index| self.followed[*index].run_sectors)
    }
}

#[cfg(test)]
mod tests {
    use super::Streams;
    use crate::profile::StreamsProfile;

    fn streams(tracked: u64) -> Streams {
        Streams::new(&StreamsProfile { tracked, min_request_bytes: 65_536, min_run_bytes: 1_048_576, durable: true })
    }

    #[test]
    fn a_run_becomes_a_stream_when_it_is_long_enough() {
        let mut streams = streams(2);
        let verdicts: Vec<bool> = (0..16).map(|index| streams.observe(index * 128, 128, false)).collect();
        assert_eq!(verdicts.iter().position(|verdict| *verdict), Some(15));
    }

    #[test]
    fn durable_writes_belong_to_none_where_they_may_not_bypass() {
        let mut streams = streams(2);
        streams.durable = false;
        assert!((0..40).all(|index| !streams.observe(index * 128, 128, true)));
        assert!((40..80).any(|index| streams.observe(index * 128, 128, false)));
    }

    #[test]
    fn small_writes_never_are_one() {
        let mut streams = streams(2);
        assert!((0..1000).all(|index| !streams.observe(index * 64, 64, false)));
    }

    #[test]
    fn small_writes_go_on_with_a_stream_and_make_none() {
        let mut streams = streams(2);
        let runs: Vec<bool> = (0..20)
            .flat_map(|index| [(index * 136, 128), (index * 136 + 128, 8)])
            .map(|(start, sectors)| streams.observe(start, sectors, false))
            .collect();
        assert_eq!(runs.iter().position(|run| *run), Some(30), "the sixteenth large one, small ones between");
        assert!(runs[30..].iter().all(|run| *run));
        assert!((0..1000).all(|index| !streams.observe(1_000_000 + index * 8, 8, false)));
    }

    #[test]
    fn more_streams_than_are_followed_are_lost() {
        let mut few = streams(2);
        let runs = |streams: &mut Streams, count: u64| {
            (0..40).any(|index| (0..count).any(|run| streams.observe(run * 1_000_000 + index * 128, 128, false)))
        };
        assert!(runs(&mut few, 2));
        assert!(!runs(&mut streams(2), 3));
    }

    /// Whichever of the two came first.
    #[test]
    fn a_stream_goes_on_past_where_a_short_one_has_ended() {
        let mut before = streams(2);
        before.observe(32 * 128 - 128, 128, false);
        let verdicts: Vec<bool> = (0..40).map(|index| before.observe(index * 128, 128, false)).collect();
        assert!(verdicts[15..].iter().all(|verdict| *verdict), "{verdicts:?}");

        let mut meanwhile = streams(2);
        (0..32).for_each(|index| _ = meanwhile.observe(index * 128, 128, false));
        assert!(!meanwhile.observe(32 * 128 - 128, 128, false));
        assert!((32..40).all(|index| meanwhile.observe(index * 128, 128, false)));
    }

    #[test]
    fn the_stream_unused_longest_makes_room() {
        let mut streams = streams(2);
        let mut go_on = |run: u64, index: u64| streams.observe(run * 1_000_000 + index * 128, 128, false);
        // The one that came first is used last.
        _ = (go_on(0, 0), go_on(1, 0));
        (1..14).for_each(|index| _ = (go_on(1, index), go_on(0, index)));
        go_on(2, 0);
        assert!((14..16).any(|index| go_on(0, index)), "the one used last is still followed");
    }

    /// Two have come to the same sector and are as long. The one that has been followed longer goes on, and the other has been used since
    /// a third was, which makes room.
    #[test]
    fn of_two_as_long_the_one_followed_longer_goes_on() {
        let mut streams = streams(3);
        for start in [0, 1_000_000, 0, 128, 5_000_000] {
            streams.observe(start, 128, false);
        }
        let mut next: Vec<u64> = streams.followed.iter().map(|stream| stream.next_sector).collect();
        next.sort_unstable();
        assert_eq!(next, [128, 256, 5_000_128]);
    }
}
