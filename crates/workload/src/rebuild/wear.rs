//! A drive that has been in use.

use drive::{BlockDevice, Completion, Drive, Request, Verb};

/// No drive takes more before its persistent cache is full.
const MOST_WRITES: u64 = 4_000_000;
const WRITE_BYTES: u64 = 4096;

/// Writes 4 KiB at random places of the first `bytes`, each when the one before is acknowledged, until the persistent cache
/// of a shingled drive is full and it has to clean before it can go on; returns when that was. So
/// is a drive when it has seen random writes for hours. One without such a cache keeps no memory of its past.
pub fn wear(drive: &mut Drive, bytes: u64, seed: u64) -> u64 {
    let mut random = sim::stream(seed, "a drive in use");
    let (mut now_ns, mut completions): (u64, Vec<Completion>) = (0, Vec::new());
    if !drive.is_shingled() {
        return now_ns;
    }
    for _ in 0..MOST_WRITES {
        let offset_bytes = random.below(bytes / WRITE_BYTES) * WRITE_BYTES;
        drive.submit(now_ns, Request { tag: 0, verb: Verb::Write, fua: false, offset_bytes, bytes: WRITE_BYTES });
        completions.clear();
        now_ns = drive.advance_to_completion(u64::MAX, &mut completions);
        if drive.truth().forced_passes > 0 {
            break;
        }
    }
    now_ns
}
