//! What a pool has of a drive, and the labels there: two at each end, with the pool's configuration and its uberblocks.

use std::ops::Range;

use drive::{BlockDevice, Request, Verb};

const LABEL_BYTES: u64 = 256 << 10;
const UBERBLOCKS_AT_BYTES: u64 = 128 << 10;
const UBERBLOCK_BYTES: u64 = 4 << 10;
const UBERBLOCKS_BYTES: u64 = 128 << 10;
const BOOT_AT_BYTES: u64 = 8 << 10;
const BOOT_BYTES: u64 = 8 << 10;
const CONFIGURATION_AT_BYTES: u64 = 16 << 10;
const CONFIGURATION_BYTES: u64 = 112 << 10;

/// Where the partition begins that a pool has of a drive (`NEW_START_BLOCK`; partitioning tools do the same).
pub const PARTITION_AT_BYTES: u64 = 1 << 20;
/// What of a partition lies before the end of its last label: these are aligned to their size.
pub(super) fn labelled_bytes(member_bytes: u64) -> u64 {
    member_bytes / LABEL_BYTES * LABEL_BYTES
}

/// Where the labels of a drive begin: those that are written first, then the others.
fn halves(member_bytes: u64) -> [[u64; 2]; 2] {
    let behind = labelled_bytes(member_bytes) - 2 * LABEL_BYTES;
    [[0, behind], [LABEL_BYTES, behind + LABEL_BYTES]]
}

/// Places and lengths of the configurations in half of the labels.
pub(super) fn configurations(member_bytes: u64, half: usize) -> [(u64, u64); 2] {
    halves(member_bytes)[half].map(|label| (label + CONFIGURATION_AT_BYTES, CONFIGURATION_BYTES))
}

/// Places and lengths of the uberblocks that a transaction group writes.
pub(super) fn uberblocks(member_bytes: u64) -> [(u64, u64); 4] {
    let [[one, other], [two, last]] = halves(member_bytes);
    [one, two, other, last].map(|label| (label + UBERBLOCKS_AT_BYTES, UBERBLOCK_BYTES))
}

/// Places and lengths of all that a new drive's labels begin with: room for a boot header, the configuration, and uberblocks.
pub(super) fn whole_labels(member_bytes: u64) -> Vec<(u64, u64)> {
    let parts = [
        (BOOT_AT_BYTES, BOOT_BYTES),
        (CONFIGURATION_AT_BYTES, CONFIGURATION_BYTES),
        (UBERBLOCKS_AT_BYTES, UBERBLOCKS_BYTES),
    ];
    let labels = halves(member_bytes).into_iter().flatten();
    labels.flat_map(|label| parts.map(|(at_bytes, bytes)| (label + at_bytes, bytes))).collect()
}

/// Who puts a drive into a pool has the configuration written to the labels of all of them. So no drive's heads are parked when
/// the resilver begins. Returns when that is done.
pub fn write_configuration<D: BlockDevice>(device: &mut D, partition: Range<u64>, mut now_ns: u64) -> u64 {
    let mut completions = Vec::new();
    let mut ask = |verb, within_bytes, bytes| {
        let offset_bytes = partition.start + within_bytes;
        device.submit(now_ns, Request { tag: 0, verb, fua: false, offset_bytes, bytes });
        completions.clear();
        now_ns = device.advance_to_completion(u64::MAX, &mut completions);
    };
    for half in 0..2 {
        for (offset_bytes, bytes) in configurations(partition.end - partition.start, half) {
            ask(Verb::Write, offset_bytes, bytes);
        }
        ask(Verb::Flush, 0, 0);
    }
    now_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;

    #[test]
    fn labels_are_aligned_to_their_size() {
        // As in a pool that `zpool create` made on a drive of 4,000,784,384 bytes.
        assert_eq!(PARTITION_AT_BYTES + halves(3806 << 20)[1][1], 3_991_666_688);
        assert_eq!(halves((1 << 30) + 4 * KIB), halves(1 << 30));
    }

    /// `vdev_label.c`: labels 0 and 2, then 1 and 3, of 256 KiB each: a boot header at 8 KiB, the configuration at 16, uberblocks from 128 on.
    #[test]
    fn two_labels_are_at_each_end_and_every_other_is_written_first() {
        let (bytes, mut new) = (1 << 30, whole_labels(1 << 30));
        let begins = [0, 256 * KIB, bytes - 512 * KIB, bytes - 256 * KIB];
        let at = |label: usize, kib: u64, long: u64| (begins[label] + kib * KIB, long * KIB);
        assert_eq!(configurations(bytes, 0), [0, 2].map(|label| at(label, 16, 112)));
        assert_eq!(configurations(bytes, 1), [1, 3].map(|label| at(label, 16, 112)));
        let mut all = uberblocks(bytes);
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3].map(|label| at(label, 128, 4)));
        new.sort_unstable();
        let whole = [0, 1, 2, 3].map(|label| [at(label, 8, 8), at(label, 16, 112), at(label, 128, 128)]);
        assert_eq!(new, whole.concat());
    }
}
