//! A drive that has been in use.

use drive::{BlockDevice, Completion, Drive, Request, Verb};

use super::{Stopped, Told};

/// No drive takes more before its persistent cache is full.
const MOST_WRITES: u64 = 4_000_000;
const WRITE_BYTES: u64 = 4096;
/// Between two looks at whether anybody waits.
const TOLD_WRITES: u64 = 4096;

/// Writes 4 KiB at random places of the first `bytes`, each when the one before is acknowledged, until the persistent cache
/// of a shingled drive is full and it has to clean before it can go on; returns when that was. So
/// is a drive when it has seen random writes for hours. One without such a cache keeps no memory of its past.
///
/// # Errors
/// Those of `told`: meanwhile nothing of the rebuild is done.
pub fn wear(drive: &mut Drive, bytes: u64, seed: u64, told: &mut Told) -> Result<u64, Stopped> {
    let mut random = sim::stream(seed, "a drive in use");
    let (mut now_ns, mut completions): (u64, Vec<Completion>) = (0, Vec::new());
    if !drive.is_shingled() {
        return Ok(now_ns);
    }
    for write in 0..MOST_WRITES {
        if write % TOLD_WRITES == 0 {
            told(0.0)?;
        }
        let offset_bytes = random.below(bytes / WRITE_BYTES) * WRITE_BYTES;
        drive.submit(now_ns, Request { tag: 0, verb: Verb::Write, fua: false, offset_bytes, bytes: WRITE_BYTES });
        completions.clear();
        now_ns = drive.advance_to_completion(u64::MAX, &mut completions);
        if drive.truth().forced_passes > 0 {
            break;
        }
    }
    Ok(now_ns)
}
