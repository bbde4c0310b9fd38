//! A place for one drive: takes the guest's commands, lets the model decide when they end, and answers them then.

use std::collections::VecDeque;

use drive::{BlockDevice, Completion, Given, Lost, Request, Status, Verb};
use slab::Slab;

use super::error::LabError;
use super::front::{Answer, Ask, Desk, Flight, Front, Received, Task};
use super::history::History;
use super::identity::Identity;
use super::media::Media;
use super::plug::Plug;
use super::port::Port;
use super::report::{Counters, DriveReport};
use super::ring::Chain;
use super::trace::{Entry, Trace};
use super::undo::Undo;

/// How long an abort or a reset takes until the host hears that it is done. Assumed: it is nothing beside the host's
/// patience of 30 s, and no data sheet says it.
const TASK_NS: u64 = 1_000_000;

/// A task that is not done yet.
struct Errand {
    due_ns: u64,
    queue: usize,
    chain: Chain,
    task: Task,
    answer: Vec<u8>,
}

/// One drive with its front end, its data and what the guest wants of it.
pub(super) struct Bay {
    pub index: usize,
    pub identity: Identity,
    pub front: Box<dyn Front>,
    pub media: Media,
    pub counters: Counters,
    pub plug: Plug,
    /// If another lab is to go on with the drive.
    pub history: Option<History>,
    device: Box<dyn BlockDevice + Send>,
    /// By the tag under which the drive knows them.
    flights: Slab<Flight>,
    /// What is kept back because the drive has no room for it, in order of arrival.
    waiting: VecDeque<usize>,
    given: Given,
    /// The soonest first.
    errands: VecDeque<Errand>,
    /// Ended by the drive; the guest hears of it as soon as it waits.
    ended: Vec<Completion>,
    /// If the power may fail.
    undo: Option<Undo>,
    /// Losses of power that the drive had by itself and that the data knows of.
    losses: usize,
}

impl Bay {
    pub fn new(
        index: usize,
        identity: Identity,
        front: Box<dyn Front>,
        device: Box<dyn BlockDevice + Send>,
        media: Media,
        power_may_fail: bool,
    ) -> Self {
        Self {
            index,
            identity,
            front,
            media,
            counters: Counters::default(),
            plug: Plug::default(),
            history: None,
            device,
            flights: Slab::new(),
            waiting: VecDeque::new(),
            given: Given::default(),
            errands: VecDeque::new(),
            ended: Vec::new(),
            undo: power_may_fail.then(Undo::new),
            losses: 0,
        }
    }

    pub fn report(&self) -> DriveReport {
        let (memory_bytes, file_bytes) = self.media.blocks.stored_bytes();
        DriveReport {
            identity: self.identity.clone(),
            counters: self.counters,
            faults_met: self.device.faults_met(),
            memory_bytes,
            file_bytes,
        }
    }

    /// The power fails and comes back `off_ns` later.
    pub fn power_cycle(&mut self, now_ns: u64, off_ns: u64) -> Result<(), LabError> {
        self.live(now_ns)?;
        let lost = self.device.power_loss(now_ns);
        self.lose(&lost)?;
        self.flights.clear();
        self.waiting.clear();
        self.errands.clear();
        self.ended.clear();
        self.given.clear();
        self.device.power_on(now_ns + off_ns);
        Ok(())
    }

    /// The lab ends.
    pub fn end(&mut self, now_ns: u64) -> Result<(), LabError> {
        self.live(now_ns)?;
        self.history.as_ref().map_or(Ok(()), |history| history.end(now_ns))
    }

    fn lose(&mut self, lost: &Lost) -> Result<(), LabError> {
        self.front.power_on();
        match &mut self.undo {
            Some(undo) => undo.lose(&lost.ranges, &mut self.media.blocks),
            None => Ok(()),
        }
    }

    /// The host is gone, and with it everybody who waited for an answer. The next one resets the link.
    pub fn forget_host(&mut self, now_ns: u64) -> Result<(), LabError> {
        self.waiting.drain(..).for_each(|key| drop(self.flights.remove(key)));
        let keys: Vec<usize> = self.flights.iter().map(|(key, _)| key).collect();
        keys.into_iter().for_each(|key| self.give_up(key));
        self.errands.clear();
        self.plug.forget_host(now_ns);
        self.live(now_ns)?;
        self.device.reset(now_ns);
        Ok(())
    }

