//! The data of one drive of the lab: in memory as far as that goes, then in a sparse file; zeros cost nothing.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use super::error::LabError;
use crate::store::Store;

/// What is stored or not: the unit in which zeros are noticed.
const BLOCK_BYTES: u64 = 4096;
/// Blocks that share an entry of the index: the bits of a word.
const GROUP_BLOCKS: u64 = 64;

/// Memory that the drives of a lab share for their data.
#[derive(Debug)]
pub(super) struct Budget {
    free_blocks: AtomicU64,
}

impl Budget {
    pub fn new(bytes: u64) -> Arc<Self> {
        Arc::new(Self { free_blocks: AtomicU64::new(bytes / BLOCK_BYTES) })
    }

    /// Whether there was room for another block.
    fn take(&self) -> bool {
        self.free_blocks.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| free.checked_sub(1)).is_ok()
    }

    fn give_back(&self, blocks: u32) {
        self.free_blocks.fetch_add(u64::from(blocks), Ordering::Relaxed);
    }
}

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It holds zeros.
    Nowhere,
    Memory,
    File,
}

/// Which blocks of a group hold something other than zeros, a bit each.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    in_memory: u64,
    in_file: u64,
}

/// Random access to a drive's bytes.
#[derive(Debug)]
pub(super) struct Blocks {
    capacity_bytes: u64,
    groups: BTreeMap<u64, Group>,
    memory: Store,
    budget: Arc<Budget>,
    file: Option<Store>,
    spill_folder: PathBuf,
}

impl Blocks {
    /// Data that is gone when this is dropped; what does not fit into `budget` goes to a nameless file in
    /// `spill_folder`.
    pub fn passing(capacity_bytes: u64, budget: Arc<Budget>, spill_folder: &Path) -> Result<Self, LabError> {
        let memory = Store::in_memory(capacity_bytes)?;
        let spill_folder = spill_folder.to_owned();
        Ok(Self { capacity_bytes, groups: BTreeMap::new(), memory, budget, file: None, spill_folder })
    }

