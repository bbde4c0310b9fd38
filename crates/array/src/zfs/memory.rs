//! Which of the users' records are in the host's memory: the cache (ARC), and the newest of them as they are used (dbufs).

use lru::LruCache;

use super::tunables::{Host, Tunables};

/// What the cache may at least have (`arc_set_limits`), and how much more than it needs (`arc_adapt`).
const LEAST_BYTES: u64 = 32 << 20;
const SPARE_BYTES: u64 = 32 << 20;

/// Records by when they were last used.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    record_bytes: u64,
    least_bytes: u64,
    most_bytes: u64,
    /// What the cache aims at: it grows when it is needed, and is not made smaller while nobody else wants memory.
    aim_bytes: u64,
    cached: LruCache<u64, ()>,
    dbufs: LruCache<u64, ()>,
    is_direct: bool,
}

impl Memory {
    /// Of a host that has written so much to the pool: all of it went through the cache, which has grown with it.
    pub fn new(host: &Host, tunables: &Tunables, record_bytes: u64, written_bytes: u64) -> Self {
        let least_bytes = (host.memory_bytes / 32).max(LEAST_BYTES);
        let most_bytes = host.most_cached_bytes().max(least_bytes);
        Self {
            record_bytes,
            least_bytes,
            most_bytes,
            aim_bytes: (written_bytes + SPARE_BYTES).clamp(least_bytes, most_bytes),
            cached: LruCache::unbounded(),
            dbufs: LruCache::unbounded(),
            is_direct: tunables.direct_io,
        }
    }

    /// Do the names of all records fit into the part of the largest cache that is theirs (`arc_meta`: a quarter)?
    pub fn holds_names(&self, bytes: u64) -> bool {
        bytes <= self.most_bytes / 4
    }

    /// Do users' requests pass the cache by?
    pub fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// Has it a record for a reader? A direct read looks among the dbufs only, and leaves nothing in memory (`dmu_read_abd`).
    pub fn has_for_read(&mut self, record: u64) -> bool {
        if self.is_direct {
            self.dbufs.get(&record).is_some()
        } else {
            self.takes_in(record)
        }
    }

    /// Has the cache a record that is used? From now on it has.
    pub fn takes_in(&mut self, record: u64) -> bool {
        let was_there = self.cached.put(record, ()).is_some();
        if self.cached.len() as u64 * self.record_bytes > self.most_bytes {
            self.cached.pop_lru();
        }
        let needed_bytes = self.cached.len() as u64 * self.record_bytes + SPARE_BYTES;
        self.aim_bytes = self.aim_bytes.max(needed_bytes.clamp(self.least_bytes, self.most_bytes));
        was_there
    }

    /// A record was written past the cache.
    pub fn drop_record(&mut self, record: u64) {
        self.cached.pop(&record);
        self.dbufs.pop(&record);
    }

    /// A record that was dirty is on the drives: its dbuf is kept among the last (`dbuf_cache_shift`: a 32nd of the cache).
    pub fn synced(&mut self, record: u64) {
        self.dbufs.put(record, ());
        if self.dbufs.len() as u64 * self.record_bytes > self.aim_bytes / 32 {
            self.dbufs.pop_lru();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(tunables: Tunables) -> Memory {
        Memory::new(&Host { memory_bytes: 2 << 30, ..Host::default() }, &tunables, 128 << 10, 0)
    }

    #[test]
    fn a_direct_read_leaves_nothing_and_finds_only_what_was_just_written() {
        let mut new = memory(Tunables::v2_3());
        assert!(!new.has_for_read(1) && !new.has_for_read(1));
        assert!(!new.takes_in(1) && new.takes_in(1));
        assert!(!new.has_for_read(1), "it is in the cache, which a direct read does not ask");
        (1..=16).for_each(|record| new.synced(record));
        // A 32nd of 64 MiB are sixteen records.
        assert!(new.has_for_read(1));
        new.synced(17);
        assert!(new.has_for_read(1) && !new.has_for_read(2));
    }

    /// `dbuf_cache_shift`: a 32nd of what the cache aims at, which is a 32nd of 16 GiB at least, and what has gone through it with 32 MiB more.
    #[test]
    fn a_32nd_of_the_cache_keeps_what_was_just_written() {
        let kept = |written_bytes, takes_in| {
            let host = Host { memory_bytes: 16 << 30, ..Host::default() };
            let mut memory = Memory::new(&host, &Tunables::v2_3(), 128 << 10, written_bytes);
            (0..takes_in).for_each(|record| _ = memory.takes_in(record));
            (0..4000).for_each(|record| memory.synced(record));
            (0..4000).filter(|record| memory.dbufs.contains(record)).count()
        };
        assert_eq!([kept(0, 0), kept(4 << 30, 0), kept(4 << 30, 1)], [128, 1032, 1032]);
        // 8192 records are a GiB.
        assert_eq!([kept(0, 8192), kept(64 << 30, 0)], [264, 2048]);
    }

    #[test]
    fn what_was_used_longest_ago_makes_room() {
        let host = Host { memory_bytes: 2 << 30, cache_bytes: Some(64 << 20), ..Host::default() };
        let mut old = Memory::new(&host, &Tunables::v2_1(), 128 << 10, 0);
        (0..512).for_each(|record| _ = old.takes_in(record));
        assert!(old.has_for_read(0) && !old.has_for_read(512), "512 of them are 64 MiB");
        assert!(old.has_for_read(0) && !old.has_for_read(1));
    }

    #[test]
    fn what_was_written_past_it_is_not_read_from_it() {
        for tunables in [Tunables::v2_1(), Tunables::v2_3()] {
            let mut memory = memory(tunables);
            memory.takes_in(1);
            memory.synced(1);
            assert!(memory.has_for_read(1));
            memory.drop_record(1);
            assert!(!memory.has_for_read(1));
        }
    }

    #[test]
    fn names_fit_into_a_quarter_of_the_cache() {
        let of_a_gib = memory(Tunables::v2_3());
        assert!(of_a_gib.holds_names(256 << 20) && !of_a_gib.holds_names(257 << 20));
        let host = Host { memory_bytes: 2 << 30, cache_bytes: Some(512 << 20), ..Host::default() };
        let given_less = Memory::new(&host, &Tunables::v2_3(), 128 << 10, 0);
        assert!(given_less.holds_names(128 << 20) && !given_less.holds_names(129 << 20));
    }

    #[test]
    fn before_2_3_what_was_read_once_is_in_memory() {
        let mut old = memory(Tunables::v2_1());
        assert!(!old.has_for_read(1) && old.has_for_read(1));
    }
}
