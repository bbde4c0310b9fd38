//! Resilvers on drives that take a fixed time for everything, so that what is asked of whom can be counted.

use std::collections::{HashMap, HashSet};

use crate::plan::{plan, GIB};
use array::zfs::{Column, Content, Files, Geometry, Order, Plan, Report, Resilver, Sampling, Tunables};
use array::Ended;
use drive::{BlockDevice, Completion, Drive, Profile, Request, Status, Verb};

const MIB: u64 = 1 << 20;
const LABEL_BYTES: u64 = 4 * MIB;

/// One request at a time, 0.2 ms and 100 MB/s each; remembers what it was asked for.
#[derive(Clone, Debug, Default)]
struct Clockwork {
    bytes: u64,
    free_ns: u64,
    out: Vec<(u64, Completion)>,
    asked: Vec<Request>,
    bad: Option<u64>,
    /// It has a cache, and answers after a tenth of a millisecond.
    is_quick: bool,
}

impl BlockDevice for Clockwork {
    fn capacity_bytes(&self) -> u64 {
        self.bytes
    }

    fn queue_depth(&self) -> u32 {
        32
    }

    fn submit(&mut self, now_ns: u64, request: Request) {
        let takes_ns = if self.is_quick { 100_000 } else { 200_000 + request.bytes * 10 };
        self.free_ns = self.free_ns.max(now_ns) + takes_ns;
        let range = request.offset_bytes..request.offset_bytes + request.bytes;
        let status = match self.bad.filter(|bad| request.verb == Verb::Read && range.contains(bad)) {
            Some(offset_bytes) => Status::MediumError { offset_bytes },
            None => Status::Good,
        };
        self.out.push((self.free_ns, Completion { tag: request.tag, completed_ns: self.free_ns, status }));
        self.asked.push(request);
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.out.iter().map(|one| one.0).min()
    }

    fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        self.out.sort_by_key(|one| one.0);
        let due = self.out.partition_point(|one| one.0 <= to_ns);
        completions.extend(self.out.drain(..due).map(|one| one.1));
    }
}

fn clockworks(plan: &Plan) -> Vec<Clockwork> {
    vec![Clockwork { bytes: plan.member_bytes, ..Clockwork::default() }; plan.geometry.width()]
}

fn resilvered(plan: &Plan, devices: Vec<Clockwork>) -> (Resilver<Clockwork>, Report) {
    let mut resilver = Resilver::new(plan.clone(), devices, 0).unwrap();
    resilver.finish();
    let report = resilver.report();
    (resilver, report)
}

/// What was written to a member, without labels and what the pool says of itself.
fn written(resilver: &Resilver<Clockwork>, member: usize) -> Vec<(u64, u64)> {
    let last = 2 * GIB - MIB / 2;
    let own: HashSet<(usize, u64)> = resilver.own_places().into_iter().collect();
    let asked = resilver.members().device(member).asked.iter();
    let data = asked.filter(|one| one.verb == Verb::Write && (LABEL_BYTES..last).contains(&one.offset_bytes));
    let is_own = |offset: &u64| own.contains(&(member, *offset));
    let mut ranges: Vec<(u64, u64)> = data.flat_map(|one| parts_without(one.offset_bytes, one.bytes, is_own)).collect();
    ranges.sort_unstable();
    ranges
}

/// A request without the sectors that are passed over: they may be joined with others.
fn parts_without(offset_bytes: u64, bytes: u64, is_passed_over: impl Fn(&u64) -> bool) -> Vec<(u64, u64)> {
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for sector in (offset_bytes..offset_bytes + bytes).step_by(4096).filter(|sector| !is_passed_over(sector)) {
        match parts.last_mut().filter(|(first, length)| first + length == sector) {
            Some((_, length)) => *length += 4096,
            None => parts.push((sector, 4096)),
        }
    }
    parts
}

/// How often each sector was written.
fn writes_of_sectors(ranges: &[(u64, u64)]) -> HashMap<u64, u64> {
    let mut writes = HashMap::new();
    for (offset, bytes) in ranges {
        (*offset..offset + bytes).step_by(4096).for_each(|sector| *writes.entry(sector).or_default() += 1);
    }
    writes
}

/// Bytes that indirect blocks take on one member at most, both copies of all.
fn names_bytes(report: &Report) -> u64 {
    2 * report.records.div_ceil(1024) * (44 << 10)
}

