//! What can be asked of and set in the drive: MODE SENSE, MODE SELECT and LOG SENSE (SPC-5, SBC-4).

use super::sense::Sense;

const RECOVERY: u8 = 0x01;
const CACHING: u8 = 0x08;
const CONTROL: u8 = 0x0a;
const EXCEPTIONS: u8 = 0x1c;
const ALL: u8 = 0x3f;
/// In the caching page: the drive may acknowledge a write before it is on the platter.
const WRITE_CACHE_ENABLE: u8 = 4;
/// In the header: writes may ask to be durable one by one.
const FORCE_UNIT_ACCESS: u8 = 0x10;

/// The pages that were asked for, behind their header. `control` says which values are wanted: 0 the current ones, 1 what
/// can be changed, 2 the defaults, 3 the saved ones.
pub(super) fn sense(
    page: u8,
    control: u8,
    long: bool,
    write_cache: bool,
    forces_writes: bool,
) -> Result<Vec<u8>, Sense> {
    if control == 3 {
        // Saving parameters is not supported.
        return Err(Sense::new(5, 0x39, 0));
    }
    let cache = match control {
        0 => u8::from(write_cache) * WRITE_CACHE_ENABLE,
        _ => WRITE_CACHE_ENABLE,
    };
    let value = |value: u8| if control == 1 { 0 } else { value };
    let all = [
        (RECOVERY, vec![value(0xc0), 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        (CACHING, [vec![cache], vec![0; 17]].concat()),
        (CONTROL, vec![value(2), 0, 0, 0, 0, 0, value(0xff), value(0xff), 0, 30]),
        (EXCEPTIONS, vec![0; 10]),
    ];
    let mut pages = Vec::new();
    for (code, body) in all.iter().filter(|(code, _)| page == ALL || page == *code) {
        pages.extend([*code, body.len() as u8]);
        pages.extend(body);
    }
    if pages.is_empty() {
        return Err(Sense::INVALID_FIELD);
    }
    let flags = u8::from(forces_writes) * FORCE_UNIT_ACCESS;
    let header = match long {
        false => vec![pages.len() as u8 + 3, 0, flags, 0],
        true => vec![0, pages.len() as u8 + 6, 0, flags, 0, 0, 0, 0],
    };
    Ok([header, pages].concat())
}

/// Whether a parameter list switches the write cache on or off; it may set nothing else.
pub(super) fn select(list: &[u8], long: bool) -> Result<Option<bool>, Sense> {
    let (header, descriptors) = match (list, long) {
        ([], _) => return Ok(None),
        (list, false) if list.len() >= 4 => (4, usize::from(list[3])),
        (list, true) if list.len() >= 8 => (8, usize::from(list[6]) << 8 | usize::from(list[7])),
        _ => return Err(Sense::PARAMETERS_TOO_SHORT),
    };
    let mut pages = list.get(header + descriptors..).ok_or(Sense::PARAMETERS_TOO_SHORT)?;
    let mut write_cache = None;
    while let [code, bytes, body @ ..] = pages {
        let body = body.get(..usize::from(*bytes)).ok_or(Sense::PARAMETERS_TOO_SHORT)?;
        match (code & 0x3f, body) {
            (CACHING, [flags, ..]) => write_cache = Some(flags & WRITE_CACHE_ENABLE != 0),
            (RECOVERY | CONTROL | EXCEPTIONS, _) => {}
            _ => return Err(Sense::INVALID_PARAMETER),
        }
        pages = &pages[2 + body.len()..];
    }
    Ok(write_cache)
}

/// A page of the log: the list of pages, the temperature, and that no failure is to be expected.
pub(super) fn log(page: u8, temperature: u8) -> Result<Vec<u8>, Sense> {
    let body = match page {
        0x00 => vec![0x00, 0x0d, 0x2f],
        0x0d => vec![0, 0, 3, 2, 0, temperature],
        0x2f => vec![0, 0, 3, 4, 0, 0, temperature, 0],
        _ => return Err(Sense::INVALID_FIELD),
    };
    Ok([vec![page, 0, 0, body.len() as u8], body].concat())
}
