//! The hot path takes no memory, and a drive takes little of it.

// An allocator cannot be written without; this one counts and hands on.
#![allow(unsafe_code)]

#[path = "all/rig/mod.rs"]
mod rig;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use drive::{BlockDevice, Completion, Drive, EntryCounts, Profile, Request, Verb};
use rig::profile;

// Of each thread by itself: beside a test its harness has its own, which takes memory to say that a test is slow.
thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<i64> = const { Cell::new(0) };
}

fn count(calls: u64, taken: usize, given_back: usize) {
    CALLS.set(CALLS.get() + calls);
    // Below zero where a thread gives back what another took.
    BYTES.set(BYTES.get() + taken as i64 - given_back as i64);
}

struct Counting;

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size(), 0);
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, 0, layout.size());
        System.dealloc(pointer, layout);
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(1, bytes, layout.size());
        System.realloc(pointer, layout, bytes)
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A closed loop of random 4 KiB requests.
struct Loop {
    drive: Drive,
    offsets: sim::Stream,
    done: Vec<Completion>,
    verbs: &'static [Verb],
    fua: bool,
}

impl Loop {
    fn new(profile: &Profile, depth: u32, verbs: &'static [Verb], fua: bool) -> Self {
        let (drive, offsets) = (Drive::new(profile, 1), sim::stream(1, "offsets"));
        let mut this = Self { drive, offsets, done: Vec::with_capacity(64), verbs, fua };
        (0..depth).for_each(|tag| this.submit(tag, 0));
        this
    }

    fn submit(&mut self, tag: u32, now_ns: u64) {
        let offset_bytes = self.offsets.below(self.drive.capacity_bytes() / 4096) * 4096;
        let verb = self.verbs[self.offsets.below(self.verbs.len() as u64) as usize];
        self.drive.submit(now_ns, Request { tag, verb, fua: self.fua, offset_bytes, bytes: 4096 });
    }

    /// Returns the allocations for each of so many requests.
    fn run(&mut self, requests: u64) -> f64 {
        let (before, mut left) = (CALLS.get(), requests);
        while left > 0 {
            let event_ns = self.drive.next_event_ns().expect("the loop is closed");
            self.drive.advance(event_ns, &mut self.done);
            while let Some(done) = self.done.pop() {
                self.submit(done.tag, event_ns);
                left = left.saturating_sub(1);
            }
        }
        (CALLS.get() - before) as f64 / requests as f64
    }
}

/// The drive with room for exactly 250,000 writes of 4 KiB.
fn full(name: &str) -> Profile {
    let mut profile = profile(name);
    let cache = &mut profile.shingled.as_mut().expect("it is shingled").cache;
    (cache.entries, cache.entry_counts) = (250_000, EntryCounts::Write);
    profile
}

#[test]
fn requests_take_no_memory_and_drives_take_little() {
    const BOTH: &[Verb] = &[Verb::Read, Verb::Write];
    let before = BYTES.get();
    let conventional = Drive::new(&profile("st12000vn0007"), 1);
    println!("12 TB, conventional: {:.3} MB", (BYTES.get() - before) as f64 / 1e6);
    drop(conventional);
    for depth in [1, 32] {
        for fua in [false, true] {
            let mut load = Loop::new(&profile("st12000vn0007"), depth, BOTH, fua);
            load.run(2000);
            assert_eq!(load.run(100_000), 0.0, "depth {depth}, conventional");
        }
    }
    for depth in [1, 32] {
        let before = BYTES.get();
        let mut load = Loop::new(&full("st8000as0002"), depth, &[Verb::Write], false);
        while load.drive.truth().forced_passes < 2 {
            load.run(1000);
        }
        let taken = BYTES.get() - before;
        let entries = load.drive.truth().cached_entries;
        assert!(entries > 200_000, "{entries}");
        load.verbs = BOTH;
        // The memory that bands hand on to each other has grown to what they need.
        load.run(500_000);
        let allocations = load.run(100_000);
        println!(
            "8 TB, {entries} entries, depth {depth}: {:.1} MB, {:.5} allocations a request",
            taken as f64 / 1e6,
            allocations
        );
        assert!(allocations < 1e-3, "depth {depth}, shingled: {allocations}");
        assert!(taken < 64_000_000, "{taken}");
    }
}
