//! What Linux has between a program and a rotating drive: requests that are too long are split, and those that wait for
//! room in the drive's queue are merged with their neighbours and sorted, by the scheduler mq-deadline as it is set by
//! default (`block/blk-merge.c`, `block/mq-deadline.c`). What the drive has, `Sent` watches over.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

use drive::{Completion, Request, Status, Verb};

use super::flushes::Flushes;
use super::sent::{Command, Sent};

/// `max_sectors_kb`: no command is longer.
const LONGEST_BYTES: u64 = 1280 << 10;
/// What a look at the clock takes in the lab. A request that is split reaches the scheduler part by part, with such a look after
/// each, the last two together.
pub(super) const LOOK_NS: u64 = 256;
/// `fifo_batch`: requests in one direction, in the order of their places.
const BATCH: u32 = 16;
/// `writes_starved`: so often reads go before writes that wait.
const WRITES_STARVED: u32 = 2;
/// `read_expire` and `write_expire`: who has waited for so long is where the next batch begins.
const EXPIRE_NS: [u64; 2] = [500_000_000, 5_000_000_000];
/// The lab's kernel counts that in ticks (`CONFIG_HZ=100`), the one in which a request comes among them.
const TICK_NS: u64 = 10_000_000;

/// First byte, and a number that tells requests at one place apart.
type Key = (u64, u64);
/// Among the reads or among all else, and where there.
type Place = (usize, Key);

/// A command in the making, and the program's requests that it carries out, in the order of their places.
#[derive(Clone, Debug)]
struct Waiting {
    command: Request,
    riders: Vec<u32>,
    /// Its place in the order of arrival.
    order: u64,
    expires_ns: u64,
    /// Its end, and when it came to that among all that came to theirs; none if nobody may ride with it.
    ended: Option<(u64, u64)>,
}

impl Waiting {
    fn end_bytes(&self) -> u64 {
        self.command.offset_bytes + self.command.bytes
    }
}

/// Where a request rides.
#[derive(Clone, Copy, Debug)]
enum Side {
    Behind,
    Before,
}

/// What is left of a request of the program, by its tag.
#[derive(Clone, Copy, Debug)]
struct Parts {
    left: u32,
    status: Status,
    /// When they have ended, a flush follows.
    then_flush: bool,
}

/// The layer above one drive.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockLayer {
    /// Parts of requests, and when they get here.
    coming: VecDeque<(u64, Request)>,
    /// What overtakes everything.
    flushes: Flushes,
    /// Reads, and all else.
    sorted: [BTreeMap<Key, Waiting>; 2],
    arrived: [BTreeMap<u64, Key>; 2],
    /// Who may be ridden with, by the end and when it came to it.
    ends: BTreeMap<(u64, u64), Place>,
    /// Who was last ridden with, or came when there was none.
    last_ridden: Option<Place>,
    /// Where the batches go on.
    next: [Option<Key>; 2],
    batch_of: usize,
    in_batch: u32,
    starved: u32,
    arrivals: u64,
    endings: u64,
    sent: Sent,
    parts: Vec<Parts>,
}

impl BlockLayer {
    /// Takes a request of the program; returns how often Linux looks at the clock for it: once for each command that it makes,
    /// and not for a request that rides in another's.
    pub fn insert(&mut self, now_ns: u64, request: Request) -> u64 {
        self.insert_parts(now_ns, request, false)
    }

    /// The same of a write that is to be durable, on a drive that Linux asks for no such thing: a flush follows.
    pub fn insert_before_flush(&mut self, now_ns: u64, request: Request) -> u64 {
        self.insert_parts(now_ns, request, true)
    }

