//! What a request of the host passes on its way in, and out again: the filesystem's journal, the superblocks, the barrier.

use drive::{BlockDevice, Completion, Request, Status, Verb};

use super::array::Array;
use super::bios::Bio;
use super::journal::{is_of_filesystem, is_of_journal, is_of_load, Journal};
use super::thread::Mood;
use crate::layout::Layout;

impl<D: BlockDevice> Array<D> {
    /// Takes a request of the host. A program that waits with one has not asked for the next yet; its filesystem's journal is
    /// another program's.
    pub(super) fn ask(&mut self, request: Request) {
        let follows_flush = request.fua && std::mem::take(&mut self.superblocks.flushed);
        if request.verb == Verb::Flush {
            // It has a thread of its own (`md_flush_request`).
            self.superblocks.flushed = true;
            self.let_in(request);
        } else if is_of_load(&request) && self.waits(self.program(request.tag)) {
            self.behind.push_back(request);
        } else if let Some(journal) = self.journal_to_wait_for(&request) {
            journal.held.push(request);
        } else if !self.begin_request(request) && follows_flush {
            self.processor.worker_waits();
        }
    }

    /// What its filesystem lets through comes to the array itself; whether it waits for no superblocks.
    fn begin_request(&mut self, request: Request) -> bool {
        let begins = !self.changes_data(request.verb) || self.superblocks.write_begins();
        if begins {
            self.pass_barrier(request);
        } else {
            self.superblocks.held.push(request);
        }
        begins
    }

    /// Which program of the load asks with a tag.
    fn program(&self, tag: u32) -> usize {
        self.program_ends.partition_point(|end| *end <= tag)
    }

    /// Does a program of the load wait with a request?
    fn waits(&self, program: usize) -> bool {
        let of_journal = self.journal.iter().flat_map(|journal| &journal.held);
        let mut held = of_journal.chain(&self.superblocks.held).chain(&self.barrier.held);
        held.any(|request| is_of_load(request) && self.program(request.tag) == program)
            || self.waits_for_stripes(program)
    }

    fn waits_for_stripes(&self, program: usize) -> bool {
        let mut bios = self.short_of_stripes.iter().flat_map(|number| &self.units.get(*number).bios);
        bios.any(|bio| {
            let bio = &self.bios[*bio as usize];
            bio.is_of_load() && self.program(bio.tag) == program
        })
    }

    /// Each program of the load asks for what it would have asked for, as far as it need not wait again, and then looks what has
    /// become of the rest.
    pub(super) fn load_goes_on(&mut self) {
        let mut at = 0;
        while let Some(next) = self.behind.get(at) {
            if self.waits(self.program(next.tag)) {
                at += 1;
            } else if let Some(next) = self.behind.remove(at) {
                self.asked.push((next.tag, self.now_ns));
                self.ask(next);
            }
        }
        self.programs_look();
    }

    /// A program that waits for nothing looks at one answer (fio's `iodepth_batch_complete_max`), asks for what it wants next, and looks
    /// again if it need not wait with that.
    pub(super) fn programs_look(&mut self) {
        self.looked.clear();
        let mut at = 0;
        while let Some(next) = self.unseen.get(at) {
            let program = self.program(next.tag);
            if self.looked.contains(&program) || self.waits(program) {
                at += 1;
            } else {
                self.looked.push(program);
                let completion = self.unseen.remove(at);
                self.due.push_back(Completion { completed_ns: self.now_ns, ..completion });
            }
        }
        let again = self.unseen.iter().any(|one| self.looked.contains(&self.program(one.tag)));
        self.processor.program_looks(self.now_ns, !self.looked.is_empty(), again);
    }

    /// Tells a program of the load, unless it waits with another request.
    fn hear(&mut self, completion: Completion) {
        if self.waits(self.program(completion.tag)) {
            self.unseen.push(completion);
        } else {
            self.due.push_back(completion);
        }
    }

    /// Does a request of the host make the array dirty? Without redundancy none does.
    fn changes_data(&self, verb: Verb) -> bool {
        matches!(verb, Verb::Write | Verb::Trim) && self.options.layout != Layout::Raid0
    }

    fn is_stopped(&self, request: &Request) -> bool {
        self.barrier.stops(request)
    }

    /// A request of the host that has begun.
    pub(super) fn pass_barrier(&mut self, request: Request) {
        if self.is_stopped(&request) {
            self.barrier.held.push(request);
        } else {
            self.let_in(request);
        }
    }