fn every_geometry() -> Vec<Geometry> {
    vec![
        Geometry::mirror(2, 12).unwrap(),
        Geometry::mirror(3, 12).unwrap(),
        Geometry::raidz(1, 3, 12).unwrap(),
        Geometry::raidz(1, 4, 12).unwrap(),
        Geometry::raidz(2, 8, 12).unwrap(),
        Geometry::raidz(3, 12, 12).unwrap(),
        Geometry::draid(2, 4, 11, 1, 12).unwrap(),
    ]
}

#[test]
fn every_lost_column_is_written_once_and_the_others_are_read() {
    for geometry in every_geometry() {
        for (order, tunables) in [(Order::Blocks, Tunables::v0_6()), (Order::Sorted, Tunables::v2_3())] {
            let plan = Plan { tunables, ..plan(geometry.clone(), order) };
            let (resilver, report) = resilvered(&plan, clockworks(&plan));
            let ranges = written(&resilver, 1);
            let writes = writes_of_sectors(&ranges);
            let again = writes.values().filter(|times| **times > 1).count() as u64 * 4096;
            let most_again = if order == Order::Sorted { names_bytes(&report) } else { 0 };
            assert!(again <= most_again, "{geometry:?}: {again} bytes are written twice");
            let bytes = writes.len() as u64 * 4096;
            assert_eq!(report.outcome.progress.points.last().map(|point| point.done_bytes > 0), Some(true));
            // Records of 128 KiB on a fresh vdev: the share of each member is alike but for a column.
            let column: u64 = {
                let mut columns: Vec<Column> = Vec::new();
                geometry.columns(0, 128 << 10, &mut columns);
                columns.iter().map(|one| one.bytes).max().unwrap()
            };
            let most = report.records * column + 2 * report.records.div_ceil(1024) * 32 * 1024 + column;
            assert!(bytes <= most, "{bytes} of {most}");
            assert!(bytes * 100 >= report.records * column * if geometry.redundancy() > 3 { 1 } else { 80 });
            assert_eq!(report.outcome.ended, Ended::Complete);
            assert_eq!((report.deviation_ns, report.simulated_ns), (0, report.outcome.duration_ns));
        }
    }
}

/// `zio_walk_parents` goes through the parts of a request from the last to the first, and who comes first to an idle queue
/// is given to the drive at once: that decides whether a shingled drive sees one stream.
#[test]
fn of_what_was_read_in_one_request_the_last_is_written_first_and_alone() {
    let record_bytes = 128 << 10;
    let plan = plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted);
    let mut devices = clockworks(&plan);
    devices[1].is_quick = true;
    let (resilver, _) = resilvered(&plan, devices);
    let asked = |member: usize, verb: Verb| {
        let all = resilver.members().device(member).asked.iter();
        all.filter(move |one| one.verb == verb && one.bytes >= record_bytes).copied().collect::<Vec<Request>>()
    };
    let (reads, writes) = (asked(0, Verb::Read), asked(1, Verb::Write));
    let whole: Vec<&Request> = reads.iter().filter(|one| one.bytes == MIB).collect();
    assert!(whole.len() > 300, "{}", whole.len());
    let mut in_three = 0;
    for read in &whole {
        let range = read.offset_bytes..read.offset_bytes + read.bytes;
        let of_it: Vec<(u64, u64)> = writes
            .iter()
            .filter(|one| range.contains(&one.offset_bytes))
            .map(|one| ((one.offset_bytes - range.start) / record_bytes, one.bytes / record_bytes))
            .collect();
        in_three += usize::from(of_it == [(7, 1), (6, 1), (0, 6)]);
    }
    assert!(in_three * 10 > whole.len() * 9, "{in_three} of {}", whole.len());
}

/// What was read of one copy is written to the other: so both are written twice. A dRAID writes them to those, too, who have
/// them.
#[test]
fn what_is_kept_twice_is_written_twice() {
    for (geometry, is_draid) in
        [(Geometry::mirror(2, 12).unwrap(), false), (Geometry::draid(1, 2, 6, 0, 12).unwrap(), true)]
    {
        let mut plan = plan(geometry, Order::Sorted);
        plan.content.files = Files::Each { bytes: Some(6 * MIB) };
        let (resilver, report) = resilvered(&plan, clockworks(&plan));
        let ranges = written(&resilver, 1);
        let twice = writes_of_sectors(&ranges).values().filter(|times| **times == 2).count() as u64;
        let files = report.records.div_ceil(48);
        // A metaslab's end cuts a file in two.
        let expected = if is_draid { files / 3..2 * files } else { 2 * files..2 * files + 10 };
        assert!(expected.contains(&twice), "{twice} sectors of {files} files");
        assert_eq!(written(&resilver, 0).is_empty(), !is_draid);
    }
}

