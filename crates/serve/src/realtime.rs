//! A modelled drive that lives by the machine's clock: its virtual time is the time since it was started.
//!
//! Any thread submits; one thread, the *completer*, sleeps until the drive's next event and gives out the answers that
//! have fallen due. The completer sleeps on a condition variable, whose time-outs are absolute deadlines of the
//! monotonic clock on Linux, so that lateness never adds up. While nothing is outstanding it sleeps without a deadline:
//! background work of the drive is caught up with at the next request. Nothing here knows a transport.

use std::collections::VecDeque;
use std::mem;
use std::num::NonZeroU64;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use drive::{BlockDevice, Completion, Request, Status, Verb};
use slab::Slab;

use crate::report::Record;

/// The one who asked, waiting for the answer. `Err` says that the drive was switched off before it could answer.
pub trait Client: Send {
    /// Hands over the answer. Called by the completer: must not wait for anybody.
    fn answer(self, outcome: Result<Status, SwitchedOff>);
}

/// The service ended while the request was outstanding; whether it took effect is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchedOff;

/// What is asked of the drive.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// See [`Request`].
    pub verb: Verb,
    /// See [`Request`].
    pub fua: bool,
    /// See [`Request`].
    pub offset_bytes: u64,
    /// See [`Request`].
    pub bytes: u64,
    /// How long the machine held the request up before it got here, moving its data: it counts as lateness.
    pub moving_ns: u64,
}

/// A drive in real time, shared by those who submit and the completer.
pub struct RealTime<D, C> {
    started: Instant,
    state: Mutex<State<D, C>>,
    changed: Condvar,
}

struct Pending<C> {
    command: Command,
    arrived_ns: u64,
    client: C,
}

struct State<D, C> {
    device: D,
    now_ns: u64,
    /// What a host keeps back because the drive's queue is full, in order of arrival.
    waiting: VecDeque<Pending<C>>,
    /// What the drive has; the key is the request's tag.
    in_flight: Slab<Pending<C>>,
    /// Answers that have fallen due and are not given out yet.
    due: Vec<(Pending<C>, Completion)>,
    completions: Vec<Completion>,
    /// Until when the completer sleeps; `None` while it is awake and will look by itself.
    asleep_until_ns: Option<u64>,
    on: bool,
}

