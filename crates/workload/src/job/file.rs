//! From settings to [`Job`]s.

use drive::SECTOR_BYTES;

use super::blocks::{alignments, block_sizes, fill_shares};
use super::ini;
use super::section::{percent, Section};
use super::spec::{Access, BlockSizes, Direction, Distribution, Job, JobFile, Pause, Region, Sequencer, Zone};
use super::value::{self, Amount};
use crate::error::JobError;

const NS_PER_S: u64 = 1_000_000_000;
const NS_PER_US: u64 = 1_000;
const MOST_COPIES: u64 = 4096;
const MOST_IN_FLIGHT: u64 = 65_536;

impl JobFile {
    /// Reads a fio job file for a device of `capacity_bytes`.
    ///
    /// # Errors
    /// [`JobError`] for text that is no job file, an option that is not honoured, or a value that is wrong.
    pub fn parse(text: &str, capacity_bytes: u64) -> Result<Self, JobError> {
        let jobs = ini::sections(text)?
            .into_iter()
            .map(|block| job(&Section::new(block)?, capacity_bytes))
            .collect::<Result<_, _>>()?;
        Ok(Self { jobs })
    }
}

fn job(section: &Section, capacity_bytes: u64) -> Result<Job, JobError> {
    refuse_page_cache(section)?;
    let Pattern { access, random, sequence, hole_bytes } = pattern(section)?;
    let sizes = block_sizes(section)?;
    let distribution = distribution(section)?;
    let align = alignments(section)?;
    let align_bytes = [0, 1, 2].map(|at: usize| align[at].filter(|_| random).unwrap_or(sizes[at].min_bytes));
    let aligned_apart = (0..3).any(|at| align_bytes[at] != sizes[at].min_bytes);
    let copies = section.count("numjobs", 1)?.unwrap_or(1);
    if copies > MOST_COPIES {
        return Err(section.error("numjobs", &format!("at most {MOST_COPIES} copies run at once"), ""));
    }
    let min_bytes = used(access, &sizes).map(|size| size.min_bytes).min().unwrap_or(SECTOR_BYTES);
    let regions = regions(section, copies, min_bytes, capacity_bytes)?;
    refuse_zones_outside(section, &distribution, &regions)?;
    let (pass_bytes, limit_bytes, repeats_to_limit) = limits(section, &regions)?;
    let (runtime_ns, time_based) = runtime(section)?;
    Ok(Job {
        name: section.name.clone(),
        access,
        random,
        random_percent: random_percent(section)?,
        covers: !(section.flag("norandommap")?.unwrap_or(false)
            || distribution != Distribution::Uniform
            || aligned_apart),
        distribution,
        align_bytes,
        sequence,
        sequencer: section
            .chosen("rw_sequencer", &[("sequential", Sequencer::Sequential), ("identical", Sequencer::Identical)])?
            .unwrap_or(Sequencer::Sequential),
        hole_bytes,
        regions,
        pass_bytes,
        limit_bytes,
        repeats_to_limit,
        loops: section.count("loops", 1)?.unwrap_or(1),
        number_ios: section.count("number_ios", 1)?,
        depth: depth(section, copies)?,
        durable: section
            .chosen("sync", &[("0", false), ("none", false), ("1", true), ("sync", true), ("dsync", true)])?
            .unwrap_or(false),
        flush_every: section
            .count("fsync", 0)?
            .filter(|every| *every > 0)
            .or(section.count("fdatasync", 0)?.filter(|every| *every > 0)),
        flush_at_end: section.flag("end_fsync")?.unwrap_or(false) || section.flag("fsync_on_close")?.unwrap_or(false),
        runtime_ns,
        time_based,
        ramp_ns: section.time_ns("ramp_time", NS_PER_S)?.unwrap_or(0),
        start_delay_ns: section.time_ns("startdelay", NS_PER_S)?.unwrap_or(0),
        rate_bytes: rates(section, &sizes)?,
        sizes,
        pause: pause(section)?,
        seed: section.read("randseed", value::count)?,
        drawn_like_fio: false,
        like_fio: false,
        repeats_draws: repeats_draws(section)?,
        stonewall: section.flag("stonewall")?.unwrap_or(false),
    })
}

fn used(access: Access, sizes: &[BlockSizes; 3]) -> impl Iterator<Item = &BlockSizes> {
    Direction::ALL
        .into_iter()
        .filter(move |direction| access.issues(*direction))
        .map(|direction| &sizes[direction as usize])
}

