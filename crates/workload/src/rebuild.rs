//! A rebuild with people at work: an array, a job that goes on meanwhile, and how long it all takes.
//!
//! A rebuild of terabytes is tens of millions of requests to each member. Most of it is the same everywhere but for the
//! recording zones, so unless its history matters, as it does to shingled drives, it is *sampled*: the members are cut into equal parts, a stretch
//! of each is simulated, request by request, and counted for the whole part. The tests hold this against whole rebuilds.

mod felt;
mod resilver;
mod sampled;
mod wear;
mod whole;

use std::ops::Range;

use array::md::Options;
use array::{LayoutError, Outcome};
use drive::faults::{Faults, FaultsError};
use drive::{BlockDevice, Drive, Request, Verb};
use thiserror::Error;

use crate::{Access, Direction, Job, JobError, JobFile, Row, Run};

pub use felt::Felt;
pub use resilver::{resilver, resilver_telling, ResilverOrder, Resilvered};
pub use wear::wear;

/// Between two looks at whether anybody waits; an array of a hundred drives is through with that in a tenth of a second.
const TOLD_BYTES: u64 = 64 << 20;
/// Before a rebuild users have worked for so long, or since the mount: drives hold no more in memory than comes in that time.
const USED_NS: u64 = 60_000_000_000;
/// Users of a filesystem begin anew so long after the new drive was added: fio starts just before, and asks for its first block 73.1 to
/// 75.0 ms behind (three lists of the lab's). By then the recovery has begun, and nobody was in its way.
const USERS_FOLLOW_NS: u64 = 75_000_000;
/// Whoever adds a drive has looked at it so long before, if not sooner: a second is enough to load its heads.
const LOOKED_BEFORE_NS: u64 = 1_000_000_000;
/// Where ext4 lays the first file in a folder, in an array of some gigabytes: at 143 to 153 MiB in four lists of the lab's requests.
const USERS_FILE_AT_BYTES: u64 = 147 << 20;
/// So much of what `shakedown rebuild` fills a real array with is the users' file.
const USERS_EIGHTHS: u64 = 7;
/// A journal in the way of a file is gone around.
const JOURNAL_BYTES: u64 = 16 << 20;
const BLOCK_BYTES: u64 = 4096;

/// A drive as the array sees it, with its faults around it.
pub(crate) type Device = Box<dyn BlockDevice + Send>;
pub(crate) type Array = array::md::Array<Device>;

/// What is to be rebuilt.
#[derive(Clone, Debug)]
pub struct Order {
    /// The array.
    pub options: Options,
    /// Its members; the replacement stands in the place of the one it replaces.
    pub drives: Vec<Drive>,
    /// Which that is.
    pub replacement: usize,
    /// What goes wrong with each member, in the order of the members, counted from the rebuild's beginning; without it
    /// nothing does.
    pub faults: Vec<Option<Faults>>,
    /// When the rebuild begins: all drives have come to that time.
    pub start_ns: u64,
    /// A fio job that runs from then on.
    pub load: Option<String>,
    /// How much of the array holds data, and so how much of it the job uses, 0..=1.
    pub fill: f64,
    /// Of the job's choices.
    pub seed: u64,
    /// Go through every request, however long that takes.
    pub whole: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Of the rebuild.
    pub outcome: Outcome,
    /// When it began: so old were the drives.
    pub began_ns: u64,
    /// The job while the rebuild went on: intervals and the sum of each direction.
    pub during: Vec<Row>,
    /// See [`during`](Self::during).
    pub felt_during: Vec<Felt>,
    /// The same job, as long, on the same array before anything failed.
    pub alone: Vec<Row>,
    /// See [`alone`](Self::alone).
    pub felt_alone: Vec<Felt>,
    /// Whether every request was gone through.
    pub whole: bool,
    /// The requests to members that were.
    pub requests: u64,
}

