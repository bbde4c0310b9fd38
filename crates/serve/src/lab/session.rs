//! One boot of a guest: whose turn it is, and what time.
//!
//! Either the guest runs, and it is listened to until it waits; or it waits, and the next thing happens: a drive ends
//! something and the guest is interrupted, or the time comes that the guest waits for.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{epoll, Timespec};
use rustix::io::Errno;

use super::bay::Bay;
use super::clock::{Clock, Which, NEVER_NS};
use super::error::LabError;
use super::guest::Guest;
use super::link::Link;
use super::port::Port;
use super::report::Outcome;
use super::trace::Trace;
use super::watch::{Limits, Watch, LOOK_INTERVAL};

/// How far a guest may run without asking: so it is heard of even if it has nothing to do with drives, and so its time
/// is roughly known. A day of silence costs 1440 questions.
const ROPE_NS: u64 = 60_000_000_000;
/// Where the guest's kernel knocks.
pub(super) struct Doors {
    clock: Door,
    drives: Vec<Door>,
}

struct Door {
    listener: UnixListener,
    path: PathBuf,
}

impl Doors {
    /// The clock's socket.
    pub const CLOCK: &'static str = "tt";

    /// The socket of a drive.
    pub fn drive(index: usize) -> String {
        format!("d{index}")
    }

    pub fn open(folder: &Path, drives: usize) -> Result<Self, LabError> {
        let clock = Door::open(folder.join(Self::CLOCK))?;
        let drives = (0..drives).map(|index| Door::open(folder.join(Self::drive(index)))).collect::<Result<_, _>>()?;
        Ok(Self { clock, drives })
    }
}

impl Door {
    fn open(path: PathBuf) -> Result<Self, LabError> {
        match UnixListener::bind(&path) {
            Ok(listener) => Ok(Self { listener, path }),
            Err(source) => Err(LabError::Listen { path, source }),
        }
    }

    fn admit(&self) -> Result<Link, LabError> {
        let (stream, _) =
            self.listener.accept().map_err(|source| LabError::Listen { path: self.path.clone(), source })?;
        Ok(Link::new(OwnedFd::from(stream)))
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // It may have been removed with its folder; nobody is left to be told.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whom the guest, or the end of it, is heard from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Clock,
    Guest,
    /// A kernel that looks for a clock.
    Boot,
    Drive(usize),
}

impl Source {
    fn token(self) -> u64 {
        match self {
            Self::Clock => 0,
            Self::Guest => 1,
            Self::Boot => 2,
            Self::Drive(index) => 3 + index as u64,
        }
    }

    fn of(token: u64) -> Self {
        match token {
            0 => Self::Clock,
            1 => Self::Guest,
            2 => Self::Boot,
            index => Self::Drive(index as usize - 3),
        }
    }
}

/// Why it does not go on.
enum Stop {
    Over(Outcome),
    Failed(LabError),
}

impl From<LabError> for Stop {
    fn from(error: LabError) -> Self {
        Self::Failed(error)
    }
}

/// How it ended.
pub(super) struct End {
    pub outcome: Outcome,
    pub now_ns: u64,
    pub wall_ns: u64,
    pub boot_wall_ns: Option<u64>,
    pub messages: u64,
    pub interrupts: u64,
}

pub(super) struct Session<'a> {
    doors: &'a Doors,
    bays: &'a mut [Bay],
    trace: &'a mut Trace,
    boot_ns: u64,
    clock: Option<Clock>,
    ports: Vec<Option<Port>>,
    poller: OwnedFd,
    /// Who is heard at a time: room for all, so that nothing that came before a word of the clock is heard after it.
    spoken: Vec<epoll::Event>,
    interrupts: u64,
    first_heard: Option<Instant>,
    first_kick: Option<Instant>,
}

