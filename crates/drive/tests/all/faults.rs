//! Faults around drives, as a host meets them.

use crate::rig::profile;
use drive::faults::{Faults, FaultsError, Gone, Impatient, LatentSectors, PowerLoss, Schedule, Stall, Timeout};
use drive::{BlockDevice, Completion, Drive, Lost, Request, Status, Verb};

const S: u64 = 1_000_000_000;

fn drive() -> Drive {
    Drive::new(&profile("st12000vn0007").scaled(1000).expect("scalable"), 1)
}

fn request(tag: u32, verb: Verb, offset_bytes: u64) -> Request {
    Request { tag, verb, fua: false, offset_bytes, bytes: if verb == Verb::Flush { 0 } else { 4096 } }
}

fn once(from_ns: u64, for_ns: u64) -> Schedule {
    Schedule { from_ns, for_ns, every_ns: None }
}

/// One request at `now_ns` until its answer.
fn ask(device: &mut impl BlockDevice, now_ns: u64, verb: Verb, offset_bytes: u64) -> Completion {
    let mut done = Vec::new();
    device.advance(now_ns, &mut done);
    device.submit(now_ns, request(7, verb, offset_bytes));
    while done.is_empty() {
        let event_ns = device.next_event_ns().expect("it is answered some time");
        assert!(event_ns >= now_ns, "time runs backwards");
        device.advance(event_ns, &mut done);
    }
    assert_eq!((done.len(), done[0].tag), (1, 7));
    done[0]
}

#[test]
fn bad_sectors_cost_their_retries_until_they_are_written() {
    let mut device = LatentSectors::around(drive(), std::iter::once(4 * 2048 + 3..4 * 2048 + 5), S, 7 * S);
    let offset = 4 << 20;
    assert_eq!(ask(&mut device, 0, Verb::Read, offset).status, Status::Good, "not yet");
    let bad = ask(&mut device, 2 * S, Verb::Read, offset);
    assert_eq!(bad.status, Status::MediumError { offset_bytes: offset + 3 * 512 });
    assert!((9 * S..9 * S + S / 10).contains(&bad.completed_ns), "{}", bad.completed_ns);
    assert_eq!(ask(&mut device, 10 * S, Verb::Read, offset + 4096).status, Status::Good, "its neighbour is sound");
    assert_eq!(ask(&mut device, 11 * S, Verb::Write, offset).status, Status::Good);
    assert_eq!(ask(&mut device, 12 * S, Verb::Read, offset).status, Status::Good);
}

#[test]
fn others_wait_while_a_bad_sector_is_tried() {
    let mut device = LatentSectors::around(drive(), std::iter::once(0..1), 0, 7 * S);
    device.submit(0, request(1, Verb::Read, 0));
    let mut done = Vec::new();
    device.advance(S, &mut done);
    assert!(done.is_empty());
    device.submit(S, request(2, Verb::Read, 1 << 30));
    device.advance(20 * S, &mut done);
    assert_eq!(done.iter().map(|done| done.tag).collect::<Vec<_>>(), [1, 2]);
    assert!(done[1].completed_ns >= 7 * S && done[1].status == Status::Good);
}

/// What a host may look for is the first sector of its own request that is bad.
#[test]
fn an_error_is_told_of_a_sector_that_was_asked_for() {
    let mut device = LatentSectors::around(drive(), std::iter::once(2040..2056), 0, S);
    for (offset, told) in [(1 << 20, 1 << 20), ((1 << 20) - 4096, (1 << 20) - 4096), ((1 << 20) - 8192, 0)] {
        let expected = if told > 0 { Status::MediumError { offset_bytes: told } } else { Status::Good };
        assert_eq!(ask(&mut device, 0, Verb::Read, offset).status, expected, "read at {offset}");
    }
}

