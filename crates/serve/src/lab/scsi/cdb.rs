//! What a command descriptor block asks for (SBC-4, SPC-5).

/// Operation codes.
pub(super) mod op {
    pub const TEST_UNIT_READY: u8 = 0x00;
    pub const REQUEST_SENSE: u8 = 0x03;
    pub const READ_6: u8 = 0x08;
    pub const WRITE_6: u8 = 0x0a;
    pub const INQUIRY: u8 = 0x12;
    pub const MODE_SELECT_6: u8 = 0x15;
    pub const MODE_SENSE_6: u8 = 0x1a;
    pub const START_STOP_UNIT: u8 = 0x1b;
    pub const READ_CAPACITY_10: u8 = 0x25;
    pub const READ_10: u8 = 0x28;
    pub const WRITE_10: u8 = 0x2a;
    pub const VERIFY_10: u8 = 0x2f;
    pub const SYNCHRONIZE_CACHE_10: u8 = 0x35;
    pub const WRITE_SAME_10: u8 = 0x41;
    pub const UNMAP: u8 = 0x42;
    pub const LOG_SENSE: u8 = 0x4d;
    pub const MODE_SELECT_10: u8 = 0x55;
    pub const MODE_SENSE_10: u8 = 0x5a;
    pub const ATA_PASS_THROUGH_16: u8 = 0x85;
    pub const READ_16: u8 = 0x88;
    pub const WRITE_16: u8 = 0x8a;
    pub const VERIFY_16: u8 = 0x8f;
    pub const SYNCHRONIZE_CACHE_16: u8 = 0x91;
    pub const WRITE_SAME_16: u8 = 0x93;
    pub const SERVICE_ACTION_IN_16: u8 = 0x9e;
    pub const REPORT_LUNS: u8 = 0xa0;
    pub const ATA_PASS_THROUGH_12: u8 = 0xa1;
    pub const READ_12: u8 = 0xa8;
    pub const WRITE_12: u8 = 0xaa;
}

pub(super) const CDB_BYTES: usize = 32;

/// The bytes of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cdb(pub [u8; CDB_BYTES]);

/// A range of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub block: u64,
    pub blocks: u64,
}

/// What a command does to the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read(Extent),
    Write {
        extent: Extent,
        fua: bool,
    },
    /// Read, but keep the data.
    Verify(Extent),
    /// Write one block over and over.
    Same(Extent),
    /// Forget a range that the command itself names.
    Trim(Extent),
    /// Forget the range that a parameter list names.
    Unmap,
    Synchronize,
    /// Nothing.
    Nothing,
}

impl Cdb {
    pub fn op(&self) -> u8 {
        self.0[0]
    }

    /// A number of `bytes` bytes at `at`, its highest first.
    pub fn number(&self, at: usize, bytes: usize) -> u64 {
        number(&self.0[at..at + bytes])
    }

    pub fn access(&self) -> Access {
        let extent = |block: (usize, usize), blocks: (usize, usize)| Extent {
            block: self.number(block.0, block.1),
            blocks: self.number(blocks.0, blocks.1),
        };
        let (ten, twelve, sixteen) = (((2, 4), (7, 2)), ((2, 4), (6, 4)), ((2, 8), (10, 4)));
        let at = |(block, blocks): ((usize, usize), (usize, usize))| extent(block, blocks);
        let write = |extent| Access::Write { extent, fua: self.0[1] & 8 != 0 };
        let same = |extent| if self.0[1] & 8 != 0 { Access::Trim(extent) } else { Access::Same(extent) };
        match self.op() {
            op::READ_6 => Access::Read(self.six()),
            op::WRITE_6 => Access::Write { extent: self.six(), fua: false },
            op::READ_10 => Access::Read(at(ten)),
            op::READ_12 => Access::Read(at(twelve)),
            op::READ_16 => Access::Read(at(sixteen)),
            op::WRITE_10 => write(at(ten)),
            op::WRITE_12 => write(at(twelve)),
            op::WRITE_16 => write(at(sixteen)),
            op::VERIFY_10 => Access::Verify(at(ten)),
            op::VERIFY_16 => Access::Verify(at(sixteen)),
            op::WRITE_SAME_10 => same(at(ten)),
            op::WRITE_SAME_16 => same(at(sixteen)),
            op::UNMAP => Access::Unmap,
            op::SYNCHRONIZE_CACHE_10 | op::SYNCHRONIZE_CACHE_16 | op::START_STOP_UNIT => Access::Synchronize,
            _ => Access::Nothing,
        }
    }

    /// The short form: 21 bits for the block, and 0 blocks are 256.
    fn six(&self) -> Extent {
        let blocks = match self.0[4] {
            0 => 256,
            blocks => u64::from(blocks),
        };
        Extent { block: self.number(1, 3) & 0x1f_ffff, blocks }
    }
}

pub(super) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}
