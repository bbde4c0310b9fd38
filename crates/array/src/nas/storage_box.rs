//! A request's way: over the link, in front of the box, through its caches or to the drives, and back.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use drive::{BlockDevice, Completion, Request, Status, Verb};
use rangemap::RangeSet;
use slab::Slab;

use super::ahead::ReadAhead;
use super::cache::{holds_all, ReadCache, WriteCache};
use super::options::Options;
use super::wire::Wire;
use super::writeback::Writeback;
use crate::LayoutError;

/// Writes of the cache's that are on their way to the drives at the same time.
const DESTAGING: u32 = 32;

/// What happens outside of the drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A request has reached the box.
    Arrives(usize),
    /// Its answer has reached the host.
    Heard(usize),
}

/// A request of the host's.
#[derive(Clone, Copy, Debug)]
struct Bio {
    request: Request,
    status: Status,
}

/// What the drives are asked for.
#[derive(Clone, Debug)]
enum Asked {
    /// A request of the host's.
    For(usize),
    /// What the write cache lets go.
    Destage(Range<u64>),
    /// What nobody has asked for yet.
    Ahead(Range<u64>),
}

/// A box around anything that keeps data, in virtual time. See [`BlockDevice`] for how to use it.
#[derive(Clone, Debug)]
pub struct StorageBox<D> {
    options: Options,
    inner: D,
    to_box: Wire,
    taking: Wire,
    giving: Wire,
    from_box: Wire,
    read: ReadCache,
    ahead: ReadAhead,
    /// What is being read ahead, and the reads that wait for some of it.
    coming: RangeSet<u64>,
    waiting: VecDeque<usize>,
    write: WriteCache,
    writeback: Writeback,
    bios: Slab<Bio>,
    asked: Slab<Asked>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    event_count: u64,
    /// In front of the box.
    at_door: VecDeque<usize>,
    inside: u32,
    /// Writes that wait for room in the cache, and flushes that wait until it is clean, in their order.
    held_up: VecDeque<usize>,
    destaging: u32,
    /// Ready for the drives, which have no room for it.
    outside: VecDeque<(usize, Request)>,
    in_inner: u32,
    now_ns: u64,
    done: Vec<Completion>,
    heard: Vec<Completion>,
}

impl<D: BlockDevice> StorageBox<D> {
    /// A box with empty caches around `inner`, which is as it is at `now_ns`.
    ///
    /// # Errors
    /// When the options contradict themselves.
    pub fn new(options: Options, inner: D, now_ns: u64) -> Result<Self, LayoutError> {
        options.check()?;
        Ok(Self {
            to_box: Wire::new(options.link_bytes_per_s),
            taking: Wire::new(options.write_ceiling_bytes_per_s),
            giving: Wire::new(options.read_ceiling_bytes_per_s),
            from_box: Wire::new(options.link_bytes_per_s),
            read: ReadCache::new(options.read_cache_bytes),
            ahead: ReadAhead::new(options.read_ahead_bytes),
            coming: RangeSet::new(),
            waiting: VecDeque::new(),
            write: WriteCache::new(options.write_cache_bytes),
            writeback: Writeback::new(options.dirty_expire_ns, options.write_cache_bytes),
            bios: Slab::new(),
            asked: Slab::new(),
            events: BinaryHeap::new(),
            event_count: 0,
            at_door: VecDeque::new(),
            inside: 0,
            held_up: VecDeque::new(),
            destaging: 0,
            outside: VecDeque::new(),
            in_inner: 0,
            now_ns,
            done: Vec::new(),
            heard: Vec::new(),
            options,
            inner,
        })
    }

    /// What is in the box.
    pub fn inner(&self) -> &D {
        &self.inner
    }

    fn expect(&mut self, at_ns: u64, event: Event) {
        self.event_count += 1;
        self.events.push(Reverse((at_ns, self.event_count, event)));
    }

