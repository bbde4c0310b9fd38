//! A modelled drive that lives by the machine's clock: its virtual time is the time since it was switched on.
//!
//! Any thread submits; one thread, the *completer*, owns the drive. It sleeps until the drive's next event or the next
//! submission, hands the drive every request at the moment at which it arrived, and gives out the answers that have
//! fallen due. It sleeps on a condition variable, whose time-outs are absolute deadlines of the monotonic clock on
//! Linux, so that lateness never adds up. While nothing is outstanding it sleeps without a deadline: background work of
//! the drive is caught up with at the next request. Nothing here knows a transport.

use std::collections::VecDeque;
use std::mem;
use std::num::NonZeroU64;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use drive::{BlockDevice, Completion, Given, Request, Status, Verb};
use slab::Slab;

use crate::report::Record;

/// The one who asked, waiting for the answer.
pub trait Client: Send {
    /// Hands over the answer. Called by the completer, so it must not wait for anybody.
    fn answer(self, outcome: Result<Status, SwitchedOff>);

    /// Whether nobody wants the answer any more; the drive is then not bothered with the request.
    fn is_gone(&self) -> bool;
}

/// The request was never answered by the drive; whether it took effect is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchedOff;

/// What is asked of the drive: see [`Request`] for the first four.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Read, write, flush or trim.
    pub verb: Verb,
    /// Force unit access.
    pub fua: bool,
    /// First byte.
    pub offset_bytes: u64,
    /// Length.
    pub bytes: u64,
    /// How long the machine held the request up before it got here, moving its data: it counts as lateness.
    pub moving_ns: u64,
}

struct Pending<C> {
    command: Command,
    arrived_ns: u64,
    client: C,
}

/// A drive in real time, as those see it who submit.
pub struct RealTime<C> {
    switched_on: Instant,
    inbox: Mutex<Inbox<C>>,
    changed: Condvar,
}

struct Inbox<C> {
    /// In order of their `arrived_ns`, since the clock is read under the lock.
    arrived: Vec<Pending<C>>,
    /// The completer sleeps and has to be woken.
    asleep: bool,
    on: bool,
}

impl<C: Client> Default for RealTime<C> {
    /// Switches the drive on: its virtual time starts now.
    fn default() -> Self {
        let inbox = Inbox { arrived: Vec::new(), asleep: false, on: true };
        Self { switched_on: Instant::now(), inbox: Mutex::new(inbox), changed: Condvar::new() }
    }
}

impl<C: Client> RealTime<C> {
    fn lock(&self) -> MutexGuard<'_, Inbox<C>> {
        self.inbox.lock().expect("nothing panics while it holds the inbox")
    }

    fn clock_ns(&self) -> u64 {
        u64::try_from(self.switched_on.elapsed().as_nanos()).expect("five hundred years fit")
    }

    /// Hands a request to the drive, or to the host's waiting list while the drive's queue is full.
    pub fn submit(&self, command: Command, client: C) {
        let mut inbox = self.lock();
        if !inbox.on {
            drop(inbox);
            return client.answer(Err(SwitchedOff));
        }
        let arrived_ns = self.clock_ns();
        inbox.arrived.push(Pending { command, arrived_ns, client });
        if mem::take(&mut inbox.asleep) {
            drop(inbox);
            self.changed.notify_one();
        }
    }

    /// Ends the service: what is outstanding is answered with [`SwitchedOff`], and so is what comes later.
    pub fn switch_off(&self) {
        let mut inbox = self.lock();
        inbox.on = false;
        let unseen = mem::take(&mut inbox.arrived);
        drop(inbox);
        self.changed.notify_one();
        for pending in unseen {
            pending.client.answer(Err(SwitchedOff));
        }
    }

    /// The completer's life: lets `device` live until it is switched off, and returns how late its answers were.
    pub(crate) fn complete<D: BlockDevice>(&self, device: D) -> Record {
        // The kernel may otherwise delay every deadline by 50 µs to save wake-ups. If it does not obey, so be it.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut record = Record::default();
        let mut host = Host::new(device);
        let mut arrived = Vec::new();
        while let Some(now_ns) = self.sleep(host.device.next_event_ns(), &mut arrived) {
            host.live(arrived.drain(..), now_ns);
            for (pending, completion) in host.due.drain(..) {
                let modelled_ns = completion.completed_ns.saturating_sub(pending.arrived_ns);
                pending.client.answer(Ok(completion.status));
                let overdue_ns = self.clock_ns().saturating_sub(completion.completed_ns);
                record.add(modelled_ns, pending.command.moving_ns + overdue_ns, completion.status == Status::Good);
            }
        }
        for pending in host.outstanding() {
            pending.client.answer(Err(SwitchedOff));
        }
        record
    }

    /// Sleeps until a request arrives or the moment comes, and returns the time; `None` once it is switched off. All
    /// requests that arrived before that time are in `arrived` then, and none that comes later.
    fn sleep(&self, until_ns: Option<u64>, arrived: &mut Vec<Pending<C>>) -> Option<u64> {
        let poisoned = "nothing panics while it holds the inbox";
        let mut inbox = self.lock();
        while inbox.on {
            let now_ns = self.clock_ns();
            if !inbox.arrived.is_empty() || until_ns.is_some_and(|until_ns| until_ns <= now_ns) {
                mem::swap(&mut inbox.arrived, arrived);
                return Some(now_ns);
            }
            inbox.asleep = true;
            inbox = match until_ns {
                None => self.changed.wait(inbox).expect(poisoned),
                Some(until_ns) => {
                    let pause = Duration::from_nanos(until_ns - now_ns);
                    self.changed.wait_timeout(inbox, pause).expect(poisoned).0
                }
            };
            inbox.asleep = false;
        }
        None
    }
}

