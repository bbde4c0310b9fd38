//! The SATA drive behind the SCSI commands: IDENTIFY, SMART and what else goes through ATA PASS-THROUGH (SAT-4, ACS-4).

use super::cdb::{number, op, Cdb};
use super::sense::Sense;
use crate::lab::history::Life;
use crate::lab::identity::Identity;

pub(super) const IDENTIFY_DEVICE: u8 = 0xec;
const READ_VERIFY_EXT: u8 = 0x42;
const SMART: u8 = 0xb0;
const STANDBY_IMMEDIATE: u8 = 0xe0;
const IDLE_IMMEDIATE: u8 = 0xe1;
const CHECK_POWER_MODE: u8 = 0xe5;
const FLUSH_CACHE: u8 = 0xe7;
const FLUSH_CACHE_EXT: u8 = 0xea;
const SET_FEATURES: u8 = 0xef;

/// Degrees Celsius. Assumed: no model of heat is behind it.
pub(super) const TEMPERATURE: u8 = 34;

const SECTOR: usize = 512;

/// The registers of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TaskFile {
    pub command: u8,
    pub feature: u8,
    pub count: u8,
    pub address: u64,
    /// Whoever asks wants the registers back even if all goes well.
    pub tell: bool,
}

impl TaskFile {
    pub fn new(cdb: &Cdb) -> Self {
        let bytes = &cdb.0;
        let tell = bytes[2] & 0x20 != 0;
        match cdb.op() {
            op::ATA_PASS_THROUGH_12 => Self {
                command: bytes[9],
                feature: bytes[3],
                count: bytes[4],
                address: number(&[bytes[7], bytes[6], bytes[5]]),
                tell,
            },
            _ => Self {
                command: bytes[14],
                feature: bytes[4],
                count: bytes[6],
                address: number(&[bytes[11], bytes[9], bytes[7], bytes[12], bytes[10], bytes[8]]),
                tell,
            },
        }
    }

    /// Whether the drive has to bring its cache to the platters, as it also has when that is switched off.
    pub fn is_flush(&self) -> bool {
        matches!(self.command, FLUSH_CACHE | FLUSH_CACHE_EXT | STANDBY_IMMEDIATE)
            || self.sets_write_cache() == Some(false)
    }

    /// Whether it switches the write cache, and to what.
    pub fn sets_write_cache(&self) -> Option<bool> {
        match (self.command, self.feature) {
            (SET_FEATURES, 0x02) => Some(true),
            (SET_FEATURES, 0x82) => Some(false),
            _ => None,
        }
    }

    /// The answer of a drive that has a `life` behind it: its data, or what it has to say instead.
    pub fn execute(&self, identity: &Identity, write_cache: bool, life: Life) -> Result<Vec<u8>, Sense> {
        let data = match (self.command, self.feature) {
            (IDENTIFY_DEVICE, _) => identify(identity, write_cache),
            (SMART, 0xd0) => smart_data(life),
            (SMART, 0xd1) => smart_thresholds(),
            // The logs of errors and of self-tests, both empty: all but the version is zeros.
            (SMART, 0xd5) if matches!(self.address & 0xff, 1 | 6) => seal([vec![1], vec![0; SECTOR - 1]].concat()),
            (SMART, 0xd8) | (SET_FEATURES, 0x02 | 0x82 | 0x55 | 0xaa) => Vec::new(),
            // All is well: the registers come back as they went.
            (SMART, 0xda) => return Err(Sense::ata(self.registers(0x50, 0, self.count), false)),
            // Active or idle.
            (CHECK_POWER_MODE, _) => return Err(Sense::ata(self.registers(0x50, 0, 0xff), false)),
            (FLUSH_CACHE | FLUSH_CACHE_EXT | STANDBY_IMMEDIATE | IDLE_IMMEDIATE | READ_VERIFY_EXT, _) => Vec::new(),
            // Aborted: the drive does not know it.
            _ => return Err(Sense::ata(self.registers(0x51, 4, self.count), true)),
        };
        match self.tell && data.is_empty() {
            true => Err(Sense::ata(self.registers(0x50, 0, self.count), false)),
            false => Ok(data),
        }
    }

    /// The descriptor in which registers are told.
    fn registers(&self, status: u8, error: u8, count: u8) -> [u8; 14] {
        let [low, middle, high, low_before, middle_before, high_before, ..] = self.address.to_le_bytes();
        [9, 12, 0, error, 0, count, low_before, low, middle_before, middle, high_before, high, 0, status]
    }
}

