//! The same job files through the real fio (its `null` engine) and through ours: counts, bytes, and where they went.

use std::collections::BTreeSet;
use std::process::Command;

use crate::device::FixedLatency;
use drive::Verb;
use workload::{JobFile, Run};

const CAPACITY: u64 = 1 << 40;

/// Direction, offset, bytes.
type Asked = (&'static str, u64, u64);

/// Something that is true of a request among the others or not.
type Property<'a> = &'a dyn Fn(&[Asked], usize) -> bool;

/// What one of the two submitted, in order, and how many flushes.
struct Traffic {
    asked: Vec<Asked>,
    flushes: u64,
}

impl Traffic {
    fn sum(&self, direction: &str) -> (u64, u64) {
        let of = self.asked.iter().filter(|(name, _, _)| *name == direction);
        of.fold((0, 0), |(count, bytes), (_, _, more)| (count + 1, bytes + more))
    }

    fn places(&self) -> BTreeSet<(u64, u64)> {
        self.asked.iter().map(|(_, offset, bytes)| (*offset, *bytes)).collect()
    }
}

fn ours(job: &str) -> Traffic {
    made_of(JobFile::parse(job, CAPACITY).unwrap())
}

fn made_of(file: JobFile) -> Traffic {
    let mut device = FixedLatency::new(CAPACITY, 32, 10_000);
    let mut run = Run::start(file, 0, 1_000_000_000, 1);
    while !run.is_over() {
        run.advance(&mut device, 100);
    }
    let mut traffic = Traffic { asked: Vec::new(), flushes: 0 };
    for (_, request) in &device.asked {
        let name = match request.verb {
            Verb::Read => "read",
            Verb::Write => "write",
            Verb::Trim => "trim",
            Verb::Flush => {
                traffic.flushes += 1;
                continue;
            }
        };
        traffic.asked.push((name, request.offset_bytes, request.bytes));
    }
    traffic
}

/// `None`, with a word about it, where fio is not installed.
fn real(job: &str) -> Option<Traffic> {
    let folder = tempfile::tempdir().unwrap();
    let (file, log) = (folder.path().join("job.fio"), folder.path().join("iolog"));
    let common = format!("ioengine=null\nfilename=nowhere\nwrite_iolog={}\n", log.display());
    let text = job.replace("[job]\n", &format!("[job]\n{common}"));
    std::fs::write(&file, text).unwrap();
    let output = match Command::new("fio").arg("--output-format=json").arg(&file).current_dir(folder.path()).output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: fio cannot be started: {error}");
            return None;
        }
    };
    assert!(output.status.success(), "{job}\n{}", String::from_utf8_lossy(&output.stderr));
    let log = std::fs::read_to_string(log).unwrap();
    let asked = log.lines().filter_map(logged).collect();
    let flushes =
        log.lines().filter(|line| line.split_whitespace().any(|word| matches!(word, "sync" | "datasync"))).count()
            as u64;
    Some(Traffic { asked, flushes })
}

/// A line of fio's iolog: `[time] file action offset bytes`.
fn logged(line: &str) -> Option<Asked> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| matches!(*word, "read" | "write" | "trim"))?;
    let name = ["read", "write", "trim"].into_iter().find(|name| *name == words[at])?;
    Some((name, words.get(at + 1)?.parse().ok()?, words.get(at + 2)?.parse().ok()?))
}

fn both(options: &str) -> Option<(Traffic, Traffic)> {
    let job = format!("[job]\n{}\n", options.replace(' ', "\n"));
    Some((real(&job)?, ours(&job)))
}

