//! The drives beside what others measured of them, by order of magnitude: within a factor of two of the row, unless the row
//! is a range itself. Accuracy is not asked here; a wrong mechanism misses by more.

use crate::rig::{profile, Host, GIB};
use drive::{BlockDevice, Completion, Profile, Request, Verb};

const S: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;

fn about(found: f64, published: f64, row: &str) {
    assert!(found > published / 2.0 && found < published * 2.0, "{row}: {found} instead of {published}");
}

/// Writes of `bytes` anywhere, one at a time, for `seconds`; returns how long each took.
fn random_writes(host: &mut Host, bytes: u64, fua: bool, seconds: u64) -> Vec<u64> {
    let slots = host.drive.capacity_bytes() / bytes;
    let mut offsets = sim::stream(1, "offsets");
    let until_ns = host.now_ns + seconds * S;
    let mut took_ns = Vec::new();
    while host.now_ns < until_ns {
        took_ns.push(host.ask(Verb::Write, offsets.below(slots) * bytes, bytes, fua));
    }
    took_ns
}

/// Writes `total_bytes` from `from_bytes` on with `depth` requests in flight; returns MiB/s.
fn stream(host: &mut Host, depth: u32, from_bytes: u64, bytes: u64, total_bytes: u64) -> f64 {
    let began_ns = host.now_ns;
    let mut done: Vec<Completion> = Vec::new();
    let (mut sent, mut answered) = (0, 0);
    while answered < total_bytes / bytes {
        while sent < total_bytes / bytes && sent - answered < u64::from(depth) {
            let request = Request {
                tag: sent as u32,
                verb: Verb::Write,
                fua: false,
                offset_bytes: from_bytes + sent * bytes,
                bytes,
            };
            host.drive.submit(host.now_ns, request);
            sent += 1;
        }
        host.now_ns = host.drive.next_event_ns().expect("requests are in flight");
        host.drive.advance(host.now_ns, &mut done);
        answered += done.drain(..).count() as u64;
    }
    total_bytes as f64 / MIB as f64 / ((host.now_ns - began_ns) as f64 / S as f64)
}

/// Mean latency in ms of twenty reads a minute, over an hour.
fn hour_of_probes(host: &mut Host, offsets: &mut sim::Stream) -> f64 {
    let slots = host.drive.capacity_bytes() / 4096;
    let mut sum_ns = 0;
    for _ in 0..60 {
        host.pause(60 * S);
        sum_ns += (0..20).map(|_| host.ask(Verb::Read, offsets.below(slots) * 4096, 4096, false)).sum::<u64>();
    }
    sum_ns as f64 / 1200.0 / 1e6
}

fn seconds(took_ns: &[u64]) -> f64 {
    took_ns.iter().sum::<u64>() as f64 / S as f64
}

fn per_second(took_ns: &[u64]) -> f64 {
    took_ns.len() as f64 / seconds(took_ns)
}

/// The writes before the first that waits for room in the cache, and those from it on. A journal update takes no such time;
/// the very first write finds the heads parked.
fn at_the_cliff(took_ns: &[u64]) -> (&[u64], &[u64]) {
    took_ns.split_at(1 + took_ns[1..].iter().position(|ns| *ns > S).expect("it collapses"))
}

#[test]
fn the_canvio_collapses_and_recovers() {
    let mut host = Host::new(&profile("canvio-3tb"));
    let took_ns = random_writes(&mut host, 4096, false, 120 * 60);
    let (before, after) = at_the_cliff(&took_ns);
    about(per_second(before), 120.0, "R021");
    about(seconds(before) / 60.0, 92.0, "R022");
    about(per_second(after), 1.5, "R023");
    about(*after.iter().max().unwrap() as f64 / S as f64, 8.0, "R026");
    let mut offsets = sim::stream(2, "probes");
    let busy_ms = hour_of_probes(&mut host, &mut offsets);
    let mut hours = 1;
    while host.drive.truth().dirty_bands > 0 {
        hour_of_probes(&mut host, &mut offsets);
        hours += 1;
    }
    about(f64::from(hours), 9.0, "R028");
    about(hour_of_probes(&mut host, &mut offsets) / busy_ms, 4.0, "R029");
}