/// What names the records is in the memory of who has just filled a pool: the group that follows the pointers reads nothing.
#[test]
fn names_that_are_in_memory_are_not_read_to_be_followed() {
    let plan = plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted);
    let (resilver, _) = resilvered(&plan, clockworks(&plan));
    let asked = &resilver.members().device(0).asked;
    let first_read = asked.iter().position(|one| one.verb == Verb::Read).unwrap();
    let flushes = asked[..first_read].iter().filter(|one| one.verb == Verb::Flush).count();
    assert_eq!(flushes, 8, "of the group with which the drive is put in, and of the one with which the scan begins");
}

/// Which share of the time a raidz2 waits for each member alone; `slow` are slow, and the second is the replacement.
fn awaited(slow: &[usize]) -> Vec<f64> {
    let plan = plan(Geometry::raidz(2, 6, 12).unwrap(), Order::Sorted);
    let mut devices = clockworks(&plan);
    devices.iter_mut().enumerate().for_each(|(at, device)| device.is_quick = !slow.contains(&at));
    let awaited: Vec<f64> = resilvered(&plan, devices).1.outcome.members.iter().map(|one| one.awaited).collect();
    assert!(awaited.iter().sum::<f64>() <= 1.0, "{awaited:?}");
    awaited
}

#[test]
fn who_is_waited_for_is_told_as_a_share_of_the_time() {
    for slow in [1, 3] {
        let shares = awaited(&[slow]);
        assert!(shares.iter().enumerate().all(|(at, share)| (*share > 0.5) == (at == slow)), "{slow}: {shares:?}");
    }
    let readers = awaited(&[0, 2, 3, 4, 5]);
    assert!(readers.iter().all(|share| *share < 0.2), "a quick replacement holds up nobody: {readers:?}");
}

#[test]
fn a_sequential_rebuild_writes_what_is_allocated() {
    let plan = plan(Geometry::mirror(2, 12).unwrap(), Order::Sequential);
    let (resilver, report) = resilvered(&plan, clockworks(&plan));
    let bytes: u64 = written(&resilver, 1).iter().map(|range| range.1).sum();
    // Three copies of 19 blocks are what is left of what the pool has said of itself.
    assert_eq!(bytes + 3 * 19 * 4096, report.allocated_bytes);
    assert!(written(&resilver, 1).iter().all(|range| range.1 <= MIB));
    // A read goes on over short gaps between what is left.
    let read = report.outcome.members[0].counters.bytes_read;
    assert!((0..=3 * 3 * 80 * 4096).contains(&(read - report.allocated_bytes)), "{read}");
}

/// What was asked for while a transaction group was open is done before the group is written: 64 MiB for each of two
/// drives are under way when the first one, behind which the rebuild has begun, is.
#[test]
fn a_sequential_rebuild_goes_on_while_groups_are_written_and_each_waits_for_its_part() {
    let plan = plan(Geometry::mirror(2, 12).unwrap(), Order::Sequential);
    let (resilver, report) = resilvered(&plan, clockworks(&plan));
    let asked = &resilver.members().device(1).asked;
    let flushes: Vec<usize> = (0..asked.len()).filter(|at| asked[*at].verb == Verb::Flush).collect();
    let before = |flush: usize| -> u64 {
        let data = asked[..flushes[flush]].iter().filter(|one| one.verb == Verb::Write && one.bytes > 64 << 10);
        data.map(|one| one.bytes).sum()
    };
    // The first group has the labels' configurations to write, too: four flushes.
    assert!((128 * MIB..200 * MIB).contains(&before(4)), "{}", before(4));
    // Four groups as the drive is put in, the fifth five seconds later, in which all is told to be done: had each
    // of its metaslabs waited for a group, there were more, and the drive that is read had been idle for them.
    assert_eq!(flushes.len(), 10);
    let read_ns = report.allocated_bytes * 10 + report.allocated_bytes / MIB * 200_000;
    assert!(report.outcome.duration_ns > read_ns);
    assert!(report.outcome.duration_ns < read_ns + 5_000_000_000, "{}", report.outcome.duration_ns);
}

