//! The numbers and fixed layouts of the NBD protocol (the NBD project's `doc/proto.md`). All integers are big-endian.

/// What a client may ask for at once: READ and WRITE beyond it are refused.
pub(super) const PAYLOAD_MAX_BYTES: u32 = 32 << 20;
/// The block size that clients are told to prefer.
pub(super) const PREFERRED_BYTES: u32 = 4096;

pub(super) const MAGIC: &[u8; 8] = b"NBDMAGIC";
pub(super) const OPTION_MAGIC: &[u8; 8] = b"IHAVEOPT";
pub(super) const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
pub(super) const REQUEST_MAGIC: u32 = 0x2560_9513;
pub(super) const REPLY_MAGIC: u32 = 0x6744_6698;

/// Handshake flags, of the server and of the client alike.
pub(super) mod handshake_flag {
    pub(in crate::nbd) const FIXED_NEWSTYLE: u16 = 1;
    pub(in crate::nbd) const NO_ZEROES: u16 = 2;
}

/// Options of the handshake.
pub(super) mod option {
    pub(in crate::nbd) const EXPORT_NAME: u32 = 1;
    pub(in crate::nbd) const ABORT: u32 = 2;
    pub(in crate::nbd) const LIST: u32 = 3;
    pub(in crate::nbd) const INFO: u32 = 6;
    pub(in crate::nbd) const GO: u32 = 7;
}

/// Types of replies to options.
pub(super) mod option_reply {
    pub(in crate::nbd) const ACK: u32 = 1;
    pub(in crate::nbd) const SERVER: u32 = 2;
    pub(in crate::nbd) const INFO: u32 = 3;
    pub(in crate::nbd) const ERR_UNSUP: u32 = (1 << 31) + 1;
    pub(in crate::nbd) const ERR_INVALID: u32 = (1 << 31) + 3;
    pub(in crate::nbd) const ERR_UNKNOWN: u32 = (1 << 31) + 6;
}

/// Kinds of information about an export.
pub(super) mod info {
    pub(in crate::nbd) const EXPORT: u16 = 0;
    pub(in crate::nbd) const NAME: u16 = 1;
    pub(in crate::nbd) const DESCRIPTION: u16 = 2;
    pub(in crate::nbd) const BLOCK_SIZE: u16 = 3;
}

/// Properties of the export: HAS_FLAGS, SEND_FLUSH, SEND_FUA, ROTATIONAL, SEND_TRIM, SEND_WRITE_ZEROES, CAN_MULTI_CONN.
pub(super) const TRANSMISSION_FLAGS: u16 = 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 8;

/// Commands of the transmission phase.
pub(super) mod command {
    pub(in crate::nbd) const READ: u16 = 0;
    pub(in crate::nbd) const WRITE: u16 = 1;
    pub(in crate::nbd) const DISC: u16 = 2;
    pub(in crate::nbd) const FLUSH: u16 = 3;
    pub(in crate::nbd) const TRIM: u16 = 4;
    pub(in crate::nbd) const WRITE_ZEROES: u16 = 6;
}

/// Flags of commands.
pub(super) mod command_flag {
    pub(in crate::nbd) const FUA: u16 = 1;
    pub(in crate::nbd) const NO_HOLE: u16 = 2;
}

/// Errors of replies, in the protocol's own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Errno {
    Io = 5,
    Invalid = 22,
    NoSpace = 28,
    Shutdown = 108,
}

/// The fixed part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) flags: u16,
    pub(super) command: u16,
    pub(super) cookie: u64,
    pub(super) offset_bytes: u64,
    pub(super) bytes: u32,
}

impl Header {
    pub(super) const BYTES: usize = 28;

    /// `None` if this is no request: the two sides have lost each other, and nothing that follows can be understood.
    pub(super) fn parse(raw: &[u8; Self::BYTES]) -> Option<Self> {
        let field = |from: usize, bytes: usize| {
            raw[from..from + bytes].iter().fold(0_u64, |value, byte| value << 8 | u64::from(*byte))
        };
        (field(0, 4) == u64::from(REQUEST_MAGIC)).then(|| Self {
            flags: field(4, 2) as u16,
            command: field(6, 2) as u16,
            cookie: field(8, 8),
            offset_bytes: field(16, 8),
            bytes: field(24, 4) as u32,
        })
    }
}

/// The size of a reply without data, which is also what precedes the data of a read.
pub(super) const REPLY_BYTES: usize = 16;

/// The fixed part of a reply.
pub(super) fn reply_header(cookie: u64, error: Option<Errno>) -> [u8; REPLY_BYTES] {
    let mut raw = [0; REPLY_BYTES];
    raw[..4].copy_from_slice(&REPLY_MAGIC.to_be_bytes());
    raw[4..8].copy_from_slice(&error.map_or(0, |errno| errno as u32).to_be_bytes());
    raw[8..].copy_from_slice(&cookie.to_be_bytes());
    raw
}