    /// Lets in who waits, once the recovery has passed. Where that waits for its turn, the first that is let in wakes it: if it
    /// goes first, it has raised the barrier before the same program comes with the next. If it waits until all it asked for
    /// is done, it wakes with the program: if it goes first, it sees who waits, and sleeps. A program that goes first goes on as
    /// far as it can.
    pub(super) fn lower_barrier(&mut self) {
        if self.barrier.held.iter().all(|request| self.is_stopped(request)) {
            return;
        }
        let recovery_first = self.processor.recovery_precedes_program();
        if recovery_first {
            self.recover_on();
        }
        let has_turn = self.recovery.as_ref().is_some_and(|recovery| recovery.thread.mood == Mood::Asks);
        for request in std::mem::take(&mut self.barrier.held) {
            self.pass_barrier(request);
        }
        if recovery_first && has_turn {
            self.recover_on();
        }
        self.load_goes_on();
    }

    /// The journal, if a request of the load has to wait for its blocks.
    fn journal_to_wait_for(&mut self, request: &Request) -> Option<&mut Journal> {
        let writes = is_of_load(request) && request.verb == Verb::Write;
        let journal = self.journal.as_mut().filter(|_| writes)?;
        (!journal.load_writes(self.now_ns)).then_some(journal)
    }

    /// A request of the host, or of its filesystem, has ended: whether the host does not hear of it.
    fn filesystem_heard(&mut self, tag: u32) -> bool {
        let of_journal = self.journal.as_mut().filter(|_| is_of_journal(tag));
        of_journal.into_iter().for_each(Journal::ended);
        is_of_filesystem(tag)
    }

    /// Reads the filesystem's bitmaps, when it is time.
    pub(super) fn tend_bitmaps(&mut self) {
        let Some(bitmaps) = &mut self.bitmaps else { return };
        let reads: Vec<Request> = bitmaps.next(self.now_ns, self.options.capacity_bytes()).collect();
        reads.into_iter().for_each(|read| self.filesystem_asks(read));
    }

    /// A request of the filesystem's own: no program of the load asks.
    fn filesystem_asks(&mut self, request: Request) {
        self.processor.program_asks(self.now_ns, false);
        self.ask(request);
    }

    /// Goes on with a commit. Who has waited for the blocks is woken before who writes them.
    pub(super) fn tend_journal(&mut self) {
        let Some(journal) = &mut self.journal else { return };
        let next = journal.next(self.now_ns);
        let released = journal.released();
        if !released.is_empty() {
            released.into_iter().for_each(|request| {
                self.begin_request(request);
            });
            self.load_goes_on();
        }
        if let Some(request) = next {
            self.filesystem_asks(request);
        }
    }

    /// Remembers a request of the host's; it ends when it has been let go as often as it is held.
    pub(super) fn take_in(&mut self, request: &Request) -> u32 {
        let changes_data = self.changes_data(request.verb);
        let bucket = (request.verb != Verb::Flush).then(|| self.barrier.bucket(request.offset_bytes));
        if let Some(bucket) = bucket {
            self.barrier.enter(bucket);
        }
        let Request { tag, fua, .. } = *request;
        let bio = Bio { tag, changes_data, fua, bucket, left: 1, status: Status::Good };
        match self.free_bios.pop() {
            Some(place) => {
                self.bios[place as usize] = bio;
                place
            }
            None => {
                self.bios.push(bio);
                self.bios.len() as u32 - 1
            }
        }
    }

    pub(super) fn let_go(&mut self, place: u32) {
        let bio = &mut self.bios[place as usize];
        bio.left -= 1;
        if bio.left == 0 {
            let status = if self.failed && bio.status == Status::Good { Status::Gone } else { bio.status };
            let Bio { tag, changes_data, bucket, .. } = *bio;
            let is_of_load = bio.is_of_load();
            let completion = Completion { tag, completed_ns: self.now_ns, status };
            if is_of_load {
                self.hear(completion);
            } else {
                self.answer(completion);
            }
            if changes_data {
                self.superblocks.write_ended(self.now_ns, self.options.jiffy_ns);
            }
            if let Some(bucket) = bucket {
                self.barrier.leave(bucket);
            }
            self.free_bios.push(place);
        }
    }

    /// Tells the host at once, or its filesystem.
    pub(super) fn answer(&mut self, completion: Completion) {
        if !self.filesystem_heard(completion.tag) {
            self.due.push_back(completion);
        }
    }
}
