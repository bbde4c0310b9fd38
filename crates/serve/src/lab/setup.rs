//! The drives of a lab, over as many boots of a guest as are wanted.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use drive::faults::Schedule;
use drive::{BlockDevice, Profile};
use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};

use super::bay::Bay;
use super::blk::Blk;
use super::blocks::{Blocks, Budget};
use super::clock::TIME_OF_DAY_NS;
use super::error::LabError;
use super::front::Front;
use super::guest::Guest;
use super::history::{History, Life};
use super::identity::Identity;
use super::media::Media;
use super::plug::Plug;
use super::report::LabReport;
use super::scsi::Scsi;
use super::session::{Doors, Session};
use super::trace::Trace;
use super::watch::Limits;

/// The kind of device that the guest sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontKind {
    /// A SATA drive behind a SCSI host adapter, `/dev/sdX`: the host loses patience after 30 s.
    Scsi,
    /// `/dev/vdX`: the host waits for ever.
    Blk,
}

/// One drive to be put into a lab.
pub struct LabDrive {
    /// What decides when its requests end.
    pub device: Box<dyn BlockDevice + Send>,
    /// What the guest is told of it.
    pub identity: Identity,
    /// How the guest sees it.
    pub front: FrontKind,
    /// Whether it comes with its write cache on.
    pub write_cache: bool,
    /// A file that keeps its data; without one the data is gone with the lab.
    pub store_path: Option<PathBuf>,
    /// Whether its power may fail: what was there before is then kept until it cannot come back any more.
    pub power_may_fail: bool,
    /// When the host is told that it is unplugged; what befalls its requests then is the device's.
    pub unplugged: Vec<Schedule>,
    /// The list of what `device` is asked, if it is [`Kept`](super::Kept).
    pub history: Option<History>,
}

impl LabDrive {
    /// A drive as `profile` describes it, whose time is `device`'s.
    pub fn new(profile: &Profile, seed: u64, device: Box<dyn BlockDevice + Send>) -> Self {
        let identity = Identity::new(profile, seed, "");
        Self {
            device,
            identity,
            front: FrontKind::Scsi,
            write_cache: profile.dram.write_back,
            store_path: None,
            power_may_fail: false,
            unplugged: Vec::new(),
            history: None,
        }
    }
}

/// Where a lab keeps things.
#[derive(Clone, Debug)]
pub struct LabOptions {
    /// The run's folder: the sockets are made there.
    pub folder: PathBuf,
    /// Where data goes that does not fit into memory.
    pub spill_folder: PathBuf,
    /// How much memory the data of all drives may take.
    pub memory_bytes: u64,
    /// Where every request is listed, a line each, for those who want to know where two runs part: a file that is not
    /// there yet.
    pub trace_path: Option<PathBuf>,
}

impl LabOptions {
    /// With sockets in `folder`, and 2 GiB of memory for data.
    pub fn new(folder: &Path) -> Self {
        let folder = folder.to_owned();
        Self { folder, spill_folder: std::env::temp_dir(), memory_bytes: 2 << 30, trace_path: None }
    }
}

/// Drives, their data and the time.
pub struct Lab {
    doors: Doors,
    bays: Vec<Bay>,
    trace: Trace,
    now_ns: u64,
}

impl Lab {
    /// Makes the drives and listens for a guest.
    ///
    /// # Errors
    /// [`LabError::Listen`] if the folder does not take the sockets, [`LabError::Store`] if the data has no place.
    pub fn new(drives: Vec<LabDrive>, options: &LabOptions) -> Result<Self, LabError> {
        let budget = Budget::new(options.memory_bytes);
        let bay = |(index, drive)| bay(index, drive, &budget, &options.spill_folder);
        let bays = drives.into_iter().enumerate().map(bay).collect::<Result<Vec<_>, _>>()?;
        let list = options.trace_path.as_ref().map(File::create_new).transpose();
        let trace = match list.map_err(|source| LabError::System { what: "make the list of requests", source })? {
            Some(list) => Trace::listed(list),
            None => Trace::default(),
        };
        Ok(Self { doors: Doors::open(&options.folder, bays.len())?, bays, trace, now_ns: 0 })
    }

    /// What the kernel's command line must say so that it finds clock and drives when it is started in the folder.
    pub fn kernel_arguments(&self) -> Vec<String> {
        let clock = format!("time-travel=ext:1:{}", Doors::CLOCK);
        let drive = |bay: &Bay| format!("virtio_uml.device={}:{}", Doors::drive(bay.index), bay.front.virtio_id());
        std::iter::once(clock).chain(self.bays.iter().map(drive)).collect()
    }

