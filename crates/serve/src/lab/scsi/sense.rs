//! Why a command did not end well, in SCSI's words (SPC-5, 4.4).

/// Sense data: key, additional code and qualifier, and what belongs to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sense {
    pub key: u8,
    pub code: u8,
    pub qualifier: u8,
    /// The block at which it happened.
    pub block: Option<u64>,
    /// The registers of an ATA command, as a descriptor of SAT-4.
    pub registers: Option<[u8; 14]>,
}

impl Sense {
    pub const fn new(key: u8, code: u8, qualifier: u8) -> Self {
        Self { key, code, qualifier, block: None, registers: None }
    }

    pub const NOTHING: Self = Self::new(0, 0, 0);
    pub const UNKNOWN_COMMAND: Self = Self::new(5, 0x20, 0);
    pub const OUT_OF_RANGE: Self = Self::new(5, 0x21, 0);
    pub const INVALID_FIELD: Self = Self::new(5, 0x24, 0);
    pub const INVALID_PARAMETER: Self = Self::new(5, 0x26, 0);
    pub const PARAMETERS_TOO_SHORT: Self = Self::new(5, 0x1a, 0);
    /// Unit attention: power on, reset or bus device reset occurred.
    pub const WAS_RESET: Self = Self::new(6, 0x29, 0);

    /// Unrecovered read error, or write error.
    pub const fn medium_error(block: u64, write: bool) -> Self {
        let code = if write { 0x0c } else { 0x11 };
        Self { key: 3, code, qualifier: 0, block: Some(block), registers: None }
    }

    /// The outcome of an ATA command that was to be told, or that failed.
    pub const fn ata(registers: [u8; 14], failed: bool) -> Self {
        let (key, qualifier) = if failed { (0xb, 0) } else { (1, 0x1d) };
        Self { key, code: 0, qualifier, block: None, registers: Some(registers) }
    }

    /// In fixed format, unless something needs descriptors.
    pub fn to_bytes(self) -> Vec<u8> {
        let narrow = self.block.map_or(Some(0), |block| u32::try_from(block).ok());
        let (None, Some(block)) = (self.registers, narrow) else {
            return self.to_descriptors();
        };
        let mut bytes = vec![0; 18];
        bytes[0] = 0x70 | if self.block.is_some() { 0x80 } else { 0 };
        bytes[2] = self.key;
        bytes[3..7].copy_from_slice(&block.to_be_bytes());
        bytes[7] = 10;
        (bytes[12], bytes[13]) = (self.code, self.qualifier);
        bytes
    }

    fn to_descriptors(self) -> Vec<u8> {
        let mut bytes = vec![0x72, self.key, self.code, self.qualifier, 0, 0, 0, 0];
        if let Some(block) = self.block {
            bytes.extend([0, 10, 0x80, 0]);
            bytes.extend(block.to_be_bytes());
        }
        bytes.extend(self.registers.unwrap_or_default().iter().take(if self.registers.is_some() { 14 } else { 0 }));
        bytes[7] = (bytes.len() - 8) as u8;
        bytes
    }
}
