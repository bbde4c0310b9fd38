//! What the host asks of an array, as requests to its members.

use drive::{BlockDevice, Completion, Request, Status, Verb};

use super::array::Array;
use super::bios::Piece;
use super::copies::Place;
use super::options::{Arrangement, PAGE_BYTES};
use super::parity::Parity;
use super::role::Role;
use super::unit::{Part, Purpose, READING, WRITING};
use crate::layout::Layout;

impl<D: BlockDevice> Array<D> {
    pub(super) fn let_in(&mut self, request: Request) {
        let Request { verb, offset_bytes, bytes, .. } = request;
        let bio = self.take_in(&request);
        let end = offset_bytes.checked_add(bytes);
        if end.is_none_or(|end| end > self.capacity_bytes()) {
            self.bios[bio as usize].status = Status::OutOfRange;
        } else if !self.failed {
            match (verb, self.options.arrangement) {
                (Verb::Flush, _) => self.flush(bio),
                // Arrays with parity do not pass it on, nor do those with copies while they are rebuilt.
                (Verb::Trim, _) => {}
                (Verb::Read, Arrangement::Parity(rotation)) => {
                    self.read_parity(bio, self.options.parity(rotation), offset_bytes, bytes);
                }
                (Verb::Write, Arrangement::Parity(rotation)) => {
                    self.gather_write(bio, self.options.parity(rotation), offset_bytes, bytes);
                }
                (Verb::Read | Verb::Write, Arrangement::Copies { .. }) => {
                    self.read_or_write_copies(bio, verb, offset_bytes, bytes);
                }
            }
        }
        self.let_go(bio);
    }

    fn flush(&mut self, bio: u32) {
        let number = self.units.make(Purpose::Foreground);
        for member in (0..self.roles.len()).filter(|member| self.roles[*member] != Role::Missing) {
            self.units.get_mut(number).part(WRITING, Verb::Flush, member, 0, 0);
        }
        self.hold(number, bio);
        self.begin(number);
    }

    /// A unit will let go of a request when it is over.
    fn hold(&mut self, number: u32, bio: u32) {
        self.bios[bio as usize].left += 1;
        self.units.get_mut(number).bios.push(bio);
    }

    /// Whether a member holds what was last written, up to an offset.
    pub(super) fn is_readable(&self, member: usize, end_bytes: u64) -> bool {
        match self.roles[member] {
            Role::InSync => true,
            Role::Missing => false,
            Role::Rebuilding => self.superblocks.filled_bytes >= end_bytes,
        }
    }

    fn read_parity(&mut self, bio: u32, parity: Parity, offset_bytes: u64, bytes: u64) {
        let (mut at, end) = (offset_bytes, offset_bytes + bytes);
        while at < end {
            let (row, index, within) = parity.locate(at);
            let length = (parity.chunk_bytes - within).min(end - at);
            let on_member = row * parity.chunk_bytes + within;
            let member = parity.data(row, index);
            let number = self.units.make(Purpose::Foreground);
            self.hold(number, bio);
            let first = on_member / PAGE_BYTES * PAGE_BYTES;
            let pages = (on_member + length - first).div_ceil(PAGE_BYTES);
            if self.is_readable(member, on_member + length) {
                self.units.get_mut(number).part(
                    READING,
                    Verb::Read,
                    member,
                    self.data_offset_bytes + on_member,
                    length,
                );
            } else {
                for other in (0..parity.width).filter(|other| *other != member) {
                    if self.is_readable(other, first + pages * PAGE_BYTES) {
                        let unit = self.units.get_mut(number);
                        unit.part(READING, Verb::Read, other, self.data_offset_bytes + first, pages * PAGE_BYTES);
                    }
                }
            }
            if self.roles.iter().all(|role| *role == Role::InSync) {
                self.begin(number);
            } else {
                // Reads go past the stripe cache only while nothing is missing.
                self.begin_with_stripes(number, pages);
            }
            at += length;
        }
    }

    fn begin_with_stripes(&mut self, number: u32, stripes: u64) {
        self.units.get_mut(number).stripes = stripes;
        if self.stripes.blocked || !self.stripes.has(stripes) || !self.short_of_stripes.is_empty() {
            self.stripes.block();
            self.short_of_stripes.push_back(number);
        } else {
            self.begin(number);
        }
    }

