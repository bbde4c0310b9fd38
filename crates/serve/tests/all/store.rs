//! The store gives back what it was given, and harms no file that is not its own.

use proptest::prelude::*;
use serve::{Store, StoreError};

const SECTOR: usize = 512;
const SECTORS: usize = 256;

#[derive(Clone, Debug)]
enum Step {
    Write(u8),
    Discard,
    Zero,
}

fn steps() -> impl Strategy<Value = Vec<(Step, usize, usize)>> {
    let step = prop_oneof![3 => any::<u8>().prop_map(Step::Write), 1 => Just(Step::Discard), 1 => Just(Step::Zero)];
    prop::collection::vec((step, 0..SECTORS, 1..=64_usize), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn reads_back_what_a_plain_array_would(steps in steps()) {
        let store = Store::temporary((SECTORS * SECTOR) as u64).expect("a sparse file");
        let mut naive = vec![0; SECTORS * SECTOR];
        for (step, first, count) in steps {
            let range = first * SECTOR..(first + count).min(SECTORS) * SECTOR;
            let (offset, bytes) = (range.start as u64, range.len() as u64);
            let fill = if let Step::Write(seed) = step { seed } else { 0 };
            match step {
                Step::Write(_) => store.write(offset, &vec![fill; range.len()]),
                Step::Discard => store.discard(offset, bytes),
                Step::Zero => store.write_zeros(offset, bytes),
            }.expect("the store works");
            naive[range].fill(fill);
        }
        let mut found = vec![0xee; SECTORS * SECTOR];
        store.read(0, &mut found).expect("the store works");
        prop_assert!(found == naive);
    }
}

#[test]
fn twelve_terabytes_cost_what_they_hold() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let capacity_bytes = 12_000_138_625_024;
    let store = Store::named(&path, capacity_bytes).expect("a sparse file");
    store.write(capacity_bytes - 4096, &[9; 4096]).expect("the last block");
    let mut last = [0; 8192];
    store.read(capacity_bytes - 8192, &mut last).expect("the last two blocks");
    assert_eq!(last[..], [[0; 4096], [9; 4096]].concat());
    let occupied = || std::fs::metadata(&path).expect("it is there").blocks() * 512;
    assert!(occupied() < 1 << 20, "{}", occupied());
    store.write(0, &vec![1; 8 << 20]).expect("8 MiB");
    assert!(occupied() >= 8 << 20);
    store.discard(0, 8 << 20).expect("and away again");
    assert!(occupied() < 1 << 20, "{}", occupied());
}

#[test]
fn a_named_store_is_gone_on_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    Store::named(&path, 1 << 20).expect("new").write(512, &[3; 512]).expect("kept");
    let mut found = [0; 512];
    Store::named(&path, 1 << 20).expect("the same again").read(512, &mut found).expect("still there");
    assert_eq!(found, [3; 512]);
}

#[test]
fn files_of_others_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    std::fs::write(&path, "a letter").expect("a file");
    let refusal = Store::named(&path, 1 << 20);
    assert!(matches!(refusal, Err(StoreError::OtherSize { found_bytes: 8, .. })), "{refusal:?}");
    assert_eq!(std::fs::read(&path).expect("untouched"), b"a letter");
    assert!(matches!(Store::named(folder.path(), 1 << 20), Err(StoreError::NotAFile(_))));
    assert!(matches!(Store::named("/dev/null".as_ref(), 1 << 20), Err(StoreError::NotAFile(_))));
    let fresh = folder.path().join("fresh");
    let _first = Store::named(&fresh, 1 << 20).expect("new");
    assert!(matches!(Store::named(&fresh, 1 << 20), Err(StoreError::Locked(_))));
    assert!(matches!(Store::named(&folder.path().join("huge"), u64::MAX >> 1), Err(StoreError::Io { .. })));
}