    fn insert_parts(&mut self, now_ns: u64, request: Request, then_flush: bool) -> u64 {
        let splits = matches!(request.verb, Verb::Read | Verb::Write) && request.bytes > LONGEST_BYTES;
        let longest_bytes = if splits { LONGEST_BYTES } else { request.bytes.max(1) };
        let left = request.bytes.div_ceil(longest_bytes).max(1) as u32;
        let tag = request.tag as usize;
        if self.parts.len() <= tag {
            self.parts.resize(tag + 1, Parts { left: 0, status: Status::Good, then_flush });
        }
        self.parts[tag] = Parts { left, status: Status::Good, then_flush };
        for part in 0..u64::from(left) {
            let begin_bytes = part * longest_bytes;
            let bytes = longest_bytes.min(request.bytes - begin_bytes);
            let at_ns = now_ns + LOOK_NS * part.min(u64::from(left).saturating_sub(2));
            let offset_bytes = request.offset_bytes + begin_bytes;
            self.coming.push_back((at_ns, Request { offset_bytes, bytes, ..request }));
        }
        let rides = self.arrive(now_ns);
        if rides && left == 1 {
            0
        } else {
            u64::from(left)
        }
    }

    /// Parts get here; returns whether the last of them rides in another's command.
    fn arrive(&mut self, now_ns: u64) -> bool {
        let mut rides = false;
        while let Some(&(_, part)) = self.coming.front().filter(|(at_ns, _)| *at_ns <= now_ns) {
            self.coming.pop_front();
            rides = self.add(now_ns, part);
        }
        rides && self.coming.is_empty()
    }

    /// The next command for the drive, if there is room for it: who waits before others for that lets them wait, too.
    pub fn next(&mut self, now_ns: u64, may_go: impl Fn(Verb) -> bool) -> Option<Request> {
        if self.sent.holds_back(now_ns) {
            return None;
        }
        if let Some(verb) = self.sent.verb_of_next_again() {
            return may_go(verb).then(|| self.sent.again(now_ns)).flatten();
        }
        if self.flushes.is_due(now_ns) {
            return may_go(Verb::Flush).then(|| self.flush(now_ns));
        }
        // Reads, writes and trims are all alike in that.
        if !may_go(Verb::Read) {
            return None;
        }
        if let Some(write) = self.flushes.next_write() {
            return Some(self.sent.send(now_ns, Command::new(write, vec![write.tag])));
        }
        let goes_on = self.next[self.batch_of].filter(|_| self.in_batch < BATCH);
        let key = match goes_on {
            Some(key) => key,
            None => self.begin_batch(now_ns)?,
        };
        self.in_batch += 1;
        let at = self.batch_of;
        self.next[at] = self.behind(at, key);
        let Waiting { command, riders, .. } = self.remove(at, key);
        Some(self.sent.send(now_ns, Command::new(command, riders)))
    }

    fn flush(&mut self, now_ns: u64) -> Request {
        let riders = self.flushes.take();
        let flush = Request { tag: riders[0], verb: Verb::Flush, fua: false, offset_bytes: 0, bytes: 0 };
        self.sent.send(now_ns, Command::new(flush, riders))
    }

    /// When it has to look at what gets here, or is not answered.
    pub fn looks_ns(&mut self) -> u64 {
        self.coming.front().map_or(u64::MAX, |(at_ns, _)| *at_ns).min(self.sent.looks_ns())
    }

    /// It is time for that: commands are taken back, and the requests of those that were taken back too often have failed.
    pub fn look(&mut self, now_ns: u64, completions: &mut Vec<Completion>) {
        self.arrive(now_ns);
        for riders in self.sent.take_back(now_ns) {
            let failed = Completion { tag: 0, completed_ns: now_ns, status: Status::Aborted };
            self.end(riders, failed, completions);
        }
    }

    /// Commands have ended: in their place come the requests that have ended with them.
    pub fn complete(&mut self, completions: &mut Vec<Completion>) {
        for command in std::mem::take(completions) {
            let riders = self.sent.answered(command.tag);
            self.end(riders, command, completions);
        }
    }

    fn end(&mut self, riders: Vec<u32>, command: Completion, completions: &mut Vec<Completion>) {
        self.flushes.ended(&riders);
        for tag in riders {
            let parts = &mut self.parts[tag as usize];
            parts.left -= 1;
            if parts.status == Status::Good {
                parts.status = command.status;
            }
            if parts.then_flush {
                self.flushes.write_ended();
            }
            if parts.left == 0 && parts.then_flush && parts.status == Status::Good {
                (parts.left, parts.then_flush) = (1, false);
                self.flushes.want(command.completed_ns, tag);
            } else if parts.left == 0 {
                completions.push(Completion { tag, status: parts.status, ..command });
            }
        }
    }

