//! The drives of an array, advanced together.
//!
//! Between the array and each drive stands what the block layer is: requests longer than the drive's limit are cut, what is asked
//! for at once may be gathered and put together (a plug), those for which the drive has no room wait in their order, and a request
//! that goes on where one of those ends is merged with it. What the drive has not answered in time is given up, and asked again or
//! failed, as `sd` does. A step costs the same however many members there are.

use std::collections::BTreeSet;

/// How often one that took longer is asked again, unless who asks wants none of it (`REQ_FAILFAST_DEV`).
pub(crate) use drive::faults::SD_MAX_RETRIES as MAX_RETRIES;
use drive::{BlockDevice, Completion, Given, Request, Status, Verb};

pub use crate::command::Ask;
use crate::command::{Command, Limits, COMMAND_TIMEOUT_NS};
pub use crate::counters::Counters;
use crate::tournament::Tournament;
use crate::waiting::Waiting;

/// What is late is aborted, and asked again if who asks wants that (`scmd_eh_abort_handler`); late once more, it has the
/// drive reset (`scsi_abort_command`, `scsi_eh_bus_device_reset`).
const TIMEOUTS_UNTIL_RESET: u32 = 2;

/// `SCSI_DEFAULT_EH_TIMEOUT`: a drive that was reset and does not tell for so long that it is ready is set offline
/// (`scsi_eh_tur`, `scsi_eh_offline_sdevs`). One that is busy tells it.
const READY_TIMEOUT_NS: u64 = 10_000_000_000;

/// What is gathered goes on its way when there are so many more (`BLK_MAX_REQUEST_COUNT`), or the last is so long (`BLK_PLUG_FLUSH_SIZE`).
const MOST_GATHERED: usize = 32;
const MOST_GATHERED_BYTES: u64 = 128 << 10;

/// A request has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Whose.
    pub member: usize,
    /// What the caller gave with it.
    pub token: u64,
    /// When.
    pub completed_ns: u64,
    /// How: of several parts the first that failed decides.
    pub status: Status,
}

/// One request of the array, of whose parts some are still out.
#[derive(Clone, Copy, Debug)]
struct Whole {
    token: u64,
    submitted_ns: u64,
    parts: u32,
    status: Status,
    /// When the parts have ended, a flush follows.
    then_flush: bool,
}

#[derive(Clone, Debug)]
struct Member<D> {
    device: D,
    given: Given,
    commands: Vec<Option<Command>>,
    free_tags: Vec<u32>,
    waiting: Waiting,
    /// No command times out before.
    times_out_ns: u64,
    /// How often something was late since its last answer, what was late together counted once; and when last.
    late: u32,
    late_ns: u64,
    /// Late once more after they were aborted and asked again: they wait for the error handler, and all else with them.
    failed: Vec<Command>,
    /// It was reset, and is set offline unless it answers until then.
    ready_until_ns: Option<u64>,
    busy_since_ns: u64,
    heard_ns: u64,
    /// First bytes of sectors that could not be read or written: who asks again meets them again.
    bad_places: BTreeSet<u64>,
    counters: Counters,
}

impl<D: BlockDevice> Member<D> {
    /// When the host next loses patience with a command that the drive has.
    fn expect_timeout(&mut self) {
        self.times_out_ns = self.commands.iter().flatten().map(|one| one.times_out_ns).min().unwrap_or(u64::MAX);
    }

    /// The host waits for nothing more from the drive; returns what it still waited for.
    fn set_offline(&mut self) -> Vec<Command> {
        let mut awaited = Vec::new();
        for command in self.commands.iter_mut().flatten() {
            command.times_out_ns = u64::MAX;
            if !std::mem::replace(&mut command.given_up, true) {
                self.given.give_up(command.verb, &self.device);
                awaited.push(command.clone());
            }
        }
        (self.late, self.times_out_ns, self.ready_until_ns) = (0, u64::MAX, None);
        awaited.append(&mut self.failed);
        awaited.extend(self.waiting.drain());
        awaited
    }

    /// May it be given another command, of this kind?
    fn has_room_for(&self, verb: Verb) -> bool {
        self.given.leaves_room_for(verb, &self.device) && self.failed.is_empty()
    }

    /// The next of those that wait, if it may be given that.
    fn next_waiting(&mut self) -> Option<Command> {
        let verb = self.waiting.first()?.verb;
        if self.has_room_for(verb) {
            self.waiting.next()
        } else {
            None
        }
    }

    /// Does the host wait for nothing of what it has?
    fn is_abandoned(&self) -> bool {
        self.commands.iter().flatten().all(|command| command.given_up)
    }