#[test]
fn sequential_jobs_ask_the_very_same() {
    for options in [
        "rw=write bs=64k size=1m",
        "rw=read bs=8k size=1m offset=256k",
        "rw=write bs=64k size=1m io_size=256k",
        "rw=write bs=64k size=256k io_size=1m",
        "rw=write bs=64k size=256k io_size=300k",
        "rw=write bs=64k size=256k io_size=600k",
        "rw=read bs=4k size=64k loops=3",
        "rw=read bs=4k size=64k io_size=16k loops=3",
        "rw=read bs=4k size=64k io_size=80k loops=2",
        "rw=read bs=4k size=64k io_size=256k loops=2",
        "rw=read bs=4k size=1m number_ios=37",
        "rw=read bs=4k size=64k number_ios=37",
        "rw=read bs=4k size=64k number_ios=5 loops=2",
        "rw=read:4k bs=4k size=64k",
        "rw=write bs=4k size=64k fsync=4",
        "rw=write bs=4k size=64k fdatasync=3 end_fsync=1",
        "rw=write bs=4k size=64k end_fsync=1 loops=2",
        "rw=read bs=4k size=64k fsync=4 end_fsync=1",
        "rw=trim bs=64k size=1m",
        "rw=read bs=8k,16k size=1m",
        "rw=write bs=8k,16k size=1m",
        "rw=write bs=8k,16k, size=1m",
        "rw=write bs=,16k size=1m",
        "rw=write bs=4kib kb_base=1000 size=64kib",
    ] {
        let Some((real, ours)) = both(options) else {
            return;
        };
        assert_eq!(real.asked, ours.asked, "{options}");
        assert_eq!(real.flushes, ours.flushes, "{options}");
    }
}

/// Directions, places, and whether a request goes on behind the last one: all drawn as fio draws it.
#[test]
fn a_host_like_fio_draws_the_very_same() {
    for options in [
        "rw=randread bs=4k size=4m norandommap randrepeat=0 randseed=1 number_ios=300",
        "rw=randrw bs=8k size=2g rwmixread=70 norandommap randrepeat=0 randseed=1 number_ios=900",
        "rw=randrw bs=8k size=2g rwmixread=65 percentage_random=60 norandommap randrepeat=0 randseed=7 number_ios=900",
        "rw=randrw bs=8k size=2g rwmixread=10 percentage_random=50 norandommap number_ios=900",
        "rw=rw bs=32k size=2g rwmixread=50 number_ios=900",
        "rw=randwrite bs=4k size=1g percentage_random=30 norandommap number_ios=300",
        "rw=randread bs=4k size=4m randrepeat=0 randseed=1 number_ios=1000",
        "rw=randrw bs=16k size=8m rwmixread=70 randrepeat=0 randseed=7 number_ios=500",
    ] {
        let job = format!("[job]\n{}\n", options.replace(' ', "\n"));
        let Some(real) = real(&job) else {
            return;
        };
        let ours = made_of(JobFile::parse(&job, CAPACITY).unwrap().like_fio());
        assert_eq!(real.asked, ours.asked, "{options}");
    }
}

#[test]
fn random_jobs_cover_the_same_places() {
    for options in [
        "rw=randread bs=4k size=4m",
        "rw=randwrite bs=4k size=4m offset=1m",
        "rw=randwrite bs=64k size=4000k",
        "rw=randread bs=4k size=1m io_size=3m",
        "rw=randread bs=4k size=1m loops=2",
        "rw=randtrim bs=4k size=1m",
    ] {
        let Some((real, ours)) = both(options) else {
            return;
        };
        assert_eq!(real.places(), ours.places(), "{options}");
        for direction in ["read", "write", "trim"] {
            assert_eq!(real.sum(direction), ours.sum(direction), "{options}");
        }
    }
}

#[test]
fn random_jobs_without_map_do_as_much() {
    for options in [
        "rw=randread bs=4k size=1m norandommap",
        "rw=randwrite bs=4k size=1m io_size=3m norandommap=1",
        "rw=randwrite bs=4k ba=8k size=1m",
        "rw=randread bs=8k ba=4k size=1m",
        "rw=randread bs=4k size=1m random_distribution=zipf:1.1",
        "rw=randread bs=4k size=1m random_distribution=zoned:60/10:30/20:10/70",
        "rw=randwrite:8 bs=4k size=4m norandommap",
        "rw=randread bs=4k size=4m percentage_random=30 norandommap",
    ] {
        let Some((real, ours)) = both(options) else {
            return;
        };
        let step = if options.contains("ba=8k") { 8192 } else { 4096 };
        for direction in ["read", "write"] {
            let ((count, bytes), (our_count, our_bytes)) = (real.sum(direction), ours.sum(direction));
            assert!(
                count.abs_diff(our_count) <= 1 && bytes.abs_diff(our_bytes) <= 8192,
                "{options} {count} {our_count}"
            );
        }
        for traffic in [&real, &ours] {
            assert!(
                traffic.asked.iter().all(|(_, offset, bytes)| offset % step == 0 && offset + bytes <= 4 << 20),
                "{options}"
            );
        }
    }
}