    /// Lets what happens at one time happen, with all that follows from it at once.
    fn pass(&mut self, at_ns: u64) {
        let mut done = std::mem::take(&mut self.done);
        self.inner.advance(at_ns, &mut done);
        self.now_ns = at_ns;
        for completion in done.drain(..) {
            self.answered(completion);
        }
        self.done = done;
        while let Some(Reverse((due_ns, _, event))) = self.events.peek().copied() {
            if due_ns > at_ns {
                break;
            }
            self.events.pop();
            match event {
                Event::Arrives(bio) => self.at_door.push_back(bio),
                Event::Heard(bio) => {
                    let Bio { request, status } = self.bios.remove(bio);
                    self.heard.push(Completion { tag: request.tag, completed_ns: due_ns, status });
                }
            }
        }
        self.writeback.look(at_ns, self.write.dirty_bytes());
        self.go_on();
    }

    fn go_on(&mut self) {
        while self.inside < self.options.outstanding {
            let Some(bio) = self.at_door.pop_front() else { break };
            self.inside += 1;
            self.serve(bio);
        }
        self.destage();
        while self.in_inner < self.inner.queue_depth() {
            let Some((number, request)) = self.outside.pop_front() else { break };
            self.in_inner += 1;
            self.inner.submit(self.now_ns, Request { tag: number as u32, ..request });
        }
    }

    fn serve(&mut self, number: usize) {
        let request = self.bios[number].request;
        let range = request.offset_bytes..request.offset_bytes.saturating_add(request.bytes);
        if range.end > self.inner.capacity_bytes() {
            self.answer(number, Status::OutOfRange);
            return;
        }
        match request.verb {
            Verb::Read => {
                self.read(number, range.clone());
                if let Some(ahead) = self.ahead.follow(&range) {
                    self.read_ahead(ahead);
                }
            }
            Verb::Write if self.is_cached(&request) => {
                self.held_up.push_back(number);
                self.admit();
            }
            Verb::Flush if self.options.battery => self.answer(number, Status::Good),
            Verb::Flush => {
                self.held_up.push_back(number);
                self.admit();
            }
            Verb::Trim => {
                self.write.forget(&range);
                self.ask(Asked::For(number), request);
                // The cache may be clean now, or have room.
                self.admit();
            }
            Verb::Write => {
                // What is dirty of it is older, and must not come to the drives behind it.
                self.write.forget(&range);
                self.ask(Asked::For(number), request);
                self.admit();
            }
        }
    }

    /// From memory, as soon as what is on its way there has come, or else from the drives.
    fn read(&mut self, number: usize, range: Range<u64>) {
        if holds_all(&mut self.read, &self.write, &range) {
            self.answer(number, Status::Good);
        } else if self.coming.overlaps(&range) {
            self.waiting.push_back(number);
        } else {
            self.ask(Asked::For(number), self.bios[number].request);
        }
    }

    fn read_ahead(&mut self, range: Range<u64>) {
        let range = range.start..range.end.min(self.inner.capacity_bytes());
        if range.is_empty() || holds_all(&mut self.read, &self.write, &range) {
            return;
        }
        self.coming.insert(range.clone());
        let (offset_bytes, bytes) = (range.start, range.end - range.start);
        let request = Request { tag: 0, verb: Verb::Read, fua: false, offset_bytes, bytes };
        self.ask(Asked::Ahead(range), request);
    }

    /// What was read ahead is there, or cannot be read.
    fn came(&mut self, range: Range<u64>, status: Status) {
        self.coming.remove(range.clone());
        if status == Status::Good {
            self.read.keep(&range);
        }
        // Who still has to wait comes behind them.
        for _ in 0..self.waiting.len() {
            let Some(number) = self.waiting.pop_front() else { break };
            let Request { offset_bytes, bytes, .. } = self.bios[number].request;
            self.read(number, offset_bytes..offset_bytes + bytes);
        }
    }

    /// Does a write stop in the write cache?
    fn is_cached(&self, request: &Request) -> bool {
        self.write.takes(request.bytes) && (self.options.battery || !request.fua)
    }

