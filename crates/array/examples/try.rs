use array::md::{Array, Options};
use drive::{BlockDevice, Drive, Profile};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let layout: array::Layout = args[1].parse().unwrap();
    let width: usize = args[2].parse().unwrap();
    let base = Profile::parse(&std::fs::read_to_string(format!("drives/{}.toml", args[3])).unwrap()).unwrap();
    let repl = Profile::parse(&std::fs::read_to_string(format!("drives/{}.toml", args[4])).unwrap()).unwrap();
    let gib: u64 = args[5].parse().unwrap();
    let at: f64 = args[6].parse().unwrap();
    let drives: Vec<Drive> = (0..width).map(|i| Drive::new(if i == 0 { &repl } else { &base }, i as u64)).collect();
    let mut options = Options::new(layout, width, 3500 << 30).unwrap();
    if let Some(most) = args.get(7) {
        options.stripe_cache_most = most.parse().unwrap();
    }
    let mut array = Array::new(options, drives, 0).unwrap();
    let from = (at * (3500_u64 << 30) as f64) as u64 >> 20 << 20;
    array.recover(0, from, from + (gib << 30)).unwrap();
    let began = std::time::Instant::now();
    array.finish_recovery(u64::MAX);
    let wall = began.elapsed().as_secs_f64();
    let outcome = array.outcome().unwrap();
    let requests: u64 = outcome.members.iter().map(|m| m.counters.requests).sum();
    println!(
        "{:.1} MiB/s, {} requests, wall {wall:.2} s, {:.2} M/s; {:?}",
        gib as f64 * 1024.0 / (outcome.duration_ns as f64 / 1e9),
        requests,
        requests as f64 / wall / 1e6,
        outcome.ended
    );
    for m in [0, 1] {
        let s = outcome.members[m];
        println!(
            "  member {m}: awaited {:.2} busy {:.2} mean request {} KiB longest {} ms",
            s.awaited,
            s.counters.busy_ns as f64 / outcome.duration_ns as f64,
            (s.counters.bytes_read + s.counters.bytes_written) / s.counters.requests.max(1) / 1024,
            s.counters.longest_command_ns / 1_000_000
        );
    }
    let _ = array.capacity_bytes();
}
