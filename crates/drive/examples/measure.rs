//! Drives a profile in a closed loop and prints what comes out:
//! `cargo run --release -p drive --example measure -- PROFILE.toml rw bytes depth seconds [scale]`
//! where rw is `read`, `write`, `randread`, `randwrite` or `randsync` (writes that must be durable).

use std::time::Instant;

use drive::{BlockDevice, Completion, Drive, Profile, Request, Verb};
use sim::LatencyHistogram;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, pattern, bytes, depth, seconds, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: measure PROFILE.toml read|write|randread|randwrite|randsync BYTES DEPTH SECONDS [SCALE]");
        std::process::exit(2);
    };
    let text = std::fs::read_to_string(path).expect("the profile is readable");
    let scale = rest.first().map_or(1, |scale| scale.parse().expect("SCALE is a number"));
    let profile =
        Profile::parse(&text).and_then(|profile| profile.scaled(scale)).unwrap_or_else(|error| panic!("{error}"));
    let mut loop_ = ClosedLoop::new(Drive::new(&profile, 1), pattern, bytes.parse().expect("BYTES is a number"));
    let depth: u32 = depth.parse().expect("DEPTH is a number");
    let seconds: u64 = seconds.parse().expect("SECONDS is a number");
    let began = Instant::now();
    let windows = 10;
    for window in 1..=windows {
        let (count, histogram) = loop_.run(depth, seconds * 1_000_000_000 * window / windows);
        let window_s = seconds as f64 / windows as f64;
        println!(
            "{:8.1} s  {:9.1} IOPS  {:7.2} MiB/s  mean {:9.3} ms  p99 {:9.3}  max {:9.3}",
            window_s * window as f64,
            count as f64 / window_s,
            count as f64 * loop_.bytes as f64 / window_s / 1_048_576.0,
            histogram.mean_ns().unwrap_or(0.0) / 1e6,
            histogram.quantile_ns(0.99).unwrap_or(0) as f64 / 1e6,
            histogram.max_ns().unwrap_or(0) as f64 / 1e6,
        );
    }
    let wall = began.elapsed().as_secs_f64();
    println!("{} requests in {wall:.3} s: {:.2} M/s", loop_.total, loop_.total as f64 / wall / 1e6);
    println!("{:?}", loop_.drive.truth());
}

struct ClosedLoop {
    drive: Drive,
    verb: Verb,
    random: bool,
    fua: bool,
    bytes: u64,
    next: u64,
    offsets: sim::Stream,
    now_ns: u64,
    begun_ns: Vec<u64>,
    free: Vec<u32>,
    total: u64,
}

impl ClosedLoop {
    fn new(drive: Drive, pattern: &str, bytes: u64) -> Self {
        let verb = if pattern.contains("read") { Verb::Read } else { Verb::Write };
        Self {
            drive,
            verb,
            random: pattern.starts_with("rand"),
            fua: pattern.ends_with("sync"),
            bytes,
            next: 0,
            offsets: sim::stream(1, "offsets"),
            now_ns: 0,
            begun_ns: vec![0; 1024],
            free: Vec::new(),
            total: 0,
        }
    }

    fn run(&mut self, depth: u32, to_ns: u64) -> (u64, LatencyHistogram) {
        let mut histogram = LatencyHistogram::new();
        let mut completions: Vec<Completion> = Vec::new();
        if self.total == 0 {
            self.free.extend(0..depth);
        }
        loop {
            while let Some(tag) = self.free.pop() {
                self.submit(tag);
            }
            let Some(event_ns) = self.drive.next_event_ns().filter(|event_ns| *event_ns <= to_ns) else {
                break;
            };
            self.drive.advance(event_ns, &mut completions);
            for done in completions.drain(..) {
                histogram.record(done.completed_ns - self.begun_ns[done.tag as usize]);
                self.free.push(done.tag);
                self.now_ns = done.completed_ns;
                self.total += 1;
            }
            self.now_ns = event_ns;
        }
        self.drive.advance(to_ns, &mut completions);
        assert!(completions.is_empty(), "next_event_ns was later than a completion");
        self.now_ns = to_ns;
        (histogram.count(), histogram)
    }

    fn submit(&mut self, tag: u32) {
        let slots = self.drive.capacity_bytes() / self.bytes;
        let slot = if self.random { self.offsets.below(slots) } else { self.next % slots };
        self.next += 1;
        self.begun_ns[tag as usize] = self.now_ns;
        let request =
            Request { tag, verb: self.verb, fua: self.fua, offset_bytes: slot * self.bytes, bytes: self.bytes };
        self.drive.submit(self.now_ns, request);
    }
}
