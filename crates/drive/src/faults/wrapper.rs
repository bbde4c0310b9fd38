//! What all faults share: a device whose requests and answers pass by a fault, which may hold them back or change them.

use std::collections::VecDeque;

use crate::request::{BlockDevice, Completion, Lost, Request, Status};
use crate::truth::Truth;

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes to the device.
    Pass,
    /// It goes to the device at that time.
    Hold(u64),
    /// It is answered at once, and the device never hears of it.
    Fail(Status),
    /// It is never answered, unless the host resets the link.
    Hang,
}

/// What becomes of an answer: when the host hears of it, and what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// When.
    pub at_ns: u64,
    /// What.
    pub status: Status,
}

/// One kind of misbehaviour.
pub trait Fault {
    /// A request comes in.
    fn receive(&mut self, now_ns: u64, request: &Request) -> Fate;

    /// A request that was held back comes in again.
    fn release(&mut self, now_ns: u64, request: &Request) -> Fate {
        self.receive(now_ns, request)
    }

    /// The device has answered a request. Times may be put off, not brought forward.
    fn answer(&mut self, _request: &Request, answer: Answer) -> Answer {
        answer
    }

    /// When the fault next does something by itself.
    fn next_change_ns(&self) -> Option<u64> {
        None
    }

    /// Does it; requests in flight are then answered with the status that is returned.
    fn change(&mut self, _at_ns: u64, _device: &mut dyn BlockDevice) -> Option<Status> {
        None
    }

    /// The host resets the link. Does the device drop what the fault lets wait? One that answers nobody does not.
    fn reset(&mut self, _now_ns: u64) -> bool {
        true
    }

    /// Would a question that needs no medium be answered?
    fn is_ready(&self, _now_ns: u64) -> bool {
        true
    }

    /// What losses of power took.
    fn losses(&self) -> Option<&[Lost]> {
        None
    }
}

/// A device with a fault.
#[derive(Clone, Debug)]
pub struct Faulty<D, F> {
    device: D,
    fault: F,
    /// What the device has been asked, under a tag that it has for itself: a host may use one again that a fault answered.
    flying: Vec<(u32, Request)>,
    next_tag: u32,
    /// Held back from the device until then.
    held: VecDeque<(u64, Request)>,
    hanging: Vec<Request>,
    /// Answers on their way to the host, in the order of their time.
    answers: VecDeque<Completion>,
    /// Answers of the device; kept for its memory.
    collected: Vec<Completion>,
    now_ns: u64,
    /// Whether it has made a difference to any request.
    met: bool,
}

impl<D: BlockDevice, F> Faulty<D, F> {
    /// A device that has `fault`.
    pub fn around(device: D, fault: F) -> Self {
        Self {
            device,
            fault,
            flying: Vec::new(),
            next_tag: 0,
            held: VecDeque::new(),
            hanging: Vec::new(),
            answers: VecDeque::new(),
            collected: Vec::new(),
            now_ns: 0,
            met: false,
        }
    }

    /// The device within.
    pub fn inner(&self) -> &D {
        &self.device
    }

    fn reply(&mut self, tag: u32, completed_ns: u64, status: Status) {
        let index = self.answers.partition_point(|answer| answer.completed_ns <= completed_ns);
        self.answers.insert(index, Completion { tag, completed_ns, status });
    }

    fn hand_over(&mut self, now_ns: u64, request: Request) {
        self.flying.push((self.next_tag, request));
        self.device.submit(now_ns, Request { tag: self.next_tag, ..request });
        self.next_tag = self.next_tag.wrapping_add(1);
    }

    /// Whoever waits hears the same.
    fn abort_all(&mut self, at_ns: u64, status: Status) {
        let flying = self.flying.drain(..).map(|(_, request)| request.tag).collect();
        self.abort(flying, at_ns, status);
    }

    /// These hear it, and whom the fault lets wait.
    fn abort(&mut self, flying: Vec<u32>, at_ns: u64, status: Status) {
        let held = self.held.drain(..).map(|(_, request)| request.tag);
        let hanging = self.hanging.drain(..).map(|request| request.tag);
        let late = self.answers.iter().filter(|answer| answer.completed_ns > at_ns).map(|answer| answer.tag);
        let tags: Vec<u32> = flying.into_iter().chain(held).chain(hanging).chain(late).collect();
        self.answers.retain(|answer| answer.completed_ns <= at_ns);
        self.met |= !tags.is_empty();
        tags.into_iter().for_each(|tag| self.reply(tag, at_ns, status));
    }
}