    /// Forgets what has not been handed over.
    pub fn clear(&mut self) {
        let (sent, parts) = (std::mem::take(&mut self.sent), std::mem::take(&mut self.parts));
        *self = Self { sent, parts, ..Self::default() };
    }

    /// Returns whether the request rides in another's command.
    fn add(&mut self, now_ns: u64, request: Request) -> bool {
        if request.verb == Verb::Flush {
            self.flushes.want(now_ns, request.tag);
            return false;
        }
        if self.parts[request.tag as usize].then_flush {
            self.flushes.write(request);
            return false;
        }
        if let Some((place, side)) = self.partner(&request) {
            if self.waiting(place).command.bytes + request.bytes <= LONGEST_BYTES {
                self.ride(place, side, &request);
                return true;
            }
            // Linux asks it no more.
            self.shut(place);
            self.last_ridden = self.last_ridden.filter(|last| *last != place);
        }
        let at = direction_of(&request);
        self.arrivals += 1;
        let (order, expires_ns) = (self.arrivals, (now_ns - now_ns % TICK_NS).saturating_add(EXPIRE_NS[at]));
        let key = (request.offset_bytes, order);
        self.arrived[at].insert(order, key);
        let waiting = Waiting { riders: vec![request.tag], command: request, order, expires_ns, ended: None };
        self.sorted[at].insert(key, waiting);
        if may_ride(&request) {
            self.open((at, key));
            self.last_ridden.get_or_insert((at, key));
        }
        false
    }

    /// The command that a request is to ride in. Linux knows commands by their ends, of each end the one that came to it
    /// last: if that goes in the other direction, none is found, although there may be one.
    fn partner(&self, request: &Request) -> Option<(Place, Side)> {
        if !may_ride(request) {
            return None;
        }
        let at = direction_of(request);
        let (begin_bytes, end_bytes) = (request.offset_bytes, request.offset_bytes + request.bytes);
        if let Some(place) = self.last_ridden.filter(|place| place.0 == at) {
            let waiting = self.waiting(place);
            if waiting.end_bytes() == begin_bytes {
                return Some((place, Side::Behind));
            }
            if waiting.command.offset_bytes == end_bytes {
                return Some((place, Side::Before));
            }
        }
        let last_to_end = self.ends.range((begin_bytes, 0)..=(begin_bytes, u64::MAX)).next_back();
        if let Some((_, &place)) = last_to_end.filter(|(_, place)| place.0 == at) {
            return Some((place, Side::Behind));
        }
        let first_to_begin = self.sorted[at].range((end_bytes, 0)..=(end_bytes, u64::MAX)).next();
        first_to_begin.filter(|(_, one)| one.ended.is_some()).map(|(&key, _)| ((at, key), Side::Before))
    }

    fn ride(&mut self, place: Place, side: Side, request: &Request) {
        match side {
            Side::Behind => {
                let waiting = self.waiting_mut(place);
                waiting.command.bytes += request.bytes;
                waiting.riders.push(request.tag);
                self.open(place);
                self.last_ridden = Some(place);
                self.join_with_next(place);
            }
            Side::Before => {
                let (at, key) = self.begin_at(place, request);
                self.last_ridden = Some((at, key));
                if let Some((&before, _)) = self.sorted[at].range(..key).next_back() {
                    self.join_with_next((at, before));
                }
            }
        }
    }

    /// Lets a request ride before others, so that their command begins with it; its end stays.
    fn begin_at(&mut self, (at, old): Place, request: &Request) -> Place {
        let mut waiting = self.sorted[at].remove(&old).expect("it was found");
        let key = (request.offset_bytes, old.1);
        waiting.command.offset_bytes = request.offset_bytes;
        waiting.command.bytes += request.bytes;
        waiting.riders.insert(0, request.tag);
        self.arrived[at].insert(waiting.order, key);
        if let Some(ended) = waiting.ended {
            self.ends.insert(ended, (at, key));
        }
        self.sorted[at].insert(key, waiting);
        if self.next[at] == Some(old) {
            self.next[at] = Some(key);
        }
        (at, key)
    }

