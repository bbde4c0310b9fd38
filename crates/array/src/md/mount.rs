//! What mounting an ext4 asks of the array it is on, one request behind the other: that leaves some of what lies first on each drive in its memory.

use drive::{BlockDevice, Request, Verb};

use super::array::{Array, Until};
use super::array_thread::OFFSET_BYTES;
use super::bitmaps::Bitmaps;
use super::journal::SUPERBLOCK_BYTES;
use super::unit::{Purpose, READING};

const KIB: u64 = 1 << 10;
const BLOCK_BYTES: u64 = 4 << 10;
/// Of whoever mounts, who asks for one thing at a time.
const TAG: u32 = 0;

/// Where `mount` looks what is on a device (libblkid): in KiB from its beginning, and from its end.
const LOOKS_KIB: [u64; 11] = [0, 4, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];
const LOOKS_FROM_END_KIB: [u64; 3] = [64, 8, 4];
/// Of these it reads all in the end.
const EDGE_BYTES: u64 = 512 << 10;

/// Blocks of a group, and groups that keep their tables together (`flex_bg`).
const GROUP_BLOCKS: u64 = 32768;
const FLEX_GROUPS: u64 = 16;
/// Descriptors of groups in a block, and room for those of a filesystem so many times as large (mke2fs's `resize_inode`),
const DESCRIPTORS: u64 = 64;
const GROWTH: u64 = 1024;
/// but in no more blocks.
const MOST_RESERVED: u64 = 1024;
/// mke2fs makes an inode for so many bytes, and puts so many in a block.
const INODE_RATIO_BYTES: u64 = 16 << 10;
const INODES: u64 = 16;

/// Where mke2fs has put things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Places {
    /// Descriptors of groups, behind the superblock.
    descriptor_blocks: u64,
    /// Block with the root's inode: the first of inodes.
    root_inode: u64,
    /// The first block that a file gets, the root directory.
    root: u64,
}

impl Places {
    /// Of a filesystem that fills so many bytes.
    fn of(capacity_bytes: u64) -> Self {
        let blocks = capacity_bytes / BLOCK_BYTES;
        let groups = blocks.div_ceil(GROUP_BLOCKS);
        let descriptor_blocks = groups.div_ceil(DESCRIPTORS);
        let grown_blocks = (blocks * GROWTH).min(u64::from(u32::MAX)).div_ceil(GROUP_BLOCKS).div_ceil(DESCRIPTORS);
        let reserved = grown_blocks.saturating_sub(descriptor_blocks).min(MOST_RESERVED);
        let together = groups.min(FLEX_GROUPS);
        let root_inode = 1 + descriptor_blocks + reserved + 2 * together;
        let inodes = (blocks * BLOCK_BYTES / INODE_RATIO_BYTES).div_ceil(groups);
        Self { descriptor_blocks, root_inode, root: root_inode + together * inodes.div_ceil(INODES) }
    }
}

/// All requests, on an array of so many bytes with a journal there.
fn requests(capacity_bytes: u64, journal_at_bytes: u64) -> impl Iterator<Item = Request> {
    let request = |verb, offset_bytes, bytes| Request { tag: TAG, verb, fua: false, offset_bytes, bytes };
    let read = move |offset_bytes, bytes| request(Verb::Read, offset_bytes, bytes);
    let Places { descriptor_blocks, root_inode, root } = Places::of(capacity_bytes);
    let from_end = move |bytes: u64| capacity_bytes.saturating_sub(bytes);
    let looks = LOOKS_FROM_END_KIB.into_iter().map(move |kib| from_end(kib * KIB));
    let looks = looks.chain(LOOKS_KIB.into_iter().map(|kib| kib * KIB)).map(move |at| read(at, BLOCK_BYTES));
    let edges = [0, from_end(EDGE_BYTES)].map(|at| read(at, EDGE_BYTES));
    let ext4 = [
        read(0, BLOCK_BYTES),
        read(BLOCK_BYTES, descriptor_blocks * BLOCK_BYTES),
        read(root_inode * BLOCK_BYTES, BLOCK_BYTES),
        read(journal_at_bytes, BLOCK_BYTES),
        request(Verb::Write, 0, SUPERBLOCK_BYTES),
        read(root * BLOCK_BYTES, BLOCK_BYTES),
    ];
    let is_there = move |request: &Request| request.offset_bytes + request.bytes <= capacity_bytes;
    looks.chain(edges).chain(ext4).filter(is_there)
}

impl<D: BlockDevice> Array<D> {
    /// Assembles the array, then mounts the filesystem whose journal lies there and looks into it. Lets time pass until so long after
    /// that began, and until no drive has anything to do.
    pub fn mount(&mut self, journal_at_bytes: u64, lasts_ns: u64) {
        self.assemble();
        let until_ns = self.now_ns + lasts_ns;
        self.bitmaps = Some(Bitmaps::of(&self.options, self.now_ns, 0));
        for request in requests(self.capacity_bytes(), journal_at_bytes) {
            self.wait_for(request);
        }
        self.run(until_ns.max(self.now_ns), Until::Then);
        self.rest();
    }