    /// Has it answered all that it was given, also what was given up?
    fn is_idle(&self) -> bool {
        self.free_tags.len() == self.commands.len()
    }
}

/// The members of an array and the time they share, which begins at zero.
#[derive(Clone, Debug)]
pub struct Members<D> {
    members: Vec<Member<D>>,
    next: Tournament,
    now_ns: u64,
    wholes: Vec<Whole>,
    free_wholes: Vec<u32>,
    completions: Vec<Completion>,
    /// Commands on their way, while more is to come.
    gathered: Vec<(usize, Command)>,
    is_plugged: bool,
    /// Of commands that are no more: memory to be used again.
    spare: Vec<Vec<u32>>,
    max_request_bytes: u64,
    max_segments: u64,
    command_timeout_ns: u64,
    max_retries: u32,
}

impl<D: BlockDevice> Members<D> {
    /// The devices as they are at `now_ns`, with nothing in flight; no command is longer than `max_request_bytes`
    /// (the block layer's `max_sectors_kb`), and what times out is asked again `max_retries` times.
    pub fn new(devices: Vec<D>, now_ns: u64, max_request_bytes: u64, max_retries: u32) -> Self {
        let next = Tournament::new(devices.len());
        let members = devices
            .into_iter()
            .map(|device| Member {
                device,
                given: Given::default(),
                commands: Vec::new(),
                free_tags: Vec::new(),
                waiting: Waiting::default(),
                times_out_ns: u64::MAX,
                late: 0,
                late_ns: 0,
                failed: Vec::new(),
                ready_until_ns: None,
                busy_since_ns: now_ns,
                heard_ns: now_ns,
                bad_places: BTreeSet::new(),
                counters: Counters::default(),
            })
            .collect();
        Self {
            members,
            next,
            now_ns,
            wholes: Vec::new(),
            free_wholes: Vec::new(),
            completions: Vec::new(),
            gathered: Vec::new(),
            is_plugged: false,
            spare: Vec::new(),
            max_request_bytes: max_request_bytes.max(4096),
            max_segments: u64::MAX,
            command_timeout_ns: COMMAND_TIMEOUT_NS,
            max_retries,
        }
    }

    /// With host adapters whose lists have room for so many pieces of memory: requests are merged as far as they go.
    pub fn with_max_segments(self, max_segments: u64) -> Self {
        Self { max_segments, ..self }
    }