    fn gather_write(&mut self, bio: u32, parity: Parity, offset_bytes: u64, bytes: u64) {
        let (mut at, end) = (offset_bytes, offset_bytes + bytes);
        while at < end {
            let (row, index, start) = parity.locate(at);
            let length = (parity.chunk_bytes - start).min(end - at);
            self.bios[bio as usize].left += 1;
            self.gathered.push(Piece { row, index, start, end: start + length, bio });
            at += length;
        }
    }

    /// Begins what was gathered, a row at a time: all of a row together needs no reads. Nothing is put off until it makes a
    /// row, which md does with writes that nobody waits for (`REQ_SYNC` sets `STRIPE_PREREAD_ACTIVE`).
    pub(super) fn begin_gathered(&mut self) {
        let Arrangement::Parity(rotation) = self.options.arrangement else { return };
        if self.gathered.is_empty() {
            return;
        }
        let parity = self.options.parity(rotation);
        let mut pieces = std::mem::take(&mut self.gathered);
        pieces.sort_by_key(|piece| (piece.row, piece.start, piece.index, piece.bio));
        for row in pieces.chunk_by(|one, other| one.row == other.row) {
            self.begin_row(&parity, row);
        }
    }

    /// Cuts the pieces of a row where any of them begins or ends, so that all of a cut's pages are treated alike.
    fn begin_row(&mut self, parity: &Parity, pieces: &[Piece]) {
        let page = |bytes: u64| bytes / PAGE_BYTES * PAGE_BYTES;
        let mut cuts: Vec<u64> = pieces
            .iter()
            .flat_map(|piece| {
                [
                    page(piece.start),
                    piece.start.next_multiple_of(PAGE_BYTES),
                    page(piece.end),
                    piece.end.next_multiple_of(PAGE_BYTES),
                ]
            })
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        for cut in cuts.windows(2) {
            let (start, end) = (cut[0], cut[1]);
            if pieces.iter().any(|piece| piece.start < end && start < piece.end) {
                self.begin_cut(parity, pieces, start, end);
            }
        }
        for piece in pieces {
            self.let_go(piece.bio);
        }
    }

    /// Reads what parity needs, then writes data and parity of the pages from `start` to `end` of a row.
    fn begin_cut(&mut self, parity: &Parity, pieces: &[Piece], start: u64, end: u64) {
        let number = self.units.make(Purpose::Foreground);
        let row = pieces[0].row;
        let (p, q) = (parity.p(row), parity.q(row));
        let (mut touched, mut overwritten): (u128, u128) = (0, 1 << p | q.map_or(0, |q| 1 << q));
        let parities = overwritten;
        for piece in pieces.iter().filter(|piece| piece.start < end && start < piece.end) {
            let member = parity.data(row, piece.index);
            touched |= 1 << member;
            if piece.start <= start && piece.end >= end {
                overwritten |= 1 << member;
            }
            if self.units.get(number).bios.last() != Some(&piece.bio) {
                self.hold(number, piece.bio);
            }
        }
        let (on_member, bytes) = (row * parity.chunk_bytes + start, end - start);
        let readable = (0..parity.width)
            .filter(|member| self.is_readable(*member, on_member + bytes))
            .fold(0_u128, |mask, member| mask | 1 << member);
        let reads = self.needed_reads(parity.width, touched | parities, !overwritten, readable);
        self.mark(number, on_member);
        for member in 0..parity.width {
            let unit = self.units.get_mut(number);
            if reads >> member & 1 == 1 {
                unit.part(READING, Verb::Read, member, self.data_offset_bytes + on_member, bytes);
            }
            if (touched | parities) >> member & 1 == 1 {
                unit.part(WRITING, Verb::Write, member, self.data_offset_bytes + on_member, bytes);
            }
        }
        self.begin_with_stripes(number, bytes / PAGE_BYTES);
    }

