//! Where a job works and how far it goes: `offset`, `size`, `io_size`.

use drive::SECTOR_BYTES;

use super::section::Section;
use super::spec::Region;
use super::value::{self, Amount};
use crate::error::JobError;

/// The part of the device that each copy works on.
pub(super) fn regions(
    section: &Section,
    copies: u64,
    min_bytes: u64,
    capacity_bytes: u64,
) -> Result<Vec<Region>, JobError> {
    let read = |text: &str| value::amount(text, section.kb_base);
    let size = section.read("size", read)?;
    let offset = section.read("offset", read)?.unwrap_or(Amount::Bytes(0));
    let increment = section.read("offset_increment", read)?.unwrap_or(Amount::Bytes(0));
    let align = section.bytes("offset_align")?.filter(|bytes| *bytes > 0).unwrap_or(min_bytes);
    let relative = matches!(offset, Amount::Percent(_)) || matches!(increment, Amount::Percent(_));
    let absolute = |amount| match amount {
        Amount::Bytes(bytes) => bytes,
        Amount::Percent(percent) => {
            (u128::from(capacity_bytes) * u128::from(percent) / 100).min(u128::from(u64::MAX)) as u64
        }
    };
    (0..copies)
        .map(|copy| {
            let raw = absolute(increment).checked_mul(copy).and_then(|skip| skip.checked_add(absolute(offset)));
            let begin_bytes = match raw {
                Some(bytes) if relative => bytes.div_ceil(align).saturating_mul(align),
                other => other.unwrap_or(u64::MAX),
            };
            if begin_bytes % SECTOR_BYTES != 0 {
                return Err(section.error(
                    "offset",
                    &format!("it is not a multiple of the {SECTOR_BYTES}-byte sector"),
                    "",
                ));
            }
            let begin = begin_bytes.min(capacity_bytes);
            let end_bytes = begin + region_bytes(section, size, begin, min_bytes, capacity_bytes)?;
            Ok(Region { begin_bytes: begin, end_bytes })
        })
        .collect()
}

/// How much of the device after `begin_bytes` a copy works on; at least one block.
fn region_bytes(
    section: &Section,
    size: Option<Amount>,
    begin_bytes: u64,
    min_bytes: u64,
    capacity_bytes: u64,
) -> Result<u64, JobError> {
    if min_bytes > capacity_bytes {
        // Wherever it begins. Several options may have said so (`bs`, `bssplit`), so it is none as it was written.
        return Err(JobError {
            section: section.name.clone(),
            option: "bs".to_owned(),
            value: String::new(),
            reason: format!("a block of {min_bytes} bytes is larger than the target, which has {capacity_bytes}"),
            hint: "smaller blocks, or a larger target".to_owned(),
        });
    }
    let left = capacity_bytes - begin_bytes;
    if left < min_bytes {
        return Err(section.error("offset", &format!("it leaves no room for one block of {min_bytes} bytes"), ""));
    }
    let bytes = match size {
        None | Some(Amount::Bytes(0)) => left,
        Some(Amount::Bytes(bytes)) if bytes > left => {
            return Err(section.error(
                "size",
                &format!("only {left} bytes are left on the target"),
                "give a percentage",
            ));
        }
        Some(Amount::Bytes(bytes)) => bytes,
        Some(Amount::Percent(0 | 101..)) => return Err(section.error("size", "it must be 1% to 100%", "")),
        Some(Amount::Percent(percent)) => {
            let bytes = (u128::from(capacity_bytes) * u128::from(percent) / 100) as u64;
            let capped = bytes.min(left);
            capped - capped % min_bytes
        }
    };
    if bytes < min_bytes {
        return Err(section.error("size", &format!("it is less than one block of {min_bytes} bytes"), ""));
    }
    Ok(bytes)
}

/// For each copy the bytes of a pass and of the job; and whether passes follow each other until the latter are done.
pub(super) fn limits(section: &Section, regions: &[Region]) -> Result<(Vec<u64>, Vec<u64>, bool), JobError> {
    let region = || regions.iter().map(|region| region.bytes());
    let all: Vec<u64> = region().collect();
    Ok(match section.read("io_size", |text| value::amount(text, section.kb_base))? {
        None | Some(Amount::Bytes(0)) => (all.clone(), all, false),
        Some(Amount::Bytes(bytes)) => (all, vec![bytes; regions.len()], true),
        Some(Amount::Percent(0 | 101..)) => {
            return Err(section.error("io_size", "it must be 1% to 100%", "give bytes"))
        }
        Some(Amount::Percent(percent)) => {
            let part: Vec<u64> = region().map(|bytes| (u128::from(bytes) * u128::from(percent) / 100) as u64).collect();
            (part.clone(), part, false)
        }
    })
}
