//! A member's part of a block.

/// What one member holds of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Which.
    pub member: u32,
    /// From the member's data area on, which begins 4 MiB behind its first byte.
    pub offset_bytes: u64,
    /// How much.
    pub bytes: u64,
    /// Redundancy that a read without errors leaves alone.
    pub is_parity: bool,
}
