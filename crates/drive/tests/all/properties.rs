//! What must hold for any sequence of requests.

use std::collections::{BTreeSet, HashMap};

use crate::rig::profile;
use drive::{BlockDevice, BridgeProfile, CachePlace, Completion, Drive, FlashProfile, Mapping, Profile, Request, Verb};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
struct Ask {
    verb: Verb,
    fua: bool,
    share: f64,
    sectors: u64,
    pause_ns: u64,
}

fn ask() -> impl Strategy<Value = Ask> {
    let verb =
        prop_oneof![3 => Just(Verb::Read), 6 => Just(Verb::Write), 1 => Just(Verb::Flush), 1 => Just(Verb::Trim)];
    let sectors = prop_oneof![3 => Just(8_u64), 2 => 1..64_u64, 1 => 1..20_000_u64];
    let pause = prop_oneof![4 => Just(0_u64), 2 => 0..50_000_000_u64, 1 => 0..20_000_000_000_u64];
    // A third of the requests crowd into a thousandth of the drive, so that they meet.
    let share = prop_oneof![2 => 0.0..1.0_f64, 1 => 0.0..0.001_f64];
    (verb, any::<bool>(), share, sectors, pause).prop_map(|(verb, fua, share, sectors, pause_ns)| Ask {
        verb,
        fua,
        share,
        sectors,
        pause_ns,
    })
}

fn request(tag: u32, ask: &Ask, capacity: u64) -> Request {
    let (offset, sectors) = match ask.verb {
        Verb::Flush => (0, 0),
        _ => ((ask.share * (capacity / 512 - ask.sectors) as f64) as u64, ask.sectors),
    };
    Request { tag, verb: ask.verb, fua: ask.fua, offset_bytes: offset * 512, bytes: sectors * 512 }
}

/// Plays the requests at up to `depth` at a time; checks time and tags on the way.
fn play(profile: &Profile, asks: &[Ask], depth: usize) -> (Vec<Completion>, Drive) {
    play_looking(profile, asks, depth, None)
}

/// The same, with a host that also looks at the drive every `look_ns` while it waits, as one that serves it does.
fn play_looking(profile: &Profile, asks: &[Ask], depth: usize, look_ns: Option<u64>) -> (Vec<Completion>, Drive) {
    let mut drive = Drive::new(profile, 9);
    let mut done: Vec<Completion> = Vec::new();
    let mut flying = BTreeSet::new();
    let mut now_ns = 0;
    let mut seen_ns = 0;
    let mut collect = |drive: &mut Drive, to_ns: u64, flying: &mut BTreeSet<u32>, done: &mut Vec<Completion>| {
        let before = done.len();
        if let Some(look_ns) = look_ns {
            // Not on the event's moments, and bounded: a pause may last seconds.
            for step in (1..200).rev() {
                drive.advance(to_ns.saturating_sub(step * look_ns).max(seen_ns), done);
            }
        }
        seen_ns = to_ns;
        drive.advance(to_ns, done);
        for completion in &done[before..] {
            assert!(completion.completed_ns <= to_ns);
            assert!(flying.remove(&completion.tag), "completed twice or never asked");
        }
    };
    for (tag, ask) in asks.iter().enumerate() {
        while flying.len() >= depth {
            let event_ns = drive.next_event_ns().expect("something is in flight");
            assert!(event_ns >= now_ns, "time runs backwards");
            now_ns = event_ns;
            collect(&mut drive, now_ns, &mut flying, &mut done);
        }
        now_ns += ask.pause_ns;
        collect(&mut drive, now_ns, &mut flying, &mut done);
        flying.insert(tag as u32);
        let request = request(tag as u32, ask, drive.capacity_bytes());
        drive.submit(now_ns, request);
    }
    while !flying.is_empty() {
        now_ns = drive.next_event_ns().expect("something is in flight");
        collect(&mut drive, now_ns, &mut flying, &mut done);
    }
    assert_eq!(drive.next_event_ns(), None);
    assert!(done.windows(2).all(|pair| pair[0].completed_ns <= pair[1].completed_ns));
    drive.advance(now_ns + 86_400_000_000_000, &mut done);
    (done, drive)
}

