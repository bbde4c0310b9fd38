//! What the replay of a trace promises, whatever the device.

use crate::device::FixedLatency;
use drive::{Status, Verb};
use proptest::prelude::*;
use workload::{Replay, RequestColumns, Row, Run, Trace, TraceRequest};

const CAPACITY: u64 = 1 << 30;
const SECOND_NS: u64 = 1_000_000_000;

fn read(submitted_ns: u64, offset_bytes: u64) -> TraceRequest {
    TraceRequest { submitted_ns, verb: Verb::Read, offset_bytes, bytes: 4096 }
}

fn play(trace: &[TraceRequest], replay: Replay, device: &mut FixedLatency) -> (Vec<Row>, RequestColumns) {
    let trace = Trace::new(trace.to_vec(), CAPACITY).unwrap();
    let mut run = Run::replay(trace, replay, 5 * SECOND_NS, SECOND_NS).log_requests();
    let mut rows = Vec::new();
    while !run.is_over() {
        rows.extend(run.advance(device, 3));
    }
    assert_eq!(run.failure(), None);
    (rows, run.take_requests().unwrap().pop().unwrap_or_default())
}

/// When requests were submitted, in nanoseconds after the first.
fn submitted(columns: &RequestColumns) -> Vec<u64> {
    columns.submitted_ns.iter().map(|at_ns| at_ns - 5 * SECOND_NS).collect()
}

#[test]
fn a_timed_replay_keeps_the_times_however_slow_the_device() {
    let trace: Vec<_> = (0..4).map(|at| read(777 + at * 1000, at * 4096)).collect();
    let mut device = FixedLatency::new(CAPACITY, 1, 10_000);
    let (_, columns) = play(&trace, Replay::Timed { speed: 1.0 }, &mut device);
    assert_eq!(submitted(&columns), [0, 1000, 2000, 3000]);
    // One at a time: each waits in the host for those before it.
    let latencies: Vec<_> =
        columns.completed_ns.iter().zip(&columns.submitted_ns).map(|(to_ns, from_ns)| to_ns - from_ns).collect();
    assert_eq!(latencies, [10_000, 19_000, 28_000, 37_000]);
}

#[test]
fn an_end_leaves_out_the_rest_and_counts_what_is_in_flight() {
    let trace: Vec<_> = (0..4).map(|at| read(at * SECOND_NS, at * 4096)).collect();
    let mut device = FixedLatency::new(CAPACITY, 4, 10 * SECOND_NS);
    let replay = Replay::Timed { speed: 1.0 };
    let mut run = Run::replay(Trace::new(trace, CAPACITY).unwrap(), replay, 0, 2 * SECOND_NS);
    run.advance(&mut device, 1);
    run.end();
    let rows = run.advance(&mut device, 99);
    assert_eq!((rows.iter().map(|row| row.count).sum::<u64>(), run.now_ns()), (3, 12 * SECOND_NS));
}

#[test]
fn speed_divides_the_times() {
    let trace: Vec<_> = (0..3).map(|at| read(at * 1000, 0)).collect();
    for (speed, expected) in [(2.0, [0, 500, 1000]), (0.5, [0, 2000, 4000])] {
        let mut device = FixedLatency::new(CAPACITY, 8, 10);
        assert_eq!(submitted(&play(&trace, Replay::Timed { speed }, &mut device).1), expected);
    }
}

#[test]
fn as_fast_as_possible_keeps_its_depth_and_forgets_the_times() {
    let trace: Vec<_> = (0..6).map(|at| read(at * 3600 * SECOND_NS, at * 4096)).collect();
    let mut device = FixedLatency::new(CAPACITY, 8, 1000);
    let (rows, columns) = play(&trace, Replay::AsFastAsPossible { depth: 2 }, &mut device);
    assert_eq!(submitted(&columns), [0, 0, 1000, 1000, 2000, 2000]);
    assert_eq!((rows.len(), rows[0].count, rows[0].bytes, rows[0].duration_ns), (1, 6, 6 * 4096, 3000));
}