    /// Reads the superblocks, for which all drives load their heads at once.
    fn assemble(&mut self) {
        let number = self.units.make(Purpose::Bitmap);
        for member in 0..self.roles.len() {
            self.units.get_mut(number).part(READING, Verb::Read, member, OFFSET_BYTES, BLOCK_BYTES);
        }
        self.begin(number);
        self.rest();
    }

    /// Makes what was written durable, and lets time pass until no drive has anything to do.
    pub fn make_durable(&mut self) {
        let flush = Request { tag: TAG, verb: Verb::Flush, fua: false, offset_bytes: 0, bytes: 0 };
        self.wait_for(flush);
        self.rest();
    }

    /// Asks for something, and lets time pass until its answer.
    fn wait_for(&mut self, request: Request) {
        self.submit(self.now_ns, request);
        self.run(u64::MAX, Until::Due);
        self.due.clear();
    }

    /// Lets time pass until no drive has anything to do.
    pub fn rest(&mut self) {
        while let Some(at_ns) = self.members.next_event_ns() {
            self.run(at_ns, Until::Then);
        }
    }
}

#[cfg(test)]
mod tests {
    use drive::{Drive, Profile};

    use super::*;
    use crate::layout::Layout;
    use crate::md::Options;

    const MIB: u64 = 1 << 20;

    fn options(layout: Layout, width: usize) -> Options {
        Options::new(layout, width, 4_000_784_384).unwrap()
    }

    /// Where the lab's requests go, on arrays of drives of 4 GB.
    #[test]
    fn tables_lie_where_mke2fs_puts_them() {
        let layouts = [
            (Layout::Raid1, 2, 1, 510, 8654),
            (Layout::Raid10, 4, 1, 986, 9130),
            (Layout::Raid5, 4, 2, 1059, 9203),
            (Layout::Raid6, 4, 1, 986, 9130),
        ];
        for (layout, width, descriptor_blocks, root_inode, root) in layouts {
            let places = Places::of(options(layout, width).capacity_bytes());
            assert_eq!(places, Places { descriptor_blocks, root_inode, root }, "{layout:?}");
        }
    }

    #[test]
    fn nothing_lies_behind_the_end() {
        for capacity_bytes in [4 << 10, 1 << 20, 40 << 20] {
            let all: Vec<Request> = requests(capacity_bytes, 8 << 20).collect();
            assert!(!all.is_empty());
            assert!(all.iter().all(|request| request.offset_bytes + request.bytes <= capacity_bytes));
        }
    }

    /// Bitmaps are read at any time up to five seconds behind the mount, and superblocks written when the array is clean.
    #[test]
    fn no_drive_has_anything_to_do_behind_it() {
        let profile = Profile::parse(include_str!("../../../../drives/wd40efrx.toml")).unwrap().scaled(1000).unwrap();
        for seed in 0..300 {
            let options = Options { seed, ..options(Layout::Raid5, 4) };
            let drives = (0..4).map(|seed| Drive::new(&profile, seed)).collect();
            let mut array = Array::new(options, drives, 0).unwrap();
            let lasts_ns = (seed + 1) * 17_000_000;
            array.mount(1 << 30, lasts_ns);
            assert!((lasts_ns..lasts_ns + 1_000_000_000).contains(&array.now_ns()), "seed {seed}: {}", array.now_ns());
            let mut completions = Vec::new();
            for mut drive in array.into_devices() {
                drive.advance(20_000_000_000, &mut completions);
            }
            assert_eq!(completions, [], "seed {seed}");
        }
    }

    /// The second pair of a raid10 is asked for what lies 512 KiB into the array, and reads on over where the root's inode lies. What lies
    /// behind nobody has asked for.
    #[test]
    fn drives_hold_what_a_mount_has_read() {
        let profile = Profile::parse(include_str!("../../../../drives/wd40efrx.toml")).unwrap().scaled(1000).unwrap();
        let options = options(Layout::Raid10, 4);
        let data_bytes = options.data_offset_bytes();
        let answers_within_us = |at_bytes: u64| {
            let drives = (0..4).map(|seed| Drive::new(&profile, seed)).collect();
            let mut array = Array::new(options.clone(), drives, 0).unwrap();
            array.mount(2 << 30, 950_000_000);
            let mut source = array.into_devices().swap_remove(2);
            let read = Request { tag: 0, verb: Verb::Read, fua: false, offset_bytes: at_bytes, bytes: BLOCK_BYTES };
            source.submit(2_000_000_000, read);
            let mut completions = Vec::new();
            source.advance(3_000_000_000, &mut completions);
            (completions[0].completed_ns - 2_000_000_000) / 1000
        };
        assert!(answers_within_us(data_bytes) < 500);
        assert!(answers_within_us(data_bytes + 3 * MIB) < 500);
        assert!(answers_within_us(data_bytes + 10 * MIB) > 1000);
    }
}