/// The 512 bytes by which a drive introduces itself.
pub(super) fn identify(identity: &Identity, write_cache: bool) -> Vec<u8> {
    let mut words = [0_u16; 256];
    let sectors = identity.sectors();
    let fixed = [
        (0, 0x0040),
        // LBA, DMA; the words 64 to 70 and 88 are valid.
        (47, 0x8010),
        (49, 0x2f00),
        (50, 0x4000),
        (53, 0x0006),
        (63, 0x0407),
        (64, 0x0003),
        // SATA at 1.5, 3 and 6 Gb/s, command queuing, ACS-3.
        (76, 0x010e),
        (80, 0x07f0),
        // SMART, write cache, look-ahead; flushes, 48 bits; error log, world wide name: supported, then enabled.
        (82, 0x4061),
        (83, 0x7400),
        (84, 0x4101),
        (86, 0x3400),
        (87, 0x4101),
        (88, 0x407f),
        (222, 0x10ff),
    ];
    fixed.iter().for_each(|(word, value)| words[*word] = *value);
    words[85] = 0x4041 | if write_cache { 0x20 } else { 0 };
    // Logical sectors in a physical one: a power of two, valid where there are several.
    words[106] = match u16::from(identity.physical_exponent) {
        0 => 0x4000,
        exponent => 0x6000 | exponent,
    };
    words[75] = identity.queue_depth.clamp(1, 32) as u16 - 1;
    text(&mut words[10..20], &identity.serial);
    text(&mut words[23..27], &identity.firmware);
    text(&mut words[27..47], &identity.model);
    spread(&mut words[60..62], sectors.min(0x0fff_ffff));
    spread(&mut words[100..104], sectors);
    (108..112).zip([48, 32, 16, 0]).for_each(|(word, shift)| words[word] = (identity.wwn >> shift) as u16);
    words[168] = u16::from(identity.form_factor);
    words[217] = identity.rpm;
    if identity.trims {
        // TRIM, after which zeros are read.
        (words[69], words[105], words[169]) = (0x4020, 8, 1);
    }
    let mut data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    data[510] = 0xa5;
    seal(data)
}

/// Letters two by two, the first of each pair in the upper half.
fn text(words: &mut [u16], text: &str) {
    let mut letters = text.bytes().chain(std::iter::repeat(b' '));
    for word in words {
        let mut next = || letters.next().unwrap_or(b' ');
        *word = u16::from_be_bytes([next(), next()]);
    }
}

/// A number over several words, its lowest first.
fn spread(words: &mut [u16], number: u64) {
    words.iter_mut().enumerate().for_each(|(index, word)| *word = (number >> (16 * index)) as u16);
}

fn on_hours(life: Life) -> u64 {
    life.age_ns / 3_600_000_000_000
}

/// SMART attributes: identifier, flags, threshold, and the raw value of a drive without a blemish.
fn attributes(life: Life) -> [(u8, u16, u8, u64); 8] {
    [
        (1, 0x2f, 51, 0),
        (5, 0x33, 140, 0),
        (9, 0x32, 0, on_hours(life)),
        // It was switched on once, and after each loss of power.
        (12, 0x32, 0, 1 + life.losses),
        (194, 0x22, 0, u64::from(TEMPERATURE)),
        (197, 0x32, 0, 0),
        (198, 0x30, 0, 0),
        (199, 0x32, 0, 0),
    ]
}

fn smart_data(life: Life) -> Vec<u8> {
    let mut data = vec![0; SECTOR];
    data[0] = 0x10;
    for (entry, (id, flags, _, raw)) in data[2..].chunks_exact_mut(12).zip(attributes(life)) {
        let value = match id {
            1 | 5 | 197..=199 => 200,
            9 => 100_u64.saturating_sub(raw / 1000).max(1) as u8,
            _ => 100,
        };
        entry[0] = id;
        entry[1..3].copy_from_slice(&flags.to_le_bytes());
        (entry[3], entry[4]) = (value, value);
        entry[5..11].copy_from_slice(&raw.to_le_bytes()[..6]);
    }
    // Attributes are saved by themselves; errors are logged. Self-tests are not modelled and not offered.
    (data[368], data[370]) = (3, 1);
    seal(data)
}

fn smart_thresholds() -> Vec<u8> {
    let mut data = vec![0; SECTOR];
    data[0] = 0x10;
    for (entry, (id, _, threshold, _)) in data[2..].chunks_exact_mut(12).zip(attributes(Life::default())) {
        (entry[0], entry[1]) = (id, threshold);
    }
    seal(data)
}

/// Sets the last byte so that all of them add up to zero.
fn seal(mut data: Vec<u8>) -> Vec<u8> {
    let sum = data[..SECTOR - 1].iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    data[SECTOR - 1] = sum.wrapping_neg();
    data
}
