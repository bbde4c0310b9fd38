//! What the guest is told of a drive.

use drive::{Profile, Protocol};

/// What a drive says of itself on its label and in its identification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Model number, at most 40 characters.
    pub model: String,
    /// Firmware revision, at most 8.
    pub firmware: String,
    /// Serial number, at most 20.
    pub serial: String,
    /// World wide name: 64 bits, of NAA type 5.
    pub wwn: u64,
    /// Turns a minute.
    pub rpm: u16,
    /// Form factor as SCSI counts: 2 is 3.5 inches, 3 is 2.5 inches.
    pub form_factor: u8,
    /// Usable bytes.
    pub capacity_bytes: u64,
    /// Sectors of 512 bytes in a physical one, as a power of two.
    pub physical_exponent: u8,
    /// Commands that it takes at a time.
    pub queue_depth: u32,
    /// Whether it knows TRIM.
    pub trims: bool,
    /// Whether the host may have single writes forced to the medium: of SATA drives Linux does not.
    pub forces_writes: bool,
}

impl Identity {
    /// The drive that `profile` and `seed` make. `serial` may be empty: it then follows from both.
    ///
    /// A profile says nothing of three things, which are assumed here: 3.5 inches, TRIM on shingled drives only (as the
    /// drive-managed ones of one vendor have it), and the vendor's number in the name (a locally administered one).
    pub fn new(profile: &Profile, seed: u64, serial: &str) -> Self {
        let digits = sim::stream(seed, &format!("serial number of {}", profile.name)).below(36_u64.pow(8));
        let serial = match serial {
            "" => format!("{}{}", profile.identity.serial_prefix, base_36(digits)),
            given => given.to_owned(),
        };
        Self {
            model: clipped(&profile.identity.model, 40),
            firmware: clipped(&profile.identity.firmware, 8),
            serial: clipped(&serial, 20),
            wwn: 0x5 << 60 | 0x02_5d0c << 36 | digits & 0xf_ffff_ffff,
            rpm: profile.rpm().round() as u16,
            form_factor: 2,
            capacity_bytes: profile.capacity_bytes(),
            physical_exponent: (profile.geometry.physical_sector_bytes / drive::SECTOR_BYTES).ilog2() as u8,
            queue_depth: profile.queue_depth(),
            trims: profile.shingled.is_some(),
            forces_writes: profile.interface.protocol == Protocol::Scsi,
        }
    }

    /// Usable sectors of 512 bytes.
    pub fn sectors(&self) -> u64 {
        self.capacity_bytes / drive::SECTOR_BYTES
    }
}

/// Printable characters only, as many as there is room for.
fn clipped(text: &str, room: usize) -> String {
    text.chars().filter(|letter| (' '..='~').contains(letter)).take(room).collect()
}

fn base_36(mut number: u64) -> String {
    let mut digits = [0; 8];
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(number % 36) as usize];
        number /= 36;
    }
    String::from_utf8_lossy(&digits).into_owned()
}