/// Whether each pass draws the same numbers. Many versions of fio forget a seed that has to be repeated: it draws their
/// own numbers for offsets then. Both together are refused, so that a job means the same everywhere.
fn repeats_draws(section: &Section) -> Result<bool, JobError> {
    let seeded = section.read("randseed", value::count)?.is_some();
    for name in ["randrepeat", "allrandrepeat"] {
        match section.flag(name)? {
            Some(true) if seeded => {
                let reason = "does away with randseed in many versions of fio, which then draw offsets of their own";
                return Err(section.error(name, reason, "leave it out, or leave out randseed"));
            }
            Some(false) => return Ok(false),
            _ => {}
        }
    }
    Ok(!seeded)
}

fn refuse_page_cache(section: &Section) -> Result<(), JobError> {
    let (hint, reason) = ("leave it out: the default here is direct=1", "the host's page cache is not modelled");
    if section.flag("direct")? == Some(false) {
        return Err(section.error("direct", reason, hint));
    }
    if section.flag("buffered")? == Some(true) {
        return Err(section.error("buffered", reason, hint));
    }
    Ok(())
}

struct Pattern {
    access: Access,
    random: bool,
    sequence: u64,
    hole_bytes: u64,
}

fn pattern(section: &Section) -> Result<Pattern, JobError> {
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

fn depth(section: &Section, copies: u64) -> Result<u32, JobError> {
    let asynchronous = section
        .chosen(
            "ioengine",
            &[
                ("libaio", true),
                ("io_uring", true),
                ("posixaio", true),
                ("sync", false),
                ("psync", false),
                ("vsync", false),
                ("pvsync", false),
                ("pvsync2", false),
            ],
        )?
        .unwrap_or(true);
    let depth = section.count("iodepth", 1)?.unwrap_or(1);
    if depth.saturating_mul(copies) > MOST_IN_FLIGHT {
        return Err(section.error("iodepth", &format!("at most {MOST_IN_FLIGHT} requests of a job are in flight"), ""));
    }
    Ok(if asynchronous { depth as u32 } else { 1 })
}

fn regions(section: &Section, copies: u64, min_bytes: u64, capacity_bytes: u64) -> Result<Vec<Region>, JobError> {
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
fn limits(section: &Section, regions: &[Region]) -> Result<(Vec<u64>, Vec<u64>, bool), JobError> {
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

fn runtime(section: &Section) -> Result<(Option<u64>, bool), JobError> {
    let runtime_ns = section.time_ns("runtime", NS_PER_S)?.filter(|time_ns| *time_ns > 0);
    let time_based = section.flag("time_based")?.unwrap_or(false);
    if time_based && runtime_ns.is_none() {
        return Err(section.error("time_based", "it needs a runtime", "add `runtime=60s`"));
    }
    Ok((runtime_ns, time_based))
}

fn random_percent(section: &Section) -> Result<[u8; 3], JobError> {
    let set = section.read("percentage_random", |text| value::per_direction(text, percent))?.unwrap_or_default();
    Ok(set.map(|share| share.unwrap_or(100)))
}

fn rates(section: &Section, sizes: &[BlockSizes; 3]) -> Result<[Option<u64>; 3], JobError> {
    section.chosen("rate_process", &[("linear", ())])?;
    if section.has("rate") && section.has("rate_iops") {
        return Err(section.error("rate_iops", "a job has either rate or rate_iops", "leave one out"));
    }
    let read = |part: &str| value::bytes(part, section.kb_base);
    let positive = |rate: Option<u64>| rate.filter(|rate| *rate > 0);
    let bytes = section.read("rate", |text| value::per_direction(text, read))?.unwrap_or_default();
    let requests = section.read("rate_iops", |text| value::per_direction(text, value::count))?.unwrap_or_default();
    Ok([0, 1, 2].map(|at: usize| {
        positive(bytes[at]).or_else(|| positive(requests[at]).map(|rate| rate.saturating_mul(sizes[at].min_bytes)))
    }))
}

fn pause(section: &Section) -> Result<Option<Pause>, JobError> {
    let pause_ns = section.time_ns("thinktime", NS_PER_US)?.unwrap_or(0);
    // Spinning is part of the pause and takes the same time here.
    section.time_ns("thinktime_spin", NS_PER_US)?;
    let requests = section.count("thinktime_blocks", 1)?.unwrap_or(1);
    let counts_issues =
        section.chosen("thinktime_blocks_type", &[("complete", false), ("issue", true)])?.unwrap_or(false);
    Ok((pause_ns > 0).then_some(Pause { pause_ns, requests, counts_issues }))
}

fn distribution(section: &Section) -> Result<Distribution, JobError> {
    let read = |text: &str| parse_distribution(text, section.kb_base);
    Ok(section.read("random_distribution", read)?.unwrap_or(Distribution::Uniform))
}

fn refuse_zones_outside(section: &Section, distribution: &Distribution, regions: &[Region]) -> Result<(), JobError> {
    let Distribution::Zoned(zones) = distribution else {
        return Ok(());
    };
    let end = zones.iter().flatten().filter(|zone| zone.scale == 0).map(|zone| zone.end).max().unwrap_or(0);
    match regions.iter().map(|region| region.bytes()).min() {
        Some(bytes) if end > bytes => Err(section.error(
            "random_distribution",
            &format!("the zones take {end} bytes of {bytes}"),
            "make them smaller",
        )),
        _ => Ok(()),
    }
}

fn parse_distribution(text: &str, kb_base: u64) -> Result<Distribution, String> {
    let (word, rest) = text.split_once(':').map_or((text, None), |(word, rest)| (word, Some(rest)));
    match word {
        "random" if rest.is_none() => Ok(Distribution::Uniform),
        "zipf" => match parameters(rest, 1.2)? {
            (theta, _) if theta <= 0.0 || (theta - 1.0).abs() < f64::EPSILON => {
                Err("theta must be above 0 and not 1".to_owned())
            }
            (theta, center) => Ok(Distribution::Zipf { theta, center }),
        },
        "pareto" => match parameters(rest, 0.2)? {
            (power, center) if power > 0.0 && power < 1.0 => Ok(Distribution::Pareto { power, center }),
            _ => Err("its parameter must lie between 0 and 1".to_owned()),
        },
        "normal" => match parameters(rest, 0.0)? {
            (deviation_percent, center) if (0.0..100.0).contains(&deviation_percent) => {
                Ok(Distribution::Normal { deviation_percent, center })
            }
            _ => Err("the deviation must be 0 to 100 percent".to_owned()),
        },
        "zoned" | "zoned_abs" => {
            let read = |part: &str| zones(part, (word == "zoned_abs").then_some(kb_base));
            let zones = value::per_direction(rest.unwrap_or_default(), read)?;
            Ok(Distribution::Zoned(zones.map(Option::unwrap_or_default)))
        }
        _ => Err("it must be one of random, zipf, pareto, normal, zoned, zoned_abs".to_owned()),
    }
}

/// `1.2` or `1.2:0.5`: the parameter and the center.
fn parameters(text: Option<&str>, default: f64) -> Result<(f64, Option<f64>), String> {
    let Some(text) = text else {
        return Ok((default, None));
    };
    let (parameter, center) =
        text.split_once(':').map_or((text, None), |(parameter, center)| (parameter, Some(center)));
    match center.map(value::fraction).transpose()? {
        Some(center) if !(0.0..=1.0).contains(&center) => Err("the center must lie between 0 and 1".to_owned()),
        center => Ok((value::fraction(parameter)?, center)),
    }
}

/// `60/10:30/20:8/30:2/40`: percent of the accesses to percent of the region (or, absolute, to so many bytes).
fn zones(text: &str, absolute_kb_base: Option<u64>) -> Result<Vec<Zone>, String> {
    let mut shares = Vec::new();
    for part in text.split(':') {
        let (access, size) = part.split_once('/').ok_or_else(|| format!("`{part}` is not a zone like 60/10"))?;
        let size = match absolute_kb_base {
            Some(kb_base) => value::bytes(size, kb_base)?,
            None => u64::from(percent(size)?),
        };
        if size == 0 {
            return Err(format!("`{part}` is an empty zone"));
        }
        shares.push((size, Some(percent(access)?)));
    }
    let (mut access_to_percent, mut end) = (0, 0_u64);
    let zones: Vec<Zone> = fill_shares(&shares)?
        .into_iter()
        .map(|(size, share)| {
            let begin = end;
            access_to_percent += share;
            end = end.saturating_add(size);
            Zone { access_to_percent, begin, end, scale: if absolute_kb_base.is_some() { 0 } else { 100 } }
        })
        .collect();
    match absolute_kb_base {
        None if end > 100 => Err(format!("the zones take {end} percent of the region")),
        _ => Ok(zones),
    }
}