#[test]
fn a_distributed_spare_lies_on_all_members_and_the_dead_one_is_left_alone() {
    for order in [Order::Sorted, Order::Sequential] {
        let geometry = Geometry::draid(1, 3, 9, 1, 12).unwrap();
        let plan = Plan { spare: Some(0), ..plan(geometry, order) };
        let (resilver, report) = resilvered(&plan, clockworks(&plan));
        assert!(resilver.members().device(1).asked.is_empty());
        let writing = (0..9).filter(|member| !written(&resilver, *member).is_empty()).count();
        assert!(writing >= 7, "{writing} members took part of the spare");
        let again =
            |member| writes_of_sectors(&written(&resilver, member)).values().filter(|times| **times > 1).count();
        let most_again = if order == Order::Sorted { names_bytes(&report) / 4096 } else { 0 };
        assert!((0..9).all(|member| again(member) as u64 <= most_again), "{order:?}");
        assert_eq!(report.outcome.ended, Ended::Complete);
    }
}

#[test]
fn only_allocated_space_is_touched_and_an_empty_pool_takes_no_time() {
    let geometry = Geometry::raidz(1, 4, 12).unwrap();
    let empty = Plan {
        content: Content { record_bytes: 128 << 10, fill: 0.0, run_records: None, files: Files::One },
        ..plan(geometry.clone(), Order::Sorted)
    };
    let (resilver, report) = resilvered(&empty, clockworks(&empty));
    assert!(written(&resilver, 1).is_empty());
    assert!(report.outcome.duration_ns < 1_000_000_000);
    let full =
        Plan { content: Content { record_bytes: 128 << 10, fill: 1.0, run_records: None, files: Files::One }, ..empty };
    let (_, report) = resilvered(&full, clockworks(&full));
    let held = report.outcome.members[1].counters.bytes_written;
    // Of a record's 43 sectors a member has 10 or 11.
    let sectors = held / 4096 / report.records;
    assert!((10..=11).contains(&sectors) && held > 2 * GIB * 85 / 100, "{held} of {} records", report.records);
}

#[test]
fn a_second_failure_is_survived_or_not() {
    for (parity, ended) in [(1, false), (2, true)] {
        let geometry = Geometry::raidz(parity, 6, 12).unwrap();
        let plan = Plan { second_failure: Some((3, 1_000_000_000)), ..plan(geometry, Order::Sorted) };
        let (resilver, report) = resilvered(&plan, clockworks(&plan));
        match report.outcome.ended {
            Ended::Complete => assert!(ended),
            Ended::Failed { member, at_ns } => {
                assert!(!ended);
                assert_eq!(member, 3);
                assert!((1_000_000_000..3_000_000_000).contains(&at_ns));
            }
            Ended::WithLosses { .. } => panic!("nothing was unreadable"),
        }
        assert!(report.outcome.members[3].failed_at_ns.is_some_and(|at_ns| at_ns >= 1_000_000_000));
        assert!(report.outcome.members[4].failed_at_ns.is_none());
        let late = resilver.members().counters(3).requests;
        assert!(!ended || late < resilver.members().counters(4).requests);
    }
}