    /// Makes a command and the one behind it one, if nothing is between them. It is as old as the older of the two.
    fn join_with_next(&mut self, place: Place) {
        let (at, key) = place;
        let Some(behind) = self.behind(at, key) else {
            return;
        };
        let (one, other) = (self.waiting(place), self.waiting((at, behind)));
        let open = one.ended.is_some() && other.ended.is_some();
        let neighbours = one.end_bytes() == other.command.offset_bytes;
        if !open || !neighbours || one.command.bytes + other.command.bytes > LONGEST_BYTES {
            return;
        }
        let other = self.remove(at, behind);
        let one = self.waiting_mut(place);
        one.command.bytes += other.command.bytes;
        one.riders.extend(other.riders);
        if other.expires_ns < one.expires_ns {
            let order = std::mem::replace(&mut one.order, other.order);
            one.expires_ns = other.expires_ns;
            self.arrived[at].remove(&order);
            self.arrived[at].insert(other.order, key);
        }
        self.open(place);
        self.last_ridden = Some(place);
    }

    /// It has come to a new end, and may be ridden with.
    fn open(&mut self, place: Place) {
        self.shut(place);
        self.endings += 1;
        let ended = (self.waiting(place).end_bytes(), self.endings);
        self.waiting_mut(place).ended = Some(ended);
        self.ends.insert(ended, place);
    }

    /// Nobody may ride with it any more.
    fn shut(&mut self, place: Place) {
        if let Some(ended) = self.waiting_mut(place).ended.take() {
            self.ends.remove(&ended);
        }
    }

    fn waiting(&self, (at, key): Place) -> &Waiting {
        &self.sorted[at][&key]
    }

    fn waiting_mut(&mut self, (at, key): Place) -> &mut Waiting {
        self.sorted[at].get_mut(&key).expect("who asks for it has found it")
    }

    fn behind(&self, at: usize, key: Key) -> Option<Key> {
        self.sorted[at].range((Excluded(key), Unbounded)).next().map(|(&key, _)| key)
    }

    fn remove(&mut self, at: usize, key: Key) -> Waiting {
        if self.next[at] == Some(key) {
            self.next[at] = self.behind(at, key);
        }
        self.shut((at, key));
        self.last_ridden = self.last_ridden.filter(|last| *last != (at, key));
        let waiting = self.sorted[at].remove(&key).expect("who removes it has found it");
        self.arrived[at].remove(&waiting.order);
        waiting
    }

    /// Chooses a direction, and in it the one who has waited too long, or else who comes next.
    fn begin_batch(&mut self, now_ns: u64) -> Option<Key> {
        let at = self.direction()?;
        let (_, &oldest) = self.arrived[at].first_key_value()?;
        let is_late = self.sorted[at][&oldest].expires_ns <= now_ns;
        (self.batch_of, self.in_batch) = (at, 0);
        self.next[at].filter(|_| !is_late).or(Some(oldest))
    }

    fn direction(&mut self) -> Option<usize> {
        let [reads, writes] = [0, 1].map(|at: usize| !self.arrived[at].is_empty());
        let writes_turn = writes && (!reads || self.starved >= WRITES_STARVED);
        self.starved = match (writes_turn, reads && writes) {
            (true, _) => 0,
            (false, true) => self.starved + 1,
            (false, false) => self.starved,
        };
        match (writes_turn, reads) {
            (true, _) => Some(1),
            (false, true) => Some(0),
            (false, false) => None,
        }
    }
}

/// Reads, or all else.
fn direction_of(request: &Request) -> usize {
    usize::from(request.verb != Verb::Read)
}

/// Does Linux make one command of such requests?
fn may_ride(request: &Request) -> bool {
    matches!(request.verb, Verb::Read | Verb::Write) && !request.fua
}