    /// When something may be to be told to the guest.
    pub fn next_ns(&self, now_ns: u64) -> Option<u64> {
        let ended = self.ended.first().map(|completion| completion.completed_ns);
        let errand = self.errands.front().map(|errand| errand.due_ns);
        [self.device.next_event_ns(), errand, ended, self.plug.next_ns(now_ns)].into_iter().flatten().min()
    }

    /// The driver has put something into a queue.
    pub fn kick(&mut self, port: &mut Port, queue: usize, now_ns: u64) -> Result<(), LabError> {
        let Some(ring) = port.rings.get_mut(queue) else {
            return Err(LabError::protocol(format!("there is no queue {queue}")));
        };
        self.live(now_ns)?;
        while let Some(chain) = ring.take(&port.memory)? {
            match self.front.receive(queue, &chain, &port.memory)? {
                Received::Ask(ask) if self.is_sent_back(&ask) => {
                    let answer = self.front.busy().unwrap_or_default();
                    let at = self.errands.partition_point(|errand| errand.due_ns <= now_ns);
                    self.errands.insert(at, Errand { due_ns: now_ns, queue, chain, task: Task::Nothing, answer });
                }
                Received::Ask(ask) => {
                    let flight = Flight { queue, chain, ask, arrived_ns: now_ns, cancelled: false, flush: 0 };
                    let key = self.flights.insert(flight);
                    self.waiting.push_back(key);
                    self.admit(now_ns);
                }
                Received::Task(task, answer) => {
                    self.errands.push_back(Errand { due_ns: now_ns + TASK_NS, queue, chain, task, answer });
                }
                Received::Spare => self.plug.spare(queue, chain),
            }
        }
        self.counters.most_outstanding = self.counters.most_outstanding.max(self.flights.len() as u64);
        Ok(())
    }

    /// Lets time pass for the drive.
    fn live(&mut self, now_ns: u64) -> Result<(), LabError> {
        let before = self.ended.len();
        self.device.advance(now_ns, &mut self.ended);
        let flights = &self.flights;
        let is_dropped = |flight: &Flight| flight.cancelled && Given::is_dropped(flight.ask.verb, &self.device);
        let answered = self.ended[before..].iter().filter(|ended| !is_dropped(&flights[ended.tag as usize]));
        self.given.answered(answered.count() as u32);
        while let Some(lost) = self.device.losses().get(self.losses).cloned() {
            self.losses += 1;
            self.lose(&lost)?;
        }
        Ok(())
    }

    /// Is there room in the drive, or in its electronics, which answer what moves nothing beside a flush?
    fn has_room_for(&self, ask: &Ask) -> bool {
        let is_possible = ask.moves_nothing() && self.given.commands() < self.device.queue_depth();
        is_possible || self.given.leaves_room_for(ask.verb, &self.device)
    }

    /// Is the driver to ask again, because of a flush that stands alone? The flush itself waits here, so that it comes next.
    fn is_sent_back(&self, ask: &Ask) -> bool {
        let is_flush = |key: &usize| self.flights[*key].ask.verb == Verb::Flush;
        let behind_flush = self.device.speaks_ata() && self.waiting.iter().any(is_flush);
        let is_full = self.given.commands() >= self.device.queue_depth();
        let beside_flush = !is_full && !self.has_room_for(ask);
        let waits = ask.verb == Verb::Flush || ask.moves_nothing();
        !waits && (behind_flush || beside_flush) && self.front.busy().is_some()
    }

    /// Hands over what the drive has room for.
    fn admit(&mut self, now_ns: u64) {
        while self.waiting.front().is_some_and(|key| self.has_room_for(&self.flights[*key].ask)) {
            let Some(key) = self.waiting.pop_front() else { return };
            let ask = &mut self.flights[key].ask;
            // Without a write cache every write is durable once it is answered; of one on its way the cache may be switched.
            ask.fua |= ask.verb == Verb::Write && !self.front.write_cache();
            let Ask { verb, fua, offset_bytes, bytes, .. } = *ask;
            let tag = u32::try_from(key).expect("no queue is that deep");
            if let (Verb::Flush, Some(undo)) = (verb, &mut self.undo) {
                self.flights[key].flush = undo.flush_begins();
            }
            self.device.submit(now_ns, Request { tag, verb, fua, offset_bytes, bytes });
            self.given.give(verb, &self.device);
        }
    }

