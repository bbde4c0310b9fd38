//! What is under way: a block read, rebuilt and written, a user's request, a transaction group's writes.

use super::queue::Class;

/// Where a column is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Target {
    pub member: u32,
    pub offset_bytes: u64,
    pub bytes: u64,
}

/// What a flow is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A block, or a stretch of allocated space, being healed.
    Heal,
    /// An indirect block that the scan reads to learn what there is.
    Scan,
    /// Records that a user's request waits for.
    User { bio: u32 },
    /// Data of a transaction group.
    Data,
    /// The intent log, or a record past the cache, for a user who waits for it.
    Durable { bio: u32 },
    /// Uberblocks, and the flush behind them.
    Label { is_flush: bool },
}

impl Purpose {
    /// Does the scan wait for it?
    pub fn is_of_scan(self) -> bool {
        matches!(self, Self::Heal | Self::Scan)
    }
}

/// A block is written to one place for each member it is missing on; no layout survives more than three.
pub(super) const TARGETS: usize = 4;

/// Places of the copies of a block but one.
pub(super) type Others = [Option<u64>; 2];

/// Something under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub purpose: Purpose,
    /// Columns out.
    pub left: u32,
    /// Has it been read, and is it being written?
    pub writes: bool,
    /// Where it lies on the vdev, and how long it is there: of a block its own length, of a stretch the allocated one.
    pub offset_bytes: u64,
    pub bytes: u64,
    pub is_segment: bool,
    /// The transaction group that was open when it was asked for, of the two there may be at a time.
    pub group: u8,
    /// Written since the resilver began: the new drive has it, too.
    pub is_young: bool,
    /// What counts against the limits of a scan.
    pub flight_bytes: u64,
    pub records: u64,
    pub targets: [Target; TARGETS],
    pub targets_len: u8,
    /// Places of other copies, which are still to be written with what was read of this one.
    pub others: Others,
    /// Columns that cannot be had, and how many may be.
    pub missing: u32,
    pub spared: u32,
    /// Members of a mirror that have been asked, a bit each.
    pub tried: u128,
    /// Too little could be read, and all is asked for once more, each part alone.
    pub is_retry: bool,
    /// The drive that is being put in was read, too, for want of others.
    pub asked_new: bool,
}

impl Flow {
    pub fn new(purpose: Purpose, offset_bytes: u64, bytes: u64) -> Self {
        Self {
            purpose,
            left: 0,
            writes: false,
            offset_bytes,
            bytes,
            is_segment: false,
            group: 0,
            is_young: false,
            flight_bytes: bytes,
            records: 0,
            targets: [Target::default(); TARGETS],
            targets_len: 0,
            others: Others::default(),
            missing: 0,
            spared: 0,
            tried: 0,
            is_retry: false,
            asked_new: false,
        }
    }

    /// In which class what heals it is read.
    pub fn healing_class(&self) -> Class {
        if self.is_segment {
            Class::Rebuild
        } else {
            Class::Scrub
        }
    }

    pub fn add_target(&mut self, target: Target) {
        if usize::from(self.targets_len) < TARGETS {
            self.targets[usize::from(self.targets_len)] = target;
            self.targets_len += 1;
        }
    }

    /// Nothing is written to this member.
    pub fn drop_target(&mut self, member: usize) {
        if let Some(at) = self.targets().iter().position(|target| target.member as usize == member) {
            self.targets.copy_within(at + 1.., at);
            self.targets_len -= 1;
        }
    }

    pub fn targets(&self) -> &[Target] {
        &self.targets[..usize::from(self.targets_len)]
    }
}

/// Things by number, whose places are used again.
#[derive(Clone, Debug)]
pub(super) struct Slab<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// A place, whatever it held before; `make` if there is none to be used again.
    pub fn take(&mut self, make: impl FnOnce() -> T) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.places.push(make());
            self.places.len() as u32 - 1
        })
    }

    pub fn get(&self, number: u32) -> &T {
        &self.places[number as usize]
    }

    pub fn get_mut(&mut self, number: u32) -> &mut T {
        &mut self.places[number as usize]
    }

    pub fn release(&mut self, number: u32) {
        self.free.push(number);
    }
}
