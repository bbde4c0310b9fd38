//! What a simulated request to a member costs while an array is rebuilt, from 4 members to 90.

#![allow(missing_docs)]

use array::md::{Array, Options};
use array::Layout;
use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};
use drive::{BlockDevice, Drive, Profile};

const PROFILE: &str = include_str!("../../../drives/st12000vn0007.toml");
const REBUILT_BYTES: u64 = 256 << 20;

fn rebuild(profile: &Profile, layout: Layout, width: usize) -> u64 {
    let drives: Vec<Drive> = (0..width as u64).map(|seed| Drive::new(profile, seed)).collect();
    let options = Options::new(layout, width, drives[0].capacity_bytes()).expect("a good layout");
    let mut array = Array::new(options, drives, 0).expect("members of this size");
    array.recover(0, 0, REBUILT_BYTES).expect("a member to rebuild");
    array.finish_recovery(u64::MAX);
    (0..width).map(|member| array.members().counters(member).requests).sum()
}

fn requests(criterion: &mut Criterion) {
    let profile = Profile::parse(PROFILE).expect("a good profile");
    let mut group = criterion.benchmark_group("rebuild");
    group.sample_size(10);
    for (layout, width) in [(Layout::Raid1, 2), (Layout::Raid6, 4), (Layout::Raid6, 12), (Layout::Raid6, 90)] {
        group.throughput(Throughput::Elements(rebuild(&profile, layout, width)));
        group.bench_with_input(BenchmarkId::new(layout.name(), width), &width, |bencher, width| {
            bencher.iter(|| rebuild(&profile, layout, *width));
        });
    }
    group.finish();
}

criterion_group!(benches, requests);
criterion_main!(benches);
