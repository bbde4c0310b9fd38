//! What happens when a member cannot read, or is gone (`raid5_end_read_request`, `handle_failed_sync`, `md_error`).

use drive::{BlockDevice, Status, Verb};

use super::array::Array;
use super::copies::Place;
use super::options::{Arrangement, PAGE_BYTES};
use super::role::Role;
use super::unit::{Part, Purpose, READING, WRITING};

impl<D: BlockDevice> Array<D> {
    /// Leaves a member out, as `mdadm --fail` and `missing` do: the array is degraded from here on, or has failed.
    pub fn lose(&mut self, member: usize) {
        self.kick(member);
    }

    /// A part of a unit has failed.
    pub(super) fn part_failed(&mut self, number: u32, index: usize, status: Status) {
        let part = self.units.get(number).parts[index];
        let end = part.offset_bytes + part.bytes;
        match (status, part.verb) {
            // It was read together with others: what lies before the bad place is there, and nothing of what lies behind.
            (Status::MediumError { offset_bytes }, Verb::Read) if offset_bytes >= end => {}
            (Status::MediumError { offset_bytes }, Verb::Read) if offset_bytes < part.offset_bytes => {
                self.read_page_by_page(number, part);
            }
            (Status::MediumError { offset_bytes }, Verb::Read) => self.could_not_read(number, part, offset_bytes),
            (Status::Aborted, Verb::Read) if part.bytes > PAGE_BYTES => self.read_page_by_page(number, part),
            (Status::Aborted, Verb::Read) => self.could_not_read(number, part, part.offset_bytes),
            _ => {
                self.failed_at_ns[part.member].get_or_insert(self.now_ns);
                self.kick(part.member);
                if part.verb == Verb::Read && !self.failed {
                    self.read_elsewhere(number, part);
                }
            }
        }
    }

    /// What could not be read together is read again, each page for itself (`R5_ReadNoMerge`, `fix_sync_read_error`).
    fn read_page_by_page(&mut self, number: u32, part: Part) {
        let end = part.offset_bytes + part.bytes;
        for offset_bytes in (part.offset_bytes..end).step_by(PAGE_BYTES as usize) {
            let unit = self.units.get_mut(number);
            unit.part(READING, Verb::Read, part.member, offset_bytes, PAGE_BYTES.min(end - offset_bytes));
            let page = unit.parts.len() - 1;
            self.issue(number, page);
        }
    }

    /// A page cannot be read: it is computed or copied from others and written anew, if that can be; the rest is read on.
    fn could_not_read(&mut self, number: u32, part: Part, offset_bytes: u64) {
        let end = part.offset_bytes + part.bytes;
        let bad = (offset_bytes / PAGE_BYTES * PAGE_BYTES).max(part.offset_bytes);
        let bad_end = (bad + PAGE_BYTES).min(end);
        let page = Part { offset_bytes: bad, bytes: bad_end - bad, ..part };
        self.units.get_mut(number).unreadable.push((part.member, bad / PAGE_BYTES));
        if self.redundancy_at(number, page) {
            self.read_elsewhere(number, page);
            let unit = self.units.get_mut(number);
            unit.part(WRITING, Verb::Write, part.member, bad, bad_end - bad);
        } else {
            let unit = self.units.get_mut(number);
            match unit.purpose {
                Purpose::Recovery => {
                    if let Some(recovery) = &mut self.recovery {
                        recovery.lost_bytes += bad_end - bad;
                    }
                }
                Purpose::Foreground | Purpose::Bitmap | Purpose::Superblock => unit.spoiled = true,
            }
        }
        if bad_end < end {
            let unit = self.units.get_mut(number);
            unit.part(READING, Verb::Read, part.member, bad_end, end - bad_end);
            let rest = unit.parts.len() - 1;
            self.issue(number, rest);
        }
    }

