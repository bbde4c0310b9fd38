//! Fills a drive's persistent cache with durable 4 KiB writes, then leaves it alone but for a random read now and then,
//! and prints read latency and what is still cached: `cargo run --release -p drive --example drain -- PROFILE.toml
//! WRITES READ_EVERY_SECONDS HOURS`.

use drive::{BlockDevice, Completion, Drive, Profile, Request, Verb};
use sim::LatencyHistogram;

const BYTES: u64 = 4096;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, writes, every_s, hours] = arguments.as_slice() else {
        eprintln!("usage: drain PROFILE.toml WRITES READ_EVERY_SECONDS HOURS");
        std::process::exit(2);
    };
    let text = std::fs::read_to_string(path).expect("the profile is readable");
    let profile = Profile::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let mut drive = Drive::new(&profile, 1);
    let mut offsets = sim::stream(1, "offsets");
    let mut now_ns = 0;
    for _ in 0..writes.parse().expect("WRITES is a number") {
        now_ns = one(&mut drive, now_ns, Verb::Write, &mut offsets);
    }
    println!("after {:.0} s: {:?}", now_ns as f64 / 1e9, drive.truth());
    let every_ns = every_s.parse::<u64>().expect("READ_EVERY_SECONDS is a number") * 1_000_000_000;
    for hour in 1..=hours.parse().expect("HOURS is a number") {
        let mut histogram = LatencyHistogram::new();
        for _ in 0..3_600_000_000_000 / every_ns {
            let asked_ns = now_ns + every_ns;
            drive.advance(asked_ns, &mut Vec::new());
            now_ns = one(&mut drive, asked_ns, Verb::Read, &mut offsets);
            histogram.record(now_ns - asked_ns);
        }
        let mean_ms = histogram.mean_ns().unwrap_or(0.0) / 1e6;
        println!("hour {hour}: read {mean_ms:.1} ms, {} dirty bands", drive.truth().dirty_bands);
    }
}

fn one(drive: &mut Drive, now_ns: u64, verb: Verb, offsets: &mut sim::Stream) -> u64 {
    let offset_bytes = offsets.below(drive.capacity_bytes() / BYTES) * BYTES;
    drive.submit(now_ns, Request { tag: 0, verb, fua: true, offset_bytes, bytes: BYTES });
    let mut completions: Vec<Completion> = Vec::new();
    while completions.is_empty() {
        let event_ns = drive.next_event_ns().expect("a request is in flight");
        drive.advance(event_ns, &mut completions);
    }
    completions[0].completed_ns
}
