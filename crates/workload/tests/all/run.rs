//! What a running job promises, whatever the device.

use crate::device::FixedLatency;
use drive::{Status, Verb};
use proptest::prelude::*;
use workload::{Direction, JobFile, Row, Run};

const CAPACITY: u64 = 1 << 30;
const SECOND_NS: u64 = 1_000_000_000;

fn play(job: &str, device: &mut FixedLatency, interval_ns: u64, seed: u64) -> Vec<Row> {
    let mut run = Run::start(JobFile::parse(job, CAPACITY).unwrap(), 0, interval_ns, seed);
    let mut rows = Vec::new();
    while !run.is_over() {
        rows.extend(run.advance(device, 7));
    }
    rows
}

fn count(rows: &[Row]) -> u64 {
    rows.iter().map(|row| row.count).sum()
}

#[test]
fn a_day_of_silence_is_rows_of_nothing() {
    let mut device = FixedLatency::new(CAPACITY, 32, 5 * SECOND_NS + 1);
    let rows = play("rw=read\nbs=4k\nnumber_ios=2", &mut device, SECOND_NS, 1);
    let counts: Vec<u64> = rows.iter().map(|row| row.count).collect();
    assert_eq!(counts, [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
    assert_eq!((rows[0].latency_p50_ns, rows[5].latency_max_ns), (None, Some(5 * SECOND_NS + 1)));
    let last = rows[10];
    assert_eq!((last.start_ns, last.duration_ns), (10 * SECOND_NS, 2));
}

#[test]
fn waiting_in_the_host_counts_into_the_latency() {
    let mut device = FixedLatency::new(CAPACITY, 2, 1000);
    let rows = play("rw=randread\niodepth=8\nnumber_ios=800", &mut device, SECOND_NS, 1);
    // Eight in flight, two served side by side: four turns of a microsecond each.
    assert_eq!(rows[0].latency_p50_ns, Some(4000));
    assert_eq!(rows[0].duration_ns, 400_000);
}

/// The device itself checks that nothing stands beside a flush.
#[test]
fn a_flush_that_stands_alone_waits_for_others_and_they_for_it() {
    const JOB: &str = "[global]\nnumber_ios=40\n[reads]\nrw=randread\niodepth=4\n[writes]\nrw=randwrite\nfsync=4\n";
    for through_linux in [false, true] {
        let mut took_ns = Vec::new();
        for speaks_ata in [false, true] {
            let mut device = FixedLatency::new(CAPACITY, 32, 1_000_000);
            device.speaks_ata = speaks_ata;
            let run = Run::start(JobFile::parse(JOB, CAPACITY).unwrap(), 0, SECOND_NS, 1);
            let mut run = if through_linux { run.through_linux() } else { run };
            let mut rows = Vec::new();
            while !run.is_over() {
                rows.extend(run.advance(&mut device, 7));
            }
            assert_eq!(count(&rows), 80);
            assert_eq!(
                device.asked.iter().filter(|(_, request)| request.verb == Verb::Flush).count(),
                9,
                "fio sends none behind the last"
            );
            let last_read = device.asked.iter().rfind(|(_, request)| request.verb == Verb::Read).unwrap();
            took_ns.push(last_read.0);
        }
        assert!(took_ns[1] > took_ns[0], "readers wait for flushes: {took_ns:?}");
    }
}

#[test]
fn stonewalled_jobs_follow_each_other_and_others_do_not() {
    let first_write = |stonewall: &str| {
        let mut device = FixedLatency::new(CAPACITY, 32, 1000);
        let job = format!("[a]\nrw=read\nnumber_ios=10\n[b]\n{stonewall}\nrw=write\nnumber_ios=5\n");
        let rows = play(&job, &mut device, SECOND_NS, 1);
        assert_eq!(count(&rows), 15);
        device.asked.iter().find(|(_, request)| request.verb == Verb::Write).unwrap().0
    };
    assert_eq!((first_write(""), first_write("stonewall")), (0, 10_000));
}

#[test]
fn copies_are_offset_apart_and_draw_apart() {
    let mut device = FixedLatency::new(CAPACITY, 32, 1000);
    play("rw=randread\nsize=25%\noffset_increment=25%\nnumjobs=4\nnumber_ios=100", &mut device, SECOND_NS, 1);
    let quarter = |number: u64| -> Vec<u64> {
        let offsets = device.asked.iter().map(|(_, request)| request.offset_bytes);
        offsets.filter(|offset| offset / (CAPACITY / 4) == number).map(|offset| offset % (CAPACITY / 4)).collect()
    };
    assert!((0..4).all(|number| quarter(number).len() == 100));
    assert_ne!(quarter(0), quarter(1));
}

#[test]
fn runtime_ends_a_time_based_job_after_its_ramp() {
    let mut device = FixedLatency::new(CAPACITY, 32, 1_000_000);
    let rows = play("rw=read\nsize=64k\ntime_based\nruntime=2\nramp_time=3\nstartdelay=1", &mut device, SECOND_NS, 1);
    assert_eq!(rows[0].start_ns, 4 * SECOND_NS);
    assert_eq!(rows.iter().map(|row| row.duration_ns).sum::<u64>(), 2 * SECOND_NS);
    // 1 ms each; the one that completes just as the ramp ends counts.
    assert_eq!(count(&rows), 2001);
}

#[test]
fn thinktime_pauses_after_so_many() {
    let mut device = FixedLatency::new(CAPACITY, 32, 1000);
    play("rw=read\nthinktime=9\nthinktime_blocks=2\nnumber_ios=6", &mut device, SECOND_NS, 1);
    let times: Vec<u64> = device.asked.iter().map(|(time_ns, _)| *time_ns).collect();
    assert_eq!(times, [0, 1000, 11_000, 12_000, 22_000, 23_000]);
}

#[test]
fn sync_writes_are_forced_and_fsync_flushes() {
    let mut device = FixedLatency::new(CAPACITY, 32, 1000);
    play("rw=randrw\nsync=1\nfsync=8\nnumber_ios=400\niodepth=4", &mut device, SECOND_NS, 1);
    let mut writes = 0;
    for (_, request) in &device.asked {
        assert_eq!(request.fua, request.verb == Verb::Write);
        writes += u64::from(request.verb == Verb::Write);
        assert!(request.verb != Verb::Flush || writes % 8 == 0);
    }
    let flushes = device.asked.iter().filter(|(_, request)| request.verb == Verb::Flush).count() as u64;
    // As in fio, a read after the flush leaves the number of writes where it is, and so brings on another one.
    assert!(flushes >= writes / 8 && writes > 150, "{flushes} flushes, {writes} writes");
}

#[test]
fn a_host_like_fio_looks_at_the_last_requests_together() {
    let job = JobFile::parse("rw=randread\nnorandommap\niodepth=4\nnumber_ios=4", CAPACITY).unwrap();
    // Those of fio go out 1280 ns apart.
    for (file, worst_ns, mean_ns) in [(job.clone(), 40_000, 25_000.0), (job.like_fio(), 38_720, 30_580.0)] {
        let mut device = FixedLatency::new(CAPACITY, 1, 10_000);
        let rows = Run::start(file, 0, SECOND_NS, 1).advance(&mut device, 9);
        assert_eq!((count(&rows), rows[0].latency_max_ns, rows[0].latency_mean_ns), (4, Some(worst_ns), Some(mean_ns)));
    }
}

#[test]
fn a_host_like_fio_begins_what_is_behind_a_stonewall_two_looks_after_it_saw_the_end() {
    let job = "number_ios=2\n[a]\nrw=read\n[b]\nstonewall\nrw=read\n[c]\nstonewall\nrw=read\n";
    let job = JobFile::parse(&format!("[global]\n{job}"), CAPACITY).unwrap();
    let look_ns = 100_051_300;
    let (plain, like_fio) = ((job.clone(), 0, [0, 2000, 4000]), (job.like_fio(), 1280, [0, 3 * look_ns, 6 * look_ns]));
    for (file, asks_ns, begins_ns) in [plain, like_fio] {
        let mut device = FixedLatency::new(CAPACITY, 32, 1000);
        Run::start(file, 0, SECOND_NS, 1).advance(&mut device, 9);
        let times: Vec<u64> = device.asked.iter().map(|(time_ns, _)| *time_ns).collect();
        assert_eq!(times, begins_ns.map(|begin_ns| [begin_ns, begin_ns + 1000 + asks_ns]).concat());
    }
}

#[test]
fn a_host_like_linux_merges_what_waits_and_splits_what_is_too_long() {
    let play = |job: &str| {
        let mut device = FixedLatency::new(CAPACITY, 2, 1000);
        let mut run = Run::start(JobFile::parse(job, CAPACITY).unwrap(), 0, SECOND_NS, 1).through_linux();
        let rows = run.advance(&mut device, 9);
        assert!(run.is_over());
        (device.asked.iter().map(|(_, request)| request.bytes >> 10).collect::<Vec<_>>(), count(&rows))
    };
    assert_eq!(play("rw=read\nbs=4k\niodepth=8\nnumber_ios=8"), (vec![4, 4, 24], 8));
    assert_eq!(play("rw=write\nbs=2m\niodepth=1\nnumber_ios=2"), (vec![1280, 768, 1280, 768], 2));
}

#[test]
fn a_host_like_linux_asks_again_after_thirty_seconds_and_gives_up_after_five_more_times() {
    let mut device = FixedLatency::new(CAPACITY, 32, 40 * SECOND_NS);
    let job = JobFile::parse("rw=write\nnumber_ios=1", CAPACITY).unwrap();
    let mut run = Run::start(job, 0, SECOND_NS, 1).through_linux();
    run.advance(&mut device, 1000);
    assert!(run.is_over());
    let times_s: Vec<u64> = device.asked.iter().map(|(time_ns, _)| time_ns / SECOND_NS).collect();
    assert_eq!(times_s, [0, 30, 60, 90, 120, 150]);
    assert!(device.asked.iter().all(|(_, request)| request.offset_bytes == 0));
    assert_eq!(run.failure().unwrap().status, Status::Aborted);
}

#[test]
fn a_failed_request_ends_its_job_only() {
    let mut device = FixedLatency::new(CAPACITY, 32, 1000);
    device.fails_at = Some(4096 * 5);
    let job = "[bad]\nrw=read\nnumber_ios=100\n[good]\nrw=write\noffset=50%\nnumber_ios=100";
    let mut run = Run::start(JobFile::parse(job, CAPACITY).unwrap(), 0, SECOND_NS, 1);
    let rows = run.advance(&mut device, 10);
    assert!(run.is_over());
    assert_eq!(
        rows.iter().map(|row| (row.direction, row.count)).collect::<Vec<_>>(),
        [(Direction::Read, 5), (Direction::Write, 100)]
    );
    let failure = run.failure().unwrap();
    assert_eq!((failure.job.as_str(), failure.at_ns), ("bad", 6000));
    assert_eq!(failure.status, Status::MediumError { offset_bytes: 4096 * 5 });
}

#[test]
fn an_answer_comes_as_a_request_ends_and_before_the_next_is_made() {
    let mut device = FixedLatency::new(CAPACITY, 4, 1000);
    let file = JobFile::parse("rw=randwrite\ntime_based\nruntime=1d", CAPACITY).unwrap();
    let mut run = Run::start(file.clone(), 0, SECOND_NS, 1);
    let answers = [10_500, 10_500, 13_000].map(|due_ns| {
        let rows = run.advance_to_answer(&mut device, due_ns);
        (count(&rows), run.now_ns(), device.asked.len())
    });
    assert_eq!(answers, [(11, 11_000, 11), (1, 12_000, 12), (1, 13_000, 13)]);
    run.stop(&mut device);
    assert_eq!((run.now_ns(), device.asked.len()), (13_000, 13));

    // Where nothing ends there is none, an interval long.
    let mut stalled = FixedLatency::new(CAPACITY, 4, 5 * SECOND_NS);
    let rows = Run::start(file, 0, SECOND_NS, 1).advance_to_answer(&mut stalled, 700);
    assert_eq!((rows.len(), rows[0].count, rows[0].duration_ns), (1, 0, SECOND_NS + 700));
}

#[test]
fn stop_leaves_the_device_idle() {
    let mut device = FixedLatency::new(CAPACITY, 4, 1_000_000);
    let file = JobFile::parse("rw=randwrite\niodepth=16\ntime_based\nruntime=1d", CAPACITY).unwrap();
    let mut run = Run::start(file, 0, SECOND_NS, 1);
    assert_eq!(run.advance(&mut device, 2).len(), 2);
    run.stop(&mut device);
    assert!(run.is_over() && run.advance(&mut device, 1).is_empty());
    assert_eq!(drive::BlockDevice::next_event_ns(&device), None);
    assert_eq!(run.now_ns(), 2 * SECOND_NS + 1_000_000);
}

#[test]
fn what_is_in_flight_at_an_end_counts_as_at_the_end_of_the_runtime() {
    // Seven seconds a request, eight in the device at once: the others wait in the host, and are in flight all the same.
    let busy = "rw=randwrite\niodepth=20\ntime_based";
    let ended_by_itself = |job: &str| {
        let mut device = FixedLatency::new(CAPACITY, 8, 7 * SECOND_NS);
        (play(&format!("{job}\nruntime=3s"), &mut device, SECOND_NS, 1), device.asked)
    };
    let ended = |job: &str| {
        let mut device = FixedLatency::new(CAPACITY, 8, 7 * SECOND_NS);
        let mut run = Run::start(JobFile::parse(&format!("{job}\nruntime=1d"), CAPACITY).unwrap(), 0, SECOND_NS, 1);
        let mut rows = run.advance(&mut device, 3);
        run.end();
        while !run.is_over() {
            rows.extend(run.advance(&mut device, 5));
        }
        (rows, device.asked)
    };
    let (rows, asked) = ended(busy);
    assert_eq!((rows.len(), count(&rows), asked.len()), (21, 20, 20));
    assert_eq!(rows[20].latency_max_ns, Some(21 * SECOND_NS));
    for job in [busy, "rw=randwrite\niodepth=3\nend_fsync=1\ntime_based", "rw=randread\nrate=100k\ntime_based"] {
        assert_eq!(ended(job), ended_by_itself(job), "{job}");
    }
}

#[test]
fn after_an_end_nobody_sleeps_or_begins() {
    for job in ["rw=read\nnumber_ios=1\nthinktime=1000s\nloops=9", "startdelay=1000s\nrw=read\nnumber_ios=9"] {
        let mut device = FixedLatency::new(CAPACITY, 4, 1000);
        let file = JobFile::parse(&format!("[a]\n{job}\n[b]\nstonewall\nrw=read\nnumber_ios=9"), CAPACITY).unwrap();
        let mut run = Run::start(file, 0, SECOND_NS, 1);
        let before = count(&run.advance(&mut device, 2));
        run.end();
        assert_eq!((run.advance(&mut device, 9).len(), run.now_ns()), (0, 2 * SECOND_NS));
        assert_eq!(device.asked.len() as u64, before);
    }
}

fn jobs() -> impl Strategy<Value = String> {
    let patterns =
        prop::sample::select(vec!["read", "randwrite", "randrw", "rw", "randread:4", "trim", "randtrimwrite"]);
    let blocks = prop::sample::select(vec![
        "bs=4k",
        "bs=512,64k",
        "bsrange=4k-32k",
        "bssplit=4k/50:8k/",
        "bs=12k",
        "bs=4k\nba=64k",
    ]);
    let extras = prop::sample::select(vec![
        "",
        "norandommap",
        "fsync=3",
        "thinktime=50us",
        "percentage_random=40",
        "random_distribution=zipf",
        "loops=2",
        "numjobs=3\noffset_increment=1m",
        "random_distribution=normal:30",
        "rate=8000k",
        "io_size=3m",
    ]);
    (patterns, blocks, extras, 1_u32..40, 0_u64..64, 65_u64..700).prop_map(
        |(rw, blocks, extra, depth, offset, size)| {
            format!("rw={rw}\n{blocks}\n{extra}\niodepth={depth}\noffset={offset}k\nsize={size}k\nruntime=5")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_request_leaves_its_region_and_rows_repeat(job in jobs(), seed in any::<u64>(), interval_ns in 1_000_000_u64..200_000_000) {
        let file = JobFile::parse(&job, CAPACITY).unwrap();
        let (begin, end) = (
            file.jobs[0].regions.iter().map(|region| region.begin_bytes).min().unwrap(),
            file.jobs[0].regions.iter().map(|region| region.end_bytes).max().unwrap(),
        );
        let mut device = FixedLatency::new(CAPACITY, 8, 37_000);
        let rows = play(&job, &mut device, interval_ns, seed);
        for (_, request) in device.asked.iter().filter(|(_, request)| request.verb != Verb::Flush) {
            prop_assert!(request.bytes > 0 && request.offset_bytes >= begin && request.offset_bytes + request.bytes <= end, "{:?}", request);
        }
        let transfers = device.asked.iter().filter(|(_, request)| request.verb != Verb::Flush);
        prop_assert_eq!(count(&rows), transfers.count() as u64);
        prop_assert!(rows.windows(2).all(|pair| pair[0].start_ns == pair[1].start_ns || pair[0].start_ns + pair[0].duration_ns == pair[1].start_ns));
        let mut again = FixedLatency::new(CAPACITY, 8, 37_000);
        prop_assert_eq!(play(&job, &mut again, interval_ns, seed), rows);
    }

    #[test]
    fn rates_are_kept_to_within_one_request(rate in 50_u64..5_000, depth in 1_u32..8) {
        let mut device = FixedLatency::new(CAPACITY, 32, 20_000);
        let job = format!("rw=randread\nrate_iops={rate}\niodepth={depth}\ntime_based\nruntime=3");
        play(&job, &mut device, SECOND_NS, 1);
        for (at, (time_ns, _)) in device.asked.iter().enumerate() {
            let allowed = (u128::from(*time_ns) * u128::from(rate) / u128::from(SECOND_NS)) as usize + 1;
            prop_assert!(at < allowed + 1, "request {} at {} ns", at, time_ns);
        }
        prop_assert!(device.asked.len().abs_diff(3 * rate as usize) <= 2, "{}", device.asked.len());
    }

    #[test]
    fn mixes_converge(percent in 0_u64..=100, seed in any::<u64>()) {
        let mut device = FixedLatency::new(CAPACITY, 32, 1000);
        let job = format!("rw=randrw\nrwmixread={percent}\nnumber_ios=20000\niodepth=4");
        let rows = play(&job, &mut device, SECOND_NS, seed);
        let reads: u64 = rows.iter().filter(|row| row.direction == Direction::Read).map(|row| row.count).sum();
        prop_assert!((reads as f64 / 20_000.0 - percent as f64 / 100.0).abs() < 0.02);
    }
}