#[test]
fn an_unreadable_sector_costs_data_only_without_redundancy_left() {
    for (parity, lost_bytes) in [(1, true), (2, false)] {
        let geometry = Geometry::raidz(parity, 6, 12).unwrap();
        let plan = plan(geometry, Order::Sorted);
        let mut devices = clockworks(&plan);
        devices[4].bad = Some(LABEL_BYTES + 60 * MIB);
        let (resilver, report) = resilvered(&plan, devices);
        match report.outcome.ended {
            Ended::WithLosses { lost_bytes: lost } => {
                assert!(lost_bytes);
                assert_eq!(lost, 128 << 10);
            }
            _ => {
                assert!(!lost_bytes);
                // What could not be read is written anew, with what the block layer had joined to it.
                let bad = LABEL_BYTES + 60 * MIB;
                let anew = written(&resilver, 4);
                assert!(anew.iter().any(|(offset, bytes)| (*offset..offset + bytes).contains(&bad)), "{anew:?}");
                assert!(anew.iter().all(|(offset, _)| offset.abs_diff(bad) < MIB), "{anew:?}");
            }
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let good = plan(Geometry::raidz(1, 4, 12).unwrap(), Order::Sorted);
    let refusal = |plan: Plan, devices: Vec<Clockwork>| Resilver::new(plan, devices, 0).unwrap_err().to_string();
    let mut small = clockworks(&good);
    small[1].bytes -= 1;
    assert!(refusal(good.clone(), small).contains("replacement"));
    let overfull = Content { fill: 1.2, ..good.content };
    assert!(refusal(Plan { content: overfull, ..good.clone() }, clockworks(&good)).contains("120 %"));
    let sequential = Plan { order: Order::Sequential, ..good.clone() };
    assert!(refusal(sequential, clockworks(&good)).contains("mirrors and dRAID only"));
    let spare = Plan { spare: Some(0), ..good.clone() };
    assert!(refusal(spare, clockworks(&good)).contains("only dRAID"));
    for (spares, says) in [(1, "the only one is 0"), (2, "there are 0 to 1")] {
        let draid = plan(Geometry::draid(1, 3, 9, spares, 12).unwrap(), Order::Sorted);
        let devices = clockworks(&draid);
        assert!(refusal(Plan { spare: Some(2), ..draid }, devices).contains(says));
    }
    let same = Plan { second_failure: Some((1, 0)), ..good.clone() };
    assert!(refusal(same, clockworks(&good)).contains("another member"));
}

#[test]
fn users_are_answered_and_slow_the_resilver() {
    let plan = plan(Geometry::raidz(1, 4, 12).unwrap(), Order::Sorted);
    let (_, alone) = resilvered(&plan, clockworks(&plan));
    let mut resilver = Resilver::new(plan.clone(), clockworks(&plan), 0).unwrap();
    let (mut completions, mut now_ns, mut tag, mut longest_ns) = (Vec::new(), 0, 0, 0);
    let records = resilver.capacity_bytes() / (128 << 10);
    while !resilver.is_over() {
        let verb = if tag % 2 == 1 { Verb::Write } else { Verb::Read };
        let record = u64::from(tag).wrapping_mul(7919) % records;
        resilver.submit(now_ns, Request { tag, verb, fua: tag % 8 == 7, offset_bytes: record << 17, bytes: 8 << 10 });
        completions.clear();
        while completions.is_empty() {
            resilver.advance_to_completion(u64::MAX, &mut completions);
        }
        assert_eq!((completions.len(), completions[0].tag, completions[0].status), (1, tag, Status::Good));
        longest_ns = longest_ns.max(completions[0].completed_ns - now_ns);
        now_ns = completions[0].completed_ns;
        tag += 1;
    }
    let busy = resilver.report().outcome.duration_ns;
    assert!(busy * 100 > alone.outcome.duration_ns * 103, "{busy} beside {}", alone.outcome.duration_ns);
    assert!((1_000_000..1_000_000_000).contains(&longest_ns), "{longest_ns}");
}

/// Reads of 16 KiB, each of another record, all at once.
fn read_some(resilver: &mut Resilver<Clockwork>, count: u32) -> Vec<u64> {
    let now_ns = resilver.now_ns();
    for tag in 0..count {
        let offset_bytes = u64::from(tag * 100) << 17;
        resilver.submit(now_ns, Request { tag, verb: Verb::Read, fua: false, offset_bytes, bytes: 16 << 10 });
    }
    let mut completions = Vec::new();
    while completions.len() < count as usize {
        resilver.advance_to_completion(u64::MAX, &mut completions);
    }
    completions.iter().map(|one| one.completed_ns - now_ns).collect()
}

#[test]
fn a_program_has_one_request_answered_before_the_next() {
    let plan = plan(Geometry::mirror(3, 12).unwrap(), Order::Sorted);
    let last_ns = |programs: Option<usize>| {
        let mut healthy = Resilver::healthy(plan.clone(), clockworks(&plan), 0).unwrap();
        programs.into_iter().for_each(|programs| healthy.set_programs(programs));
        let before_ns = read_some(&mut healthy, 8).into_iter().max().unwrap();
        let mut without = Resilver::after(&healthy, plan.clone(), clockworks(&plan), 0).unwrap();
        let answers_ns = read_some(&mut without, 8);
        let apart = answers_ns.windows(2).all(|pair| pair[1] - pair[0] > 1_000_000);
        assert_eq!(apart, programs == Some(1), "who has asked goes on so when a drive is gone: {answers_ns:?}");
        before_ns
    };
    // A mirror reads on all sides, unless nobody asks for more than one at a time.
    assert!(last_ns(Some(1)) * 10 > last_ns(None) * 15, "{} beside {}", last_ns(Some(1)), last_ns(None));
}

#[test]
fn a_read_of_what_lacks_a_drive_asks_once_for_each_column() {
    let plan = plan(Geometry::raidz(1, 4, 12).unwrap(), Order::Sorted);
    let read = |resilver: &Resilver<Clockwork>| -> u64 {
        let asked = (0..4).flat_map(|member| &resilver.members().device(member).asked);
        asked.filter(|one| one.verb == Verb::Read).map(|one| one.bytes).sum()
    };
    let (alone, _) = resilvered(&plan, clockworks(&plan));
    let mut beside = Resilver::new(plan.clone(), clockworks(&plan), 0).unwrap();
    read_some(&mut beside, 8);
    beside.finish();
    // Three columns of 44 KiB for each of eight records at most.
    assert!(read(&beside) - read(&alone) <= 8 * 3 * (44 << 10), "{} {}", read(&beside), read(&alone));
}

/// Rewrites a record every 10 ms, reads it back, and goes on so until `is_enough`.
fn rewrite_until(resilver: &mut Resilver<Clockwork>, is_enough: impl Fn(&Resilver<Clockwork>) -> bool) {
    let mut completions = Vec::new();
    for number in 0_u64.. {
        if is_enough(resilver) {
            return;
        }
        for verb in [Verb::Write, Verb::Read] {
            let offset_bytes = (number % 100) << 17;
            resilver.submit(resilver.now_ns(), Request { tag: 1, verb, fua: false, offset_bytes, bytes: 16 << 10 });
        }
        resilver.advance(resilver.now_ns() + 10_000_000, &mut completions);
        completions.clear();
    }
}

#[test]
fn a_scan_begins_behind_the_groups_that_may_not_know_of_the_drive() {
    let plan = plan(Geometry::raidz(1, 4, 12).unwrap(), Order::Sorted);
    let mut healthy = Resilver::healthy(plan.clone(), clockworks(&plan), 0).unwrap();
    rewrite_until(&mut healthy, |healthy| healthy.now_ns() > 1_000_000_000);
    let mut resilver = Resilver::after(&healthy, plan.clone(), clockworks(&plan), 0).unwrap();
    let new = |resilver: &Resilver<Clockwork>, verb: Verb| -> (usize, u64) {
        let asked = &resilver.members().device(plan.lost).asked;
        let chosen: Vec<u64> = asked.iter().filter(|one| one.verb == verb).map(|one| one.bytes).collect();
        (chosen.len(), chosen.iter().sum())
    };
    rewrite_until(&mut resilver, |resilver| !resilver.is_to_begin());
    // The first group flushes four times, two others twice, and that of the scan, which is not yet done, four times at most.
    // `zpool replace` looks at each of the four drives for 64 ms first, and needs 215 ms besides.
    assert!(resilver.now_ns() > 4 * 64_000_000 + 215_000_000);
    assert!((8..=12).contains(&new(&resilver, Verb::Flush).0), "{:?}", new(&resilver, Verb::Flush));
    assert_eq!(new(&resilver, Verb::Read), (0, 0), "nothing of it is read before the scan begins");
    let (before, counted) = (new(&resilver, Verb::Write).1, resilver.report().outcome.members[plan.lost].counters);
    assert!(before > 1 << 20, "what users rewrite goes there, too: {before}");
    assert!(
        resilver.elapsed_ns() < 10_000_000 && counted.bytes_written * 4 < before,
        "and is not the resilver's: {counted:?}"
    );
    rewrite_until(&mut resilver, Resilver::is_over);
    let alone = resilvered(&plan, clockworks(&plan)).1.outcome.members[plan.lost].counters.bytes_written;
    let all = resilver.report().outcome.members[plan.lost].counters.bytes_written;
    assert!(all > alone * 9 / 10, "what was written before is resilvered all the same: {all} of {alone}");
}

/// The queue that a mirror looks at is that of its child, which of a drive being put in is a `replacing` vdev: it never has anything to do.
#[test]
fn a_mirror_reads_what_is_new_from_the_new_drive_while_the_other_has_something_to_do() {
    let small = plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted);
    let plan = Plan { content: Content { fill: 0.9, ..small.content }, ..small };
    let mut resilver = Resilver::new(plan.clone(), clockworks(&plan), 0).unwrap();
    let mut completions = Vec::new();
    let touch = |resilver: &mut Resilver<Clockwork>, verb, record: u64| {
        resilver.submit(
            resilver.now_ns(),
            Request { tag: 1, verb, fua: false, offset_bytes: record << 17, bytes: 128 << 10 },
        );
    };
    while resilver.is_to_begin() {
        resilver.advance(resilver.now_ns() + 10_000_000, &mut completions);
    }
    // Past memory, so that they are read from a drive.
    (0..100).for_each(|record| touch(&mut resilver, Verb::Write, record));
    resilver.advance(resilver.now_ns() + 2_000_000_000, &mut completions);
    assert_eq!(completions.len(), 100);
    let reads = |resilver: &Resilver<Clockwork>| {
        resilver.members().device(plan.lost).asked.iter().filter(|one| one.verb == Verb::Read).count()
    };
    assert_eq!(reads(&resilver), 0, "a scan reads nothing of it");
    (0..100).for_each(|record| {
        touch(&mut resilver, Verb::Read, record);
        resilver.advance(resilver.now_ns() + 20_000_000, &mut completions);
    });
    assert!(!resilver.is_over());
    assert!(reads(&resilver) > 90, "{} of 100", reads(&resilver));
}

fn drives(name: &str, width: usize) -> Vec<Drive> {
    let text = std::fs::read_to_string(format!("{}/../../drives/{name}.toml", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let profile = Profile::parse(&text).unwrap();
    (0..width).map(|member| Drive::new(&profile, member as u64)).collect()
}

#[test]
fn a_sample_stands_for_the_whole() {
    for (geometry, order, run_records, member_gib) in [
        (Geometry::raidz(2, 6, 12).unwrap(), Order::Sorted, None, 100),
        (Geometry::raidz(1, 4, 12).unwrap(), Order::Blocks, None, 100),
        (Geometry::mirror(2, 12).unwrap(), Order::Sorted, Some(16), 100),
        (Geometry::mirror(2, 12).unwrap(), Order::Sequential, None, 100),
        (Geometry::draid(1, 4, 12, 0, 12).unwrap(), Order::Sequential, None, 200),
    ] {
        let tunables = if order == Order::Blocks { Tunables::v0_6() } else { Tunables::v2_3() };
        let content = Content { record_bytes: 128 << 10, fill: 0.5, run_records, files: Files::One };
        let whole = Plan { member_bytes: member_gib * GIB, content, tunables, ..plan(geometry, order) };
        let sampled =
            Plan { sampling: Sampling { records: 60_000, window_records: 1024, first_records: 0 }, ..whole.clone() };
        let report = |plan: &Plan| {
            let mut resilver = Resilver::new(plan.clone(), drives("hd103uj", plan.geometry.width()), 0).unwrap();
            resilver.finish();
            resilver.report()
        };
        let (whole, sampled) = (report(&whole), report(&sampled));
        let ratio = sampled.outcome.duration_ns as f64 / whole.outcome.duration_ns as f64;
        let what = format!("{order:?} {run_records:?} of {} GiB", member_gib);
        assert!((0.97..1.03).contains(&ratio), "{what}: {ratio}");
        assert!(sampled.simulated_ns * 2 < whole.simulated_ns, "{what}");
        assert!((sampled.records as f64 / whole.records as f64 - 1.0).abs() < 0.02);
        let bytes = |report: &Report| {
            report.outcome.members.iter().map(|member| member.counters.bytes_written as f64).sum::<f64>()
        };
        let ratio = bytes(&sampled) / bytes(&whole);
        assert!((ratio - 1.0).abs() < 0.03, "{what}: {ratio}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let plan = Plan { member_bytes: 20 * GIB, ..plan(Geometry::raidz(1, 4, 12).unwrap(), Order::Sorted) };
    let run = || {
        let mut resilver = Resilver::new(plan.clone(), drives("hd103uj", 4), 0).unwrap();
        resilver.finish();
        resilver.report()
    };
    assert_eq!(run(), run());
}