#[test]
fn shares_agree() {
    let share = |traffic: &Traffic, is: Property| {
        let hits = (1..traffic.asked.len()).filter(|at| is(&traffic.asked, *at)).count();
        hits as f64 / (traffic.asked.len() - 1) as f64
    };
    let reads = |asked: &[Asked], at: usize| asked[at].0 == "read";
    let follows = |asked: &[Asked], at: usize| asked[at].1 == asked[at - 1].1 + asked[at - 1].2;
    let small = |asked: &[Asked], at: usize| asked[at].2 == 4096;
    let large = |asked: &[Asked], at: usize| asked[at].2 == 65536;
    let front = |asked: &[Asked], at: usize| asked[at].1 < 4 << 20;
    let cases: [(&str, Property); 9] = [
        ("rw=randrw rwmixread=70 bs=4k size=64m", &reads),
        ("rw=rw rwmixwrite=35 bs=4k size=64m", &reads),
        ("rw=randrw bs=4k size=64m", &reads),
        ("rw=randread bs=4k size=64m percentage_random=30 norandommap", &follows),
        ("rw=randread:8 bs=4k size=64m norandommap", &follows),
        ("rw=write bssplit=4k/60:64k/40 size=256m", &small),
        ("rw=randwrite bsrange=4k-64k size=256m norandommap", &large),
        ("rw=write bsrange=4k-64k size=256m", &small),
        ("rw=randread bs=4k size=64m random_distribution=zoned:60/6.25:40/93.75", &front),
    ];
    for (options, is) in cases {
        let options = options.replace("60/6.25:40/93.75", "60/5:40/95");
        let Some((real, ours)) = both(&options) else {
            return;
        };
        let (real, ours) = (share(&real, is), share(&ours, is));
        assert!((real - ours).abs() < 0.02, "{options}: fio {real}, ours {ours}");
    }
}

#[test]
fn variable_blocks_cover_every_byte_once() {
    let options = "rw=randwrite bsrange=4k-64k size=8m";
    let Some((real, ours)) = both(options) else {
        return;
    };
    for traffic in [real, ours] {
        let mut end = 0;
        for (offset, bytes) in traffic.places() {
            assert_eq!(offset, end);
            end = offset + bytes;
        }
        assert_eq!(end, 8 << 20);
    }
}

#[test]
fn skews_agree() {
    for distribution in ["zipf:1.2", "zipf:0.8", "pareto:0.2", "pareto:0.9", "normal", "normal:20"] {
        let Some((real, ours)) = both(&format!("rw=randread bs=4k size=256m random_distribution={distribution}"))
        else {
            return;
        };
        let busiest = |traffic: &Traffic, most: usize| {
            let mut counts = std::collections::HashMap::new();
            traffic.asked.iter().for_each(|(_, offset, _)| *counts.entry(*offset).or_insert(0_u64) += 1);
            let mut counts: Vec<u64> = counts.into_values().collect();
            counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
            counts.iter().take(most).sum::<u64>() as f64 / traffic.asked.len() as f64
        };
        for most in [10, 1000, 10_000] {
            let (real, ours) = (busiest(&real, most), busiest(&ours, most));
            assert!((real - ours).abs() < 0.02, "{distribution}: the {most} busiest have {real} in fio, {ours} here");
        }
    }
}

#[test]
fn mixed_jobs_flush_as_often() {
    let Some((real, ours)) = both("rw=randrw bs=4k size=64m fsync=8") else {
        return;
    };
    let ratio = real.flushes as f64 / ours.flushes as f64;
    assert!((0.95..1.05).contains(&ratio), "fio {}, ours {}", real.flushes, ours.flushes);
}

#[test]
fn trim_then_write_pairs_up() {
    for options in ["rw=trimwrite bs=64k size=1m", "rw=randtrimwrite bs=64k size=1m"] {
        let Some((real, ours)) = both(options) else {
            return;
        };
        for traffic in [&real, &ours] {
            for pair in traffic.asked.chunks(2) {
                assert_eq!((pair[0].0, pair[1].0, pair[0].1), ("trim", "write", pair[1].1), "{options}");
            }
        }
        assert_eq!((real.sum("trim"), real.sum("write")), (ours.sum("trim"), ours.sum("write")), "{options}");
        assert_eq!(real.places(), ours.places());
    }
}