    /// On a host that waits so long for a command (`/sys/block/sdX/device/timeout`), and twice as long for a flush.
    pub fn with_command_timeout_ns(self, command_timeout_ns: u64) -> Self {
        Self { command_timeout_ns, ..self }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The time up to which everything has happened.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// One of the drives.
    pub fn device(&self, member: usize) -> &D {
        &self.members[member].device
    }

    /// The drives, to be used elsewhere.
    pub fn into_devices(self) -> Vec<D> {
        self.members.into_iter().map(|member| member.device).collect()
    }

    /// The member that alone has something to do, if it is one.
    pub fn only_busy(&self) -> Option<usize> {
        let mut busy = (0..self.members.len()).filter(|at| !self.members[*at].is_idle());
        busy.next().filter(|_| busy.next().is_none())
    }

    /// What a member has done so far.
    pub fn counters(&self, member: usize) -> Counters {
        let Member { device, counters, given, busy_since_ns, heard_ns, .. } = &self.members[member];
        let mut counters = *counters;
        let met = device.faults_met().into_iter().take(63).enumerate();
        counters.faults_met = met.map(|(number, met)| u64::from(met) << number).sum();
        if !self.members[member].is_idle() {
            counters.busy_ns += self.now_ns - busy_since_ns;
        }
        if given.commands() > 0 {
            counters.longest_silence_ns = counters.longest_silence_ns.max(self.now_ns - heard_ns);
        }
        counters
    }

    /// How many commands a member has or waits for.
    pub fn in_flight(&self, member: usize) -> usize {
        self.members[member].given.commands() as usize + self.members[member].waiting.len()
    }

    /// Hands over a request now; `token` comes back with its end. Not empty and aligned to sectors, unless a flush.
    pub fn submit(&mut self, member: usize, verb: Verb, offset_bytes: u64, bytes: u64, token: u64) {
        self.ask(member, Ask { verb, fua: false, offset_bytes, bytes, segments: 1 }, token);
    }

    /// The same, in all that it may be.
    pub fn ask(&mut self, member: usize, ask: Ask, token: u64) {
        let Ask { verb, offset_bytes, bytes, .. } = ask;
        let parts = bytes.div_ceil(self.max_request_bytes).max(1);
        let then_flush = ask.fua && verb == Verb::Write && self.members[member].device.speaks_ata();
        let (submitted_ns, status) = (self.now_ns, Status::Good);
        let whole = self.keep(Whole { token, submitted_ns, parts: parts as u32, status, then_flush });
        let counters = &mut self.members[member].counters;
        match verb {
            Verb::Read => counters.bytes_read += bytes,
            Verb::Write => counters.bytes_written += bytes,
            Verb::Flush | Verb::Trim => {}
        }
        for part in 0..parts {
            let start = part * self.max_request_bytes;
            let length = (bytes - start).min(self.max_request_bytes);
            let others = self.spare.pop().unwrap_or_default();
            let part = Ask { offset_bytes: offset_bytes + start, bytes: length, ..ask };
            self.issue(member, Command::new(part, self.now_ns, whole, others));
        }
    }

    /// When to look again; `None` while nothing is in flight.
    pub fn next_event_ns(&self) -> Option<u64> {
        Some(self.next.first().1).filter(|at_ns| *at_ns < u64::MAX)
    }

    /// Lets time pass until requests end, but not beyond `limit_ns`; appends those that ended, in the order of the members,
    /// and returns the time.
    pub fn step(&mut self, limit_ns: u64, done: &mut Vec<Done>) -> u64 {
        let had = done.len();
        loop {
            let (member, at_ns) = self.next.first();
            // Who else has something to tell at this time is heard before it goes on. What was given up ends without a word.
            if at_ns > limit_ns || at_ns == u64::MAX || (done.len() > had && at_ns > self.now_ns) {
                break;
            }
            self.now_ns = self.now_ns.max(at_ns);
            self.hear(member, done);
        }
        if done.len() == had {
            self.now_ns = self.now_ns.max(limit_ns);
        }
        self.now_ns
    }

    /// Lets time pass up to `to_ns` for the drives that have nothing to do, too.
    pub fn settle(&mut self, to_ns: u64) {
        for member in 0..self.members.len() {
            if self.members[member].is_idle() {
                self.members[member].device.advance(to_ns, &mut self.completions);
            }
        }
    }

    fn keep(&mut self, whole: Whole) -> u32 {
        match self.free_wholes.pop() {
            Some(place) => {
                self.wholes[place as usize] = whole;
                place
            }
            None => {
                self.wholes.push(whole);
                self.wholes.len() as u32 - 1
            }
        }
    }

    /// What is asked for from now on is gathered (`blk_start_plug`), until `unplug`.
    pub fn plug(&mut self) {
        self.is_plugged = true;
    }

    /// What has been gathered goes on its way.
    pub fn unplug(&mut self) {
        self.is_plugged = false;
        self.send_gathered();
    }

    /// How much there is room for in the command that a request would go with.
    pub(crate) fn room_for(&self, at: usize, ask: Ask) -> Limits {
        let limits = self.limits();
        let command = Command::new(ask, self.now_ns, 0, Vec::new());
        let gathered = self.gathered.iter().rev().find(|(member, _)| *member == at).map(|(_, last)| last);
        let with = gathered.filter(|last| last.has_room_for(&command, limits));
        let waiting = &self.members[at].waiting;
        let with = with.or_else(|| waiting.before(&command, limits).map(|place| waiting.get(place)));
        with.map_or(limits, |with| limits.beside(with))
    }

    /// A request is merged with the last that is gathered for its drive, or with one that waits there; else it is gathered, or goes
    /// on its way (`blk_mq_submit_bio`).
    fn issue(&mut self, at: usize, mut command: Command) {
        let limits = self.limits();
        if !self.is_plugged || self.overtakes(at, &command) {
            self.insert(at, command);
            return;
        }
        let last = self.gathered.iter_mut().rev().find(|(member, _)| *member == at);
        if let Some((_, last)) = last.filter(|(_, last)| last.has_room_for(&command, limits)) {
            last.take_in(&mut command);
            self.spare.push(command.others);
            return;
        }
        let Some(command) = self.merged(at, command) else { return };
        let is_enough = self.gathered.last().is_some_and(|(_, last)| last.bytes >= MOST_GATHERED_BYTES);
        if is_enough || self.gathered.len() >= MOST_GATHERED {
            self.send_gathered();
        }
        self.gathered.push((at, command));
    }

    fn send_gathered(&mut self) {
        let mut gathered = std::mem::take(&mut self.gathered);
        gathered.drain(..).for_each(|(at, command)| self.insert(at, command));
        self.gathered = gathered;
    }

    /// Flushes overtake all others, and so does a write behind which one follows, where Linux has no single write forced to the
    /// medium (`block/blk-flush.c`).
    fn overtakes(&self, at: usize, command: &Command) -> bool {
        command.verb == Verb::Flush || (command.fua && self.members[at].device.speaks_ata())
    }

    /// To the drive if it has room; else to those that wait.
    fn insert(&mut self, at: usize, command: Command) {
        let member = &self.members[at];
        if member.waiting.is_empty() && member.has_room_for(command.verb) {
            self.hand_over(at, command);
        } else if self.overtakes(at, &command) {
            self.members[at].waiting.push_ahead(command);
        } else if let Some(command) = self.merged(at, command) {
            self.members[at].waiting.push(command);
        }
    }

    /// Gives it back if there is none that waits that it can be merged with.
    fn merged(&mut self, at: usize, mut command: Command) -> Option<Command> {
        let limits = self.limits();
        let waiting = &mut self.members[at].waiting;
        let Some(before) = waiting.before(&command, limits) else { return Some(command) };
        let behind = waiting.merge(before, &mut command, limits);
        self.spare.push(command.others);
        self.spare.extend(behind.map(|behind| behind.others));
        None
    }

    fn limits(&self) -> Limits {
        Limits { bytes: self.max_request_bytes, segments: self.max_segments }
    }

    fn hand_over(&mut self, at: usize, command: Command) {
        let member = &mut self.members[at];
        if member.is_idle() {
            member.busy_since_ns = self.now_ns;
        }
        // It has been silent for as long as somebody waits, also where he asks again.
        if member.given.commands() == 0 && command.timeouts == 0 {
            member.heard_ns = self.now_ns;
        }
        member.given.give(command.verb, &member.device);
        let tag = member.free_tags.pop().unwrap_or_else(|| {
            member.commands.push(None);
            member.commands.len() as u32 - 1
        });
        let Command { verb, offset_bytes, bytes, .. } = command;
        let fua = command.fua && !member.device.speaks_ata();
        let times_out_ns = self.now_ns + command.patience_ns(self.command_timeout_ns);
        let command = Command { issued_ns: self.now_ns, times_out_ns, ..command };
        member.times_out_ns = member.times_out_ns.min(times_out_ns);
        member.commands[tag as usize] = Some(command);
        member.device.submit(self.now_ns, Request { tag, verb, fua, offset_bytes, bytes });
        self.expect(at);
    }

    /// When the member has to be heard next: it tells something, or has not for too long.
    fn expect(&mut self, at: usize) {
        let member = &self.members[at];
        let host_ns = member.times_out_ns.min(member.ready_until_ns.unwrap_or(u64::MAX));
        self.next.set(at, member.device.next_event_ns().unwrap_or(u64::MAX).min(host_ns));
    }

    /// Takes what a member has to tell at this time.
    fn hear(&mut self, at: usize, done: &mut Vec<Done>) {
        let mut completions = std::mem::take(&mut self.completions);
        completions.clear();
        self.members[at].device.advance(self.now_ns, &mut completions);
        for completion in completions.drain(..) {
            self.retire(at, completion, done);
        }
        self.completions = completions;
        if self.members[at].ready_until_ns.is_some_and(|until_ns| until_ns <= self.now_ns) {
            let member = &mut self.members[at];
            member.ready_until_ns = None;
            let awaited = if member.device.is_ready(self.now_ns) { Vec::new() } else { member.set_offline() };
            awaited.into_iter().for_each(|command| self.end(at, command, Status::Gone, done));
        }
        if self.members[at].times_out_ns <= self.now_ns {
            self.give_up_late(at, done);
        }
        self.handle_errors(at, done);
        while let Some(command) = self.members[at].next_waiting() {
            self.hand_over(at, command);
        }
        self.expect(at);
    }

    /// Who was aborted before and is late again waits for the error handler, which begins when the drive has nothing else to do: it
    /// is given nothing meanwhile (`scsi_abort_command`, `scsi_eh_wakeup`). Then it is reset, and asked again.
    fn handle_errors(&mut self, at: usize, done: &mut Vec<Done>) {
        let member = &mut self.members[at];
        if member.failed.is_empty() || !member.is_abandoned() {
            return;
        }
        member.device.reset(self.now_ns);
        let failed = std::mem::take(&mut member.failed);
        self.ask_again(at, failed, done);
    }

    /// Those that have retries left go before all others; the others have failed.
    fn ask_again(&mut self, at: usize, late: Vec<Command>, done: &mut Vec<Done>) {
        for command in late.into_iter().rev() {
            if command.timeouts <= self.max_retries {
                self.members[at].waiting.again(command);
            } else {
                self.end(at, command, Status::Aborted, done);
            }
        }
    }

    /// What has timed out is aborted, and asked again, or has failed. A drive that answers nothing all the same is reset,
    /// and then tested. Who wants nothing asked again hears of the first time, and asks itself for what may be (`vdev_probe`).
    fn give_up_late(&mut self, at: usize, done: &mut Vec<Done>) {
        let now_ns = self.now_ns;
        let member = &mut self.members[at];
        let mut late = Vec::new();
        let mut any_late = false;
        for command in member.commands.iter_mut().flatten().filter(|one| one.times_out_ns <= now_ns) {
            any_late = true;
            if !command.given_up {
                // Whoever waits no more does not learn how long it would have taken: this long at least.
                member.counters.took(command, now_ns);
                member.given.give_up(command.verb, &member.device);
                late.push(Command { timeouts: command.timeouts + 1, ..command.clone() });
            }
            command.given_up = true;
            command.times_out_ns = now_ns + command.patience_ns(self.command_timeout_ns);
        }
        member.expect_timeout();
        if !any_late {
            return;
        }
        member.counters.timeouts += late.len() as u64;
        member.device.reset(now_ns);
        if member.late == 0 || now_ns - member.late_ns >= self.command_timeout_ns {
            (member.late, member.late_ns) = (member.late + 1, now_ns);
        }
        let not_asked_again = u32::from(self.max_retries == 0);
        if member.late >= TIMEOUTS_UNTIL_RESET + not_asked_again && !member.device.is_ready(now_ns) {
            member.ready_until_ns.get_or_insert(now_ns + READY_TIMEOUT_NS);
        }
        let (again, once): (Vec<_>, Vec<_>) = late.into_iter().partition(|command| command.timeouts > 1);
        self.members[at].failed.extend(again);
        self.ask_again(at, once, done);
    }

    fn retire(&mut self, at: usize, completion: Completion, done: &mut Vec<Done>) {
        let member = &mut self.members[at];
        let Some(command) = member.commands[completion.tag as usize].take() else { return };
        member.free_tags.push(completion.tag);
        let is_idle = member.is_idle();
        let counters = &mut member.counters;
        counters.requests += 1;
        if is_idle {
            counters.busy_ns += self.now_ns - member.busy_since_ns;
            member.times_out_ns = u64::MAX;
        }
        if command.given_up && Given::is_dropped(command.verb, &member.device) {
            return;
        }
        member.given.answered(1);
        counters.took(&command, self.now_ns);
        counters.longest_silence_ns = counters.longest_silence_ns.max(self.now_ns - member.heard_ns);
        member.heard_ns = self.now_ns;
        if completion.status != Status::Aborted {
            (member.late, member.ready_until_ns) = (0, None);
        }
        if command.given_up {
            return;
        }
        if let Status::MediumError { offset_bytes } = completion.status {
            member.bad_places.insert(offset_bytes);
            member.counters.bad_places = member.bad_places.len() as u64;
        }
        match completion.status {
            // It was not late itself: that it was reset with others does not count.
            Status::Aborted => member.waiting.again(command),
            status => self.end(at, command, status, done),
        }
    }

    /// The wholes that a command belongs to hear of its end.
    fn end(&mut self, at: usize, mut command: Command, status: Status, done: &mut Vec<Done>) {
        for place in std::iter::once(command.first).chain(command.others.drain(..)) {
            let whole = &mut self.wholes[place as usize];
            whole.parts -= 1;
            if whole.status == Status::Good {
                whole.status = status;
            }
            if whole.parts == 0 && whole.then_flush && whole.status == Status::Good {
                (whole.parts, whole.then_flush) = (1, false);
                let flush = Ask { verb: Verb::Flush, fua: false, offset_bytes: 0, bytes: 0, segments: 0 };
                let others = self.spare.pop().unwrap_or_default();
                self.insert(at, Command::new(flush, self.now_ns, place, others));
            } else if whole.parts == 0 {
                let counters = &mut self.members[at].counters;
                counters.longest_ns = counters.longest_ns.max(self.now_ns - whole.submitted_ns);
                let (token, status) = (whole.token, whole.status);
                self.free_wholes.push(place);
                done.push(Done { member: at, token, completed_ns: self.now_ns, status });
            }
        }
        self.spare.push(command.others);
    }
}
