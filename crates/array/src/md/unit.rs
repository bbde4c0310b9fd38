//! What goes to the members together: reads, and when all of them are there, writes.

use drive::Verb;

use super::options::PAGE_BYTES;
use crate::command::Limits;

/// The first stage of a unit marks the bitmap, the second reads, the third writes.
pub(crate) const MARKING: u8 = 0;
pub(crate) const READING: u8 = 1;
pub(crate) const WRITING: u8 = 2;

/// One request to one member, in the stage in which it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub stage: u8,
    pub member: usize,
    pub verb: Verb,
    pub offset_bytes: u64,
    pub bytes: u64,
}

/// What a unit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Recovery of so many bytes of the replacement.
    Recovery,
    /// Requests of the host.
    Foreground,
    /// The bitmap's own, which nobody waits for.
    Bitmap,
    /// How far the recovery is, kept in the superblocks.
    Superblock,
}

/// A block of a recovery of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub bytes: u64,
    /// In how many pieces of memory its pages lie.
    pub segments: u16,
}

/// Parts that belong together.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub purpose: Purpose,
    pub parts: Vec<Part>,
    /// The stage that is under way.
    pub stage: u8,
    /// Members that have not answered yet in this stage, and how many requests to them are out.
    pub outstanding: u128,
    pub requests: u32,
    /// The requests of the host that wait for it.
    pub bios: Vec<u32>,
    /// The blocks that the recovery of copies recovers together, and the pages of memory that it reads them into.
    pub blocks: Vec<Block>,
    pub pages: Vec<u32>,
    /// The slabs that what is noted of its blocks lies in.
    pub slabs: Vec<u32>,
    /// Stripes of the stripe cache that it holds.
    pub stripes: u64,
    /// Bytes of the replacement that it recovers.
    pub recovers_bytes: u64,
    /// Members and their pages that could not be read on its way.
    pub unreadable: Vec<(usize, u64)>,
    /// Something of it could not be read, and could not be made up for.
    pub spoiled: bool,
}

impl Unit {
    fn empty() -> Self {
        Self {
            purpose: Purpose::Foreground,
            parts: Vec::new(),
            stage: 0,
            outstanding: 0,
            requests: 0,
            bios: Vec::new(),
            blocks: Vec::new(),
            pages: Vec::new(),
            slabs: Vec::new(),
            stripes: 0,
            recovers_bytes: 0,
            unreadable: Vec::new(),
            spoiled: false,
        }
    }

    /// Has it been in vain to read the page of a member that a byte lies in?
    pub fn could_not_read(&self, member: usize, offset_bytes: u64) -> bool {
        self.unreadable.contains(&(member, offset_bytes / PAGE_BYTES))
    }

    /// In how many pieces of memory it lies, as far as that is known.
    pub fn segments(&self) -> u64 {
        self.blocks.iter().map(|block| u64::from(block.segments)).sum::<u64>().max(1)
    }

    /// How many of its blocks there is room for, at least one.
    pub fn blocks_within(&self, room: Limits) -> usize {
        let (mut bytes, mut segments) = (0, 0);
        let fits = |block: &&Block| {
            (bytes, segments) = (bytes + block.bytes, segments + u64::from(block.segments));
            bytes <= room.bytes && segments <= room.segments
        };
        self.blocks.iter().take_while(fits).count().max(1)
    }

    /// Adds a part.
    pub fn part(&mut self, stage: u8, verb: Verb, member: usize, offset_bytes: u64, bytes: u64) {
        self.parts.push(Part { stage, member, verb, offset_bytes, bytes });
    }
}

/// Units by number; their memory is used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Units {
    units: Vec<Unit>,
    free: Vec<u32>,
}

impl Units {
    /// An empty unit and its number.
    pub fn make(&mut self, purpose: Purpose) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.units.push(Unit::empty());
            self.units.len() as u32 - 1
        });
        let unit = &mut self.units[number as usize];
        let Unit { mut parts, mut bios, mut blocks, mut pages, mut slabs, .. } = std::mem::replace(unit, Unit::empty());
        parts.clear();
        bios.clear();
        blocks.clear();
        pages.clear();
        slabs.clear();
        *unit = Unit { purpose, parts, bios, blocks, pages, slabs, ..Unit::empty() };
        number
    }

    /// Leaves a unit so many of its blocks, and gives the others to a new one in the same stage.
    pub fn split(&mut self, number: u32, blocks: usize) -> u32 {
        let rest = self.make(self.get(number).purpose);
        let mut unit = std::mem::replace(self.get_mut(number), Unit::empty());
        let other = self.get_mut(rest);
        let bytes: u64 = unit.blocks[..blocks].iter().map(|block| block.bytes).sum();
        let of_blocks = |memory: &Vec<u32>| memory.len() / unit.blocks.len() * blocks;
        let (pages, slabs) = (of_blocks(&unit.pages), of_blocks(&unit.slabs));
        other.stage = unit.stage;
        other.recovers_bytes = unit.recovers_bytes - bytes;
        other.blocks.extend(unit.blocks.drain(blocks..));
        other.pages.extend(unit.pages.drain(pages..));
        other.slabs.extend(unit.slabs.drain(slabs..));
        unit.recovers_bytes = bytes;
        for part in &mut unit.parts {
            other.part(part.stage, part.verb, part.member, part.offset_bytes + bytes, part.bytes - bytes);
            part.bytes = bytes;
        }
        *self.get_mut(number) = unit;
        rest
    }

    pub fn get(&self, number: u32) -> &Unit {
        &self.units[number as usize]
    }

    pub fn get_mut(&mut self, number: u32) -> &mut Unit {
        &mut self.units[number as usize]
    }

    pub fn release(&mut self, number: u32) {
        self.free.push(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: u64 = 64 << 10;

    #[test]
    fn a_unit_that_is_split_leaves_nothing_out() {
        let mut units = Units::default();
        let number = units.make(Purpose::Recovery);
        let unit = units.get_mut(number);
        unit.part(0, Verb::Read, 0, 7 * BLOCK, 3 * BLOCK);
        unit.part(1, Verb::Write, 1, 5 * BLOCK, 3 * BLOCK);
        (unit.stage, unit.recovers_bytes) = (1, 3 * BLOCK);
        unit.blocks = [1, 17, 16].map(|segments| Block { bytes: BLOCK, segments }).to_vec();
        unit.pages = vec![0, 100, 200, 300, 400, 500];
        unit.slabs = vec![4, 5, 6, 7, 8, 9];
        let fits = [(3, 17), (3, 18), (3, 34), (2, 34), (0, 0)];
        let fits = fits.map(|(blocks, segments)| unit.blocks_within(Limits { bytes: blocks * BLOCK, segments }));
        assert_eq!(fits, [1, 2, 3, 2, 1], "at least one");

        let rest = units.split(number, 1);
        let told = [number, rest].map(|number| {
            let unit = units.get(number);
            let places: Vec<u64> = unit.parts.iter().map(|part| part.offset_bytes / BLOCK).collect();
            let memory = (unit.segments(), unit.pages.clone(), unit.slabs.clone());
            (places, unit.parts[1].bytes / BLOCK, unit.recovers_bytes / BLOCK, memory, unit.stage)
        });
        assert_eq!(told[0], (vec![7, 5], 1, 1, (1, vec![0, 100], vec![4, 5]), 1));
        assert_eq!(told[1], (vec![8, 6], 2, 2, (33, vec![200, 300, 400, 500], vec![6, 7, 8, 9]), 1));
    }
}
