//! What lies where while md fills a replacement and the host goes on: members that know what each of their pages holds, and
//! answer in any order.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use array::md::{Array, Options};
use array::Layout;
use drive::{BlockDevice, Completion, Request, Status, Verb};
use sim::Stream;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Where data begins on members as small as these, but for a raid1's: two chunks are kept free, and what lies before them.
const HEADER: u64 = 2 * MIB;
const PAGE: u64 = 4 * KIB;
const CHUNK: u64 = 512 * KIB;
const LAST: usize = 3;

/// What a copy reads, to be written: the pages of the replacement by their place there.
type Copying = Rc<RefCell<HashMap<u64, u64>>>;

/// A member whose answers come after any time up to 2 ms. Its pages hold the number of the host's write that was there last;
/// the host writes single pages, and a recovery more of them.
struct Paged {
    pages: HashMap<u64, u64>,
    /// How often the host has written each.
    asked: HashMap<u64, u64>,
    copying: Copying,
    is_new: bool,
    /// What will have been done when it is answered: what each page holds then, as the recovery writes it.
    out: Vec<(u64, Request, HashMap<u64, u64>)>,
    times: Stream,
}

fn pages(request: &Request) -> impl Iterator<Item = u64> {
    (request.offset_bytes..request.offset_bytes + request.bytes).step_by(PAGE as usize)
}

impl Paged {
    /// What is asked for in the superblocks and the bitmap has no contents.
    fn is_data(request: &Request) -> bool {
        request.offset_bytes >= MIB && matches!(request.verb, Verb::Read | Verb::Write)
    }

    fn written(&mut self, request: &Request) -> HashMap<u64, u64> {
        let copying = self.copying.borrow();
        let host = request.bytes == PAGE;
        pages(request)
            .map(|page| {
                let writes = self.asked.entry(page).or_default();
                *writes += u64::from(host);
                (page, if host { *writes } else { copying.get(&page).copied().unwrap_or(0) })
            })
            .collect()
    }
}

impl BlockDevice for Paged {
    fn capacity_bytes(&self) -> u64 {
        HEADER + 64 * MIB
    }

    fn queue_depth(&self) -> u32 {
        32
    }

    fn submit(&mut self, now_ns: u64, request: Request) {
        let mut then = HashMap::new();
        if Self::is_data(&request) {
            if request.verb == Verb::Write {
                then = self.written(&request);
            } else if self.is_new {
                let missing = pages(&request).find(|page| !self.pages.contains_key(page));
                assert_eq!(missing, None, "{request:?} reads what was never written there");
            }
        }
        self.out.push((now_ns + 50_000 + self.times.below(2_000_000), request, then));
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.out.iter().map(|one| one.0).min()
    }

    fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        self.out.sort_by_key(|one| one.0);
        let due = self.out.partition_point(|one| one.0 <= to_ns);
        for (completed_ns, request, then) in self.out.drain(..due) {
            if Self::is_data(&request) && request.verb == Verb::Read && request.bytes > PAGE {
                let held = |page| (page, self.pages.get(&page).copied().unwrap_or(0));
                self.copying.borrow_mut().extend(pages(&request).map(held));
            }
            self.pages.extend(then);
            completions.push(Completion { tag: request.tag, completed_ns, status: Status::Good });
        }
    }
}

/// An array of four whose last member is new.
fn array(layout: Layout) -> Array<Paged> {
    let copying = Copying::default();
    let members = (0..=LAST).map(|member| Paged {
        pages: HashMap::new(),
        asked: HashMap::new(),
        copying: Rc::clone(&copying),
        is_new: member == LAST,
        out: Vec::new(),
        times: sim::stream(member as u64, "times"),
    });
    let mut options =
        Options { stripe_cache: 64, stripe_cache_most: 64, ..Options::new(layout, 4, HEADER + 64 * MIB).unwrap() };
    if matches!(layout, Layout::Raid1 | Layout::Raid10) {
        // Blocks and pages that follow each other stay apart: members know by the length whose a request is.
        options.max_segments = 1;
    }
    let mut array = Array::new(options, members.collect(), 0).unwrap();
    let used = array.options().used_bytes();
    array.recover(LAST, 0, used).unwrap();
    array
}

/// A place of the array near the front of the recovery: data on the replacement, or in the same row.
fn near_the_front(array: &Array<Paged>, random: &mut Stream) -> u64 {
    let from = array.recovered_bytes().saturating_sub(MIB);
    let at = (from + random.below(2 * MIB)).min(array.options().used_bytes() - PAGE) / PAGE * PAGE;
    let (row, within) = (at / CHUNK, at % CHUNK);
    match array.options().layout {
        Layout::Raid1 => at,
        Layout::Raid10 => (2 * row + 1) * CHUNK + within,
        Layout::Raid5 => (3 * row + random.below(3)) * CHUNK + within,
        _ => (2 * row + random.below(2)) * CHUNK + within,
    }
}

/// Asks for single pages near the front until the replacement is filled, and then waits for all answers.
fn ask_near_the_front(array: &mut Array<Paged>, verb: Verb) {
    let mut random = sim::stream(7, "places");
    let (mut done, mut asked, mut busy) = (Vec::new(), Vec::new(), HashSet::new());
    while array.recovering() {
        let offset_bytes = near_the_front(array, &mut random);
        // Who writes one page twice at a time has what he deserves.
        if busy.insert(offset_bytes) {
            let request = Request { tag: asked.len() as u32, verb, fua: false, offset_bytes, bytes: PAGE };
            asked.push(offset_bytes);
            array.submit(array.now_ns(), request);
        }
        array.advance(array.now_ns() + random.below(300_000), &mut done);
        done.drain(..).for_each(|one| assert!(one.status == Status::Good && busy.remove(&asked[one.tag as usize])));
    }
    array.advance(array.now_ns() + 1_000_000_000, &mut done);
    assert_eq!(done.len(), busy.len(), "everybody is answered");
    assert!(asked.len() > 300, "{}", asked.len());
}

/// A recovery never writes what it has read before the host wrote there: for that there are barriers.
#[test]
fn copies_are_alike_behind_a_recovery_beside_writers() {
    for layout in [Layout::Raid1, Layout::Raid10] {
        let mut array = array(layout);
        ask_near_the_front(&mut array, Verb::Write);
        let held = |member: usize| {
            let mut written = array.members().device(member).pages.clone();
            written.retain(|_, number| *number > 0);
            written
        };
        assert!(held(LAST).len() > 100, "{layout:?}: {}", held(LAST).len());
        assert_eq!(held(LAST - 1), held(LAST), "{layout:?}");
    }
}

/// Its member asserts it.
#[test]
fn a_replacement_is_read_only_where_it_has_been_filled() {
    for layout in [Layout::Raid1, Layout::Raid10, Layout::Raid5, Layout::Raid6] {
        for verb in [Verb::Read, Verb::Write] {
            ask_near_the_front(&mut array(layout), verb);
        }
    }
}
