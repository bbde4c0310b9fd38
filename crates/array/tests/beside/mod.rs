//! Linux md beside a load: who waits for whom.

use array::md::{Array, Options};
use array::Layout;
use drive::{BlockDevice, Request, Verb};

use crate::plain::Plain;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const CHUNK: u64 = 512 * KIB;

fn array(layout: Layout) -> Array<Plain> {
    let bytes = 1025 * MIB;
    let options = Options::new(layout, 4, bytes).unwrap();
    Array::new(options, vec![Plain::new(bytes); 4], 0).unwrap()
}

fn submit(array: &mut Array<Plain>, at_ns: u64, verb: Verb, offset_bytes: u64, bytes: u64) {
    array.submit(at_ns, Request { tag: 0, verb, fua: false, offset_bytes, bytes });
}

fn reads(array: &Array<Plain>) -> usize {
    (0..4).map(|member| array.members().device(member).reads().len()).sum()
}

/// Somebody waits for them (`REQ_SYNC`), so they have `STRIPE_PREREAD_ACTIVE` from the beginning.
#[test]
fn a_write_reads_what_it_needs_while_others_still_do() {
    let mut array = array(Layout::Raid5);
    submit(&mut array, 0, Verb::Write, 0, 16 * KIB);
    submit(&mut array, 50_000, Verb::Write, 9 * CHUNK, 16 * KIB);
    array.advance(60_000, &mut Vec::new());
    assert_eq!(reads(&array), 4, "two each, and none has ended by then");
}

/// The array's own thread handles stripes, and who submits several requests at once is not interrupted by it.
#[test]
fn writes_of_one_moment_that_make_a_row_read_nothing() {
    let written = |times: [u64; 3]| {
        let mut array = array(Layout::Raid5);
        for (chunk, at_ns) in times.into_iter().enumerate() {
            submit(&mut array, at_ns, Verb::Write, chunk as u64 * CHUNK, CHUNK);
        }
        array.advance(1_000_000_000, &mut Vec::new());
        reads(&array)
    };
    assert_eq!(written([0, 0, 0]), 0);
    assert!(written([0, 1, 2]) > 0);
}

/// `raise_barrier` waits until nobody waits, so one request is let in before the next block; whoever asks for a block
/// while others wait first sleeps a jiffy (`schedule_timeout_uninterruptible(1)`), and when the block before ends
/// meanwhile all of them have their turn.
#[test]
fn in_raid10_the_host_has_one_turn_and_then_a_jiffy() {
    let mut array = array(Layout::Raid10);
    let used = array.options().used_bytes();
    array.recover(3, 0, used).unwrap();
    // Not rebuilt yet: only the third member has it, from which the last is filled.
    for part in 0..5 {
        submit(&mut array, 1_000_000, Verb::Read, (2 * 2000 + 1) * CHUNK + part * 32 * KIB, 16 * KIB);
    }
    array.advance(2_000_000_000, &mut Vec::new());
    let asked = array.members().device(2).reads();
    let lengths: Vec<u64> = asked.iter().map(|range| (range.end - range.start) / KIB).collect();
    let first = lengths.iter().position(|kib| *kib == 16).unwrap();
    let before: u64 = lengths[..first].iter().sum();
    assert_eq!(before, 32 * KIB, "what the recovery had asked for when nobody waited");
    assert_eq!(lengths[first..first + 6], [16, 64, 16, 16, 16, 16]);
}