    /// Virtual time since the first boot.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// The time of day in nanoseconds since 1970, with which the next boot begins: for drives that were kept it goes on.
    pub fn time_of_day_ns(&self) -> u64 {
        let ages_ns = self.bays.iter().filter_map(|bay| bay.history.as_ref()).map(|history| history.life().age_ns);
        TIME_OF_DAY_NS + ages_ns.max().unwrap_or(0) + self.now_ns
    }

    /// Ends the lists of drives that are to be kept: another lab may go on with them once this one is gone.
    ///
    /// # Errors
    /// [`LabError::Data`] if a list could not be written.
    pub fn end(&mut self) -> Result<(), LabError> {
        let now_ns = self.now_ns;
        self.bays.iter_mut().try_for_each(|bay| bay.end(now_ns))
    }

    /// What the guest is told of the drives.
    pub fn identities(&self) -> impl Iterator<Item = &Identity> {
        self.bays.iter().map(|bay| &bay.identity)
    }

    /// Between two boots: the power of all drives fails, and comes back `off_ns` later. What was not durable is lost as the
    /// models say; of drives whose power may not fail (see [`LabDrive::power_may_fail`]) nothing is.
    ///
    /// # Errors
    /// [`LabError::Data`] if what was there before cannot be put back.
    pub fn power_cycle(&mut self, off_ns: u64) -> Result<(), LabError> {
        let now_ns = self.now_ns;
        self.bays.iter_mut().try_for_each(|bay| bay.power_cycle(now_ns, off_ns))?;
        self.now_ns += off_ns;
        Ok(())
    }

    /// Serves one boot of a guest from its first message to its end. `guest` becomes readable when its process ends (see
    /// `pidfd_open`), so that a guest that never says a word is not waited for; `go_on` is asked ten times a second.
    ///
    /// # Errors
    /// [`LabError::Protocol`] if the kernel is not understood, [`LabError::Data`] if the data cannot be kept. What drives do
    /// wrong is none.
    pub fn run(
        &mut self,
        guest: Option<&Guest>,
        limits: &Limits,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<LabReport, LabError> {
        let _pinned = limits.cpu.map(Pinned::to).transpose()?;
        let boot_ns = self.now_ns;
        self.bays.iter_mut().try_for_each(|bay| bay.forget_host(boot_ns))?;
        let session = Session::new(&self.doors, &mut self.bays, &mut self.trace, boot_ns, guest)?;
        let end = session.run(limits, guest, go_on);
        self.trace.flush();
        let end = end?;
        self.now_ns = end.now_ns;
        Ok(LabReport {
            outcome: end.outcome,
            virtual_ns: end.now_ns - boot_ns,
            wall_ns: end.wall_ns,
            boot_wall_ns: end.boot_wall_ns,
            trace_hash: self.trace.hash(),
            messages: end.messages,
            interrupts: end.interrupts,
            drives: self.bays.iter().map(Bay::report).collect(),
        })
    }
}

/// This thread on one processor, until dropped.
struct Pinned {
    before: CpuSet,
}

impl Pinned {
    fn to(cpu: usize) -> Result<Self, LabError> {
        let failed = |error| LabError::socket("stay on one processor", error);
        let before = sched_getaffinity(None).map_err(failed)?;
        let mut one = CpuSet::new();
        if cpu < CpuSet::MAX_CPU {
            one.set(cpu);
        }
        sched_setaffinity(None, &one).map_err(failed)?;
        Ok(Self { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // It worked before, and if not, the thread is merely slower.
        let _ = sched_setaffinity(None, &self.before);
    }
}

fn bay(index: usize, drive: LabDrive, budget: &Arc<Budget>, spill_folder: &Path) -> Result<Bay, LabError> {
    let capacity_bytes = drive.device.capacity_bytes();
    let blocks = match &drive.store_path {
        Some(path) => Blocks::kept(capacity_bytes, path)?,
        None => Blocks::passing(capacity_bytes, Arc::clone(budget), spill_folder)?,
    };
    let life = drive.history.as_ref().map_or(Life::default(), History::life);
    let front: Box<dyn Front> = match drive.front {
        FrontKind::Scsi => {
            Box::new(Scsi::new(drive.identity.clone(), drive.write_cache, !drive.unplugged.is_empty(), life))
        }
        FrontKind::Blk => Box::new(Blk::new(drive.identity.clone(), drive.write_cache)),
    };
    let mut bay = Bay::new(index, drive.identity, front, drive.device, Media::new(blocks), drive.power_may_fail);
    bay.history = drive.history;
    bay.plug = Plug::new(drive.unplugged);
    Ok(bay)
}