#[test]
fn a_smaller_canvio_collapses_as_low() {
    for divisor in [10, 100, 1000] {
        let mut host = Host::new(&profile("canvio-3tb").scaled(divisor).unwrap());
        let took_ns = random_writes(&mut host, 4096, false, 92 * 60 / u64::from(divisor) + 60);
        let (before, after) = at_the_cliff(&took_ns);
        about(seconds(before) / 60.0 * f64::from(divisor), 92.0, "R022");
        let rate = per_second(after);
        assert!((1.0..20.0).contains(&rate), "R024: {rate} with 1/{divisor}");
    }
}

#[test]
fn the_canvio_takes_large_files_well() {
    let mut host = Host::new(&profile("canvio-3tb"));
    let long = stream(&mut host, 8, 0, MIB, 8 * GIB);
    assert!(long * 1.048_576 > 100.0, "a prefill at {long} MiB/s");
    // A file begins somewhere within a band.
    let file = stream(&mut host, 8, 100 * GIB + 12_345 * 4096, MIB, GIB);
    assert!(file > 0.7 * long, "R030: {file} of {long}");
}

#[test]
fn the_archive_drive_caches_a_quarter_million_small_writes() {
    let mut host = Host::new(&profile("st8000as0002"));
    let took_ns = random_writes(&mut host, 4096, false, 3600);
    let (before, after) = at_the_cliff(&took_ns);
    about(before.len() as f64, 250_000.0, "R033");
    assert!(per_second(after) < per_second(before) / 10.0);
}

#[test]
fn the_archive_drive_has_its_knee_with_durable_writes() {
    for (mib, rate, rate_row, knee_gib, knee_row, after_row) in
        [(1, 46.2, "R159", 17.2, "R160", "R161"), (4, 90.6, "R165", 27.6, "R166", "R167")]
    {
        let mut host = Host::new(&profile("st8000as0002"));
        let took_ns = random_writes(&mut host, mib * MIB, true, 1800);
        let (before, after) = at_the_cliff(&took_ns);
        about(per_second(before) * mib as f64, rate, rate_row);
        about(before.len() as f64 * mib as f64 / 1024.0, knee_gib, knee_row);
        // The charts (R161, R167) show each write's own rate, and their averages are means of those.
        let single = after.iter().map(|ns| (mib * S) as f64 / *ns as f64).sum::<f64>() / after.len() as f64;
        about(single, 8.5, after_row);
    }
}

fn a_red(depth: u32) -> (f64, f64) {
    let mut host = Host::new(&profile("wd40efax"));
    let fresh = stream(&mut host, depth, 0, 32 << 10, 8 * GIB);
    // More than the cache holds, so that from here on room has to be made for each write.
    stream(&mut host, depth, 8 * GIB, 32 << 10, 40 * GIB);
    assert!(host.drive.truth().forced_passes > 0);
    (fresh, stream(&mut host, depth, 48 * GIB, 32 << 10, 8 * GIB))
}

#[test]
fn the_red_falls_to_a_sixteenth_under_a_resilver_whatever_the_depth() {
    let (fresh, full) = a_red(1);
    about(fresh, 13.2, "R011");
    about(full, 13.2, "R011");
    let (_, deep) = a_red(8);
    assert!((deep / full - 1.0).abs() < 0.01, "{deep} and {full}: one stream keeps the log busy at any depth");
}

#[test]
fn the_red_loses_little_with_large_random_writes() {
    let rate = |profile: &Profile| per_second(&random_writes(&mut Host::new(profile), MIB, false, 300));
    let lost = 100.0 * (1.0 - rate(&profile("wd40efax")) / rate(&profile("st12000vn0007")));
    about(lost, 16.7, "R006");
}
