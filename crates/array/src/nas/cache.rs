//! What a box keeps in memory: pages for readers, and writes that wait for the drives.

use std::ops::Range;

use lru::LruCache;
use rangemap::RangeSet;

pub(super) const PAGE_BYTES: u64 = 4096;

/// The longest write to the drives; writes are cut where their addresses are multiples of it.
const DESTAGE_BYTES: u64 = 1 << 20;

/// The pages read or written last.
#[derive(Clone, Debug)]
pub(super) struct ReadCache {
    most: u64,
    pages: LruCache<u64, ()>,
}

impl ReadCache {
    pub fn new(bytes: u64) -> Self {
        Self { most: bytes / PAGE_BYTES, pages: LruCache::unbounded() }
    }

    /// Keeps the pages that lie within a range.
    pub fn keep(&mut self, range: &Range<u64>) {
        if self.most == 0 {
            return;
        }
        for page in range.start.div_ceil(PAGE_BYTES)..range.end / PAGE_BYTES {
            self.pages.put(page, ());
            if self.pages.len() as u64 > self.most {
                self.pages.pop_lru();
            }
        }
    }

    /// Is the page with this address there? It is the newest then.
    pub fn touch(&mut self, offset_bytes: u64) -> bool {
        self.pages.get(&(offset_bytes / PAGE_BYTES)).is_some()
    }
}

/// Writes that are acknowledged, and not yet on the drives.
#[derive(Clone, Debug)]
pub(super) struct WriteCache {
    room_bytes: u64,
    /// Dirty and on its way.
    held_bytes: u64,
    dirty_bytes: u64,
    dirty: RangeSet<u64>,
    /// On its way to the drives.
    leaving: RangeSet<u64>,
    /// Where the sweep over the dirty ranges has come to.
    swept_to: u64,
}

impl WriteCache {
    pub fn new(room_bytes: u64) -> Self {
        Self {
            room_bytes,
            held_bytes: 0,
            dirty_bytes: 0,
            dirty: RangeSet::new(),
            leaving: RangeSet::new(),
            swept_to: 0,
        }
    }

    /// Could a write of so many bytes ever be taken?
    pub fn takes(&self, bytes: u64) -> bool {
        bytes <= self.room_bytes
    }

    /// Is nothing in it?
    pub fn is_clean(&self) -> bool {
        self.held_bytes == 0
    }

    /// What has not left yet.
    pub fn dirty_bytes(&self) -> u64 {
        self.dirty_bytes
    }

    /// Takes a write if there is room: what is dirty already is replaced.
    pub fn put(&mut self, range: &Range<u64>) -> bool {
        let new_bytes: u64 = self.dirty.gaps(range).map(|gap| gap.end - gap.start).sum();
        if self.held_bytes + new_bytes > self.room_bytes {
            return false;
        }
        self.held_bytes += new_bytes;
        self.dirty_bytes += new_bytes;
        self.dirty.insert(range.clone());
        true
    }

    /// Is this address in it?
    pub fn holds(&self, offset_bytes: u64) -> bool {
        self.dirty.contains(&offset_bytes) || self.leaving.contains(&offset_bytes)
    }

    /// What to write to the drives next: on from where the last was, and from the beginning again.
    pub fn next_to_write(&mut self) -> Option<Range<u64>> {
        let ahead = self.dirty.overlapping(self.swept_to..u64::MAX).next();
        let found = ahead.or_else(|| self.dirty.first())?;
        let start = if found.end > self.swept_to { found.start.max(self.swept_to) } else { found.start };
        let range = start..found.end.min((start / DESTAGE_BYTES + 1) * DESTAGE_BYTES);
        self.swept_to = range.end;
        self.dirty.remove(range.clone());
        self.dirty_bytes -= range.end - range.start;
        // What is on its way there already counts once.
        let again: u64 = overlap_bytes(&self.leaving, &range);
        self.held_bytes -= again;
        self.leaving.insert(range.clone());
        Some(range)
    }

    /// A range is on the drives, or nobody wants it any more.
    pub fn written(&mut self, range: &Range<u64>) {
        self.held_bytes -= overlap_bytes(&self.leaving, range);
        self.leaving.remove(range.clone());
    }

    /// Nobody wants what is dirty in a range any more.
    pub fn forget(&mut self, range: &Range<u64>) {
        let bytes = overlap_bytes(&self.dirty, range);
        self.held_bytes -= bytes;
        self.dirty_bytes -= bytes;
        self.dirty.remove(range.clone());
    }
}

fn overlap_bytes(ranges: &RangeSet<u64>, range: &Range<u64>) -> u64 {
    ranges.overlapping(range).map(|each| each.end.min(range.end) - each.start.max(range.start)).sum()
}

/// Is all of a range in one of both?
pub(super) fn holds_all(read: &mut ReadCache, write: &WriteCache, range: &Range<u64>) -> bool {
    let mut at = range.start;
    while at < range.end {
        if !write.holds(at) && !read.touch(at) {
            return false;
        }
        at = (at / PAGE_BYTES + 1) * PAGE_BYTES;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_pages_leave_first() {
        let mut cache = ReadCache::new(2 * PAGE_BYTES);
        cache.keep(&(0..2 * PAGE_BYTES));
        assert!(cache.touch(0));
        cache.keep(&(2 * PAGE_BYTES..3 * PAGE_BYTES));
        assert!(cache.touch(0) && cache.touch(2 * PAGE_BYTES) && !cache.touch(PAGE_BYTES));
    }

    #[test]
    fn a_part_of_a_page_is_not_kept() {
        let mut cache = ReadCache::new(10 * PAGE_BYTES);
        cache.keep(&(512..PAGE_BYTES + 512));
        assert!(!cache.touch(512) && !cache.touch(PAGE_BYTES));
    }

    #[test]
    fn what_is_written_again_needs_no_more_room() {
        let mut cache = WriteCache::new(8192);
        assert!(cache.put(&(0..8192)));
        assert!(cache.put(&(4096..8192)));
        assert!(!cache.put(&(8192..8704)));
        cache.forget(&(0..4096));
        assert!(cache.put(&(8192..8704)));
    }

    #[test]
    fn writes_go_out_in_the_order_of_their_places_and_come_round_again() {
        let mut cache = WriteCache::new(1 << 30);
        cache.put(&(5 << 20..(5 << 20) + 4096));
        cache.put(&(2 << 20..(3 << 20) + 4096));
        assert_eq!(cache.next_to_write(), Some(2 << 20..3 << 20));
        cache.put(&(0..4096));
        assert_eq!(cache.next_to_write(), Some(3 << 20..(3 << 20) + 4096));
        assert_eq!(cache.next_to_write(), Some(5 << 20..(5 << 20) + 4096));
        assert_eq!(cache.next_to_write(), Some(0..4096));
        assert_eq!(cache.next_to_write(), None);
    }

    #[test]
    fn room_is_there_again_once_all_is_on_the_drives_also_if_it_was_rewritten_on_the_way() {
        let mut cache = WriteCache::new(8192);
        cache.put(&(0..8192));
        let first = cache.next_to_write().expect("it is dirty");
        assert!(!cache.put(&(0..4096)), "it is full of what is on its way");
        cache.written(&first);
        assert!(cache.is_clean() && cache.put(&(0..4096)));
        let second = cache.next_to_write().expect("it is dirty");
        cache.put(&(0..4096));
        let third = cache.next_to_write().expect("it is dirty again");
        cache.written(&second);
        cache.written(&third);
        assert!(cache.is_clean());
    }
}
