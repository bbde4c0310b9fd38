//! What is asked for in which order: `rw`, `rwmixread`.

use drive::SECTOR_BYTES;

use super::section::Section;
use super::spec::{Access, Direction};
use super::value;
use crate::error::JobError;

pub(super) struct Pattern {
    pub access: Access,
    pub random: bool,
    pub sequence: u64,
    pub hole_bytes: u64,
}

pub(super) fn pattern(section: &Section) -> Result<Pattern, JobError> {
    let read_percent = match (section.percent("rwmixread")?, section.percent("rwmixwrite")?) {
        (Some(reads), Some(writes)) if reads + writes != 100 => {
            return Err(section.error(
                "rwmixwrite",
                "it contradicts rwmixread: together they are 100",
                "set one of them",
            ));
        }
        (Some(reads), _) => reads,
        (None, Some(writes)) => 100 - writes,
        (None, None) => 50,
    };
    let parse = |text: &str| parse_pattern(text, read_percent, section.kb_base);
    Ok(section.read("rw", parse)?.unwrap_or(Pattern {
        access: Access::Only(Direction::Read),
        random: false,
        sequence: 1,
        hole_bytes: 0,
    }))
}

fn parse_pattern(text: &str, read_percent: u8, kb_base: u64) -> Result<Pattern, String> {
    let (word, suffix) = text.split_once(':').map_or((text, None), |(word, suffix)| (word, Some(suffix)));
    let (access, random) = match word {
        "read" => (Access::Only(Direction::Read), false),
        "write" => (Access::Only(Direction::Write), false),
        "trim" => (Access::Only(Direction::Trim), false),
        "randread" => (Access::Only(Direction::Read), true),
        "randwrite" => (Access::Only(Direction::Write), true),
        "randtrim" => (Access::Only(Direction::Trim), true),
        "rw" | "readwrite" => (Access::Mixed { read_percent }, false),
        "randrw" => (Access::Mixed { read_percent }, true),
        "trimwrite" => (Access::TrimThenWrite, false),
        "randtrimwrite" => (Access::TrimThenWrite, true),
        _ => {
            return Err("it must be one of read, write, trim, randread, randwrite, randtrim, rw, readwrite, randrw, \
                        trimwrite, randtrimwrite"
                .to_owned())
        }
    };
    let mut pattern = Pattern { access, random, sequence: 1, hole_bytes: 0 };
    match suffix {
        None => {}
        Some(_) if access == Access::TrimThenWrite => return Err("pairs of trim and write take no `:N`".to_owned()),
        Some(count) if random => pattern.sequence = value::count(count)?.max(1),
        Some(count) if count.trim_start().starts_with('-') => return Err("going backwards is not modelled".to_owned()),
        Some(bytes) => match value::bytes(bytes, kb_base)? {
            hole if hole % SECTOR_BYTES == 0 => pattern.hole_bytes = hole,
            _ => return Err(format!("the hole is not a multiple of the {SECTOR_BYTES}-byte sector")),
        },
    }
    Ok(pattern)
}
