//! Requests a second of processor time through a whole drive, as a host sees it: submit, next event, advance, completion.

// What criterion's macros make has no documentation.
#![allow(missing_docs)]

#[path = "../../array/benches/cpu_time/mod.rs"]
mod cpu_time;

use std::time::Duration;

use cpu_time::CpuTime;
use criterion::measurement::Measurement;
use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use drive::{BlockDevice, Completion, Drive, EntryCounts, Profile, Request, Verb};

const READ: &[Verb] = &[Verb::Read];
const WRITE: &[Verb] = &[Verb::Write];
const BOTH: &[Verb] = &[Verb::Read, Verb::Write];
/// After so many the caches of all these drives are full, and what cleaning costs stays the same.
const FILLING_REQUESTS: u64 = 3_000_000;
/// Longer than any request takes.
const NEVER_NS: u64 = u64::MAX >> 8;

struct Load {
    drive: Drive,
    done: Vec<Completion>,
    offsets: sim::Stream,
    next: u64,
    random: bool,
    bytes: u64,
    verbs: &'static [Verb],
    /// Each write is to be on the platters before it is answered.
    durable: bool,
}

impl Load {
    fn new(profile: &Profile, verbs: &'static [Verb], random: bool, bytes: u64, depth: u32) -> Self {
        let drive = Drive::new(profile, 1);
        let offsets = sim::stream(1, "offsets");
        let mut load = Self { drive, done: Vec::new(), offsets, next: 0, random, bytes, verbs, durable: false };
        (0..depth).for_each(|tag| load.submit(tag, 0));
        load
    }

    fn submit(&mut self, tag: u32, now_ns: u64) {
        let slots = self.drive.capacity_bytes() / self.bytes;
        let slot = if self.random { self.offsets.below(slots) } else { self.next % slots };
        self.next += 1;
        let verb = if self.verbs.len() == 1 { self.verbs[0] } else { self.verbs[(self.offsets.bits() & 1) as usize] };
        let (bytes, fua) = (self.bytes, self.durable && verb == Verb::Write);
        self.drive.submit(now_ns, Request { tag, verb, fua, offset_bytes: slot * bytes, bytes });
    }

    fn complete(&mut self, count: u64) -> Duration {
        let began = CpuTime.start();
        let mut left = count;
        while left > 0 {
            let now_ns = self.drive.advance_to_completion(NEVER_NS, &mut self.done);
            while let Some(done) = self.done.pop() {
                self.submit(done.tag, now_ns);
                left = left.saturating_sub(1);
            }
        }
        CpuTime.end(began)
    }

    fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// Writes until as many bands are cleaned as become dirty, which on the way there goes up and down; then the same with
    /// what is asked for, so that all samples are of one state.
    fn with_full_cache(mut self) -> Self {
        let asked = std::mem::replace(&mut self.verbs, WRITE);
        self.complete(FILLING_REQUESTS);
        self.verbs = asked;
        self.complete(FILLING_REQUESTS);
        self
    }
}

fn profile(name: &str) -> Profile {
    let path = format!("{}/../../drives/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    Profile::parse(&std::fs::read_to_string(path).expect("readable")).expect("sound")
}

/// The 8 TB drive with room for 250,000 cached writes.
fn shingled() -> Profile {
    let mut profile = profile("st8000as0002");
    let cache = &mut profile.shingled.as_mut().expect("it is shingled").cache;
    (cache.entries, cache.entry_counts) = (250_000, EntryCounts::Write);
    profile
}

fn requests(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("requests");
    group.throughput(Throughput::Elements(1)).measurement_time(Duration::from_secs(3)).sample_size(20);
    let mut bench = |name: &str, mut load: Load| {
        group.bench_function(name, |bencher| bencher.iter_custom(|count| load.complete(count)));
    };
    let (conventional, shingled) = (&profile("st12000vn0007"), &shingled());
    let (laptop, red) = (&profile("canvio-3tb"), &profile("wd40efax"));
    let random = |profile: &Profile, verbs, depth| Load::new(profile, verbs, true, 4096, depth);
    let sequential = |profile: &Profile, verbs, depth| Load::new(profile, verbs, false, 131_072, depth);
    let full = |verbs, depth| random(shingled, verbs, depth).with_full_cache();
    bench("shingled, cache full, 4 KiB random, half writes, depth 1", full(BOTH, 1));
    bench("shingled, cache full, 4 KiB random, half writes, depth 32", full(BOTH, 32));
    bench(
        "shingled, cache full, 4 KiB random, half durable writes, depth 32",
        random(shingled, BOTH, 32).durable().with_full_cache(),
    );
    bench("shingled, cache full, 4 KiB random writes, depth 1", full(WRITE, 1));
    bench("shingled, cache full, 4 KiB random reads, depth 1", full(READ, 1));
    bench("shingled, cache empty, 4 KiB random reads, depth 1", random(shingled, READ, 1));
    bench("shingled, 128 KiB sequential writes, depth 1", sequential(shingled, WRITE, 1));
    bench("canvio-3tb, 1 MiB sequential writes, depth 8", Load::new(laptop, WRITE, false, 1 << 20, 8));
    bench("canvio-3tb, cache full, 4 KiB random writes, depth 8", random(laptop, WRITE, 8).with_full_cache());
    bench("wd40efax, cache full, 4 KiB random, half writes, depth 8", random(red, BOTH, 8).with_full_cache());
    bench("conventional, 4 KiB random, half writes, depth 1", random(conventional, BOTH, 1));
    bench("conventional, 4 KiB random, half writes, depth 32", random(conventional, BOTH, 32));
    bench("conventional, 4 KiB random, half durable writes, depth 32", random(conventional, BOTH, 32).durable());
    bench("conventional, 4 KiB random writes, depth 1", random(conventional, WRITE, 1));
    bench("conventional, 4 KiB random reads, depth 1", random(conventional, READ, 1));
    bench("conventional, 4 KiB random reads, depth 32", random(conventional, READ, 32));
    bench("conventional, 128 KiB sequential reads, depth 1", sequential(conventional, READ, 1));
    bench("conventional, 128 KiB sequential reads, depth 32", sequential(conventional, READ, 32));
    bench("conventional, 128 KiB sequential writes, depth 1", sequential(conventional, WRITE, 1));
}

/// Nine hours without a request: what is cached is cleaned, and after that nothing happens.
fn idle(criterion: &mut Criterion<CpuTime>) {
    const NINE_HOURS_NS: u64 = 9 * 3600 * 1_000_000_000;
    let mut load = Load::new(&profile("st8000as0002"), WRITE, true, 4096, 1);
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

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = requests, idle
}
criterion_main!(benches);
