//! What a simulated request to a member costs while an array is rebuilt or a pool resilvered, from few members to 90.

#![allow(missing_docs)]

mod cpu_time;

use array::md::{Array, Options};
use array::zfs::{Content, Files, Geometry, Host, Order, Plan, Resilver, Sampling, Tunables};
use array::{Layout, Members};
use cpu_time::CpuTime;
use criterion::measurement::Measurement;
use criterion::{criterion_group, criterion_main, BatchSize, Bencher, BenchmarkId, Criterion};
use drive::{BlockDevice, Drive, Profile};

const PROFILE: &str = include_str!("../../../drives/st12000vn0007.toml");
const WIDTHS: [usize; 4] = [4, 12, 32, 90];
const REBUILT_BYTES: u64 = 256 << 20;
/// What a resilver writes to the new drive, about.
const RESILVERED_BYTES: f64 = (256 << 20) as f64;
/// Of a whole drive: so many records are made one by one.
const SAMPLED: Sampling = Sampling { records: 50_000, window_records: 128, first_records: 0 };

fn drives(profile: &Profile, width: usize) -> Vec<Drive> {
    (0..width as u64).map(|seed| Drive::new(profile, seed)).collect()
}

fn requests(members: &Members<Drive>) -> u64 {
    (0..members.len()).map(|member| members.counters(member).requests).sum()
}

fn array(drives: Vec<Drive>, layout: Layout) -> Array<Drive> {
    let options = Options::new(layout, drives.len(), drives[0].capacity_bytes()).expect("a good layout");
    let mut array = Array::new(options, drives, 0).expect("members of this size");
    array.recover(0, 0, REBUILT_BYTES).expect("a member to rebuild");
    array
}

fn rebuilt(mut array: Array<Drive>) -> u64 {
    array.finish_recovery(u64::MAX);
    requests(array.members())
}

fn resilver(drives: Vec<Drive>, fill: f64, sampling: Sampling) -> Resilver<Drive> {
    let member_bytes = drives[0].capacity_bytes();
    let plan = Plan {
        geometry: Geometry::raidz(2, drives.len() as u64, 12).expect("a good layout"),
        member_bytes,
        partition_at_bytes: 0,
        content: Content { record_bytes: 128 << 10, fill, run_records: None, files: Files::One },
        lost: 0,
        spare: None,
        order: Order::Sorted,
        tunables: Tunables::v2_3(),
        host: Host::default(),
        sampling,
        second_failure: None,
        seed: 1,
    };
    Resilver::new(plan, drives, 0).expect("members of this size")
}

fn resilvered(mut resilver: Resilver<Drive>) -> u64 {
    resilver.finish();
    requests(resilver.members())
}

/// How much processor time a request to a member takes, the making of what is rebuilt not counted. Nothing is made of what
/// the command line leaves out.
fn cost_of_request<T>(bencher: &mut Bencher<CpuTime>, begun: impl Fn() -> T, ended: impl Fn(T) -> u64) {
    bencher.iter_custom(|iterations| {
        let (mut took, mut requests) = (CpuTime.zero(), 0);
        for _ in 0..iterations {
            let begun = begun();
            let start = CpuTime.start();
            requests += ended(begun);
            took += CpuTime.end(start);
        }
        took.mul_f64(iterations as f64 / requests as f64)
    });
}

fn compare(criterion: &mut Criterion<CpuTime>) {
    let profile = Profile::parse(PROFILE).expect("a good profile");
    let mut group = criterion.benchmark_group("rebuild");
    group.sample_size(10);
    for (layout, width) in [(Layout::Raid1, 2)].into_iter().chain(WIDTHS.map(|width| (Layout::Raid6, width))) {
        group.bench_function(BenchmarkId::new(layout.name(), width), |bencher| {
            cost_of_request(bencher, || array(drives(&profile, width), layout), rebuilt);
        });
    }
    let little = RESILVERED_BYTES / profile.geometry.capacity_bytes as f64;
    for width in WIDTHS {
        group.bench_function(BenchmarkId::new("raidz2", width), |bencher| {
            cost_of_request(bencher, || resilver(drives(&profile, width), little, Sampling::NONE), resilvered);
        });
    }
    for width in WIDTHS {
        group.bench_function(BenchmarkId::new("raidz2-full", width), |bencher| {
            bencher.iter_batched(
                || resilver(drives(&profile, width), 1.0, SAMPLED),
                resilvered,
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = compare
}
criterion_main!(benches);