    /// Whether what a member cannot read is known elsewhere: it, and the others that could not read theirs, are made up for.
    fn redundancy_at(&self, number: u32, page: Part) -> bool {
        let end = page.offset_bytes - self.data_offset_bytes + page.bytes;
        match self.options.arrangement {
            Arrangement::Parity(_) => {
                let unit = self.units.get(number);
                let is_lost =
                    |member: usize| !self.is_readable(member, end) || unit.could_not_read(member, page.offset_bytes);
                (0..self.roles.len()).filter(|member| is_lost(*member)).count() <= self.options.parity_count()
            }
            Arrangement::Copies { .. } => self.other_copy(number, page).is_some(),
        }
    }

    /// A copy of a part on another member, unless that could not be read either.
    fn other_copy(&self, number: u32, part: Part) -> Option<Place> {
        let copies = self.options.copies();
        let here = Place { member: part.member, offset_bytes: part.offset_bytes - self.data_offset_bytes };
        let mut places = Vec::new();
        copies.find(copies.origin(here)?, &mut places);
        let unit = self.units.get(number);
        let is_in_vain = |place: &Place| unit.could_not_read(place.member, self.data_offset_bytes + place.offset_bytes);
        places.retain(|place| place.member != part.member && !is_in_vain(place));
        self.nearest_copy(&places, part.bytes)
    }

    /// Reads from others what gives the content of a part: another copy, or all other members unless they are read anyway.
    fn read_elsewhere(&mut self, number: u32, part: Part) {
        let first = self.units.get(number).parts.len();
        match self.options.arrangement {
            Arrangement::Copies { .. } => match self.other_copy(number, part) {
                Some(place) => {
                    let unit = self.units.get_mut(number);
                    unit.part(
                        READING,
                        Verb::Read,
                        place.member,
                        self.data_offset_bytes + place.offset_bytes,
                        part.bytes,
                    );
                }
                None => self.units.get_mut(number).spoiled = true,
            },
            Arrangement::Parity(_) => {
                let end = part.offset_bytes - self.data_offset_bytes + part.bytes;
                for other in (0..self.roles.len()).filter(|other| *other != part.member) {
                    let unit = self.units.get(number);
                    let known = unit.parts.iter().any(|read| {
                        let covers = read.offset_bytes <= part.offset_bytes
                            && part.offset_bytes + part.bytes <= read.offset_bytes + read.bytes;
                        read.verb == Verb::Read && read.member == other && covers
                    });
                    if !known && self.is_readable(other, end) {
                        self.units.get_mut(number).part(READING, Verb::Read, other, part.offset_bytes, part.bytes);
                    }
                }
            }
        }
        for index in first..self.units.get(number).parts.len() {
            self.issue(number, index);
        }
    }

    /// A member is not there, or cannot write: the array goes on without it, if it can.
    fn kick(&mut self, member: usize) {
        if self.roles[member] == Role::Missing {
            return;
        }
        let replacement = self.roles[member] == Role::Rebuilding;
        self.roles[member] = Role::Missing;
        self.failed = !self.survives();
        if self.failed || replacement {
            self.abort_recovery(member);
        }
        if self.failed {
            self.abandon_gathered();
        }
    }

    /// Whether everything is still somewhere.
    fn survives(&self) -> bool {
        let lost = |member: usize| self.roles[member] != Role::InSync;
        match self.options.arrangement {
            Arrangement::Parity(_) => {
                (0..self.roles.len()).filter(|member| lost(*member)).count() <= self.options.parity_count()
            }
            Arrangement::Copies { near, .. } if near == self.roles.len() => !(0..near).all(lost),
            Arrangement::Copies { .. } => {
                let copies = self.options.copies();
                let mut places = Vec::new();
                // Which members hold the copies of a chunk comes again after as many chunks as there are members.
                (0..self.roles.len() as u64).all(|chunk| {
                    places.clear();
                    copies.find(chunk * copies.chunk_bytes, &mut places);
                    !places.iter().all(|place| lost(place.member))
                })
            }
        }
    }
}
