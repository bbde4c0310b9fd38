//! How many records each transaction group has, as a pool is filled: what the write throttle lets in, and what there is room for.

use std::ops::Range;

use super::files::Lengths;
use super::indirects::{BLOCK_BYTES as NAMES_BYTES, POINTERS};

/// Which share of what may be dirty a group is. Whoever fills a pool is held up from 60 % on (`zfs_delay_min_dirty_percent`), the
/// longer the less is left (`zfs_delay_scale`), so that a group grows until the one before it is written: of drives of 150 to 200 MB/s
/// that is reckoned to be nine tenths, and is 0.885 to 0.9 in lists of the lab's. As the first fills, none is being written.
const FIRST_SHARE: f64 = 0.76;
const SHARES: [f64; 2] = [0.885, 0.9];

/// Each block that is dirty counts as it is in memory (`dbuf_dirty`, `dmu_objset_willuse_space`): indirect blocks, too, and of what names all
/// files one in each of five levels (`DMU_META_DNODE`: 2^48 objects, 32 in a block, 1024 blocks in a pointer's).
const LEVELS_ABOVE_FILES: u64 = 5;

/// A mounted filesystem that is new has the files of each user counted (`dmu_objset_id_quota_upgrade_cb`). Who does waits for two groups behind
/// the one that is open (`txg_wait_synced` of 0): so many are written as soon as the one before is.
const HURRIED: u64 = 3;

/// Any other is once it has a fifth of what may be dirty (`zfs_dirty_data_sync_percent`).
const KICKED_PART: u64 = 5;

/// Who has waited for a group goes on in the open one, before anybody closes it: up to the end of its file in three lists of the lab's, up to here in
/// one of a file without an end.
const WOKEN_RECORDS: u64 = 105;

/// Files as they are written, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub files: Lengths,
    pub record_bytes: u64,
}

impl Written {
    /// What counts as dirty when these records are.
    pub fn dirty_bytes(&self, records: &Range<u64>) -> u64 {
        if records.is_empty() {
            return 0;
        }
        let Lengths { long, each } = self.files;
        let touched = |first: u64, end: u64, each: u64| if first < end { end.div_ceil(each) - first / each } else { 0 };
        let end = records.end.min(long);
        let of_long = touched(records.start, end, POINTERS) + u64::from(records.start < end && end > POINTERS);
        let of_others = touched(records.start.saturating_sub(long), records.end.saturating_sub(long), each);
        let names = of_long + of_others * each.div_ceil(POINTERS);
        (records.end - records.start) * self.record_bytes + (names + LEVELS_ABOVE_FILES) * NAMES_BYTES
    }

    /// Up to which record those from `begin` on count as no more than this.
    fn fitting(&self, begin: u64, bytes: u64) -> u64 {
        let (mut end, mut most) = (begin, begin + bytes / self.record_bytes);
        while end < most {
            let middle = end + (most - end).div_ceil(2);
            if self.dirty_bytes(&(begin..middle)) <= bytes {
                end = middle;
            } else {
                most = middle - 1;
            }
        }
        end
    }

    fn woken_until(&self, record: u64) -> u64 {
        record + self.files.left_of_begun(record).min(WOKEN_RECORDS)
    }
}

/// Up to which record each of so many groups goes. At most `most_dirty` bytes are dirty at a time, and `room` for what is not yet written where
/// so many records are.
pub(super) fn group_ends(
    files: Written,
    groups: u64,
    most_dirty: u64,
    room: impl Fn(u64) -> u64,
    source: &mut sim::Stream,
) -> Vec<u64> {
    let (mut ends, mut durable, mut begin) = (Vec::new(), 0, 0);
    for number in 0..groups {
        let share = if number == 0 { FIRST_SHARE } else { SHARES[0] + source.unit() * (SHARES[1] - SHARES[0]) };
        let throttled = begin + ((most_dirty / files.record_bytes) as f64 * share) as u64;
        // While it grows, the one before it is being written.
        let waits_at = files.fitting(begin, room(durable).saturating_sub(files.dirty_bytes(&(durable..begin))));
        let most = files.fitting(begin, room(begin));
        let woken_until = files.woken_until(waits_at).min(most);
        let kicked = if number < HURRIED { 0 } else { files.fitting(begin, most_dirty / KICKED_PART).min(most) };
        let end = if waits_at < throttled { woken_until.max(kicked).min(throttled) } else { throttled };
        ends.push(end.max(begin + 1));
        (durable, begin) = (begin, end.max(begin + 1));
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(file_records: u64) -> Written {
        let files = if file_records < u64::MAX { Lengths { long: 0, each: file_records } } else { Lengths::ONE };
        Written { files, record_bytes: 128 << 10 }
    }

    /// Of a mirror of 4 GB in which 14 metaslabs of 256 MiB are: 1188 records of which nothing is written.
    fn of_mirror(file_records: u64) -> Vec<u64> {
        let files = written(file_records);
        let shown = (14 << 28) - (128_u64 << 20);
        let room = |written: u64| (shown + shown / 32 - written * files.record_bytes) / 24;
        let ends = group_ends(files, 7, (2048 << 20) / 10, room, &mut sim::stream(1, "groups"));
        std::iter::once(0).chain(ends.clone()).zip(ends).map(|(begin, end)| end - begin).collect()
    }

    /// Whole files or not, each has as many indirect blocks as name all of it, of 128 KiB in memory as a record is; five levels are above.
    #[test]
    fn each_file_that_is_touched_has_its_names_dirty() {
        let blocks = |file_records, records: Range<u64>| written(file_records).dirty_bytes(&records) >> 17;
        assert_eq!([0..0, 95..96, 95..97, 96..97].map(|records| blocks(48, records)), [0, 1 + 6, 2 + 7, 1 + 6]);
        assert_eq!(blocks(1500, 0..1500), 1500 + 2 + 5);
        // Of one file what names the second 1024 is another block, and there is one above both.
        assert_eq!([0..1024, 1000..1025].map(|records| blocks(u64::MAX, records)), [1024 + 1 + 5, 25 + 3 + 5]);
    }

    #[test]
    fn who_was_woken_ends_a_file_that_was_begun() {
        let until = |file_records, record| written(file_records).woken_until(record);
        assert_eq!([95, 96, 97].map(|record| until(48, record)), [96, 96, 144]);
        assert_eq!([until(u64::MAX, 1180), until(200, 210)], [1180 + 105, 210 + 105]);
    }

    /// As the births of blocks show them in pools of the lab's, in each of several seeds' but for the fourth. The fourth is kicked some records sooner
    /// there, since a kernel has less memory than the machine.
    #[test]
    fn where_room_is_scarce_groups_are_as_large_as_in_the_lab() {
        let of_files = |records, lab: &[u64]| {
            let found = of_mirror(records);
            let apart: Vec<u64> = found.iter().zip(lab).map(|(one, other)| one.abs_diff(*other)).collect();
            assert!(apart.iter().all(|records| *records <= 6) && apart[..2] == [0, 0], "{found:?} for {lab:?}");
        };
        of_files(48, &[1158, 42, 1109, 310]);
        of_files(56, &[1162, 14, 1114, 311, 759, 336]);
        // Its third has 1015: nobody goes on in it when the second is durable.
        of_files(u64::MAX, &[1180, 105]);
    }
}