impl<D: BlockDevice + Send, C: Client> RealTime<D, C> {
    /// Switches the drive on: its virtual time starts now.
    pub fn new(device: D) -> Self {
        let state = State {
            device,
            now_ns: 0,
            waiting: VecDeque::new(),
            in_flight: Slab::new(),
            due: Vec::new(),
            completions: Vec::new(),
            asleep_until_ns: None,
            on: true,
        };
        Self { started: Instant::now(), state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<D, C>> {
        self.state.lock().expect("the drive model panicked in another thread")
    }

    fn clock_ns(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).expect("five hundred years fit")
    }

    /// Hands a request to the drive, or to the waiting list while its queue is full.
    pub fn submit(&self, mut command: Command, client: C) {
        let asked_ns = self.clock_ns();
        let mut state = self.lock();
        if !state.on {
            drop(state);
            return client.answer(Err(SwitchedOff));
        }
        let arrived_ns = self.clock_ns();
        command.moving_ns += arrived_ns - asked_ns;
        state.catch_up(arrived_ns);
        state.waiting.push_back(Pending { command, arrived_ns, client });
        state.admit();
        if state.completer_must_wake() {
            state.asleep_until_ns = None;
            self.changed.notify_one();
        }
    }

    /// Takes requests back that the drive has not got yet, for instance those of a client that is gone.
    pub fn withdraw(&self, unwanted: impl Fn(&C) -> bool) {
        let mut state = self.lock();
        let (withdrawn, waiting): (Vec<_>, _) = mem::take(&mut state.waiting)
            .into_iter()
            .partition(|pending| unwanted(&pending.client));
        state.waiting = waiting.into();
        drop(state);
        for pending in withdrawn {
            pending.client.answer(Err(SwitchedOff));
        }
    }

    /// Ends the service: the completer answers what is outstanding and returns.
    pub fn switch_off(&self) {
        self.lock().on = false;
        self.changed.notify_one();
    }

    /// The completer: gives out answers until the drive is switched off, and returns how late they were.
    pub(crate) fn complete(&self) -> Record {
        // The kernel may otherwise delay every deadline by 50 µs to save wake-ups; it is no fault if it keeps doing so.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut record = Record::new();
        let mut state = self.lock();
        while state.on {
            state.catch_up(self.clock_ns());
            if state.due.is_empty() {
                state = self.sleep(state);
            } else {
                let due = mem::take(&mut state.due);
                drop(state);
                self.give_out(due, &mut record);
                state = self.lock();
            }
        }
        let dropped = state.outstanding();
        drop(state);
        for pending in dropped {
            pending.client.answer(Err(SwitchedOff));
        }
        record
    }

    fn sleep<'a>(&self, mut state: MutexGuard<'a, State<D, C>>) -> MutexGuard<'a, State<D, C>> {
        let until_ns = state.device.next_event_ns();
        state.asleep_until_ns = Some(until_ns.unwrap_or(u64::MAX));
        let poisoned = "the drive model panicked in another thread";
        let mut state = match until_ns {
            None => self.changed.wait(state).expect(poisoned),
            Some(until_ns) => {
                let pause = Duration::from_nanos(until_ns.saturating_sub(self.clock_ns()));
                self.changed.wait_timeout(state, pause).expect(poisoned).0
            }
        };
        state.asleep_until_ns = None;
        state
    }

    fn give_out(&self, due: Vec<(Pending<C>, Completion)>, record: &mut Record) {
        for (pending, completion) in due {
            pending.client.answer(Ok(completion.status));
            let overdue_ns = self.clock_ns().saturating_sub(completion.completed_ns);
            let modelled_ns = completion.completed_ns.saturating_sub(pending.arrived_ns);
            record.add(modelled_ns, overdue_ns + pending.command.moving_ns, completion.status == Status::Good);
        }
    }
}

impl<D: BlockDevice, C> State<D, C> {
    /// Lets the drive live up to `now_ns`, stopping at its events: a place in its queue is taken by the next waiting
    /// request at the modelled moment, however late the machine looks.
    fn catch_up(&mut self, now_ns: u64) {
        while let Some(event_ns) = self.device.next_event_ns().filter(|event_ns| *event_ns <= now_ns) {
            self.advance(event_ns);
            self.admit();
        }
        self.advance(now_ns);
    }

    fn advance(&mut self, to_ns: u64) {
        self.now_ns = self.now_ns.max(to_ns);
        self.device.advance(self.now_ns, &mut self.completions);
        for completion in self.completions.drain(..) {
            let pending = self.in_flight.remove(completion.tag as usize);
            self.due.push((pending, completion));
        }
    }

    fn admit(&mut self) {
        while self.in_flight.len() < self.device.queue_depth() as usize {
            let Some(pending) = self.waiting.pop_front() else { break };
            let Command { verb, fua, offset_bytes, bytes, .. } = pending.command;
            let tag = u32::try_from(self.in_flight.insert(pending)).expect("no queue is that deep");
            self.device.submit(self.now_ns, Request { tag, verb, fua, offset_bytes, bytes });
        }
    }

    fn completer_must_wake(&self) -> bool {
        let next_ns = self.device.next_event_ns().unwrap_or(u64::MAX);
        self.asleep_until_ns.is_some_and(|until_ns| !self.due.is_empty() || next_ns < until_ns)
    }

    fn outstanding(&mut self) -> Vec<Pending<C>> {
        let due = self.due.drain(..).map(|(pending, _)| pending);
        due.chain(self.in_flight.drain()).chain(self.waiting.drain(..)).collect()
    }
}