    /// Takes in writes and flushes in their order: a flush waits until all before it is on the drives, and a write behind
    /// it for the flush, so that it ends.
    fn admit(&mut self) {
        while let Some(number) = self.held_up.front().copied() {
            let request = self.bios[number].request;
            if request.verb == Verb::Flush {
                if !self.write.is_clean() || self.destaging > 0 {
                    return;
                }
                self.ask(Asked::For(number), request);
            } else {
                let range = request.offset_bytes..request.offset_bytes + request.bytes;
                if !self.write.put(&range) {
                    return;
                }
                self.writeback.dirtied(self.now_ns);
                self.read.keep(&range);
                self.answer(number, Status::Good);
            }
            self.held_up.pop_front();
        }
    }

    fn destage(&mut self) {
        // Who waits for room, or until all is on the drives, hurries.
        while self.destaging < DESTAGING
            && (!self.held_up.is_empty() || self.writeback.lets_go(self.write.dirty_bytes()))
        {
            let Some(range) = self.write.next_to_write() else { return };
            self.destaging += 1;
            let (offset_bytes, bytes) = (range.start, range.end - range.start);
            self.writeback.left(self.now_ns, bytes, self.write.dirty_bytes());
            let request = Request { tag: 0, verb: Verb::Write, fua: false, offset_bytes, bytes };
            self.ask(Asked::Destage(range), request);
        }
    }

    fn ask(&mut self, asked: Asked, request: Request) {
        let number = self.asked.insert(asked);
        self.outside.push_back((number, request));
    }

    /// The drives have done something.
    fn answered(&mut self, completion: Completion) {
        self.in_inner -= 1;
        match self.asked.remove(completion.tag as usize) {
            Asked::Destage(range) => {
                self.destaging -= 1;
                self.write.written(&range);
                self.admit();
            }
            Asked::Ahead(range) => self.came(range, completion.status),
            Asked::For(number) => {
                let Request { offset_bytes, bytes, verb, .. } = self.bios[number].request;
                if completion.status == Status::Good && matches!(verb, Verb::Read | Verb::Write) {
                    self.read.keep(&(offset_bytes..offset_bytes + bytes));
                }
                self.answer(number, completion.status);
            }
        }
    }

    /// The box sends its answer.
    fn answer(&mut self, number: usize, status: Status) {
        self.inside -= 1;
        let bio = &mut self.bios[number];
        bio.status = status;
        let bytes = if bio.request.verb == Verb::Read { bio.request.bytes } else { 0 };
        let given_ns = self.giving.carry(self.now_ns, bytes);
        let heard_ns = self.from_box.carry(given_ns, bytes) + self.options.round_trip_ns.div_ceil(2);
        self.expect(heard_ns, Event::Heard(number));
    }
}

impl<D: BlockDevice> BlockDevice for StorageBox<D> {
    fn capacity_bytes(&self) -> u64 {
        self.inner.capacity_bytes()
    }

    fn queue_depth(&self) -> u32 {
        // The network takes whatever comes.
        1 << 20
    }

    fn submit(&mut self, now_ns: u64, request: Request) {
        let bytes = if request.verb == Verb::Write { request.bytes } else { 0 };
        let received_ns = self.to_box.carry(now_ns, bytes);
        let there_ns = self.taking.carry(received_ns, bytes) + self.options.round_trip_ns / 2;
        let bio = self.bios.insert(Bio { request, status: Status::Good });
        self.expect(there_ns, Event::Arrives(bio));
    }

    fn next_event_ns(&self) -> Option<u64> {
        let own_ns = self.events.peek().map(|Reverse((at_ns, ..))| (*at_ns).max(self.now_ns));
        let look_ns = self.writeback.next_look_ns();
        own_ns.into_iter().chain(look_ns).chain(self.inner.next_event_ns()).min()
    }

    fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        while let Some(at_ns) = self.next_event_ns().filter(|at_ns| *at_ns <= to_ns) {
            self.pass(at_ns);
        }
        self.pass(to_ns);
        completions.append(&mut self.heard);
    }
}
