//! Requests a second through a whole drive, as a host sees it: submit, next event, advance, completion.

// What criterion's macros make has no documentation.
#![allow(missing_docs)]

use std::time::{Duration, Instant};

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use drive::{BlockDevice, Completion, Drive, Profile, Request, Verb};

struct Load {
    drive: Drive,
    done: Vec<Completion>,
    offsets: sim::Stream,
    next: u64,
    random: bool,
    bytes: u64,
    verb: Verb,
}

impl Load {
    fn new(profile: &str, verb: Verb, random: bool, bytes: u64, depth: u32) -> Self {
        let path = format!("{}/../../drives/{profile}.toml", env!("CARGO_MANIFEST_DIR"));
        let profile = Profile::parse(&std::fs::read_to_string(path).expect("readable")).expect("sound");
        let drive = Drive::new(&profile, 1);
        let offsets = sim::stream(1, "offsets");
        let mut load = Self { drive, done: Vec::new(), offsets, next: 0, random, bytes, verb };
        (0..depth).for_each(|tag| load.submit(tag, 0));
        load
    }

    fn submit(&mut self, tag: u32, now_ns: u64) {
        let slots = self.drive.capacity_bytes() / self.bytes;
        let slot = if self.random { self.offsets.below(slots) } else { self.next % slots };
        self.next += 1;
        let (verb, bytes) = (self.verb, self.bytes);
        self.drive.submit(now_ns, Request { tag, verb, fua: false, offset_bytes: slot * bytes, bytes });
    }

    fn complete(&mut self, count: u64) -> Duration {
        let began = Instant::now();
        let mut left = count;
        while left > 0 {
            let event_ns = self.drive.next_event_ns().expect("the loop is closed");
            self.drive.advance(event_ns, &mut self.done);
            while let Some(done) = self.done.pop() {
                self.submit(done.tag, event_ns);
                left = left.saturating_sub(1);
            }
        }
        began.elapsed()
    }
}

fn requests(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("requests");
    group.throughput(Throughput::Elements(1)).measurement_time(Duration::from_secs(3)).sample_size(20);
    let mut bench = |name: &str, mut load: Load, warm: u64| {
        load.complete(warm);
        group.bench_function(name, |bencher| bencher.iter_custom(|count| load.complete(count)));
    };
    bench("conventional, 4 KiB random reads, depth 1", Load::new("st12000vn0007", Verb::Read, true, 4096, 1), 0);
    bench("conventional, 4 KiB random reads, depth 32", Load::new("st12000vn0007", Verb::Read, true, 4096, 32), 0);
    bench("conventional, 128 KiB sequential reads", Load::new("st12000vn0007", Verb::Read, false, 131_072, 1), 0);
    bench("conventional, 4 KiB random writes", Load::new("st12000vn0007", Verb::Write, true, 4096, 1), 0);
    bench("shingled, 4 KiB random writes, cache full", Load::new("st8000as0002", Verb::Write, true, 4096, 1), 300_000);
    bench("shingled, 4 KiB random reads", Load::new("st8000as0002", Verb::Read, true, 4096, 1), 0);
}

/// Nine hours without a request: what is cached is cleaned, and after that nothing happens.
fn idle(criterion: &mut Criterion) {
    const NINE_HOURS_NS: u64 = 9 * 3600 * 1_000_000_000;
    let mut load = Load::new("st8000as0002", Verb::Write, true, 4096, 1);
    load.complete(300_000);
    let now_ns = load.drive.next_event_ns().expect("the loop is closed");
    let full = load.drive;
    let mut rested = full.clone();
    rested.advance(now_ns + 1000 * NINE_HOURS_NS, &mut Vec::new());
    let mut group = criterion.benchmark_group("nine idle hours");
    group.measurement_time(Duration::from_secs(3)).sample_size(20);
    for (name, drive, from_ns) in
        [("cleaning a full cache", full, now_ns), ("with nothing to clean", rested, now_ns + 1000 * NINE_HOURS_NS)]
    {
        group.bench_function(name, |bencher| {
            let fresh = || drive.clone();
            bencher.iter_batched_ref(
                fresh,
                |drive| drive.advance(from_ns + NINE_HOURS_NS, &mut Vec::new()),
                criterion::BatchSize::LargeInput,
            );
        });
    }
}

criterion_group!(benches, requests, idle);
criterion_main!(benches);