    /// Data in a named file, which is gone on with if it is this drive's.
    pub fn kept(capacity_bytes: u64, path: &Path) -> Result<Self, LabError> {
        let file = Store::named(path, capacity_bytes)?;
        let mut blocks = Self::passing(capacity_bytes, Budget::new(0), Path::new(""))?;
        for range in file.data_ranges().map_err(LabError::Data)? {
            for block in range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES) {
                blocks.groups.entry(block / GROUP_BLOCKS).or_default().in_file |= 1 << (block % GROUP_BLOCKS);
            }
        }
        blocks.file = Some(file);
        Ok(blocks)
    }

    /// Bytes of blocks that are not zeros, in memory and in a file.
    pub fn stored_bytes(&self) -> (u64, u64) {
        self.groups.values().fold((0, 0), |(in_memory, in_file), group| {
            let bytes = |mask: u64| u64::from(mask.count_ones()) * BLOCK_BYTES;
            (in_memory + bytes(group.in_memory), in_file + bytes(group.in_file))
        })
    }

    /// Fills `buffer` from `offset_bytes` on.
    pub fn read(&self, offset_bytes: u64, buffer: &mut [u8]) -> Result<(), LabError> {
        let mut run = Run::default();
        for (block, to) in block_ends(offset_bytes, buffer.len()) {
            let place = self.place(block);
            if let Some((place, range)) = run.grow(place, to) {
                self.read_run(place, offset_bytes, &mut buffer[range.clone()], range.start)?;
            }
        }
        let (place, range) = run.end();
        self.read_run(place, offset_bytes, &mut buffer[range.clone()], range.start)
    }

    fn read_run(&self, place: Place, offset_bytes: u64, run: &mut [u8], at: usize) -> Result<(), LabError> {
        match self.store(place) {
            Some(store) => store.read(offset_bytes + at as u64, run).map_err(LabError::Data),
            None => {
                run.fill(0);
                Ok(())
            }
        }
    }

    /// Keeps `data` at `offset_bytes`.
    pub fn write(&mut self, offset_bytes: u64, data: &[u8]) -> Result<(), LabError> {
        let mut run = Run::default();
        let mut from = 0;
        for (block, to) in block_ends(offset_bytes, data.len()) {
            let place = self.place_of_new(block, &data[from..to])?;
            from = to;
            if let Some((place, range)) = run.grow(place, to) {
                self.write_run(place, offset_bytes, &data[range.clone()], range.start)?;
            }
        }
        let (place, range) = run.end();
        self.write_run(place, offset_bytes, &data[range.clone()], range.start)
    }

    fn write_run(&self, place: Place, offset_bytes: u64, run: &[u8], at: usize) -> Result<(), LabError> {
        match self.store(place) {
            Some(store) => store.write(offset_bytes + at as u64, run).map_err(LabError::Data),
            None => Ok(()),
        }
    }

    /// Where the block that is now to hold `data`, or to hold it in part, belongs.
    fn place_of_new(&mut self, block: u64, data: &[u8]) -> Result<Place, LabError> {
        let old = self.place(block);
        if is_zero(data) {
            if old != Place::Nowhere && data.len() as u64 == BLOCK_BYTES {
                self.clear(block * BLOCK_BYTES, BLOCK_BYTES)?;
                return Ok(Place::Nowhere);
            }
            return Ok(old);
        }
        if old != Place::Nowhere {
            return Ok(old);
        }
        let bit = 1 << (block % GROUP_BLOCKS);
        let fits = self.budget.take();
        let group = self.groups.entry(block / GROUP_BLOCKS).or_default();
        if fits {
            group.in_memory |= bit;
            return Ok(Place::Memory);
        }
        group.in_file |= bit;
        if self.file.is_none() {
            self.file = Some(Store::temporary_in(&self.spill_folder, self.capacity_bytes)?);
        }
        Ok(Place::File)
    }

    /// Makes a range read as zeros.
    pub fn clear(&mut self, offset_bytes: u64, bytes: u64) -> Result<(), LabError> {
        let group_bytes = GROUP_BLOCKS * BLOCK_BYTES;
        let end_bytes = offset_bytes + bytes;
        let mut emptied = Vec::new();
        for (key, group) in self.groups.range_mut(offset_bytes / group_bytes..end_bytes.div_ceil(group_bytes)) {
            let start = offset_bytes.max(key * group_bytes);
            let end = end_bytes.min((key + 1) * group_bytes);
            let touched = mask(start, end);
            let stores =
                [(group.in_memory & touched, Some(&self.memory)), (group.in_file & touched, self.file.as_ref())];
            for (_, store) in stores.into_iter().filter(|(blocks, _)| *blocks != 0) {
                store.map_or(Ok(()), |store| store.discard(start, end - start)).map_err(LabError::Data)?;
            }
            let whole = mask(start.next_multiple_of(BLOCK_BYTES), end / BLOCK_BYTES * BLOCK_BYTES);
            self.budget.give_back((group.in_memory & whole).count_ones());
            group.in_memory &= !whole;
            group.in_file &= !whole;
            if group.in_memory | group.in_file == 0 {
                emptied.push(*key);
            }
        }
        emptied.iter().for_each(|key| {
            self.groups.remove(key);
        });
        Ok(())
    }

    fn place(&self, block: u64) -> Place {
        let Some(group) = self.groups.get(&(block / GROUP_BLOCKS)) else { return Place::Nowhere };
        let bit = 1 << (block % GROUP_BLOCKS);
        match (group.in_memory & bit != 0, group.in_file & bit != 0) {
            (true, _) => Place::Memory,
            (_, true) => Place::File,
            _ => Place::Nowhere,
        }
    }

    fn store(&self, place: Place) -> Option<&Store> {
        match place {
            Place::Nowhere => None,
            Place::Memory => Some(&self.memory),
            Place::File => self.file.as_ref(),
        }
    }
}

/// Neighbouring blocks at one place: one system call for all of them.
struct Run {
    place: Place,
    range: Range<usize>,
}

impl Default for Run {
    fn default() -> Self {
        Self { place: Place::Nowhere, range: 0..0 }
    }
}

impl Run {
    /// Adds the block that ends at `to`; if it belongs elsewhere, the run so far is over and handed out.
    fn grow(&mut self, place: Place, to: usize) -> Option<(Place, Range<usize>)> {
        if self.place == place || self.range.is_empty() {
            self.place = place;
            self.range.end = to;
            return None;
        }
        let over = std::mem::replace(self, Self { place, range: self.range.end..to });
        Some(over.end())
    }