#[test]
fn all_verbs_reach_the_device_in_order() {
    let place = |verb, offset_bytes, bytes| TraceRequest { submitted_ns: 9, verb, offset_bytes, bytes };
    let trace =
        [place(Verb::Write, 512, 512), place(Verb::Flush, 0, 0), place(Verb::Trim, 0, 8192), place(Verb::Read, 0, 512)];
    let mut device = FixedLatency::new(CAPACITY, 8, 1000);
    let (rows, columns) = play(&trace, Replay::Timed { speed: 1.0 }, &mut device);
    let asked: Vec<_> = device.asked.iter().map(|(_, one)| (one.verb, one.offset_bytes, one.bytes)).collect();
    assert_eq!(asked, trace.map(|one| (one.verb, one.offset_bytes, one.bytes)));
    assert_eq!(columns.verb, [1, 3, 2, 0]);
    assert_eq!(
        rows.iter().map(|row| (row.direction.name(), row.count)).collect::<Vec<_>>(),
        [("read", 1), ("write", 1), ("trim", 1)]
    );
}

#[test]
fn a_failed_request_is_logged_and_does_not_end_the_replay() {
    let trace: Vec<_> = (0..3).map(|at| read(at * 10, at * 4096)).collect();
    let mut device = FixedLatency::new(CAPACITY, 8, 1000);
    device.fails_at = Some(5000);
    let (rows, columns) = play(&trace, Replay::Timed { speed: 1.0 }, &mut device);
    assert_eq!(columns.status, [0, workload::status_code(Status::MediumError { offset_bytes: 5000 }), 0]);
    assert_eq!(rows[0].count, 2);
}

#[test]
fn an_empty_trace_ends_at_once() {
    let (rows, columns) = play(&[], Replay::Timed { speed: 1.0 }, &mut FixedLatency::new(CAPACITY, 8, 1000));
    assert!(rows.is_empty() && columns.is_empty());
}

#[test]
fn what_cannot_be_asked_is_refused_with_its_place() {
    let good = read(10, 0);
    for (bad, reason) in [
        (TraceRequest { submitted_ns: 9, ..good }, "before the one in front"),
        (TraceRequest { bytes: 0, ..good }, "empty"),
        (TraceRequest { bytes: 100, ..good }, "whole sectors"),
        (TraceRequest { offset_bytes: 7, ..good }, "whole sectors"),
        (TraceRequest { offset_bytes: CAPACITY - 512, ..good }, "past the end"),
        (TraceRequest { offset_bytes: u64::MAX - 511, ..good }, "past the end"),
        (TraceRequest { verb: Verb::Flush, ..good }, "a flush has neither"),
    ] {
        let error = Trace::new(vec![good, bad], CAPACITY).unwrap_err();
        assert_eq!(error.request, 1);
        assert!(error.reason.contains(reason), "{error}");
    }
}

proptest! {
    /// Nothing is lost, made twice or made early, and never more in flight than asked for.
    #[test]
    fn every_request_is_made_once_and_answered(
        gaps_ns in prop::collection::vec(0_u64..5000, 1..200),
        latency_ns in 1_u64..20_000,
        queue_depth in 1_u32..8,
        depth in prop::option::of(1_u32..12),
    ) {
        let mut at_ns = 0;
        let trace: Vec<_> = gaps_ns.iter().enumerate().map(|(at, gap_ns)| {
            at_ns += gap_ns;
            read(at_ns, at as u64 * 4096)
        }).collect();
        let replay = depth.map_or(Replay::Timed { speed: 1.0 }, |depth| Replay::AsFastAsPossible { depth });
        let mut device = FixedLatency::new(CAPACITY, queue_depth, latency_ns);
        let (rows, columns) = play(&trace, replay, &mut device);
        prop_assert_eq!(rows.iter().map(|row| row.count).sum::<u64>(), trace.len() as u64);
        prop_assert_eq!(&columns.offset_bytes, &trace.iter().map(|one| one.offset_bytes).collect::<Vec<_>>());
        match depth {
            None => {
                let times: Vec<_> = trace.iter().map(|one| one.submitted_ns - trace[0].submitted_ns).collect();
                prop_assert_eq!(submitted(&columns), times);
            }
            Some(depth) => for at in depth as usize..trace.len() {
                prop_assert_eq!(columns.submitted_ns[at], columns.completed_ns[at - depth as usize]);
            },
        }
    }
}