#[cfg(test)]
mod tests {
    use super::{BlockLayer, BATCH, EXPIRE_NS, LONGEST_BYTES, TICK_NS, WRITES_STARVED};
    use drive::{Completion, Request, Status, Verb};

    const PAGE: u64 = 4096;

    /// The drive has room for all.
    fn whatever(_: Verb) -> bool {
        true
    }

    fn ask(tag: u32, verb: Verb, page: u64) -> Request {
        Request { tag, verb, fua: false, offset_bytes: page * PAGE, bytes: PAGE }
    }

    fn end(tag: u32, status: Status) -> Completion {
        Completion { tag, completed_ns: 7, status }
    }

    /// Pages and lengths in pages of all commands that are left.
    fn drained(layer: &mut BlockLayer) -> Vec<(u64, u64)> {
        std::iter::from_fn(|| layer.next(0, whatever)).map(|one| (one.offset_bytes / PAGE, one.bytes / PAGE)).collect()
    }

    #[test]
    fn neighbours_that_wait_become_one_command() {
        let mut layer = BlockLayer::default();
        let asked = [(0, 10), (1, 11), (2, 20), (3, 9), (4, 12), (5, 14), (6, 13)];
        let looks = asked.map(|(tag, page)| layer.insert(0, ask(tag, Verb::Write, page)));
        assert_eq!(looks, [1, 0, 1, 0, 0, 1, 0]);
        let command = layer.next(0, whatever).unwrap();
        assert_eq!((command.offset_bytes / PAGE, command.bytes / PAGE), (9, 6));
        let mut completions = vec![end(command.tag, Status::Good)];
        layer.complete(&mut completions);
        let tags: Vec<u32> = completions.iter().map(|one| one.tag).collect();
        assert_eq!(tags, [3, 0, 1, 4, 6, 5]);
        assert_eq!(drained(&mut layer), [(20, 1)]);
    }

    #[test]
    fn reads_do_not_become_one_with_writes_nor_with_what_the_drive_has_nor_beyond_the_longest() {
        let mut layer = BlockLayer::default();
        layer.insert(0, ask(0, Verb::Read, 1));
        layer.insert(0, ask(1, Verb::Write, 2));
        layer.next(0, whatever).unwrap();
        layer.insert(0, ask(2, Verb::Read, 2));
        layer.insert(0, Request { bytes: LONGEST_BYTES, ..ask(3, Verb::Read, 3) });
        assert_eq!(drained(&mut layer), [(2, 1), (3, LONGEST_BYTES / PAGE), (2, 1)]);
    }

    #[test]
    fn of_two_that_end_at_one_place_the_last_to_come_there_hides_the_other() {
        let rides = |asked: &[(Verb, u64)]| {
            let mut layer = BlockLayer::default();
            // The one that came first is asked first: it stands apart.
            layer.insert(0, ask(99, Verb::Read, 500));
            let looks = asked.iter().zip(0..).map(|(&(verb, page), tag)| layer.insert(0, ask(tag, verb, page)));
            looks.last() == Some(0)
        };
        let (read, write) = (Verb::Read, Verb::Write);
        assert!(rides(&[(read, 10), (write, 10), (write, 11)]));
        assert!(!rides(&[(write, 10), (read, 10), (write, 11)]));
        assert!(!rides(&[(write, 10), (read, 9), (read, 10), (write, 11)]));
        // Unless it was ridden with just before, or the other one has a new end.
        assert!(rides(&[(write, 10), (read, 10), (write, 9), (write, 11)]));
        assert!(rides(&[(write, 10), (read, 10), (read, 11), (write, 11)]));
    }

    #[test]
    fn who_was_once_too_long_is_asked_no_more() {
        let mut layer = BlockLayer::default();
        let most = LONGEST_BYTES / PAGE;
        layer.insert(0, Request { bytes: LONGEST_BYTES - PAGE, ..ask(0, Verb::Write, 0) });
        assert_eq!(layer.insert(0, Request { bytes: 2 * PAGE, ..ask(1, Verb::Write, most - 1) }), 1);
        assert_eq!(layer.insert(0, ask(2, Verb::Write, most - 1)), 1);
        assert_eq!(drained(&mut layer), [(0, most - 1), (most - 1, 2), (most - 1, 1)]);
    }