impl<'a> Session<'a> {
    pub fn new(
        doors: &'a Doors,
        bays: &'a mut [Bay],
        trace: &'a mut Trace,
        boot_ns: u64,
        guest: Option<&Guest>,
    ) -> Result<Self, LabError> {
        let poller = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| LabError::socket("poll", error))?;
        let ports = bays.iter().map(|_| None).collect();
        let nobody = epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        let spoken = vec![nobody; bays.len() + 3];
        let session = Self {
            doors,
            bays,
            trace,
            boot_ns,
            clock: None,
            ports,
            poller,
            spoken,
            interrupts: 0,
            first_heard: None,
            first_kick: None,
        };
        session.watch_for(Source::Boot, &doors.clock.listener)?;
        for (index, door) in doors.drives.iter().enumerate() {
            session.watch_for(Source::Drive(index), &door.listener)?;
        }
        if let Some(guest) = guest {
            session.watch_for(Source::Guest, &guest.end)?;
        }
        Ok(session)
    }

    fn watch_for(&self, source: Source, descriptor: impl AsFd) -> Result<(), LabError> {
        let data = epoll::EventData::new_u64(source.token());
        epoll::add(&self.poller, descriptor, data, epoll::EventFlags::IN)
            .map_err(|error| LabError::socket("poll", error))
    }

    fn ignore(&self, descriptor: impl AsFd) -> Result<(), LabError> {
        epoll::delete(&self.poller, descriptor).map_err(|error| LabError::socket("poll", error))
    }

    pub fn run(
        mut self,
        limits: &Limits,
        guest: Option<&Guest>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<End, LabError> {
        let begun = Instant::now();
        let mut watch = Watch::begin(limits, guest, go_on);
        let outcome = loop {
            let step = match self.clock.as_ref().is_some_and(Clock::is_waiting) {
                true => self.pass_time(&mut watch),
                false => self.listen(&mut watch),
            };
            match step {
                Ok(()) => {}
                Err(Stop::Over(outcome)) => break outcome,
                Err(Stop::Failed(error)) => return Err(error),
            }
        };
        let nanoseconds = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let booted = self.first_heard.zip(self.first_kick);
        Ok(End {
            outcome,
            now_ns: self.clock.as_ref().map_or(self.boot_ns, Clock::now_ns),
            wall_ns: nanoseconds(begun.elapsed()),
            boot_wall_ns: booted.map(|(heard, kick)| nanoseconds(kick - heard)),
            messages: self.clock.as_ref().map_or(0, |clock| clock.messages),
            interrupts: self.interrupts,
        })
    }

    /// The guest waits.
    fn pass_time(&mut self, watch: &mut Watch<'_>) -> Result<(), Stop> {
        // It is not its turn to say anything.
        watch.look(true).map_err(Stop::Over)?;
        self.take_kicks()?;
        let event_ns = self.next_event_ns();
        let Some(clock) = &mut self.clock else { return Ok(()) };
        let cut_ns = watch.limits.power_cut_ns.unwrap_or(NEVER_NS);
        if cut_ns < NEVER_NS && cut_ns <= event_ns.min(clock.wanted_ns()) {
            clock.advance(cut_ns.max(clock.now_ns()));
            return Err(Stop::Over(Outcome::PowerCut));
        }
        if event_ns <= clock.wanted_ns() && event_ns < NEVER_NS {
            let now_ns = event_ns.max(clock.now_ns());
            clock.advance(now_ns);
            return Ok(self.happen(now_ns)?);
        }
        if clock.wanted_ns() >= NEVER_NS {
            return Err(Stop::Over(Outcome::Deadlock));
        }
        clock.run(event_ns.min(cut_ns).min(clock.wanted_ns() + ROPE_NS))?;
        Ok(())
    }

    /// The drives get what the guest had for them when it began to wait.
    fn take_kicks(&mut self) -> Result<(), LabError> {
        let Some(clock) = &mut self.clock else { return Ok(()) };
        let now_ns = clock.now_ns();
        for Which { drive, queue } in clock.kicks() {
            let port = self.ports.get_mut(drive).and_then(Option::as_mut);
            let port = port.ok_or_else(|| LabError::protocol(format!("there is no drive {drive}")))?;
            self.first_kick.get_or_insert_with(Instant::now);
            self.bays[drive].kick(port, queue, now_ns)?;
        }
        Ok(())
    }

    /// When the first of the drives has something to say.
    fn next_event_ns(&self) -> u64 {
        let now_ns = self.clock.as_ref().map_or(self.boot_ns, Clock::now_ns);
        let attended = self.bays.iter().zip(&self.ports).filter(|(_, port)| port.is_some());
        attended.filter_map(|(bay, _)| bay.next_ns(now_ns)).min().unwrap_or(NEVER_NS)
    }

    /// All that the drives have to say now; the guest hears of it as soon as it runs, which is at once.
    fn happen(&mut self, now_ns: u64) -> Result<(), LabError> {
        let Some(clock) = &mut self.clock else { return Ok(()) };
        for (drive, (bay, port)) in self.bays.iter_mut().zip(&mut self.ports).enumerate() {
            if let Some(port) = port.as_mut().filter(|_| bay.next_ns(now_ns).is_some_and(|event_ns| event_ns <= now_ns))
            {
                bay.answer(port, now_ns, self.trace)?;
                for queue in port.calls() {
                    clock.call(Which { drive, queue });
                    self.interrupts += 1;
                }
            }
        }
        Ok(())
    }

    /// Waits for a word, and attends to whoever speaks.
    fn listen(&mut self, watch: &mut Watch<'_>) -> Result<(), Stop> {
        let pause = Timespec { tv_sec: 0, tv_nsec: LOOK_INTERVAL.subsec_nanos().into() };
        let heard = match epoll::wait(&self.poller, &mut self.spoken, Some(&pause)) {
            Ok(heard) => heard,
            Err(Errno::INTR) => 0,
            Err(error) => return Err(LabError::socket("poll", error).into()),
        };
        watch.look(heard > 0).map_err(Stop::Over)?;
        self.spoken[..heard].sort_unstable_by_key(|event| event.data.u64());
        for index in 0..heard {
            match Source::of(self.spoken[index].data.u64()) {
                Source::Clock => self.hear_clock()?,
                Source::Guest => return Err(Stop::Over(Outcome::Ended)),
                Source::Boot => self.welcome()?,
                Source::Drive(index) => self.hear_drive(index)?,
            }
        }
        Ok(())
    }

    /// A kernel has started. A second one is the first one's, which was told to reboot.
    fn welcome(&mut self) -> Result<(), Stop> {
        if self.clock.is_some() {
            return Err(Stop::Over(Outcome::Rebooted));
        }
        let clock = Clock::new(self.doors.clock.admit()?, self.boot_ns);
        self.watch_for(Source::Clock, &clock)?;
        self.clock = Some(clock);
        self.first_heard = Some(Instant::now());
        Ok(())
    }

    fn hear_clock(&mut self) -> Result<(), Stop> {
        let Some(clock) = &mut self.clock else { return Ok(()) };
        match clock.listen()? {
            true => Ok(()),
            false => Err(Stop::Over(Outcome::Ended)),
        }
    }

    fn hear_drive(&mut self, index: usize) -> Result<(), Stop> {
        if let Some(port) = &mut self.ports[index] {
            return match port.listen(self.bays[index].front.as_mut())? {
                true => Ok(()),
                false => self.close(index),
            };
        }
        let door = &self.doors.drives[index].listener;
        let port = Port::new(self.doors.drives[index].admit()?, self.bays[index].front.queues());
        self.ignore(door)?;
        self.watch_for(Source::Drive(index), &port)?;
        self.ports[index] = Some(port);
        Ok(())
    }

    /// The guest does not use that drive any more.
    fn close(&mut self, index: usize) -> Result<(), Stop> {
        self.ports[index] = None;
        self.bays[index].forget_host(self.clock.as_ref().map_or(self.boot_ns, Clock::now_ns))?;
        Ok(self.watch_for(Source::Drive(index), &self.doors.drives[index].listener)?)
    }
}