    fn end(self) -> (Place, Range<usize>) {
        (self.place, self.range)
    }
}

/// The blocks that a range touches, and where the part of each ends in the range.
fn block_ends(offset_bytes: u64, bytes: usize) -> impl Iterator<Item = (u64, usize)> {
    let end_bytes = offset_bytes + bytes as u64;
    (offset_bytes / BLOCK_BYTES..end_bytes.div_ceil(BLOCK_BYTES))
        .map(move |block| (block, (((block + 1) * BLOCK_BYTES).min(end_bytes) - offset_bytes) as usize))
}

fn is_zero(data: &[u8]) -> bool {
    data.chunks(64).all(|line| line.iter().fold(0, |sum, byte| sum | byte) == 0)
}

/// The bits of the blocks that a range within one group touches.
fn mask(start: u64, end: u64) -> u64 {
    if start >= end {
        return 0;
    }
    let first = start / BLOCK_BYTES % GROUP_BLOCKS;
    let last = (end - 1) / BLOCK_BYTES % GROUP_BLOCKS;
    (u64::MAX >> (GROUP_BLOCKS - 1 - (last - first))) << first
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECTOR: usize = 512;
    const SECTORS: usize = 2400;

    #[derive(Clone, Debug)]
    enum Step {
        Write(u8),
        Clear,
    }

    fn steps() -> impl Strategy<Value = Vec<(Step, usize, usize)>> {
        let step =
            prop_oneof![3 => any::<u8>().prop_map(Step::Write), 1 => Just(Step::Write(0)), 1 => Just(Step::Clear)];
        prop::collection::vec((step, 0..SECTORS, 1..900_usize), 1..40)
    }

    proptest! {
        /// Whatever fits into memory and whatever has to go to the file: a plain array would read the same.
        #[test]
        fn reads_back_what_a_plain_array_would(steps in steps(), memory_blocks in 0..200_u64, kept in any::<bool>()) {
            let folder = tempfile::tempdir().unwrap();
            let capacity_bytes = (SECTORS * SECTOR) as u64;
            let open = || match kept {
                true => Blocks::kept(capacity_bytes, &folder.path().join("store")).unwrap(),
                false => Blocks::passing(capacity_bytes, Budget::new(memory_blocks * BLOCK_BYTES), folder.path()).unwrap(),
            };
            let mut blocks = open();
            let mut naive = vec![0; SECTORS * SECTOR];
            for (step, first, count) in steps {
                let range = first * SECTOR..(first + count).min(SECTORS) * SECTOR;
                match step {
                    Step::Write(fill) => {
                        naive[range.clone()].fill(fill);
                        blocks.write(range.start as u64, &naive[range.clone()]).unwrap();
                    }
                    Step::Clear => {
                        naive[range.clone()].fill(0);
                        blocks.clear(range.start as u64, range.len() as u64).unwrap();
                    }
                }
            }
            let check = |blocks: &Blocks| {
                let mut found = vec![0xee; SECTORS * SECTOR];
                blocks.read(0, &mut found).unwrap();
                found == naive
            };
            prop_assert!(check(&blocks));
            let (in_memory, _) = blocks.stored_bytes();
            prop_assert!(in_memory <= memory_blocks * BLOCK_BYTES);
            if kept {
                drop(blocks);
                prop_assert!(check(&open()), "opened again");
            }
        }
    }

    #[test]
    fn zeros_cost_nothing_and_what_is_cleared_gives_its_room_back() {
        let budget = Budget::new(8 * BLOCK_BYTES);
        let folder = tempfile::tempdir().unwrap();
        let mut blocks = Blocks::passing(20_000_000_000_000 / 4096 * 4096, Arc::clone(&budget), folder.path()).unwrap();
        blocks.write(1 << 40, &vec![0; 1 << 20]).unwrap();
        assert_eq!(blocks.stored_bytes(), (0, 0));
        for _ in 0..3 {
            blocks.write(1 << 40, &vec![7; 8 * BLOCK_BYTES as usize]).unwrap();
            assert_eq!(blocks.stored_bytes(), (8 * BLOCK_BYTES, 0), "all of it fits, every time");
            blocks.clear(0, 1 << 43).unwrap();
            assert_eq!(blocks.stored_bytes(), (0, 0));
        }
    }
}
