//! From settings to [`Job`]s.

use drive::SECTOR_BYTES;

use super::blocks::{alignments, block_sizes};
use super::distribution::{distribution, refuse_zones_outside};
use super::ini;
use super::pattern::{pattern, Pattern};
use super::regions::{limits, regions};
use super::section::{percent, Section};
use super::spec::{Access, BlockSizes, Direction, Distribution, Job, JobFile, Pause, Sequencer};
use super::value;
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
    let copies = copies(section)?;
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
        sequencer: sequencer(section)?,
        hole_bytes,
        regions,
        pass_bytes,
        limit_bytes,
        repeats_to_limit,
        loops: section.count("loops", 1)?.unwrap_or(1),
        number_ios: section.count("number_ios", 1)?,
        depth: depth(section, copies)?,
        durable: durable(section)?,
        flush_every: flush_every(section)?,
        flush_at_end: section.flag("end_fsync")?.unwrap_or(false) || section.flag("fsync_on_close")?.unwrap_or(false),
        runtime_ns,
        time_based,
        ramp_ns: section.time_ns("ramp_time", NS_PER_S)?.unwrap_or(0),
        start_delay_ns: section.time_ns("startdelay", NS_PER_S)?.unwrap_or(0),
        rate_bytes: rates(section, access, &sizes)?,
        sizes,
        pause: pause(section)?,
        seed: section.read("randseed", value::count)?,
        drawn_like_fio: false,
        like_fio: false,
        repeats_draws: repeats_draws(section)?,
        stonewall: section.flag("stonewall")?.unwrap_or(false),
    })
}

fn copies(section: &Section) -> Result<u64, JobError> {
    match section.count("numjobs", 1)?.unwrap_or(1) {
        copies if copies > MOST_COPIES => {
            Err(section.error("numjobs", &format!("at most {MOST_COPIES} copies run at once"), ""))
        }
        copies => Ok(copies),
    }
}

fn sequencer(section: &Section) -> Result<Sequencer, JobError> {
    let words = [("sequential", Sequencer::Sequential), ("identical", Sequencer::Identical)];
    Ok(section.chosen("rw_sequencer", &words)?.unwrap_or(Sequencer::Sequential))
}

fn durable(section: &Section) -> Result<bool, JobError> {
    let words = [("0", false), ("none", false), ("1", true), ("sync", true), ("dsync", true)];
    Ok(section.chosen("sync", &words)?.unwrap_or(false))
}

fn flush_every(section: &Section) -> Result<Option<u64>, JobError> {
    let [all, data] = [section.count("fsync", 0)?, section.count("fdatasync", 0)?];
    Ok(all.filter(|every| *every > 0).or(data.filter(|every| *every > 0)))
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

fn runtime(section: &Section) -> Result<(Option<u64>, bool), JobError> {
    let runtime_ns = section.time_ns("runtime", NS_PER_S)?.filter(|time_ns| *time_ns > 0);
    let time_based = section.flag("time_based")?.unwrap_or(false);
    if time_based && runtime_ns.is_none() {
        if section.has("runtime") {
            return Err(section.error("runtime", "a job that is `time_based` needs some time", "like `runtime=60s`"));
        }
        return Err(section.error("time_based", "it needs a runtime", "add `runtime=60s`"));
    }
    Ok((runtime_ns, time_based))
}

fn random_percent(section: &Section) -> Result<[u8; 3], JobError> {
    let set = section.read("percentage_random", |text| value::per_direction(text, percent))?.unwrap_or_default();
    Ok(set.map(|share| share.unwrap_or(100)))
}

fn rates(section: &Section, access: Access, sizes: &[BlockSizes; 3]) -> Result<[Option<u64>; 3], JobError> {
    section.chosen("rate_process", &[("linear", ())])?;
    if section.has("rate") && section.has("rate_iops") {
        return Err(section.error("rate_iops", "a job has either rate or rate_iops", "leave one out"));
    }
    let read = |part: &str| value::bytes(part, section.kb_base);
    let positive = |rate: Option<u64>| rate.filter(|rate| *rate > 0);
    let bytes = section.read("rate", |text| value::per_direction(text, read))?.unwrap_or_default();
    let requests = section.read("rate_iops", |text| value::per_direction(text, value::count))?.unwrap_or_default();
    for direction in Direction::ALL.into_iter().filter(|direction| access.issues(*direction)) {
        let (size, rate) = (&sizes[direction as usize], positive(requests[direction as usize]));
        if let Some(rate) = rate.filter(|_| size.min_bytes < size.max_bytes) {
            let reason = format!(
                "fio makes bytes a second of it, {rate} times the shortest request's {}, so that there are fewer of longer ones",
                size.min_bytes
            );
            let hint = format!("say so with `rate={}`, or give one size", rate.saturating_mul(size.min_bytes));
            return Err(section.error("rate_iops", &reason, &hint));
        }
    }
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
