//! A stream of reads or writes that passes at once leaves the same rows and the same drive as one that is asked for one by one.

use crate::short_cuts::{Counting, OneByOne};
use drive::{BlockDevice, BridgeProfile, CachePlace, CleaningDriven, Drive, Mapping, Profile};
use proptest::prelude::*;
use workload::{JobFile, Row, Run};

fn profile(name: &str, divisor: u32) -> Profile {
    let path = format!("{}/../../drives/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    Profile::parse(&text).and_then(|profile| profile.scaled(divisor)).expect("a profile of ours is sound")
}

/// Plays job files one after the other; all rows, and when all was over.
fn play(device: &mut impl BlockDevice, jobs: &[String], interval_ns: u64) -> (Vec<Row>, u64) {
    let (mut rows, mut now_ns) = (Vec::new(), 0);
    for job in jobs {
        let file = JobFile::parse(job, device.capacity_bytes()).expect("a good job");
        let mut run = Run::start(file, now_ns, interval_ns, 1);
        while !run.is_over() {
            rows.extend(run.advance(device, 100));
        }
        now_ns = run.now_ns();
    }
    (rows, now_ns)
}

fn same(profile: &Profile, jobs: &[String], interval_ns: u64) -> u64 {
    let mut one = OneByOne { drive: Drive::new(profile, 3) };
    let mut all = Counting { drive: Drive::new(profile, 3), forwarded: 0 };
    let (expected, found) = (play(&mut one, jobs, interval_ns), play(&mut all, jobs, interval_ns));
    assert_eq!(found.1, expected.1, "{jobs:?}");
    for (found, expected) in found.0.iter().zip(&expected.0) {
        assert_eq!(found, expected, "{jobs:?}");
    }
    assert_eq!(found.0.len(), expected.0.len());
    assert_eq!(all.drive.truth(), one.drive.truth(), "{jobs:?}");
    all.forwarded
}

#[test]
fn one_that_comes_back_after_a_few_events_does_the_same() {
    let profile = profile("wd40efax", 500);
    let jobs = [mix(), read(131_072, 0, 4000), "rw=randwrite\nbs=4k\nnumber_ios=4000".to_owned(), mix()];
    for interval_ns in [50_000_000, 1_000_000_000_000] {
        let mut whole = Drive::new(&profile, 3);
        let (expected, ended_ns) = play(&mut whole, &jobs, interval_ns);
        for events in [1, 7, 100] {
            let mut device = Drive::new(&profile, 3);
            let (mut rows, mut now_ns, mut calls) = (Vec::new(), 0, 0);
            for job in &jobs {
                let file = JobFile::parse(job, device.capacity_bytes()).expect("a good job");
                let mut run = Run::start(file, now_ns, interval_ns, 1);
                while !run.is_over() {
                    run.advance_briefly(&mut device, 3, events, &mut rows);
                    calls += 1;
                }
                now_ns = run.now_ns();
            }
            assert_eq!((&rows, now_ns, device.truth()), (&expected, ended_ns, whole.truth()));
            assert!(calls * events >= 4000, "{calls} calls of {events} events");
        }
    }
}

fn read(bytes: u64, offset_blocks: u64, count: u64) -> String {
    format!("rw=read\nbs={bytes}\noffset={}\nnumber_ios={count}\nnorandommap", offset_blocks * 4096)
}

/// What comes after shows in what state the stream has left the drive.
fn mix() -> String {
    "rw=randrw\nbs=16k\niodepth=4\nnumber_ios=300\nnorandommap".to_owned()
}

#[test]
fn a_whole_drive_is_read_the_same() {
    for (name, bytes) in [("st12000vn0007", 131_072), ("st12000vn0007", 1 << 20), ("st8000as0002", 262_144)] {
        let profile = profile(name, 500);
        let requests = profile.geometry.capacity_bytes / bytes;
        let forwarded = same(&profile, &[format!("rw=read\nbs={bytes}"), mix()], 1_000_000_000_000);
        assert!(forwarded * 10 > requests * 9, "{name}: {forwarded} of {requests}");
    }
}

#[test]
fn a_whole_drive_is_written_the_same() {
    for (name, job) in [
        ("canvio-3tb", "bs=1m\niodepth=8"),
        ("canvio-3tb", "bs=128k\niodepth=24"),
        ("wd40efax", "bs=512k\niodepth=16\nsync=1"),
        ("wd40efax", "bs=1m\niodepth=8"),
    ] {
        let profile = profile(name, 100);
        let job = format!("rw=write\n{job}");
        let file = JobFile::parse(&job, profile.geometry.capacity_bytes).expect("a good job");
        let requests = profile.geometry.capacity_bytes / file.jobs[0].sizes[1].min_bytes;
        let forwarded = same(&profile, &[job, mix()], 10_000_000_000);
        assert!(forwarded * 10 > requests * 9, "{name}: {forwarded} of {requests}");
    }
}

/// What a stream of writes may meet.
fn meet(profile: &mut Profile, segments: u64, dram_blocks: u64, destage_blocks: u64, tracks_per_band: u64) {
    let blocks = |blocks: u64| blocks * 4096;
    profile.dram.write_segments = segments;
    profile.dram.write_bytes = blocks(dram_blocks);
    profile.dram.destage_bytes = blocks(destage_blocks).min(blocks(dram_blocks));
    if let Some(part) = &mut profile.shingled {
        part.tracks_per_band = tracks_per_band;
        (part.streams.tracked, part.streams.durable) = (2, true);
        (part.streams.min_request_bytes, part.streams.min_run_bytes) = (4096, 1 << 20);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn streams_are_written_the_same(
        which in 0..4_usize,
        blocks in prop_oneof![Just(256_u64), Just(128), Just(32), 1..300_u64],
        depth in prop::sample::select(vec![1_u64, 2, 3, 4, 8, 16, 24]),
        share in 0.0..0.9_f64,
        count in 200..4000_u64,
        interval_ns in prop_oneof![Just(1_000_000_000_u64), 20_000_000..60_000_000_000_u64],
        (segments, room_blocks, destage_share) in (2..64_u64, prop_oneof![Just(0), 0..4096_u64], 0.0..1.0_f64),
        tracks_per_band in prop_oneof![1..4_u64, 4..40_u64],
        (skew, rate_mb_s) in (prop::sample::select(vec![None, Some(0.0), Some(200.0)]), prop::sample::select(vec![40.0, 150.0, 400.0])),
        (before, by_pressure, durable) in (0..4_u8, any::<bool>(), 0..4_u8),
    ) {
        let name = ["canvio-3tb", "st8000as0002", "wd40efax", "skylight-3"][which];
        let mut profile = profile(name, 100);
        // Where there is less room than for all, some wait for it.
        let dram_blocks = (blocks * depth + room_blocks).saturating_sub(room_blocks % 3 / 2 * 1000).max(blocks);
        let destage_blocks = 1 + (destage_share * (blocks * depth) as f64) as u64 / 2;
        meet(&mut profile, segments, dram_blocks, destage_blocks, tracks_per_band);
        if let Some(part) = profile.shingled.as_mut().filter(|_| by_pressure) {
            (part.cleaning.driven, part.cleaning.idle_ms) = (drive::CleaningDriven::Pressure, 0.0);
        }
        profile.interface.rate_mb_s = rate_mb_s;
        if let Some(degrees) = skew {
            (profile.geometry.track_skew_degrees, profile.geometry.cylinder_skew_degrees) = (degrees, degrees);
        }
        let capacity_blocks = profile.geometry.capacity_bytes / 4096;
        let at = (share * capacity_blocks as f64) as u64;
        let durable = if durable == 0 { "" } else { "\nsync=1" };
        let bytes = blocks * 4096;
        let write = |offset: u64, number: u64| {
            format!("rw=write\nbs={bytes}\niodepth={depth}\noffset={}\nnumber_ios={number}{durable}", offset * 4096)
        };
        let mut jobs = vec![write(at, count), mix(), write(at / 2, count / 2)];
        match before {
            0 => jobs.insert(0, format!("rw=randwrite\nbs=4k\nnumber_ios=2000\noffset={}\nsize=200m", at * 4096)),
            1 => {
                jobs.insert(0, read(4096 * 7, at + 5000, 20));
                jobs.insert(2, read(4096 * 7, at + 5000, 40));
            }
            2 => jobs.push(format!("rw=write\nbs={bytes}\niodepth={depth}\nruntime=3\ntime_based{durable}")),
            _ => {}
        }
        same(&profile, &jobs, interval_ns);
    }

    #[test]
    fn streams_are_read_the_same(
        which in 0..5_usize,
        divisor in prop::sample::select(vec![100_u32, 1000]),
        bytes in prop_oneof![Just(131_072_u64), Just(524_288), Just(1 << 20), (1..300_u64).prop_map(|blocks| blocks * 4096)],
        share in 0.0..0.9_f64,
        count in 1000..20_000_u64,
        interval_ns in prop_oneof![Just(1_000_000_000_u64), 300_000_000..60_000_000_000_u64],
        skew in prop::sample::select(vec![None, Some(0.0), Some(30.0)]),
        before in any::<bool>(),
        (laid_out, cleans, left_open) in (0..8_u8, 0..6_u8, prop::option::of((0.0..0.9_f64, 300..1500_u64))),
        (dirty, sectors) in (any::<bool>(), prop_oneof![4 => Just(0_u64), 1 => 1..8_u64]),
    ) {
        let name = ["canvio-3tb", "st12000vn0007", "st8000as0002", "wd40efax", "wd40efrx"][which];
        let mut profile = profile(name, divisor);
        if let Some(degrees) = skew {
            (profile.geometry.track_skew_degrees, profile.geometry.cylinder_skew_degrees) = (degrees, degrees);
        }
        lay_out(&mut profile, laid_out);
        clean(&mut profile, cleans);
        let blocks = profile.geometry.capacity_bytes / 4096;
        let mut jobs = vec![read(bytes, (share * blocks as f64) as u64, count), mix()];
        if before {
            jobs.insert(0, read(4096 * 7, (share * blocks as f64) as u64 + 5000, 20));
            jobs.push(read(bytes, (share * blocks as f64) as u64 / 2, count));
        }
        if let Some((share, count)) = left_open {
            // All of it bypasses the cache, and its last band is open when the reads come.
            let offset = (share * blocks as f64) as u64 * 4096;
            jobs.insert(0, format!("rw=write\nbs=64k\noffset={offset}\nnumber_ios={count}\nsync=1"));
        }
        if dirty {
            // DRAM holds all of some reads.
            let offset = (share * blocks as f64) as u64 * 4096 + 50 * bytes;
            jobs.insert(jobs.len() - 1, format!("rw=write\nbs={bytes}\nnumber_ios=3\noffset={offset}"));
            jobs.insert(jobs.len() - 1, read(bytes, (share * blocks as f64) as u64, count));
        }
        if sectors > 0 {
            // Those that follow are of no whole blocks.
            jobs.push(format!("rw=read\nbs={bytes}\nnumber_ios=20"));
            jobs.push(format!("rw=read\nbs={}\nnumber_ios=1500\noffset={}", bytes + sectors * 512, 20 * bytes));
        }
        same(&profile, &jobs, interval_ns);
    }
}

/// Puts a drive behind a bridge, or cache and bands of a shingled one elsewhere, or leaves them.
fn lay_out(profile: &mut Profile, laid_out: u8) {
    if laid_out == 3 {
        let part = BridgeProfile { bridge_us: 250.0, max_transfer_bytes: 122_880, bridge_queue: 1 };
        profile.interface.bridge = Some(part);
    }
    let Some(part) = &mut profile.shingled else { return };
    match laid_out {
        0 => part.cache.place = CachePlace::Inner,
        1 if part.cache.bytes > 64 * part.cache.packet_bytes => part.cache.place = CachePlace::Spread { regions: 2 },
        2 => {
            (profile.geometry.zones, part.tracks_per_band) = (2, part.tracks_per_band.min(8));
            part.mapping = Mapping::Dynamic { spare_bands: 2 };
        }
        _ => {}
    }
}

/// When a shingled drive cleans: as its profile says, in the least silence there is or none, under pressure, or what it has begun first.
fn clean(profile: &mut Profile, cleans: u8) {
    let Some(part) = &mut profile.shingled else { return };
    (part.streams.tracked, part.streams.durable) = (2, true);
    (part.streams.min_request_bytes, part.streams.min_run_bytes) = (4096, 65_536);
    match cleans {
        0 => part.cleaning.idle_ms = 1.0,
        1 => part.cleaning.idle_ms = 0.0,
        2 => (part.cleaning.driven, part.cleaning.idle_ms) = (CleaningDriven::Pressure, 0.0),
        3 => (part.cleaning.idle_ms, part.cleaning.finishes_phase) = (1.0, true),
        4 => (part.cleaning.idle_ms, part.cleaning.finishes_band) = (1.0, true),
        _ => {}
    }
}