    /// The members to read (`handle_stripe_dirtying`): those that change, to modify parity, or those that do not, to make
    /// it anew, whichever are fewer; all that can be read, if neither is possible without one that cannot.
    fn needed_reads(&self, width: usize, changing: u128, kept: u128, readable: u128) -> u128 {
        let kept = kept & ((1 << (width - 1) << 1) - 1);
        let cost = |wanted: u128| {
            (wanted & readable).count_ones() as usize + 2 * width * (wanted & !readable).count_ones() as usize
        };
        let modify = if self.options.read_modify_write { cost(changing) } else { usize::MAX };
        let anew = cost(kept);
        match modify.min(anew) {
            fewest if fewest >= 2 * width => readable,
            fewest if fewest == modify && modify < anew => changing,
            _ => kept,
        }
    }

    fn read_or_write_copies(&mut self, bio: u32, verb: Verb, offset_bytes: u64, bytes: u64) {
        let copies = self.options.copies();
        let (mut at, end) = (offset_bytes, offset_bytes + bytes);
        let mut places = Vec::with_capacity(4);
        while at < end {
            let length = (copies.chunk_bytes - at % copies.chunk_bytes).min(end - at);
            places.clear();
            copies.find(at, &mut places);
            let number = self.units.make(Purpose::Foreground);
            self.hold(number, bio);
            if verb == Verb::Write {
                self.mark(number, places[0].offset_bytes);
                for place in &places {
                    let unit = self.units.get_mut(number);
                    unit.part(WRITING, verb, place.member, self.data_offset_bytes + place.offset_bytes, length);
                }
            } else if let Some(place) = self.nearest_copy(&places, length) {
                let unit = self.units.get_mut(number);
                unit.part(READING, verb, place.member, self.data_offset_bytes + place.offset_bytes, length);
            } else {
                self.units.get_mut(number).spoiled = true;
            }
            self.begin(number);
            at += length;
        }
    }

    /// Where the arm of a member is, as far as arrays of copies know (`update_head_pos`): where its last request has ended. In
    /// raid1 what is written to fill the replacement does not count.
    pub(super) fn arm_moved(&mut self, number: u32, part: Part) {
        let fills = self.units.get(number).purpose == Purpose::Recovery && part.verb == Verb::Write;
        if part.offset_bytes >= self.data_offset_bytes && !(fills && self.options.layout == Layout::Raid1) {
            self.heads[part.member] = part.offset_bytes + part.bytes - self.data_offset_bytes;
        }
    }

    /// The copy to read (`read_balance`): where the arm stands; else an idle member's, and of several far copies the
    /// outermost; else the nearest.
    pub(super) fn nearest_copy(&self, places: &[Place], bytes: u64) -> Option<Place> {
        let Arrangement::Copies { near, far, .. } = self.options.arrangement else { return None };
        let distance = |place: &Place| {
            let moves = place.offset_bytes.abs_diff(self.heads[place.member]);
            let idle = !self.is_at_work(place.member);
            match self.options.layout {
                Layout::Raid10 if near > 1 && idle => 0,
                Layout::Raid10 if far > 1 => place.offset_bytes,
                Layout::Raid1 if idle && moves > 0 => 1,
                _ => moves,
            }
        };
        let readable = places.iter().filter(|place| self.is_readable(place.member, place.offset_bytes + bytes));
        readable.min_by_key(|place| distance(place)).copied()
    }

    /// Has a member something to do, as arrays of copies count it (`nr_pending`)? Whom the recovery reads and writes has as
    /// long as a block of it is on the way.
    fn is_at_work(&self, member: usize) -> bool {
        let recovers = self.recovery.as_ref().is_some_and(|recovery| recovery.is_using(&self.units, member));
        recovers || self.members.in_flight(member) > 0
    }

    /// Ends every request that was only gathered: the array has failed.
    pub(super) fn abandon_gathered(&mut self) {
        for piece in std::mem::take(&mut self.gathered) {
            self.let_go(piece.bio);
        }
        let waiting = self.barrier.held.drain(..).chain(self.superblocks.held.drain(..)).chain(self.behind.drain(..));
        let waiting = waiting.chain(self.journal.iter_mut().flat_map(|journal| journal.held.drain(..)));
        for Request { tag, .. } in waiting.collect::<Vec<_>>() {
            self.answer(Completion { tag, completed_ns: self.now_ns, status: Status::Gone });
        }
        self.load_goes_on();
    }
}
