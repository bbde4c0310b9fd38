//! What stands between an array and its drives.

#[allow(dead_code, reason = "not all that it tells is looked at here")]
mod plain;

use array::members::{Ask, Members};
use drive::{BlockDevice, Verb};
use plain::Plain;

const KIB: u64 = 1 << 10;
const MOST_BYTES: u64 = 1280 * KIB;
const MOST_SEGMENTS: u64 = 254;

/// What a drive gets of two writes that follow each other behind a full queue, each of so much in so many pieces of memory.
fn merged(asks: [(u64, u64); 2]) -> Vec<u64> {
    let mut members = Members::new(vec![Plain::new(1 << 30)], 0, MOST_BYTES, 0).with_max_segments(MOST_SEGMENTS);
    let depth = u64::from(members.device(0).queue_depth());
    (0..depth).for_each(|at| members.submit(0, Verb::Write, at * MOST_BYTES, 4 * KIB, at));
    let mut offset_bytes = depth * MOST_BYTES;
    for (bytes, segments) in asks {
        members.ask(0, Ask { verb: Verb::Write, fua: false, offset_bytes, bytes, segments }, depth);
        offset_bytes += bytes;
    }
    members.step(u64::MAX, &mut Vec::new());
    while members.next_event_ns().is_some() {
        members.step(u64::MAX, &mut Vec::new());
    }
    members.device(0).writes()[depth as usize..].iter().map(|range| (range.end - range.start) / KIB).collect()
}

#[test]
fn what_waits_is_merged_as_far_as_the_list_of_segments_goes() {
    assert_eq!(merged([(960 * KIB, 1), (320 * KIB, 1)]), [1280]);
    assert_eq!(merged([(960 * KIB, 240), (320 * KIB, 80)]), [960, 320], "as long as may be, and in too many pieces");
    assert_eq!(merged([(960 * KIB, 240), (64 * KIB, 14)]), [1024]);
    assert_eq!(merged([(960 * KIB, 1), (384 * KIB, 1)]), [960, 384], "too long");
}