/// The drive with what its host knows of the requests.
struct Host<D, C> {
    device: D,
    now_ns: u64,
    /// What is kept back because the drive's queue is full, in order of arrival.
    waiting: VecDeque<Pending<C>>,
    /// What the drive has; the key is the request's tag.
    in_flight: Slab<Pending<C>>,
    given: Given,
    due: Vec<(Pending<C>, Completion)>,
    completions: Vec<Completion>,
}

impl<D: BlockDevice, C: Client> Host<D, C> {
    fn new(device: D) -> Self {
        Self {
            device,
            now_ns: 0,
            waiting: VecDeque::new(),
            in_flight: Slab::new(),
            given: Given::default(),
            due: Vec::new(),
            completions: Vec::new(),
        }
    }

    /// Lets time pass up to `now_ns`, with every request handed over at the moment of its arrival.
    fn live(&mut self, arrived: impl Iterator<Item = Pending<C>>, now_ns: u64) {
        for pending in arrived {
            self.catch_up(pending.arrived_ns);
            self.waiting.push_back(pending);
            self.admit();
        }
        self.catch_up(now_ns);
    }

    /// Stops at the drive's events: a place in its queue is taken by the next waiting request at the modelled moment,
    /// however late the machine looks.
    fn catch_up(&mut self, to_ns: u64) {
        while let Some(event_ns) = self.device.next_event_ns().filter(|event_ns| *event_ns <= to_ns) {
            self.advance(event_ns);
            self.admit();
        }
        self.advance(to_ns);
    }

    fn advance(&mut self, to_ns: u64) {
        self.now_ns = self.now_ns.max(to_ns);
        self.device.advance(self.now_ns, &mut self.completions);
        self.given.answered(self.completions.len() as u32);
        for completion in self.completions.drain(..) {
            let pending = self.in_flight.remove(completion.tag as usize);
            self.due.push((pending, completion));
        }
    }

    fn admit(&mut self) {
        while let Some(pending) = self.waiting.front() {
            if !self.given.leaves_room_for(pending.command.verb, &self.device) {
                return;
            }
            let Some(pending) = self.waiting.pop_front() else { return };
            if pending.client.is_gone() {
                pending.client.answer(Err(SwitchedOff));
                continue;
            }
            let Command { verb, fua, offset_bytes, bytes, .. } = pending.command;
            let tag = u32::try_from(self.in_flight.insert(pending)).expect("no queue is that deep");
            self.given.give(verb, &self.device);
            self.device.submit(self.now_ns, Request { tag, verb, fua, offset_bytes, bytes });
        }
    }

