//! What goes to the members together: reads, and when all of them are there, writes.

use drive::Verb;

use super::options::PAGE_BYTES;

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
    /// The pages of memory that the recovery of copies reads into.
    pub pages: Vec<u32>,
    /// In how many pieces these lie.
    pub segments: u64,
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
            pages: Vec::new(),
            segments: 1,
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
        let Unit { mut parts, mut bios, mut pages, .. } = std::mem::replace(unit, Unit::empty());
        parts.clear();
        bios.clear();
        pages.clear();
        *unit = Unit { purpose, parts, bios, pages, ..Unit::empty() };
        number
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
