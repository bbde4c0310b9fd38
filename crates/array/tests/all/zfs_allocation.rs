//! Where ZFS puts blocks, against stripes worked by hand and against what others published.

use array::zfs::{Column, Geometry};

const KIB: u64 = 1 << 10;

fn sectors(parity: u64, width: u64, data: u64) -> u64 {
    Geometry::raidz(parity, width, 12).unwrap().allocated_bytes(data * 4 * KIB) / (4 * KIB)
}

fn columns(geometry: &Geometry, offset_bytes: u64, bytes: u64) -> Vec<Column> {
    let mut columns = Vec::new();
    geometry.columns(offset_bytes, bytes, &mut columns);
    columns
}

#[test]
fn the_corrected_text_of_account_a_follows() {
    // R018 and R019: a record of 128 KiB, sectors of 4 KiB.
    for (parity, width, published_kib) in [(1, 4, 44), (2, 8, 24)] {
        let geometry = Geometry::raidz(parity, width, 12).unwrap();
        let largest = columns(&geometry, 0, 128 * KIB).iter().map(|column| column.bytes).max().unwrap();
        assert_eq!(largest, published_kib * KIB);
    }
}

/// Ahrens, "ZFS RAIDZ stripe width" (2014), the drawing of five drives in RAID-Z1: blocks of 8, 3, 5, 1 and so on sectors.
#[test]
fn the_blocks_of_the_stripe_width_article() {
    // "An 8-sector block takes 2 parity sectors"; "3 data, 1 parity"; "a one-sector block: 1 data, 1 parity";
    // allocations are multiples of parity + 1: 5 data + 2 parity are padded to 8.
    for (data, allocated) in [(8, 10), (3, 4), (1, 2), (5, 8), (4, 6), (2, 4)] {
        assert_eq!(sectors(1, 5, data), allocated, "{data} sectors");
    }
}

/// "Sector allocation" tables as in the raidz overhead sheets and in Joyent's "RAIDZ on-disk format vs. small blocks"
/// (2019): "until volblocksize is 4x the sector size, RAIDZ is as space hungry as mirroring, RAIDZ2 as triple mirroring".
#[test]
fn small_blocks_cost_as_much_as_mirrors() {
    for width in 4..=12 {
        assert_eq!(sectors(1, width, 1), 2);
        assert_eq!(sectors(1, width, 2), 4);
        assert_eq!(sectors(2, width, 1), 3);
        assert_eq!(sectors(2, width, 2), 6);
        assert_eq!(sectors(3, width, 1), 4);
        assert_eq!(sectors(3, width, 2), 8);
    }
}

/// 128 KiB in sectors of 4 KiB (32 data sectors), by hand: rows = ceil(32 / (width - parity)).
#[test]
fn a_record_over_the_widths() {
    let by_hand = [
        // parity, width, allocated: 32 + rows * parity, up to a multiple of parity + 1
        (1, 3, 48),  // 16 rows
        (1, 4, 44),  // 11 rows: 43
        (1, 5, 40),  // 8 rows
        (1, 6, 40),  // 7 rows: 39
        (1, 7, 38),  // 6 rows
        (1, 9, 36),  // 4 rows
        (1, 12, 36), // 3 rows: 35
        (2, 4, 66),  // 16 rows: 64
        (2, 6, 48),  // 8 rows
        (2, 8, 45),  // 6 rows: 44
        (2, 10, 42), // 4 rows: 40
        (2, 12, 42), // 4 rows: 40
        (3, 5, 80),  // 16 rows
        (3, 7, 56),  // 8 rows
        (3, 11, 44), // 4 rows
        (3, 12, 44), // 4 rows
    ];
    for (parity, width, allocated) in by_hand {
        assert_eq!(sectors(parity, width, 32), allocated, "raidz{parity} of {width}");
    }
}

#[test]
fn a_stripe_by_hand() {
    // raidz2 of 5, 7 data sectors at sector 3: three data columns, 2 full rows and 1 sector over. Big columns: P, Q, D0.
    let geometry = Geometry::raidz(2, 5, 12).unwrap();
    let found: Vec<(u32, u64, u64, bool)> = columns(&geometry, 3 * 4 * KIB, 28 * KIB)
        .iter()
        .map(|column| (column.member, column.offset_bytes / KIB, column.bytes / KIB, column.is_parity))
        .collect();
    assert_eq!(found, [(3, 0, 12, true), (4, 0, 12, true), (0, 4, 12, false), (1, 4, 8, false), (2, 4, 8, false)]);
}