    fn outstanding(self) -> impl Iterator<Item = Pending<C>> {
        let due = self.due.into_iter().map(|(pending, _)| pending);
        due.chain(self.in_flight.into_iter().map(|(_, pending)| pending)).chain(self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    /// One request after the other, each as long as it has bytes.
    #[derive(Default)]
    struct OneByOne {
        queue: VecDeque<(Request, u64)>,
        speaks_ata: bool,
        submitted_ns: Rc<RefCell<Vec<u64>>>,
    }

    impl BlockDevice for OneByOne {
        fn capacity_bytes(&self) -> u64 {
            1 << 20
        }

        fn queue_depth(&self) -> u32 {
            2
        }

        fn speaks_ata(&self) -> bool {
            self.speaks_ata
        }

        fn submit(&mut self, now_ns: u64, request: Request) {
            self.submitted_ns.borrow_mut().push(now_ns);
            let free_ns = self.queue.back().map_or(now_ns, |(_, completed_ns)| *completed_ns);
            self.queue.push_back((request, free_ns + request.bytes));
        }

        fn next_event_ns(&self) -> Option<u64> {
            self.queue.front().map(|(_, completed_ns)| *completed_ns)
        }

        fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
            while self.next_event_ns().is_some_and(|completed_ns| completed_ns <= to_ns) {
                let (request, completed_ns) = self.queue.pop_front().expect("it has an event");
                completions.push(Completion { tag: request.tag, completed_ns, status: Status::Good });
            }
        }
    }

    struct Silent {
        gone: bool,
    }

    impl Client for Silent {
        fn answer(self, _: Result<Status, SwitchedOff>) {}

        fn is_gone(&self) -> bool {
            self.gone
        }
    }

    fn pending(arrived_ns: u64, bytes: u64, gone: bool) -> Pending<Silent> {
        let command = Command { verb: Verb::Read, fua: false, offset_bytes: 0, bytes, moving_ns: 0 };
        Pending { command, arrived_ns, client: Silent { gone } }
    }

    #[test]
    fn a_late_look_changes_no_modelled_time() {
        let arrivals = [(0, 1_000), (100, 1_000), (200, 500), (5_000, 100)];
        let lives = |looks: &[u64]| {
            let device = OneByOne::default();
            let submitted_ns = Rc::clone(&device.submitted_ns);
            let mut host = Host::new(device);
            let mut arrivals = arrivals.iter().peekable();
            for &look_ns in looks {
                let seen: Vec<_> = std::iter::from_fn(|| arrivals.next_if(|(arrived_ns, _)| *arrived_ns <= look_ns))
                    .map(|(arrived_ns, bytes)| pending(*arrived_ns, *bytes, false))
                    .collect();
                host.live(seen.into_iter(), look_ns);
            }
            let completed: Vec<_> = host.due.iter().map(|(_, completion)| completion.completed_ns).collect();
            let submitted = submitted_ns.borrow().clone();
            (submitted, completed)
        };
        let expected = (vec![0, 100, 1_000, 5_000], vec![1_000, 2_000, 2_500, 5_100]);
        assert_eq!(lives(&(0..=6_000).collect::<Vec<_>>()), expected, "looking all the time");
        assert_eq!(lives(&[6_000]), expected, "looking once");
    }

    #[test]
    fn a_flush_that_stands_alone_goes_when_all_before_is_answered() {
        for (speaks_ata, expected) in [(true, [0, 1_000, 1_500]), (false, [0, 100, 1_000])] {
            let device = OneByOne { speaks_ata, ..OneByOne::default() };
            let submitted_ns = Rc::clone(&device.submitted_ns);
            let mut host = Host::new(device);
            let mut requests = [pending(0, 1_000, false), pending(100, 500, false), pending(200, 500, false)];
            requests[1].command.verb = Verb::Flush;
            host.live(requests.into_iter(), 1_000_000);
            assert_eq!(*submitted_ns.borrow(), expected);
        }
    }

    #[test]
    fn the_drive_is_not_bothered_with_requests_of_the_dead() {
        let device = OneByOne::default();
        let submitted_ns = Rc::clone(&device.submitted_ns);
        let mut host = Host::new(device);
        let requests = (0..10).map(|i| pending(i, 1_000, i >= 2));
        host.live(requests, 1_000_000);
        assert_eq!(*submitted_ns.borrow(), [0, 1]);
        assert_eq!(host.outstanding().count(), 2, "those two are due");
    }
}