/// Why there is no rebuild.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RebuildError {
    /// The array cannot be, or cannot be rebuilt.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The job cannot be run on it.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The faults cannot be those of this drive.
    #[error(transparent)]
    Faults(#[from] FaultsError),
    /// Nobody waits for it any more.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Who waited for a rebuild has had enough of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("nobody waits for it any more")]
pub struct Stopped;

/// Hears several times in a second which share is done, 0..=1, and may end it.
pub type Told<'a> = dyn FnMut(f64) -> Result<(), Stopped> + 'a;

/// Rebuilds.
///
/// # Errors
/// When the array, the job or the faults cannot be, or contradict each other.
pub fn rebuild(order: &Order) -> Result<Report, RebuildError> {
    rebuild_telling(order, &mut |_share| Ok(()))
}

/// The same for those who wait.
///
/// # Errors
/// As of [`rebuild`], and of `told`.
pub fn rebuild_telling(order: &Order, told: &mut Told) -> Result<Report, RebuildError> {
    order.check()?;
    let report = if order.whole || order.history_matters() || sampled::is_in_vain(order) {
        whole::rebuild(order, told)
    } else {
        sampled::rebuild(order, told)
    }?;
    told(1.0)?;
    Ok(report)
}

impl Order {
    fn check(&self) -> Result<(), RebuildError> {
        if !(0.0..=1.0).contains(&self.fill) {
            let reason = "0 % to 100 % of an array can hold data";
            return Err(LayoutError::value("fill", format!("{} %", self.fill * 100.0), reason).into());
        }
        if let Some(file) = self.job_file()? {
            if file.jobs.iter().any(|job| job.stonewall) {
                let reason = "jobs that wait for each other do not go on beside a rebuild; leave `stonewall` out";
                return Err(LayoutError::value("load", "stonewall", reason).into());
            }
            // Time would not pass for them.
            if let Some(job) = file.jobs.iter().find(|job| job.access == Access::Only(Direction::Trim)) {
                let reason = "md answers trims at once and passes none on while it rebuilds; of reads or writes users feel something";
                return Err(LayoutError::value("load", format!("[{}] trims", job.name), reason).into());
            }
        }
        self.array_of(self.drives.clone(), self.start_ns)
            .and_then(|mut array| Ok(array.recover(self.replacement, 0, self.options.used_bytes())?))
    }

    /// Whether a stretch depends on what was long before it: a fault at some time; a filesystem that commits now and then; beside a load
    /// md's stripe cache, which grows for minutes; the cache of a shingled drive, in which all gathers that came out of order since the last
    /// checkpoint.
    fn history_matters(&self) -> bool {
        let faulty = self.faults.iter().any(Option::is_some);
        faulty || self.is_mounted() || self.load.is_some() || self.drives.iter().any(Drive::is_shingled)
    }

    /// The array as it is when the member is lost, with the new one in its place.
    fn array(&self) -> Result<Array, RebuildError> {
        let (drives, now_ns) = self.mounted()?;
        self.array_of(drives, now_ns)
    }

    fn array_of(&self, drives: Vec<Drive>, now_ns: u64) -> Result<Array, RebuildError> {
        let device = |(member, drive)| in_its_place(&self.faults, member, drive, now_ns);
        let devices = drives.into_iter().enumerate().map(device).collect::<Result<_, _>>()?;
        Ok(Array::new(self.options.clone(), devices, now_ns)?)
    }

    /// The drives as mounting the filesystem and its users have left them, if there is one, and when that is. Of the lost one, which was
    /// mounted with the others, it is only known that it was like them.
    fn mounted(&self) -> Result<(Vec<Drive>, u64), RebuildError> {
        let mut drives = self.drives.clone();
        let new = drives.get(self.replacement).cloned();
        let (Some(journal_at_bytes), Some(new)) = (self.options.journal_at_bytes, new) else {
            return Ok((drives, self.start_ns));
        };
        drives[self.replacement] = drives[(self.replacement + 1) % drives.len()].clone();
        let options = Options { journal_at_bytes: None, ..self.options.clone() };
        let mut array = array::md::Array::new(options, drives, self.start_ns)?;
        let used_ns = if self.load.is_some() { self.options.mounted_before_ns.min(USED_NS) } else { 0 };
        array.mount(journal_at_bytes, self.options.mounted_before_ns - used_ns);
        self.use_until(&mut array, self.start_ns + self.options.mounted_before_ns)?;
        let now_ns = array.now_ns();
        let mut drives = array.into_devices();
        let looks_ns = now_ns.saturating_sub(LOOKED_BEFORE_NS).max(self.start_ns);
        let (new, told_ns) = looked_at(new, looks_ns);
        drives[self.replacement] = new;
        Ok((drives, now_ns.max(told_ns)))
    }

    /// Users work on an array of which nothing is missing, if there are any, and end with what they have begun, and make it durable.
    fn use_until(&self, array: &mut array::md::Array<Drive>, until_ns: u64) -> Result<(), RebuildError> {
        let now_ns = array.now_ns();
        let (Some(file), true) = (self.job_file()?, now_ns < until_ns) else { return Ok(()) };
        array.set_programs(file.program_ends());
        let mut run = Run::start(file, now_ns, until_ns - now_ns, self.seed);
        run.advance(array, 1);
        run.stop(array);
        array.make_durable();
        Ok(())
    }

    /// When the job begins: with a filesystem it is another run of it than before the rebuild, which was added to an array at rest.
    fn users_begin_ns(&self, began_ns: u64) -> u64 {
        began_ns + if self.is_mounted() { USERS_FOLLOW_NS } else { 0 }
    }

    /// Is there a filesystem on the array?
    fn is_mounted(&self) -> bool {
        self.options.journal_at_bytes.is_some()
    }

    /// The job, on the users' part of the array, going on for ever.
    fn job_file(&self) -> Result<Option<JobFile>, RebuildError> {
        let Some(text) = &self.load else {
            return Ok(None);
        };
        let users = self.users_part();
        if users.is_empty() {
            let reason = "a job needs data to work on; fill the array, or leave the load out";
            return Err(LayoutError::value("fill", "0 %", reason).into());
        }
        let mut file = JobFile::parse(text, users.end - users.start)?.drawn_like_fio();
        for job in &mut file.jobs {
            for_ever(job);
            for region in &mut job.regions {
                region.begin_bytes += users.start;
                region.end_bytes += users.start;
            }
        }
        Ok(Some(file))
    }

    /// What the job works on: all that holds data, or the users' file, if there is a filesystem and room for it where that lays it.
    fn users_part(&self) -> Range<u64> {
        let blocks = |bytes: u64| bytes / BLOCK_BYTES * BLOCK_BYTES;
        let data_bytes = blocks((self.options.capacity_bytes() as f64 * self.fill) as u64);
        let journal_at_bytes = self.options.journal_at_bytes.filter(|_| data_bytes > 0);
        let file = journal_at_bytes.map(|journal_at_bytes| {
            let file = USERS_FILE_AT_BYTES..USERS_FILE_AT_BYTES + blocks(data_bytes / 8 * USERS_EIGHTHS);
            let around = if file.contains(&journal_at_bytes) { JOURNAL_BYTES } else { 0 };
            file.start..file.end + around
        });
        file.filter(|file| file.end <= self.options.capacity_bytes()).unwrap_or(0..data_bytes)
    }
}

/// A new drive, of which whoever adds it reads whether it has a superblock, and when it has told. So its heads are loaded.
fn looked_at(mut new: Drive, now_ns: u64) -> (Drive, u64) {
    let superblock = Request { tag: 0, verb: Verb::Read, fua: false, offset_bytes: BLOCK_BYTES, bytes: BLOCK_BYTES };
    new.submit(now_ns, superblock);
    let told_ns = new.advance_to_completion(u64::MAX, &mut Vec::new());
    (new, told_ns)
}

/// A drive with the faults of its place around it, if there are any, whose times count from `zero_ns`.
fn in_its_place(faults: &[Option<Faults>], member: usize, drive: Drive, zero_ns: u64) -> Result<Device, RebuildError> {
    Ok(match faults.get(member) {
        Some(Some(faults)) => faults.counted_from(zero_ns).wrap(drive)?,
        _ => Box::new(drive),
    })
}

/// Lets a replacement be filled up to there, unless the rebuild ends before or a drive hangs; `told` hears the bytes that are.
fn fill_to(array: &mut Array, to_bytes: u64, told: &mut dyn FnMut(u64) -> Result<(), Stopped>) -> Result<(), Stopped> {
    loop {
        let next_bytes = array.recovered_bytes().saturating_add(TOLD_BYTES).min(to_bytes);
        array.recover_to(next_bytes, u64::MAX);
        if !array.recovering() || array.recovered_bytes() < next_bytes || next_bytes == to_bytes {
            return Ok(());
        }
        told(array.recovered_bytes())?;
    }
}

/// Users do not go home when a file is read: the job goes on until the rebuild is over.
fn for_ever(job: &mut Job) {
    job.time_based = true;
    job.runtime_ns = Some(u64::MAX / 4);
    job.number_ios = None;
}

#[cfg(test)]
mod tests {
    use array::Layout;
    use drive::Profile;

    use super::*;

    fn order() -> Order {
        let profile = Profile::parse(include_str!("../../../drives/st12000vn0007.toml")).unwrap();
        let drives: Vec<Drive> = (0..4).map(|seed| Drive::new(&profile, seed)).collect();
        let options = Options::new(Layout::Raid6, 4, drives[0].capacity_bytes()).unwrap();
        let faults = vec![None; 4];
        let (start_ns, load, fill, seed, whole) = (7, None, 1.0, 1, false);
        Order { options, drives, replacement: 3, faults, start_ns, load, fill, seed, whole }
    }

    /// Its commits come every five seconds or so, and a sample would have them somewhere else.
    #[test]
    fn a_rebuild_beside_a_filesystem_is_not_sampled() {
        let mut order = order();
        assert!(!order.history_matters());
        order.options.journal_at_bytes = Some(0);
        assert!(order.history_matters());
    }

    #[test]
    fn a_rebuild_with_a_fault_anywhere_is_not_sampled() {
        let gone = "format_version = 1\n[[faults]]\nkind = \"gone\"\nfrom_s = 5\nfor_s = 1\n";
        for member in 0..4 {
            let mut order = order();
            order.faults[member] = Some(Faults::parse(gone).unwrap());
            assert!(order.history_matters(), "{member}");
        }
    }

    /// As the lab's requests show, with what lies between: 143 to 370, 153 to 787 and 150 to 569 MiB of arrays of 1, 3 and 2 GB.
    #[test]
    fn users_of_a_filesystem_work_on_one_file() {
        let mib = |mib: f64| (mib * f64::from(1 << 20)) as u64;
        let part = |layout: Layout, width: usize, journal_mib: Option<f64>| {
            let mut order = order();
            order.options = Options::new(layout, width, 1_000_196_096).unwrap();
            (order.fill, order.options.journal_at_bytes) = (0.25, journal_mib.map(mib));
            let part = order.users_part();
            (part.start >> 20, part.end >> 20)
        };
        assert_eq!(part(Layout::Raid1, 2, None), (0, 238));
        assert_eq!(part(Layout::Raid1, 2, Some(256.0)), (147, 371));
        assert_eq!(part(Layout::Raid5, 4, Some(1280.0)), (147, 771));
        assert_eq!(part(Layout::Raid6, 4, Some(768.0)), (147, 563));
        let mut full = order();
        full.options = Options::new(Layout::Raid1, 2, 300 << 20).unwrap();
        full.options.journal_at_bytes = Some(mib(128.0));
        assert_eq!(full.users_part(), 0..full.options.capacity_bytes(), "no room where it would lie");
        full.fill = 0.0;
        assert!(full.users_part().is_empty());
    }

    #[test]
    fn a_job_goes_where_the_users_file_is() {
        let mut order = order();
        order.options.journal_at_bytes = Some(1 << 40);
        order.load = Some("[users]\nrw=randread\nbs=16k\noffset=50%\n".into());
        let (users, file) = (order.users_part(), order.job_file().unwrap().unwrap());
        let region = file.jobs[0].regions[0];
        assert_eq!(region.end_bytes, users.end);
        let middle = users.start + (users.end - users.start) / 2;
        assert!(region.begin_bytes.abs_diff(middle) <= 16 << 10, "{region:?}");
    }

    /// Whichever it is: before it there was another one, like its neighbour.
    #[test]
    fn a_mount_is_the_same_whoever_is_put_in_later() {
        let mut order = order();
        (order.options.journal_at_bytes, order.options.mounted_before_ns) = (Some(1 << 30), 2_000_000_000);
        order.load = Some("[users]\nrw=randwrite\nbs=16k\n".into());
        let profile = Profile::parse(include_str!("../../../drives/st12000vn0007.toml")).unwrap();
        let mounted = [3, 99].map(|seed| {
            let mut order = order.clone();
            order.drives[3] = Drive::new(&profile, seed);
            let (drives, begins_ns) = order.mounted().unwrap();
            (format!("{:?}", &drives[..3]), begins_ns)
        });
        assert!(mounted[0] == mounted[1]);
    }

    /// A new drive was not there yet. Whoever adds it has looked whether it has a superblock, so its heads are loaded.
    #[test]
    fn of_the_new_drive_a_mount_reads_nothing_but_where_a_superblock_would_be() {
        let mut order = order();
        let (_, begins_ns) = order.mounted().unwrap();
        assert_eq!(begins_ns, 7);
        (order.options.journal_at_bytes, order.options.mounted_before_ns) = (Some(1 << 30), 1_000_000_000);
        let (drives, begins_ns) = order.mounted().unwrap();
        assert!(begins_ns > 1_000_000_000);
        let [others @ .., new] = [0, 1, 2, 3].map(|member: usize| drives[member].truth());
        assert!(others.iter().all(|drive| drive.completed > 1), "{others:?}");
        assert_eq!(new.completed, 1);
    }

    /// The rebuild begins when they have answered what the users asked for last.
    #[test]
    fn users_leave_the_new_drive_alone_too_and_what_they_read_in_memory() {
        let mut order = order();
        (order.options.journal_at_bytes, order.options.mounted_before_ns) = (Some(1 << 30), 2_000_000_000);
        let (idle, _) = order.mounted().unwrap();
        order.load = Some("[users]\nrw=randread\nbs=16k\n".into());
        let (used, begins_ns) = order.mounted().unwrap();
        assert!((2_000_000_007..2_200_000_000).contains(&begins_ns), "{begins_ns}");
        let [idle, used] = [idle, used].map(|drives| [0, 1, 2, 3].map(|member| drives[member].truth().completed));
        assert!((0..3).all(|member| used[member] > idle[member]), "{used:?} {idle:?}");
        assert_eq!((idle[3], used[3]), (1, 1));
    }

    /// Else the first flush of the rebuild would wait for it.
    #[test]
    fn what_users_wrote_is_durable_when_the_rebuild_begins() {
        let mut order = order();
        (order.options.journal_at_bytes, order.options.mounted_before_ns) = (Some(1 << 30), 2_000_000_000);
        order.load = Some("[users]\nrw=randwrite\nbs=16k\n".into());
        let (drives, begins_ns) = order.mounted().unwrap();
        assert_eq!([0, 1, 2, 3].map(|member| drives[member].truth().dram_dirty_bytes), [0; 4]);
        assert_eq!(order.users_begin_ns(begins_ns), begins_ns + USERS_FOLLOW_NS);
        order.options.journal_at_bytes = None;
        assert_eq!(order.users_begin_ns(begins_ns), begins_ns);
    }
}