#[test]
fn single_parity_changes_places_every_other_mebibyte() {
    let geometry = Geometry::raidz(1, 4, 12).unwrap();
    let (even, odd) = (columns(&geometry, 0, 128 * KIB), columns(&geometry, 1 << 20, 128 * KIB));
    assert_eq!((even[0].member, even[0].is_parity), (0, true));
    assert_eq!((odd[0].member, odd[0].is_parity), (1, true));
    assert_eq!((odd[1].member, odd[1].is_parity), (0, false));
}

/// `vdev_raidz_map_alloc`: each of the two comes with its row. The fourth sector behind a MiB is in row 64 of the last of four
/// members, the next one in row 65 of the first. Of a block of one sector the other members have nothing.
#[test]
fn columns_change_places_with_their_rows_and_only_where_there_is_one_of_parity() {
    let placed = |parity: u64, sector: u64, sectors: u64| -> Vec<(u32, u64, bool)> {
        let found = columns(&Geometry::raidz(parity, 4, 12).unwrap(), (1 << 20) + sector * 4 * KIB, sectors * 4 * KIB);
        assert!(found.iter().all(|column| column.bytes == 4 * KIB));
        found.iter().map(|column| (column.member, column.offset_bytes / (4 * KIB), column.is_parity)).collect()
    };
    assert_eq!(placed(1, 3, 2), [(0, 65, true), (3, 64, false), (1, 65, false)]);
    assert_eq!(placed(1, 0, 1), [(1, 64, true), (0, 64, false)]);
    assert_eq!(placed(2, 0, 1), [(0, 64, true), (1, 64, true), (2, 64, false)]);
}

#[test]
fn draid_fills_whole_stripes() {
    // draid2 of 8 data: 128 KiB are 4 rows of 8, 4 KiB still takes a row: 10 sectors of 4 KiB.
    let geometry = Geometry::draid(2, 8, 14, 2, 12).unwrap();
    assert_eq!(geometry.allocated_bytes(128 * KIB), 40 * 4 * KIB);
    assert_eq!(geometry.allocated_bytes(4 * KIB), 10 * 4 * KIB);
    assert!(columns(&geometry, 0, 4 * KIB).iter().all(|column| column.bytes == 4 * KIB));
}

/// No hole is ever too small to be used: whatever is allocated begins and ends where the smallest block could.
#[test]
fn allocations_are_multiples_of_the_smallest() {
    let raidz = |parity, width| Geometry::raidz(parity, width, 12).unwrap();
    let draid = Geometry::draid(2, 8, 14, 2, 12).unwrap();
    for (geometry, least) in
        [(Geometry::mirror(3, 12).unwrap(), 1), (raidz(1, 4), 2), (raidz(2, 7), 3), (raidz(3, 12), 4), (draid, 10)]
    {
        assert_eq!(geometry.alignment_bytes(), least * 4 * KIB, "{geometry:?}");
        assert_eq!(geometry.allocated_bytes(512), geometry.alignment_bytes(), "{geometry:?}");
        assert!((1..100).all(|data| geometry.allocated_bytes(data * 4 * KIB) % geometry.alignment_bytes() == 0));
    }
}

#[test]
fn columns_hold_what_is_allocated() {
    for (parity, width) in [(1, 3), (1, 4), (2, 7), (3, 12), (3, 90)] {
        let geometry = Geometry::raidz(parity, width, 12).unwrap();
        for data in 1..=64 {
            let held: u64 = columns(&geometry, 0, data * 4 * KIB).iter().map(|column| column.bytes).sum();
            let skipped = geometry.allocated_bytes(data * 4 * KIB) - held;
            assert!(skipped / (4 * KIB) <= parity, "raidz{parity} of {width}, {data} sectors");
        }
    }
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    for (refused, reason) in [
        (Geometry::raidz(3, 3, 12), "raidz3 of 3 members cannot be: it takes 4 or more"),
        (Geometry::mirror(1, 12), "mirror of 1 members cannot be"),
        (Geometry::raidz(1, 4, 3), "ZFS takes 9"),
        (Geometry::draid(1, 8, 9, 1, 12), "does not fit on 9 children less 1 spares"),
        (Geometry::draid(1, 0, 9, 1, 12), "at least one data drive"),
        (Geometry::draid(1, 4, 300, 1, 12), "2 to 255"),
        (Geometry::draid(4, 4, 20, 1, 12), "1, 2 or 3"),
        (Geometry::draid(1, 4, 9, 9, 12), "no room"),
    ] {
        assert!(refused.unwrap_err().to_string().contains(reason), "{reason}");
    }
}