    #[test]
    fn what_is_too_long_is_split_and_ends_with_its_last_part() {
        let mut layer = BlockLayer::default();
        assert_eq!(layer.insert(0, Request { bytes: 2 << 20, ..ask(9, Verb::Write, 0) }), 2);
        let parts = [layer.next(0, whatever).unwrap(), layer.next(0, whatever).unwrap()];
        assert_eq!(parts.map(|part| (part.offset_bytes >> 10, part.bytes >> 10)), [(0, 1280), (1280, 768)]);
        let mut completions = vec![end(parts[1].tag, Status::Gone)];
        layer.complete(&mut completions);
        assert_eq!(completions, []);
        completions.push(end(parts[0].tag, Status::Good));
        layer.complete(&mut completions);
        assert_eq!(completions, [end(9, Status::Gone)]);
    }

    #[test]
    fn a_batch_goes_upwards_and_reads_come_first_but_not_for_ever() {
        let mut layer = BlockLayer::default();
        for page in (0..100).rev().map(|page| 2 * page) {
            layer.insert(0, ask(page as u32, Verb::Read, page));
            layer.insert(0, ask(1000 + page as u32, Verb::Write, 1000 + page));
        }
        let commands = drained(&mut layer);
        // A first batch begins with the oldest, which is the last of all; then there is nobody behind.
        assert_eq!(commands[0], (198, 1));
        let turns: Vec<bool> = commands[1..].iter().map(|(page, _)| *page >= 1000).collect();
        let longest = turns.split(|writes| *writes).map(<[bool]>::len).max().unwrap();
        assert!(longest <= (WRITES_STARVED * BATCH) as usize, "{longest}");
        assert_eq!(commands.len(), 200);
    }

    #[test]
    fn who_has_waited_too_long_begins_the_next_batch() {
        let mut layer = BlockLayer::default();
        layer.insert(0, ask(0, Verb::Read, 500));
        for page in 0..40 {
            layer.insert(1, ask(1 + page, Verb::Read, 2 * u64::from(page)));
        }
        assert_eq!(layer.next(2, whatever).unwrap().offset_bytes, 500 * PAGE);
        let first = layer.next(EXPIRE_NS[0] + 1, whatever).unwrap();
        assert_eq!(first.offset_bytes, 0);
        for _ in 1..BATCH {
            layer.next(2, whatever).unwrap();
        }
        layer.insert(3, ask(90, Verb::Read, 3));
        assert_eq!(layer.next(4, whatever).unwrap().offset_bytes, u64::from(BATCH) * 2 * PAGE);
    }

    #[test]
    fn who_comes_late_in_a_tick_has_waited_since_it_began() {
        let second_batch_begins_with = |now_ns: u64| {
            let mut layer = BlockLayer::default();
            layer.insert(0, ask(0, Verb::Read, 0));
            layer.insert(TICK_NS - 1, ask(1, Verb::Read, 500));
            for page in 1..=BATCH {
                layer.insert(TICK_NS, ask(1 + page, Verb::Read, 2 * u64::from(page)));
            }
            for _ in 0..BATCH {
                layer.next(TICK_NS, whatever).unwrap();
            }
            layer.next(now_ns, whatever).unwrap().offset_bytes / PAGE
        };
        assert_eq!(second_batch_begins_with(EXPIRE_NS[0] - 1), 2 * u64::from(BATCH));
        assert_eq!(second_batch_begins_with(EXPIRE_NS[0]), 500);
    }

    #[test]
    fn a_flush_overtakes_and_nothing_is_left_once_forgotten() {
        let mut layer = BlockLayer::default();
        layer.insert(0, ask(0, Verb::Write, 1));
        layer.insert(0, Request { bytes: 0, offset_bytes: 0, ..ask(1, Verb::Flush, 0) });
        assert_eq!(layer.next(0, whatever).unwrap().verb, Verb::Flush);
        layer.clear();
        assert_eq!(layer.next(0, whatever), None);
    }
}