    /// The guest waits and it is `now_ns`: answers what has ended by now.
    pub fn answer(&mut self, port: &mut Port, now_ns: u64, trace: &mut Trace) -> Result<(), LabError> {
        self.live(now_ns)?;
        self.admit(now_ns);
        for completion in std::mem::take(&mut self.ended) {
            let flight = self.flights.remove(completion.tag as usize);
            if flight.cancelled {
                continue;
            }
            if completion.status == Status::Good {
                self.remember(&flight)?;
            }
            let desk = Desk { now_ns, memory: &port.memory, media: &mut self.media };
            let answer = self.front.answer(&flight, completion.status, desk)?;
            port.rings[flight.queue].give_back(&port.memory, flight.chain.head, answer.written_bytes)?;
            self.note(&flight, completion.status, answer, now_ns, trace);
        }
        while let Some((is_gone, queue, chain)) = self.plug.news(now_ns) {
            let written = port.memory.scatter(&chain.writable, 0, &self.front.plug_event(is_gone))?;
            port.rings[queue].give_back(&port.memory, chain.head, written as u32)?;
        }
        while self.errands.front().is_some_and(|errand| errand.due_ns <= now_ns) {
            if let Some(errand) = self.errands.pop_front() {
                self.perform(errand, port, now_ns)?;
            }
        }
        Ok(())
    }

    /// Before the data moves: what may be lost later, and what cannot be lost any more.
    fn remember(&mut self, flight: &Flight) -> Result<(), LabError> {
        let Some(undo) = &mut self.undo else { return Ok(()) };
        let Ask { verb, fua, offset_bytes, bytes, .. } = flight.ask;
        let range = offset_bytes..offset_bytes + bytes;
        match verb {
            Verb::Write if fua => undo.forget(range),
            Verb::Write | Verb::Trim => undo.overwrite(range, &self.media.blocks)?,
            Verb::Flush => undo.flush_ends(flight.flush),
            Verb::Read => {}
        }
        Ok(())
    }

    fn note(&mut self, flight: &Flight, status: Status, answer: Answer, now_ns: u64, trace: &mut Trace) {
        let Ask { verb, offset_bytes, bytes, .. } = flight.ask;
        self.counters.add(verb, bytes, status == Status::Good, now_ns - flight.arrived_ns);
        let data_hash = answer.data_hash;
        trace.add(Entry {
            arrived_ns: flight.arrived_ns,
            completed_ns: now_ns,
            drive: self.index,
            verb,
            offset_bytes,
            bytes,
            status,
            data_hash,
        });
    }

    fn perform(&mut self, errand: Errand, port: &mut Port, now_ns: u64) -> Result<(), LabError> {
        match errand.task {
            Task::Nothing => {}
            Task::Abort(tag) => self.cancel(port, |flight| flight.ask.tag == tag)?,
            Task::AbortAll => self.cancel(port, |_| true)?,
            Task::Reset => {
                self.cancel(port, |_| true)?;
                self.front.reset();
                self.counters.resets += 1;
                self.device.reset(now_ns);
                self.live(now_ns)?;
            }
        }
        let written = port.memory.scatter(&errand.chain.writable, 0, &errand.answer)?;
        port.rings[errand.queue].give_back(&port.memory, errand.chain.head, written as u32)
    }

    /// The drive goes on with what it has begun, but nobody waits for it any more.
    fn cancel(&mut self, port: &mut Port, which: impl Fn(&Flight) -> bool) -> Result<(), LabError> {
        let wanted = self.flights.iter().filter(|(_, flight)| !flight.cancelled && which(flight));
        let keys: Vec<usize> = wanted.map(|(key, _)| key).collect();
        for key in keys {
            self.give_up(key);
            self.counters.aborted += 1;
            let flight = &self.flights[key];
            let written = self.front.cancel(flight, &port.memory)?;
            port.rings[flight.queue].give_back(&port.memory, flight.chain.head, written)?;
        }
        let flights = &mut self.flights;
        self.waiting.retain(|key| {
            let wanted = !flights[*key].cancelled;
            if !wanted {
                flights.remove(*key);
            }
            wanted
        });
        Ok(())
    }

    /// Nobody waits for a command any more, whether the drive has it by now or not.
    fn give_up(&mut self, key: usize) {
        let was_cancelled = std::mem::replace(&mut self.flights[key].cancelled, true);
        if !was_cancelled && !self.waiting.contains(&key) {
            self.given.give_up(self.flights[key].ask.verb, &self.device);
        }
    }
}
