//! Block sizes: `bs`, `bsrange`, `bssplit`, `ba`.

use drive::SECTOR_BYTES;

use super::section::Section;
use super::spec::BlockSizes;
use super::value;
use crate::error::JobError;

const DEFAULT_BYTES: u64 = 4096;

/// The lengths of requests, for each direction.
pub(crate) fn block_sizes(section: &Section) -> Result<[BlockSizes; 3], JobError> {
    let kb_base = section.kb_base;
    let plain =
        section.read("bs", |text| value::per_direction(text, |part| length(part, kb_base)))?.unwrap_or_default();
    let ranges =
        section.read("bsrange", |text| value::per_direction(text, |part| range(part, kb_base)))?.unwrap_or_default();
    let splits =
        section.read("bssplit", |text| value::per_direction(text, |part| split(part, kb_base)))?.unwrap_or_default();
    Ok([0, 1, 2].map(|direction: usize| {
        if let Some(split) = &splits[direction] {
            let used = || split.iter().map(|(bytes, _)| *bytes);
            return BlockSizes {
                min_bytes: used().min().unwrap_or(0),
                max_bytes: used().max().unwrap_or(0),
                split: split.clone(),
            };
        }
        let (min_bytes, max_bytes) = ranges[direction].unwrap_or_else(|| {
            let bytes = plain[direction].unwrap_or(DEFAULT_BYTES);
            (bytes, bytes)
        });
        BlockSizes { min_bytes, max_bytes, split: Vec::new() }
    }))
}

/// The alignment of random offsets, where it is set.
pub(crate) fn alignments(section: &Section) -> Result<[Option<u64>; 3], JobError> {
    let kb_base = section.kb_base;
    Ok(section.read("ba", |text| value::per_direction(text, |part| length(part, kb_base)))?.unwrap_or_default())
}

fn length(text: &str, kb_base: u64) -> Result<u64, String> {
    match value::bytes(text, kb_base)? {
        0 => Err("a block of no bytes".to_owned()),
        bytes if bytes % SECTOR_BYTES != 0 => {
            Err(format!("{bytes} bytes are not a multiple of the {SECTOR_BYTES}-byte sector"))
        }
        bytes => Ok(bytes),
    }
}

fn range(text: &str, kb_base: u64) -> Result<(u64, u64), String> {
    let (least, most) = text.split_once('-').ok_or_else(|| format!("`{text}` is not a range like 4k-64k"))?;
    match (length(least.trim(), kb_base)?, length(most.trim(), kb_base)?) {
        (least, most) if least <= most => Ok((least, most)),
        _ => Err(format!("`{text}` runs backwards")),
    }
}

/// `4k/10:64k/50:32k/`: what is left of 100 percent goes to those without a share. Shares are cumulated.
fn split(text: &str, kb_base: u64) -> Result<Vec<(u64, u8)>, String> {
    let mut shares = Vec::new();
    for part in text.split(':') {
        let (bytes, share) = part.split_once('/').unwrap_or((part, ""));
        let share = if share.is_empty() { None } else { Some(super::section::percent(share)?) };
        shares.push((length(bytes.trim(), kb_base)?, share));
    }
    let shares = fill_shares(&shares)?;
    let mut upper = 0;
    Ok(shares
        .into_iter()
        .map(|(bytes, share)| {
            upper += share;
            (bytes, upper)
        })
        .collect())
}

/// Gives those without a share an even part of what is left of 100 percent. Refuses shares that do not add up to it.
pub(crate) fn fill_shares<T: Copy>(shares: &[(T, Option<u8>)]) -> Result<Vec<(T, u8)>, String> {
    let given: u32 = shares.iter().filter_map(|(_, share)| *share).map(u32::from).sum();
    let open = shares.iter().filter(|(_, share)| share.is_none()).count() as u32;
    if given > 100 || (open == 0 && given < 100) {
        return Err(format!("the shares add up to {given} percent, not to 100"));
    }
    let (even, rest) = ((100 - given).checked_div(open).unwrap_or(0), (100 - given).checked_rem(open).unwrap_or(0));
    let mut seen = 0;
    Ok(shares
        .iter()
        .map(|&(what, share)| {
            let filled = share.map_or_else(
                || {
                    seen += 1;
                    even + if seen == open { rest } else { 0 }
                },
                u32::from,
            );
            (what, filled as u8)
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn open_shares_fill_up_to_a_hundred() {
        assert_eq!(split("4k/50:1k/:32k/", 1024), Ok(vec![(4096, 50), (1024, 75), (32768, 100)]));
        assert_eq!(split("4k/30:8k/70", 1024), Ok(vec![(4096, 30), (8192, 100)]));
        for wrong in ["4k/60:8k/50", "4k/60", "4k/x:8k/", "100/100", ""] {
            assert!(split(wrong, 1024).is_err(), "{wrong}");
        }
    }
}
