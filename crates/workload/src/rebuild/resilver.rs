//! A ZFS resilver with users at work.

use array::zfs::{write_configuration, Plan, Resilver};
use array::LayoutError;
use drive::faults::Faults;
use drive::{BlockDevice, Drive};

use super::felt::{play, play_alone, Feeling};
use super::{for_ever, in_its_place, Device, RebuildError, Report, Told};
use crate::{JobFile, Run};

/// Users are looked at this often, and alone for so many looks.
const INTERVAL_NS: u64 = 5_000_000_000;
const ALONE_INTERVALS: usize = 12;

/// What is to be resilvered.
#[derive(Clone, Debug)]
pub struct ResilverOrder {
    /// The vdev and how it is resilvered.
    pub plan: Plan,
    /// Its members; the replacement stands in the place of the one it replaces.
    pub drives: Vec<Drive>,
    /// What goes wrong with each member, in the order of the members, counted from its beginning; without it nothing does.
    pub faults: Vec<Option<Faults>>,
    /// When it begins: all drives have come to that time.
    pub start_ns: u64,
    /// A fio job that runs from then on.
    pub load: Option<String>,
    /// Of the job's choices.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Resilvered {
    /// As of any rebuild. Rows stand at the time of the whole resilver, of which they may be a sample.
    pub report: Report,
    /// See [`array::zfs::Report`].
    pub zfs: array::zfs::Report,
}

/// Resilvers.
///
/// # Errors
/// When the vdev, the job or the faults cannot be, or contradict each other.
pub fn resilver(order: &ResilverOrder) -> Result<Resilvered, RebuildError> {
    resilver_telling(order, &mut |_share| Ok(()))
}

/// The same for those who wait.
///
/// # Errors
/// As of [`resilver`], and of `told`.
pub fn resilver_telling(order: &ResilverOrder, told: &mut Told) -> Result<Resilvered, RebuildError> {
    let (mut during, mut feeling, mut alone, mut feeling_alone) =
        (Vec::new(), Feeling::new(), Vec::new(), Feeling::new());
    let mut resilver = if let Some(text) = &order.load {
        // Users are there before anything fails: what they rewrite then lies elsewhere when it does.
        let (devices, now_ns) = order.devices_before()?;
        let mut healthy = Resilver::healthy(order.plan.clone(), devices, now_ns)?;
        let file = job_file(text, healthy.capacity_bytes())?;
        healthy.set_programs(file.jobs.iter().map(|job| job.regions.len()).sum());
        let start = |now_ns| Run::start(file.clone(), now_ns, INTERVAL_NS, order.seed).log_requests();
        alone = play_alone(&mut start(now_ns), &mut healthy, ALONE_INTERVALS, &mut feeling_alone, &mut || told(0.0))?;
        let (devices, now_ns) = order.devices()?;
        let mut resilver = Resilver::after(&healthy, order.plan.clone(), devices, now_ns)?;
        let mut run = start(now_ns);
        while !resilver.is_over() && !run.is_over() {
            let mut rows = play(&mut run, &mut resilver, |resilver| !resilver.is_over(), &mut feeling);
            told(resilver.done())?;
            if resilver.is_to_begin() {
                continue;
            }
            let at_ns = resilver.elapsed_ns();
            rows.iter_mut().for_each(|row| row.start_ns = at_ns.saturating_sub(row.duration_ns));
            during.extend(rows);
        }
        resilver
    } else {
        let (devices, now_ns) = order.devices()?;
        Resilver::new(order.plan.clone(), devices, now_ns)?
    };
    resilver.finish_telling(told)?;
    told(1.0)?;
    let zfs = resilver.report();
    let requests = (0..order.drives.len()).map(|member| resilver.members().counters(member).requests).sum();
    let report = Report {
        outcome: zfs.outcome.clone(),
        began_ns: order.start_ns,
        during,
        felt_during: feeling.felt(),
        alone,
        felt_alone: feeling_alone.felt(),
        whole: !resilver.is_sampled(),
        requests,
    };
    Ok(Resilvered { report, zfs })
}

impl ResilverOrder {
    /// The drives, and when they are ready.
    fn devices(&self) -> Result<(Vec<Device>, u64), RebuildError> {
        self.ready(|member| member)
    }

    /// Before one failed: it was like its neighbour.
    fn devices_before(&self) -> Result<(Vec<Device>, u64), RebuildError> {
        let lost = self.plan.lost;
        let neighbour = if lost == 0 { self.drives.len() - 1 } else { lost - 1 };
        self.ready(|member| if member == lost { neighbour } else { member })
    }

    fn ready(&self, stood_there: impl Fn(usize) -> usize) -> Result<(Vec<Device>, u64), RebuildError> {
        let (mut drives, mut now_ns) = (Vec::new(), self.start_ns);
        for place in 0..self.drives.len() {
            let member = stood_there(place);
            let mut drive = self.drives[member].clone();
            let is_there = member != self.plan.lost || self.plan.spare.is_none();
            if is_there && drive.capacity_bytes() >= self.plan.member_bytes {
                now_ns = now_ns.max(write_configuration(&mut drive, self.plan.partition(), self.start_ns));
            }
            drives.push((member, drive));
        }
        // The faults of a place are of the drive that stands there during the resilver, and count from its beginning.
        let device = |(place, (member, drive))| {
            if place == member {
                in_its_place(&self.faults, member, drive, now_ns)
            } else {
                Ok(Box::new(drive) as Device)
            }
        };
        Ok((drives.into_iter().enumerate().map(device).collect::<Result<_, _>>()?, now_ns))
    }
}

/// The job, on what is written to the pool, going on for ever.
fn job_file(text: &str, data_bytes: u64) -> Result<JobFile, RebuildError> {
    if data_bytes == 0 {
        let reason = "a job needs data to work on; fill the pool, or leave the load out";
        return Err(LayoutError::value("fill", "0 %", reason).into());
    }
    let mut file = JobFile::parse(text, data_bytes)?.drawn_like_fio();
    if file.jobs.iter().any(|job| job.stonewall) {
        let reason = "jobs that wait for each other do not go on beside a rebuild; leave `stonewall` out";
        return Err(LayoutError::value("load", "stonewall", reason).into());
    }
    file.jobs.iter_mut().for_each(for_ever);
    Ok(file)
}