/// Who was asked together with it has an answer when the attempts are over, although the drive has had it before.
#[test]
fn an_answer_that_was_ready_waits_until_a_bad_sector_has_been_tried() {
    let mut device = LatentSectors::around(drive(), std::iter::once(0..1), 0, 7 * S);
    (1..4).for_each(|tag| device.submit(0, request(tag, Verb::Read, u64::from(tag - 1) << 12)));
    let mut done = Vec::new();
    device.advance(20 * S, &mut done);
    assert_eq!(done.iter().map(|done| done.tag).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(done.iter().all(|done| done.completed_ns >= 7 * S), "{done:?}");
}

#[test]
fn a_stall_ends_for_all_at_once_and_nothing_is_lost() {
    let mut device = Stall::around(drive(), Schedule { from_ns: S, for_ns: 8 * S, every_ns: Some(100 * S) });
    let mut done = Vec::new();
    for (tag, now_ns) in [(1, S / 2), (2, S - 1000), (3, 3 * S), (4, 8 * S)] {
        device.advance(now_ns, &mut done);
        device.submit(now_ns, request(tag, Verb::Read, u64::from(tag) << 24));
    }
    device.advance(9 * S - 1, &mut done);
    assert_eq!(done.iter().map(|done| done.tag).collect::<Vec<_>>(), [1]);
    device.advance(10 * S, &mut done);
    assert_eq!(done.len(), 4);
    assert_eq!(done[1], Completion { tag: 2, completed_ns: 9 * S, status: Status::Good });
    assert!(done.iter().all(|done| done.status == Status::Good));
    assert_eq!(ask(&mut device, 105 * S, Verb::Read, 0).completed_ns / S, 109, "it comes back");
}

#[test]
fn commands_hang_until_the_link_is_reset() {
    let mut device = Timeout::around(drive(), once(0, S), 2, None);
    (0..4).for_each(|tag| device.submit(0, request(tag, Verb::Read, u64::from(tag) << 24)));
    let mut done = Vec::new();
    device.advance(60 * S, &mut done);
    let mut tags: Vec<u32> = done.iter().map(|done| done.tag).collect();
    tags.sort_unstable();
    assert_eq!(tags, [1, 3]);
    assert_eq!(device.next_event_ns(), None);
    device.reset(60 * S);
    done.clear();
    device.advance(60 * S, &mut done);
    let aborted = |tag| Completion { tag, completed_ns: 60 * S, status: Status::Aborted };
    assert_eq!(done, [aborted(0), aborted(2)]);
}

#[test]
fn a_reset_ends_what_a_drive_tries_and_what_comes_late_but_no_stall() {
    let answered = |device: &mut dyn BlockDevice| {
        device.submit(0, request(0, Verb::Read, 0));
        let mut done = Vec::new();
        device.advance(30 * S, &mut done);
        device.reset(30 * S);
        device.advance(30 * S, &mut done);
        done.first().map(|done| done.status)
    };
    let mut bad = LatentSectors::around(drive(), std::iter::once(0..8), 0, 120 * S);
    assert_eq!(answered(&mut bad), Some(Status::Aborted));
    assert_eq!(ask(&mut bad, 31 * S, Verb::Read, 1 << 30).completed_ns / S, 31, "it is not at it any more");
    assert_eq!(answered(&mut Timeout::around(drive(), once(0, S), 1, Some(45 * S))), Some(Status::Aborted));
    let mut stalls = Stall::around(drive(), once(0, 60 * S));
    assert_eq!(answered(&mut stalls), None);
    assert_eq!(stalls.next_event_ns(), Some(60 * S));
}

/// The question whether it is there is a command as any other.
#[test]
fn a_drive_that_hangs_with_all_commands_does_not_say_that_it_is_ready() {
    let ready = |one_in| {
        let device = Timeout::around(drive(), once(S, S), one_in, None);
        [S - 1, S, 2 * S - 1, 2 * S].map(|now_ns| device.is_ready(now_ns))
    };
    assert_eq!(ready(1), [true, false, false, true]);
    assert_eq!(ready(2), [true; 4]);
}

/// The power fails for a second at 1 s, 11 s and 21 s, each time with a write in DRAM.
#[test]
fn the_power_fails_as_often_as_its_schedule_says() {
    let schedule = Schedule { from_ns: S, for_ns: S, every_ns: Some(10 * S) };
    let mut device = PowerLoss::around(drive(), schedule);
    for window in [0, 10, 20].map(|s| s * S) {
        let offset_bytes = window / S * 4096;
        assert_eq!(ask(&mut device, S - S / 1000 + window, Verb::Write, offset_bytes).status, Status::Good);
        assert_eq!(ask(&mut device, S * 3 / 2 + window, Verb::Read, 0).status, Status::Gone);
        assert_eq!(ask(&mut device, 2 * S + window, Verb::Read, 0).status, Status::Good);
    }
    let lost =
        [0, 10, 20].map(|s| Lost { at_ns: (s + 1) * S, ranges: std::iter::once(s * 4096..(s + 1) * 4096).collect() });
    assert_eq!(device.losses(), lost);
}

#[test]
fn some_commands_come_very_late() {
    let mut device = Timeout::around(drive(), once(0, S), 1, Some(45 * S));
    let late = ask(&mut device, 0, Verb::Write, 0);
    assert_eq!((late.status, late.completed_ns / S), (Status::Good, 45));
    assert!(ask(&mut device, 50 * S, Verb::Write, 0).completed_ns < 50 * S + S / 10);
}

#[test]
fn what_is_in_flight_when_the_device_goes_is_lost_and_tags_can_be_used_again() {
    let mut device = Gone::around(drive(), once(S, 10 * S));
    let mut done = Vec::new();
    device.advance(S - 1000, &mut done);
    device.submit(S - 1000, request(7, Verb::Read, 1 << 30));
    device.advance(S, &mut done);
    assert_eq!(done, [Completion { tag: 7, completed_ns: S, status: Status::Gone }]);
    assert_eq!(ask(&mut device, S + 1, Verb::Read, 0).status, Status::Gone);
    assert_eq!(ask(&mut device, 10 * S, Verb::Flush, 0).completed_ns, 10 * S, "at once");
    assert_eq!(ask(&mut device, 11 * S, Verb::Read, 1 << 20).status, Status::Good);
}

#[test]
fn a_device_that_is_gone_for_no_stated_time_never_comes_back() {
    let text = "format_version = 1\n[[faults]]\nkind = \"gone\"\nfrom_s = 1\nunplugged = true";
    let faults = Faults::parse(text).unwrap();
    let mut device = faults.wrap(drive()).unwrap();
    assert_eq!(ask(&mut device, 0, Verb::Read, 0).status, Status::Good);
    for now_s in [1, 1_000_000, 9_000_000_000] {
        assert_eq!(ask(&mut device, now_s * S, Verb::Read, 0).status, Status::Gone);
    }
    assert_eq!(device.next_event_ns(), None);
    let [schedule] = faults.counted_from(S).unplugged()[..] else { panic!("one is unplugged") };
    assert_eq!((schedule.end_at(2 * S - 1), schedule.end_at(u64::MAX - 1)), (None, Some(u64::MAX)));
}

#[test]
fn a_loss_of_power_keeps_what_was_flushed_and_costs_a_start() {
    let mut profile = profile("st12000vn0007").scaled(1000).expect("scalable");
    profile.mechanics.spin_up_s = 12.0;
    let mut device = PowerLoss::around(Drive::new(&profile, 1), once(2 * S, 3 * S));
    ask(&mut device, 0, Verb::Write, 0);
    ask(&mut device, S, Verb::Flush, 0);
    ask(&mut device, 2 * S - S / 100, Verb::Write, 1 << 20);
    assert_eq!(ask(&mut device, 2 * S, Verb::Write, 0).status, Status::Gone);
    assert_eq!(device.losses().len(), 1);
    let expected = Lost { at_ns: 2 * S, ranges: std::iter::once(1 << 20..(1 << 20) + 4096).collect() };
    assert_eq!(device.losses()[0], expected);
    let started = ask(&mut device, 6 * S, Verb::Read, 0);
    assert_eq!(started.status, Status::Good);
    assert!((17 * S..17 * S + S / 10).contains(&started.completed_ns), "{}", started.completed_ns);
}

const FILE: &str = r#"
format_version = 1
[[faults]]
kind = "latent-sectors"
sectors = [[2048, 800], [1_000_000, 1]]
retry_s = 7
[[faults]]
kind = "stall"
from_s = 20
for_s = 5
[[faults]]
kind = "timeout"
from_s = 40
for_s = 1
every_s = 50
one_in = 3
answer_after_s = 31
[[faults]]
kind = "gone"
from_s = 60
for_s = 2
[[faults]]
kind = "power-loss"
from_s = 80
for_s = 1
"#;

#[test]
fn faults_stack_and_repeat_themselves() {
    let play = || {
        let mut device = Faults::parse(FILE).unwrap().wrap(drive()).unwrap();
        let mut random = sim::stream(5, "requests");
        let (mut done, mut all) = (Vec::new(), Vec::new());
        let (mut now_ns, mut flying) = (0, 0);
        for tag in 0..3000 {
            now_ns += random.below(80_000_000);
            device.advance(now_ns, &mut done);
            flying -= done.len();
            all.append(&mut done);
            let verb = [Verb::Read, Verb::Write, Verb::Flush][random.below(3) as usize];
            device.submit(now_ns, request(tag, verb, random.below(2000) * 4096));
            flying += 1;
        }
        device.advance(now_ns + 100 * S, &mut done);
        assert_eq!(flying, done.len(), "each is answered once");
        all.append(&mut done);
        assert!(all.windows(2).all(|pair| pair[0].completed_ns <= pair[1].completed_ns));
        (all, device.losses().to_vec())
    };
    let (first, losses) = play();
    assert_eq!((first.clone(), losses.clone()), play());
    assert_eq!(losses.len(), 1);
    let some = |kind: fn(&Status) -> bool| first.iter().any(|done| kind(&done.status));
    assert!(some(|status| *status == Status::Good) && some(|status| *status == Status::Gone));
    assert!(some(|status| matches!(status, Status::MediumError { .. })));
}

#[test]
fn what_cannot_be_is_refused_with_its_key() {
    let entry = |text: &str| Faults::parse(&format!("format_version = 1\n[[faults]]\n{text}"));
    for (text, key) in [
        ("kind = \"stall\"\nfrom_s = -1\nfor_s = 1", "faults[0].from_s"),
        ("kind = \"stall\"\nfrom_s = 1\nfor_s = 0", "faults[0].for_s"),
        ("kind = \"stall\"\nfrom_s = nan\nfor_s = 1", "faults[0].from_s"),
        ("kind = \"gone\"\nfrom_s = 1\nfor_s = 2\nevery_s = 2", "faults[0].every_s"),
        ("kind = \"gone\"\nfrom_s = 1\nevery_s = 2", "faults[0].every_s"),
        ("kind = \"timeout\"\nfrom_s = 1\nfor_s = 2\none_in = 0", "faults[0].one_in"),
        ("kind = \"latent-sectors\"\nsectors = [[5, 0]]\nretry_s = 1", "faults[0].sectors"),
    ] {
        match entry(text) {
            Err(FaultsError::Value { key: found, .. }) => assert_eq!(found, key),
            other => panic!("{text}: {other:?}"),
        }
    }
    for (text, message) in [
        ("kind = \"fire\"", "`faults[0].kind` is \"fire\": one of latent-sectors, stall"),
        ("kind = \"stall\"\nfrom_s = 1", "`faults[0].for_s` is missing"),
        ("kind = \"power-loss\"\nfrom_s = 1", "`faults[0].for_s` is missing"),
        ("kind = \"gone\"\nfrom_s = 1\nevery_s = 2", "`faults[0].every_s` is 2: without `for_s` it is gone for good"),
        ("kind = \"stall\"\nfor_s = 1", "`faults[0].from_s` is missing"),
        ("kind = \"stall\"\nform_s = 1\nfor_s = 1", "`faults[0].form_s` is not a known key; did you mean `from_s`?"),
        ("kind = \"stall\"\nfrom_s = 1\nform_s = 1", "`faults[0].form_s` is not a known key; did you mean `for_s`?"),
        (
            "kind = \"stall\"\nfrom_s = 1\nfor_s = 1\nevry_s = 9",
            "`faults[0].evry_s` is not a known key; did you mean `every_s`?",
        ),
        ("from_s = 1", "`faults[0].kind` is missing"),
        (
            "kind = \"gone\"\nfrom_s = 1\nfor_s = 1\n[[faults]]\nkind = \"gone\"\nx = 1\nfrom_s = 1\nfor_s = 1",
            "`faults[1].x` is not a known key",
        ),
        ("kind = \"stall\"\nfrom_s = 1e300\nfor_s = 1", "`faults[0].from_s` is 1e300: 0..9e9 s are possible"),
        ("kind = \"timeout\"\nfrom_s = 1\nfor_s = 1\none_in = 1.5", "`faults[0].one_in` is 1.5"),
        ("kind = \"gone\"\nfrom_s = 1\nfor_s = 1\nunplugged = 1", "`faults[0].unplugged` is 1: true or false"),
        ("kind = \"latent-sectors\"\nsectors = [5]\nretry_s = 1", "`faults[0].sectors` is 5: pairs"),
        ("kind = \"latent-sectors\"\nsectors = []\nretry_s = 1", "`faults[0].sectors` is []: no sectors named"),
        ("[", "the list of faults cannot be read"),
    ] {
        let error = entry(text).expect_err(text).to_string();
        assert!(error.starts_with(message), "{error}");
    }
    assert!(Faults::parse("format_version = 1\nfaults = []\nfault = []").is_err());
    assert!(Faults::parse("format_version = 2\nfaults = []").is_err());
    let beyond = entry("kind = \"latent-sectors\"\nsectors = [[99999999999, 1]]\nretry_s = 1").unwrap();
    assert!(beyond.wrap(drive()).is_err());
}

/// A host that has had enough resets the link: what hangs is over, a stall is not, and a flush is waited for twice as long.
#[test]
fn a_host_has_enough_after_its_time() {
    let hangs = Timeout::around(drive(), once(0, S), 2, None);
    let mut device = Impatient::around(hangs, 30 * S);
    device.submit(0, request(1, Verb::Read, 0));
    device.submit(0, request(2, Verb::Read, 1 << 20));
    let mut done = Vec::new();
    device.advance(29 * S, &mut done);
    assert_eq!((done.len(), done[0].tag, device.next_event_ns()), (1, 2, Some(30 * S)));
    device.advance(100 * S, &mut done);
    assert_eq!(done[1..], [Completion { tag: 1, completed_ns: 30 * S, status: Status::Aborted }]);
    assert_eq!(device.next_event_ns(), None);
    assert_eq!(device.truth(), Some(device.inner().inner().truth()), "its drive's");

    let flush = ask(&mut Impatient::around(Timeout::around(drive(), once(0, S), 1, None), 30 * S), 0, Verb::Flush, 0);
    assert_eq!((flush.completed_ns, flush.status), (60 * S, Status::Aborted));

    let stalled = ask(&mut Impatient::around(Stall::around(drive(), once(0, 100 * S)), 30 * S), 0, Verb::Read, 0);
    assert!(stalled.completed_ns >= 100 * S && stalled.status == Status::Good, "{stalled:?}");
}

/// Each time after as long again: the stall outlasts the first reset, and what is behind it hangs until the second.
#[test]
fn a_host_has_enough_again_and_again() {
    let hangs = Timeout::around(drive(), once(0, 100 * S), 1, None);
    let mut device = Impatient::around(Stall::around(hangs, once(0, 50 * S)), 30 * S);
    let answer = ask(&mut device, 0, Verb::Read, 0);
    assert_eq!((answer.status, answer.completed_ns), (Status::Aborted, 60 * S));
    // Nobody waits any more for what a loss of power took.
    device.submit(70 * S, request(7, Verb::Read, 0));
    device.power_loss(71 * S);
    assert_eq!(device.next_event_ns(), None);
}

/// Whoever is in flight when the device goes hears of it in that moment, each time.
#[test]
fn a_device_goes_as_often_as_its_schedule_says() {
    let mut device = Gone::around(drive(), Schedule { from_ns: S, for_ns: S, every_ns: Some(10 * S) });
    let mut done = Vec::new();
    for begin_ns in [1, 11, 21].map(|s| s * S) {
        device.advance(begin_ns - 1000, &mut done);
        device.submit(begin_ns - 1000, request(7, Verb::Read, 1 << 30));
        device.advance(begin_ns + 10, &mut done);
        assert_eq!(done.pop(), Some(Completion { tag: 7, completed_ns: begin_ns, status: Status::Gone }));
        assert_eq!(ask(&mut device, begin_ns + S, Verb::Read, 0).status, Status::Good);
    }
}

/// A fault has been met when a request was in its way, or when it took something; that its time has come is not enough.
#[test]
fn who_was_in_nobodys_way_has_not_been_met() {
    let met = |device: &mut dyn BlockDevice, verb: Option<Verb>| {
        let now_ns = S - S / 10_000;
        if let Some(verb) = verb {
            device.advance(now_ns, &mut Vec::new());
            device.submit(now_ns, request(0, verb, 1 << 30));
        }
        device.advance(3 * S, &mut Vec::new());
        device.faults_met()
    };
    let gone = |verb| met(&mut Gone::around(drive(), once(S, S)), verb);
    assert_eq!([gone(None), gone(Some(Verb::Read))], [[false], [true]]);
    let power = |verb| met(&mut PowerLoss::around(drive(), once(S, S)), verb);
    // The write has been answered by then, and DRAM still has it.
    assert_eq!([power(None), power(Some(Verb::Write)), power(Some(Verb::Read))], [[false], [true], [true]]);
}

#[test]
fn who_hangs_when_the_power_fails_is_never_answered() {
    let mut device = Timeout::around(drive(), once(0, S), 1, None);
    device.submit(0, request(0, Verb::Read, 0));
    device.power_loss(2 * S);
    let ready_ns = device.power_on(3 * S);
    device.reset(ready_ns);
    let mut done = Vec::new();
    device.advance(ready_ns + 60 * S, &mut done);
    assert_eq!(done, []);
}

/// One that waits long enough changes nothing.
#[test]
fn a_patient_host_is_none() {
    let slow = || Timeout::around(drive(), once(0, S), 2, Some(7 * S));
    let (mut alone, mut hosted) = (slow(), Impatient::around(slow(), 30 * S));
    for (at, verb) in [(0, Verb::Read), (1, Verb::Write), (2, Verb::Flush), (3, Verb::Read)] {
        let at_ns = at * 10 * S;
        assert_eq!(ask(&mut alone, at_ns, verb, 0), ask(&mut hosted, at_ns, verb, 0));
    }
}

/// Sectors are bad from a time on, that nanosecond included.
#[test]
fn what_is_answered_just_when_a_sector_goes_bad_is_an_error() {
    let completed_ns = ask(&mut drive(), 0, Verb::Read, 0).completed_ns;
    for (from_ns, bad) in [(completed_ns, true), (completed_ns + 1, false)] {
        let mut device = LatentSectors::around(drive(), std::iter::once(0..8), from_ns, S);
        assert_eq!(ask(&mut device, 0, Verb::Read, 0).status != Status::Good, bad);
    }
}

/// An answer that is there just when the device goes is heard.
#[test]
fn who_is_answered_in_the_moment_in_which_the_device_goes_is_answered_once() {
    let answer = ask(&mut drive(), 0, Verb::Read, 0);
    let mut device = Gone::around(drive(), once(answer.completed_ns, S));
    device.submit(0, request(7, Verb::Read, 0));
    let mut done = Vec::new();
    device.advance(5 * S, &mut done);
    assert_eq!(done, [answer]);
}

/// The drive has answered, but it stalls, and then the power fails.
#[test]
fn an_answer_that_a_stall_holds_back_does_not_outlive_the_power() {
    let mut device = Stall::around(drive(), once(1000, 10 * S));
    device.submit(0, request(0, Verb::Read, 0));
    let mut done = Vec::new();
    device.advance(5 * S, &mut done);
    device.power_loss(5 * S);
    device.power_on(6 * S);
    device.advance(60 * S, &mut done);
    assert_eq!(done, []);
}
