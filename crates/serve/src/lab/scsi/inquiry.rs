//! Who the drive is: INQUIRY, its pages of vital product data, and READ CAPACITY (SPC-5, SBC-4, SAT-4).

use super::ata;
use super::sense::Sense;
use crate::lab::identity::Identity;

/// Most blocks of one command: what a SATA drive's commands can name.
pub(super) const TRANSFER_BLOCKS: u32 = 65_535;
/// SATA drives behind a host adapter say this.
const VENDOR: &[u8; 8] = b"ATA     ";

/// The answer to INQUIRY without a page.
pub(super) fn standard(identity: &Identity) -> Vec<u8> {
    let mut data = vec![0; 96];
    // SPC-3, standard format, command queuing.
    (data[2], data[3], data[4], data[7]) = (5, 2, 91, 2);
    data[8..16].copy_from_slice(VENDOR);
    data[16..32].copy_from_slice(&padded(&identity.model, 16));
    let firmware = padded(&identity.firmware, 8);
    // Four letters are all there is room for: the last ones, unless they are blank.
    data[32..36].copy_from_slice(if firmware[4..] == *b"    " { &firmware[..4] } else { &firmware[4..] });
    data
}

/// A page of vital product data.
pub(super) fn page(identity: &Identity, write_cache: bool, page: u8) -> Result<Vec<u8>, Sense> {
    let body = match page {
        0x00 => {
            let pages = [0x00, 0x80, 0x83, 0x89, 0xb0, 0xb1, 0xb2];
            pages.into_iter().filter(|page| *page != 0xb2 || identity.trims).collect()
        }
        0x80 => identity.serial.clone().into_bytes(),
        0x83 => names(identity),
        0x89 => ata_information(identity, write_cache),
        0xb0 => limits(identity),
        0xb1 => characteristics(identity),
        0xb2 if identity.trims => vec![0, 0xe4, 0, 0],
        _ => return Err(Sense::INVALID_FIELD),
    };
    let mut data = vec![0, page];
    data.extend((body.len() as u16).to_be_bytes());
    data.extend(body);
    Ok(data)
}

/// Device identification: the serial number, model and serial as SAT wants them, and the world wide name.
fn names(identity: &Identity) -> Vec<u8> {
    let mut body = Vec::new();
    let mut add = |kind: [u8; 2], name: &[u8]| {
        body.extend([kind[0], kind[1], 0, name.len() as u8]);
        body.extend(name);
    };
    let serial = padded(&identity.serial, 20);
    add([2, 0], &serial);
    add([2, 1], &[VENDOR, padded(&identity.model, 40).as_slice(), &serial].concat());
    add([1, 3], &identity.wwn.to_be_bytes());
    body
}

fn ata_information(identity: &Identity, write_cache: bool) -> Vec<u8> {
    let mut body = vec![0; 568];
    body[4..12].copy_from_slice(b"linux   ");
    body[12..28].copy_from_slice(b"libata          ");
    body[28..32].copy_from_slice(b"3.00");
    // The registers of a disk after a reset, and the command whose answer follows.
    (body[32], body[34], body[36], body[37], body[44]) = (0x34, 0x50, 1, 1, 1);
    body[52] = ata::IDENTIFY_DEVICE;
    body[56..].copy_from_slice(&ata::identify(identity, write_cache));
    body
}

/// Block limits.
fn limits(identity: &Identity) -> Vec<u8> {
    let mut body = vec![0; 60];
    body[3] = 1 << identity.physical_exponent;
    body[4..8].copy_from_slice(&TRANSFER_BLOCKS.to_be_bytes());
    if identity.trims {
        body[16..20].copy_from_slice(&(TRANSFER_BLOCKS * 64).to_be_bytes());
        body[20..24].copy_from_slice(&1_u32.to_be_bytes());
        body[24..28].copy_from_slice(&(1_u32 << identity.physical_exponent).to_be_bytes());
    }
    body[32..40].copy_from_slice(&u64::from(TRANSFER_BLOCKS).to_be_bytes());
    body
}

/// Block device characteristics. The field for zones stays empty: drives that manage their shingles themselves do not say
/// so, which is what this whole project is about.
fn characteristics(identity: &Identity) -> Vec<u8> {
    let mut body = vec![0; 60];
    body[..2].copy_from_slice(&identity.rpm.to_be_bytes());
    body[3] = identity.form_factor;
    body
}

pub(super) fn capacity_10(identity: &Identity) -> Vec<u8> {
    let last = u32::try_from(identity.sectors() - 1).unwrap_or(u32::MAX);
    [last.to_be_bytes(), 512_u32.to_be_bytes()].concat()
}

pub(super) fn capacity_16(identity: &Identity) -> Vec<u8> {
    let mut data = vec![0; 32];
    data[..8].copy_from_slice(&(identity.sectors() - 1).to_be_bytes());
    data[8..12].copy_from_slice(&512_u32.to_be_bytes());
    data[13] = identity.physical_exponent;
    // Logical block provisioning, and what was unmapped reads as zeros.
    data[14] = if identity.trims { 0xc0 } else { 0 };
    data
}

/// Letters, filled up with blanks.
pub(super) fn padded(text: &str, bytes: usize) -> Vec<u8> {
    let mut padded = text.as_bytes().to_vec();
    padded.resize(bytes, b' ');
    padded
}