impl<D: BlockDevice, F: Fault> Faulty<D, F> {
    /// The next time at which something happens here, whether a host waits for it or not.
    fn next_step_ns(&self) -> Option<u64> {
        let held = self.held.front().map(|(at_ns, _)| *at_ns);
        let own = [held, self.fault.next_change_ns(), self.answers.front().map(|answer| answer.completed_ns)];
        self.device.next_event_ns().into_iter().chain(own.into_iter().flatten()).min()
    }

    /// Lets everything happen that falls on `at_ns` and lies in no step before.
    fn step(&mut self, at_ns: u64) {
        self.now_ns = at_ns;
        self.device.advance(at_ns, &mut self.collected);
        for index in 0..self.collected.len() {
            let Completion { tag, completed_ns, status } = self.collected[index];
            // A fault has answered for the device.
            let Some(flying) = self.flying.iter().position(|(own, _)| *own == tag) else {
                continue;
            };
            let (_, request) = self.flying.swap_remove(flying);
            let own = Answer { at_ns: completed_ns, status };
            let answer = self.fault.answer(&request, own);
            self.met |= answer != own;
            self.reply(request.tag, answer.at_ns, answer.status);
        }
        self.collected.clear();
        while self.fault.next_change_ns().is_some_and(|change_ns| change_ns <= at_ns) {
            if let Some(status) = self.fault.change(at_ns, &mut self.device) {
                self.abort_all(at_ns, status);
            }
        }
        while let Some((_, request)) = self.held.front().copied().filter(|(until_ns, _)| *until_ns <= at_ns) {
            self.held.pop_front();
            let fate = self.fault.release(at_ns, &request);
            self.meet(at_ns, request, fate);
        }
    }

    fn meet(&mut self, now_ns: u64, request: Request, fate: Fate) {
        self.met |= fate != Fate::Pass;
        match fate {
            Fate::Pass => self.hand_over(now_ns, request),
            Fate::Hold(until_ns) => {
                let index = self.held.partition_point(|(other_ns, _)| *other_ns <= until_ns);
                self.held.insert(index, (until_ns, request));
            }
            Fate::Fail(status) => self.reply(request.tag, now_ns, status),
            Fate::Hang => self.hanging.push(request),
        }
    }
}

impl<D: BlockDevice, F: Fault> BlockDevice for Faulty<D, F> {
    fn capacity_bytes(&self) -> u64 {
        self.device.capacity_bytes()
    }

    fn queue_depth(&self) -> u32 {
        self.device.queue_depth()
    }

    fn speaks_ata(&self) -> bool {
        self.device.speaks_ata()
    }

    fn submit(&mut self, now_ns: u64, request: Request) {
        self.step(now_ns.max(self.now_ns));
        let fate = self.fault.receive(self.now_ns, &request);
        self.meet(self.now_ns, request, fate);
    }

    fn next_event_ns(&self) -> Option<u64> {
        let waiting = !(self.flying.is_empty() && self.held.is_empty() && self.answers.is_empty());
        let changes = !self.hanging.is_empty() && self.fault.next_change_ns().is_some();
        self.next_step_ns().filter(|_| waiting || changes)
    }

    fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        loop {
            let at_ns = self.next_step_ns().map_or(to_ns, |step_ns| step_ns.max(self.now_ns).min(to_ns));
            self.step(at_ns);
            while let Some(answer) = self.answers.front().copied().filter(|answer| answer.completed_ns <= at_ns) {
                self.answers.pop_front();
                completions.push(answer);
            }
            if at_ns == to_ns {
                return;
            }
        }
    }

    fn power_loss(&mut self, at_ns: u64) -> Lost {
        self.flying.clear();
        self.held.clear();
        self.hanging.clear();
        self.answers.clear();
        self.device.power_loss(at_ns)
    }

    fn power_on(&mut self, at_ns: u64) -> u64 {
        self.device.power_on(at_ns)
    }

    fn reset(&mut self, now_ns: u64) {
        self.device.reset(now_ns);
        if self.fault.reset(now_ns) {
            self.abort(Vec::new(), now_ns, Status::Aborted);
        }
    }

    fn is_ready(&self, now_ns: u64) -> bool {
        self.fault.is_ready(now_ns) && self.device.is_ready(now_ns)
    }

    fn losses(&self) -> &[Lost] {
        self.fault.losses().unwrap_or_else(|| self.device.losses())
    }

    fn faults_met(&self) -> Vec<bool> {
        let has_lost = self.fault.losses().is_some_and(|losses| losses.iter().any(|lost| !lost.ranges.is_empty()));
        let mut met = self.device.faults_met();
        met.push(self.met || has_lost);
        met
    }

    fn truth(&self) -> Option<Truth> {
        self.device.truth()
    }
}
