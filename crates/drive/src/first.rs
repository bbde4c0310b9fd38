//! A test that among reads and writes that press the heads go to what the rules say, found by going through all of them.
//!
//! The drive finds it in one search where that tells, and else in several; which of these it was is not to be seen.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::drive::Drive;
use crate::geometry::BLOCK_SECTORS;
use crate::mechanics::Way;
use crate::profile::Profile;
use crate::range::Range;
use crate::request::{BlockDevice, Request, Verb};
use crate::work::Work;
use crate::writes::durable::Need;

/// What a drive whose heads get free may do with them: the read or the write that begins at a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Next {
    work: Work,
    sector: u64,
}

/// How soon the heads that get free at `at` come to where a range begins.
fn reach(drive: &Drive, at: u64, range: &Range, way: Way) -> u64 {
    let spot = drive.mechanics.spot(range.start / BLOCK_SECTORS);
    drive.mechanics.departure(&drive.head, at, way).reach(at, &spot)
}

/// Whom they go to by the rules. Of the writes only those may go that somebody waits for, or any where somebody waits for room; who is
/// there when the heads are goes before who is not; and of the nearest write and the nearest read the nearer.
fn expected(drive: &Drive, at: u64) -> Option<Next> {
    let flushes = drive.durable.iter().filter_map(|durable| match durable.need {
        Need::UpTo(sequence) => Some(sequence),
        Need::Range(..) => None,
    });
    let flushed = flushes.max().unwrap_or(0);
    let extents = drive.buffer.ranges().iter().enumerate().map(|(index, range)| (range, drive.buffer.about(index)));
    let may_go = extents.filter(|(_, about)| !drive.held.is_empty() || about.wanted || about.sequence <= flushed);
    let writes = may_go.map(|(range, about)| {
        let reach = reach(drive, at, range, Way::Write);
        (about.arrived > at + reach, reach, range.start)
    });
    let mut queue = drive.queue.clone();
    let reads = std::iter::from_fn(|| (!queue.is_empty()).then(|| queue.take(0).range));
    let read = reads.map(|range| (reach(drive, at, &range, Way::Read), range.start)).min();
    let write = writes.min().map(|(_, reach, sector)| (reach, sector));
    match (read, write) {
        (Some((nearer, sector)), Some((other, _))) if nearer <= other => Some(Next { work: Work::Read, sector }),
        (_, Some((_, sector))) => Some(Next { work: Work::Destage, sector }),
        (read, None) => read.map(|(_, sector)| Next { work: Work::Read, sector }),
    }
}

/// Whom they go to.
fn found(before: &Drive, at: u64) -> Option<Next> {
    let mut drive = before.clone();
    drive.run(at);
    let (work, _) = drive.work?;
    let sector = if work == Work::Destage {
        drive.in_flight.ranges()[0].start
    } else {
        let left = |drive: &Drive| {
            let mut queue = drive.queue.clone();
            std::iter::from_fn(|| (!queue.is_empty()).then(|| queue.take(0).range.start)).collect::<Vec<_>>()
        };
        let after = left(&drive);
        left(before).into_iter().find(|sector| !after.contains(sector))?
    };
    Some(Next { work, sector })
}

/// Asked for while the heads are at a read: whether a read, where, how much, and whether durable; 0 blocks are a flush.
type Ask = (bool, f64, u64, bool);

/// A drive whose heads are at a read, with all of these behind it; and when they get free.
fn asked(asks: &[Ask]) -> (Drive, u64) {
    let mut profile = Profile::parse(include_str!("../../../drives/st12000vn0007.toml")).unwrap();
    assert!(profile.dram.write_back);
    // So little that some wait for room.
    (profile.dram.write_bytes, profile.dram.write_segments) = (16 << 20, 16);
    let mut drive = Drive::new(&profile, 1);
    let blocks = drive.capacity_bytes() / 4096;
    drive.submit(0, Request { tag: 99, verb: Verb::Read, fua: false, offset_bytes: blocks / 2 * 4096, bytes: 4096 });
    for (tag, (reads, share, count, fua)) in (0..).zip(asks) {
        let verb = match (reads, count) {
            (_, 0) => Verb::Flush,
            (true, _) => Verb::Read,
            (false, _) => Verb::Write,
        };
        let first = (share * (blocks - count) as f64) as u64;
        drive.submit(0, Request { tag, verb, fua: *fua, offset_bytes: first * 4096, bytes: count * 4096 });
    }
    let (work, until) = drive.work.expect("the first read is under way");
    assert_eq!(work, Work::Read);
    (drive, until)
}

fn ask() -> impl Strategy<Value = Ask> {
    // Long writes are still on the link when the heads get free, and too many of them wait for room.
    let blocks = prop_oneof![6 => Just(1_u64), 2 => 1..2048_u64, 1 => 0..8192_u64, 1 => Just(0)];
    (any::<bool>(), 0.0..1.0_f64, blocks, any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn among_reads_and_writes_the_heads_go_where_the_rules_say(asks in prop::collection::vec(ask(), 1..31)) {
        let (drive, until) = asked(&asks);
        if !drive.queue.is_empty() && drive.writes_press() {
            prop_assert_eq!(found(&drive, until), expected(&drive, until));
        }
    }
}