fn profiles() -> Vec<Profile> {
    let mut tiny = profile("canvio-3tb").scaled(2000).unwrap();
    let cache = &mut tiny.shingled.as_mut().unwrap().cache;
    (cache.entries, cache.packet_writes) = (40, 4);
    cache.entry_counts = drive::EntryCounts::Write;
    let mut lazy = profile("wd40efax").scaled(1000).unwrap();
    let shingled = lazy.shingled.as_mut().unwrap();
    shingled.cache.entries = 50;
    shingled.cleaning.order = drive::CleaningOrder::MostDirty;
    shingled.streams.min_run_bytes = 1 << 20;
    let mut bridged = profile("st12000vn0007").scaled(1000).unwrap();
    bridged.interface.bridge = Some(BridgeProfile { bridge_us: 250.0, max_transfer_bytes: 122_880, bridge_queue: 3 });
    let conventional = profile("st12000vn0007").scaled(1000).unwrap();
    let archive = profile("st8000as0002").scaled(1000).unwrap();
    [conventional, bridged, tiny, lazy, archive].into_iter().chain(laid_out()).collect()
}

/// The same small shingled drive with its cache and bands in other places.
fn laid_out() -> Vec<Profile> {
    let flash = FlashProfile { flash_read_us: 100.0, flash_write_us: 500.0, flash_rate_mb_s: 200.0 };
    let with = |place: CachePlace, mapping: Mapping| {
        let mut profile = profile("wd40efax").scaled(1000).unwrap();
        profile.geometry.zones = 4;
        let shingled = profile.shingled.as_mut().unwrap();
        (shingled.tracks_per_band, shingled.mapping) = (6, mapping);
        (shingled.cache.place, shingled.cache.packets) = (place, Some(60));
        shingled.cache.bytes = 8 << 20;
        shingled.cache.entry_counts = drive::EntryCounts::Write;
        shingled.streams.min_run_bytes = 1 << 20;
        profile
    };
    let (still, moving) = (Mapping::Static, Mapping::Dynamic { spare_bands: 2 });
    vec![
        with(CachePlace::Inner, still),
        with(CachePlace::Spread { regions: 3 }, moving),
        with(CachePlace::Flash(flash), still),
        with(CachePlace::Outer, moving),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn requests_complete_once_in_time_and_bytes_are_conserved(asks in prop::collection::vec(ask(), 1..150), depth in 1..32_usize) {
        for profile in profiles() {
            let (done, drive) = play(&profile, &asks, depth);
            prop_assert_eq!(done.len(), asks.len());
            let truth = drive.truth();
            prop_assert_eq!(truth.dram_dirty_bytes, 0, "a day of silence empties DRAM");
            prop_assert_eq!(truth.bytes_cached, truth.bytes_cleaned + truth.bytes_overwritten + truth.cached_bytes);
            prop_assert_eq!((truth.cached_bytes, truth.cached_entries, truth.log_bytes), (0, 0, 0));
        }
    }

    #[test]
    fn looking_more_often_changes_nothing(
        asks in prop::collection::vec(ask(), 1..100),
        depth in 1..32_usize,
        look_ns in 1..3_000_000_u64,
    ) {
        for profile in profiles() {
            let (once, first) = play(&profile, &asks, depth);
            let (often, second) = play_looking(&profile, &asks, depth, Some(look_ns));
            prop_assert_eq!(once, often);
            prop_assert_eq!(first.truth(), second.truth());
        }
    }

    /// The power fails after the last request has been submitted and some time has passed.
    #[test]
    fn a_loss_of_power_takes_only_what_was_not_promised(
        asks in prop::collection::vec(ask(), 1..60),
        depth in 1..32_usize,
        pause_ns in prop_oneof![0..30_000_000_u64, 0..3_000_000_000_u64],
    ) {
        for profile in profiles() {
            let (promised, mut drive, now_ns) = play_and_promise(&profile, &asks, depth, pause_ns);
            let dirty_bytes = drive.truth().dram_dirty_bytes;
            let lost = drive.power_loss(now_ns);
            let taken: u64 = lost.ranges.iter().map(|range| range.end - range.start).sum();
            prop_assert!(taken <= dirty_bytes && (taken > 0) == (dirty_bytes > 0), "{} of {}", taken, dirty_bytes);
            for range in &lost.ranges {
                for sector in range.start / 512..range.end / 512 {
                    prop_assert!(!promised.contains(&sector), "sector {} was promised", sector);
                }
            }
            let mut done = Vec::new();
            drive.advance(now_ns + 1_000_000_000, &mut done);
            prop_assert!(done.is_empty(), "what was in flight is never answered");
            let ready_ns = drive.power_on(now_ns + 1_000_000_000);
            drive.submit(now_ns + 1_000_000_000, Request { tag: 1, verb: Verb::Read, fua: false, offset_bytes: 0, bytes: 4096 });
            while let Some(event_ns) = drive.next_event_ns() {
                drive.advance(event_ns, &mut done);
            }
            prop_assert_eq!(done.len(), 1);
            prop_assert!(done[0].completed_ns >= ready_ns);
            drive.advance(ready_ns + 86_400_000_000_000, &mut done);
            let truth = drive.truth();
            prop_assert_eq!(truth.bytes_cached, truth.bytes_cleaned + truth.bytes_overwritten + truth.cached_bytes);
            prop_assert_eq!((truth.cached_bytes, truth.cached_packets, truth.log_bytes), (0, 0, 0));
        }
    }

    /// However few packets there may be, and however many writes each gathers: an overwrite that cuts one makes no second of it.
    #[test]
    fn where_packets_are_counted_a_single_one_is_enough(
        asks in prop::collection::vec(ask(), 1..150),
        depth in 1..32_usize,
        entries in 1..6_u64,
        packet_writes in 1..100_u64,
    ) {
        for mut profile in profiles() {
            let Some(shingled) = profile.shingled.as_mut() else { continue };
            (shingled.cache.entry_counts, shingled.cache.packets) = (drive::EntryCounts::Packet, None);
            (shingled.cache.entries, shingled.cache.packet_writes) = (entries, packet_writes);
            let (done, most) = most_entries(&profile, &asks, depth);
            prop_assert_eq!(done, asks.len());
            prop_assert!(most <= entries, "{} of {}", most, entries);
        }
    }

    #[test]
    fn the_same_seed_repeats_itself(asks in prop::collection::vec(ask(), 1..100), depth in 1..32_usize) {
        for profile in profiles() {
            let (first, _) = play(&profile, &asks, depth);
            let (second, _) = play(&profile, &asks, depth);
            prop_assert_eq!(first, second);
        }
    }
}

/// Plays the requests; returns how many are answered, and the most entries that the drive has at any of its events until its cache
/// is empty.
fn most_entries(profile: &Profile, asks: &[Ask], depth: usize) -> (usize, u64) {
    let mut drive = Drive::new(profile, 9);
    let (mut done, mut now_ns, mut most) = (Vec::new(), 0, 0);
    for (tag, ask) in (0_u32..).zip(asks) {
        let until_ns = now_ns + ask.pause_ns;
        while let Some(event_ns) =
            drive.next_event_ns().filter(|at| *at <= until_ns || tag as usize - done.len() >= depth)
        {
            now_ns = event_ns;
            drive.advance(now_ns, &mut done);
            most = most.max(drive.truth().cached_entries);
        }
        now_ns = now_ns.max(until_ns);
        drive.submit(now_ns, request(tag, ask, drive.capacity_bytes()));
    }
    while let Some(event_ns) = drive.next_event_ns() {
        now_ns = event_ns;
        drive.advance(now_ns, &mut done);
        most = most.max(drive.truth().cached_entries);
    }
    drive.advance(now_ns + 86_400_000_000_000, &mut done);
    assert_eq!(drive.truth().cached_entries, 0);
    (done.len(), most)
}

/// Plays the requests; returns of which sectors the drive has said that they are durable as they were last written, by a
/// flush or by a durable write.
fn play_and_promise(profile: &Profile, asks: &[Ask], depth: usize, pause_ns: u64) -> (BTreeSet<u64>, Drive, u64) {
    let mut drive = Drive::new(profile, 9);
    // By sector, the request that last wrote it; and of the requests in flight, what was acknowledged when they came.
    let (mut last, mut flying) = (HashMap::new(), HashMap::new());
    let (mut answered, mut promised) = (BTreeSet::new(), BTreeSet::new());
    let (mut done, mut now_ns) = (Vec::<Completion>::new(), 0);
    for (tag, ask) in (0_u32..).zip(asks) {
        let until_ns = now_ns + ask.pause_ns;
        loop {
            let event_ns = drive.next_event_ns().filter(|ns| flying.len() >= depth || *ns <= until_ns);
            now_ns = event_ns.unwrap_or(until_ns.max(now_ns));
            drive.advance(now_ns, &mut done);
            for completion in done.drain(..) {
                let before: BTreeSet<u32> = flying.remove(&completion.tag).expect("it was asked");
                let ask = &asks[completion.tag as usize];
                answered.insert(completion.tag);
                match ask.verb {
                    Verb::Flush => promised.extend(before),
                    Verb::Write if ask.fua => _ = promised.insert(completion.tag),
                    _ => {}
                }
            }
            if event_ns.is_none() {
                break;
            }
        }
        let sectors = |tag: u32| {
            let of = request(tag, &asks[tag as usize], drive.capacity_bytes());
            of.offset_bytes / 512..(of.offset_bytes + of.bytes) / 512
        };
        if matches!(ask.verb, Verb::Write | Verb::Trim) {
            last.extend(sectors(tag).map(|sector| (sector, tag)));
        }
        if ask.verb == Verb::Trim {
            // It is done at once: a write that has no answer yet may wait for room, and come to lie there behind it.
            let waiting = flying.keys().filter(|tag| asks[**tag as usize].verb == Verb::Write);
            let waiting: Vec<_> = waiting.map(|tag| sectors(*tag)).collect();
            last.retain(|sector, by| *by != tag || !waiting.iter().any(|sectors| sectors.contains(sector)));
        }
        let request = request(tag, ask, drive.capacity_bytes());
        flying.insert(tag, answered.clone());
        drive.submit(now_ns, request);
    }
    drive.advance(now_ns + pause_ns, &mut done);
    let sectors = last.into_iter().filter(|(_, tag)| promised.contains(tag)).map(|(sector, _)| sector);
    (sectors.collect(), drive, now_ns + pause_ns)
}

/// A write grows together with an older extent while the durable write that it overlaps is on its way to the platters.
#[test]
fn a_durable_write_is_not_forgotten_when_others_grow_over_it() {
    let ask = |verb, fua, share, sectors| Ask { verb, fua, share, sectors, pause_ns: 0 };
    let read = ask(Verb::Read, false, 0.0, 8);
    let asks = [
        ask(Verb::Write, false, 0.0003973563529640101, 8),
        read,
        read,
        ask(Verb::Write, true, 0.0003192891011041931, 8),
        read,
        ask(Verb::Write, false, 0.0, 1164),
    ];
    for profile in profiles() {
        assert_eq!(play(&profile, &asks, 2).0.len(), asks.len());
    }
}
