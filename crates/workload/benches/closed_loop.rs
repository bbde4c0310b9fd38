//! How many requests a second the host side alone can submit and retire, and how fast a whole drive is read.

// The functions that criterion's macros make have no documentation.
#![allow(missing_docs)]

#[path = "../tests/all/short_cuts.rs"]
#[allow(dead_code, reason = "nothing is counted here")]
mod short_cuts;

use std::collections::VecDeque;
use std::time::Duration;

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use drive::{BlockDevice, Completion, Drive, Profile, Request, Status};
use short_cuts::OneByOne;
use workload::{JobFile, Run};

const REQUESTS: u64 = 1_000_000;
const CAPACITY: u64 = 12_000_000_000_000;

/// Does nothing, a microsecond later.
#[derive(Default)]
struct Nothing {
    due: VecDeque<(u64, u32)>,
}

impl BlockDevice for Nothing {
    fn capacity_bytes(&self) -> u64 {
        CAPACITY
    }

    fn queue_depth(&self) -> u32 {
        32
    }

    fn submit(&mut self, now_ns: u64, request: Request) {
        self.due.push_back((now_ns + 1000, request.tag));
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.due.front().map(|(due_ns, _)| *due_ns)
    }

    fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        while let Some(&(completed_ns, tag)) = self.due.front().filter(|(due_ns, _)| *due_ns <= to_ns) {
            self.due.pop_front();
            completions.push(Completion { tag, completed_ns, status: Status::Good });
        }
    }
}

fn closed_loop(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("closed_loop");
    group.throughput(Throughput::Elements(REQUESTS)).sample_size(10).measurement_time(Duration::from_secs(3));
    for (name, options) in [
        ("sequential write, depth 1", "rw=write"),
        ("random write, depth 32", "rw=randwrite\niodepth=32"),
        ("random mix, depth 32, no map", "rw=randrw\nrwmixread=70\niodepth=32\nnorandommap"),
    ] {
        let file = JobFile::parse(&format!("{options}\nnumber_ios={REQUESTS}"), CAPACITY).expect("a good job");
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut run = Run::start(file.clone(), 0, 1_000_000_000, 1);
                while !run.is_over() {
                    run.advance(&mut Nothing::default(), 1000);
                }
                run.now_ns()
            });
        });
    }
    group.finish();
}

fn read(device: &mut impl BlockDevice, options: &str, interval_ns: u64) -> u64 {
    let file = JobFile::parse(&format!("rw=read\n{options}"), device.capacity_bytes()).expect("a good job");
    let mut run = Run::start(file, 0, interval_ns, 1);
    while !run.is_over() {
        run.advance(device, 1000);
    }
    run.now_ns()
}

/// A 12 TB drive read from end to end: counted, with one row and with one every ten seconds, and its beginning made.
fn whole_drive(criterion: &mut Criterion) {
    const BYTES: u64 = 131_072;
    const SOME: u64 = 1_000_000;
    const DAY_NS: u64 = 86_400_000_000_000;
    let path = format!("{}/../../drives/st12000vn0007.toml", env!("CARGO_MANIFEST_DIR"));
    let profile = Profile::parse(&std::fs::read_to_string(path).expect("readable")).expect("sound");
    let all = profile.geometry.capacity_bytes / BYTES;
    let mut group = criterion.benchmark_group("128 KiB sequential reads, depth 1");
    group.sample_size(10).measurement_time(Duration::from_secs(3));
    group.throughput(Throughput::Elements(SOME));
    group.bench_function("one by one", |bencher| {
        bencher.iter(|| {
            let mut device = OneByOne { drive: Drive::new(&profile, 1) };
            read(&mut device, &format!("bs=128k\nnumber_ios={SOME}"), 100 * DAY_NS)
        });
    });
    group.throughput(Throughput::Elements(all));
    for (name, interval_ns) in
        [("12 TB forwarded", 100 * DAY_NS), ("12 TB forwarded, a row every 10 s", 10_000_000_000)]
    {
        group.bench_function(name, |bencher| {
            bencher.iter(|| read(&mut Drive::new(&profile, 1), "bs=128k", interval_ns));
        });
    }
    group.finish();
}

/// The second account of `cliff`: 3 TB filled, two hours of random writes, nine hours of read probes. Rows as the protocol has them.
fn two_hours_and_nine(criterion: &mut Criterion) {
    const HOUR_S: u64 = 3600;
    const SECOND_NS: u64 = 1_000_000_000;
    let path = format!("{}/../../drives/canvio-3tb.toml", env!("CARGO_MANIFEST_DIR"));
    let profile = Profile::parse(&std::fs::read_to_string(path).expect("readable")).expect("sound");
    let random = "bs=4k\niodepth=1\nnorandommap\ntime_based";
    let steps = [
        ("rw=write\nbs=1M\niodepth=8".to_owned(), 10 * SECOND_NS),
        (format!("rw=randwrite\n{random}\nruntime={}", 2 * HOUR_S), SECOND_NS),
        (format!("rw=randread\n{random}\nthinktime=60s\nthinktime_blocks=20\nruntime={}", 9 * HOUR_S), 10 * SECOND_NS),
    ];
    let mut group = criterion.benchmark_group("two hours of writes, nine of recovery");
    group.sample_size(10).measurement_time(Duration::from_secs(15));
    for (name, skipped) in [("canvio-3tb, filled before", 0), ("the same, not filled", 1)] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut device = Drive::new(&profile, 1);
                steps[skipped..].iter().fold(0, |now_ns, (options, interval_ns)| {
                    let file = JobFile::parse(options, device.capacity_bytes()).expect("a good job");
                    let mut run = Run::start(file, now_ns, *interval_ns, 1);
                    while !run.is_over() {
                        run.advance(&mut device, 1000);
                    }
                    run.now_ns()
                })
            });
        });
    }
    group.finish();
}

criterion_group!(benches, closed_loop, whole_drive, two_hours_and_nine);
criterion_main!(benches);
