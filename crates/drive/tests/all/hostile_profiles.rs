//! Profiles that no drive has: refused under the key that is wrong, or, if nothing says that they cannot be, played.

use crate::rig::{profile, text, Host};
use drive::{BlockDevice, Completion, Drive, Profile, Request, Verb};
use proptest::prelude::*;

const ALL: [&str; 14] = [
    "backup-plus-slim-2tb",
    "canvio-3tb",
    "cmr-16tb",
    "hd103uj",
    "skylight-1",
    "skylight-2",
    "skylight-3",
    "st12000vn0007",
    "st31000520as",
    "st4000vn008",
    "st5000as0011",
    "st8000as0002",
    "wd40efax",
    "wd40efrx",
];

/// The lines of a profile that hold a value, as (index, key, value).
fn values(text: &str) -> Vec<(usize, &str, &str)> {
    text.lines()
        .enumerate()
        .filter_map(|(index, line)| {
            let (key, rest) = line.split_once(" = { value = ")?;
            Some((index, key, rest.split_once(", origin = ")?.0))
        })
        .collect()
}

/// The profile with another value under a key of a table (`None`: the key is left out).
fn with(text: &str, full: &str, value: Option<&str>) -> String {
    let (table, key) = full.rsplit_once('.').expect("a full key");
    let mut current = String::new();
    let mut lines = Vec::new();
    let mut found = false;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[') {
            current = name.trim_end_matches(']').to_owned();
        }
        if current == table && line.starts_with(&format!("{key} =")) {
            found = true;
            if let Some(value) = value {
                lines.push(format!("{key} = {{ value = {value}, origin = \"assumed: x\" }}"));
            }
            continue;
        }
        lines.push(line.to_owned());
        let is_missing = line == format!("[{table}]") && !text.contains(&format!("\n{key} ="));
        if let Some(value) = value.filter(|_| is_missing) {
            found = true;
            lines.push(format!("{key} = {{ value = {value}, origin = \"assumed: x\" }}"));
        }
    }
    assert!(found, "{full} has no place");
    lines.join("\n")
}

#[test]
fn what_no_drive_has_is_refused_under_its_key() {
    // Profile, key, its value, what is said of it; the last word is part of the reason.
    for (name, key, value, reason) in [
        ("wd40efrx", "geometry.rpm", "0", "must turn"),
        ("wd40efrx", "geometry.rpm", "-5400", "must turn"),
        ("wd40efrx", "geometry.rpm", "1e12", "must turn"),
        ("wd40efrx", "geometry.rpm", "nan", "finite"),
        ("wd40efrx", "geometry.rpm", "inf", "finite"),
        ("wd40efrx", "geometry.rpm", "\"5400\"", "number"),
        ("wd40efrx", "geometry.heads", "0", "possible"),
        ("wd40efrx", "geometry.heads", "6.0", "whole number"),
        ("wd40efrx", "geometry.capacity_bytes", "4000787030017", "multiple of 4096"),
        ("wd40efrx", "geometry.capacity_bytes", "9223372036854775807", "is"),
        ("wd40efrx", "geometry.zones", "0", "zones"),
        ("wd40efrx", "geometry.outer_track_bytes", "8192", "geometry.inner_track_bytes"),
        ("wd40efrx", "geometry.inner_track_bytes", "0", "is"),
        ("wd40efrx", "geometry.track_skew_degrees", "360", "angle"),
        ("wd40efrx", "geometry.track_skew_degrees", "0", "need"),
        ("wd40efrx", "mechanics.seek_single_track_ms", "0", "is"),
        ("wd40efrx", "mechanics.seek_single_track_ms", "-0.0", "is"),
        ("st8000as0002", "mechanics.seek_table", "[]", "two points"),
        ("st8000as0002", "mechanics.seek_table", "[[0.0, 1.0]]", "runs from share 0"),
        ("st8000as0002", "mechanics.seek_table", "[[0.0, 1.0], [1.0, nan]]", "finite"),
        ("st8000as0002", "mechanics.seek_table", "[[0.0, 5.0], [0.5, 4.0], [1.0, 9.0]]", "never fall"),
        ("st8000as0002", "mechanics.seek_table", "[[0.0, 1.0], [1.0, 1e300]]", "0..10000 ms"),
        ("st8000as0002", "mechanics.seek_table", "[[0.0, 0.0], [1.0, 9.0]]", "takes time"),
        ("st8000as0002", "mechanics.seek_table", "[[0.0, 1.0], [0.5, 4.0], [0.5, 5.0], [1.0, 9.0]]", "shares rise"),
        ("wd40efrx", "dram.write_bytes", "0", "destaging"),
        ("wd40efrx", "dram.destage_bytes", "5000", "multiple of 4096"),
        ("wd40efrx", "dram.destage_bytes", "4608", "multiple of 4096"),
        ("wd40efrx", "dram.write_segments", "0", "possible"),
        ("wd40efrx", "queue.depth", "0", "possible"),
        ("wd40efrx", "queue.depth", "100000", "possible"),
        ("wd40efrx", "interface.rate_mb_s", "0", "possible"),
        ("wd40efrx", "interface.overhead_us", "-70", "possible"),
        ("wd40efrx", "translation.kind", "\"magic\"", "one of"),
        ("st8000as0002", "translation.tracks_per_band", "0", "tracks"),
        ("st8000as0002", "translation.tracks_per_band", "5000000", "tracks"),
        ("st8000as0002", "translation.cache.bytes", "8001563222017", "larger than the drive"),
        ("st8000as0002", "translation.cache.bytes", "65536", "two packets"),
        ("st8000as0002", "translation.cache.entries", "21", "twice as many"),
        ("st8000as0002", "translation.cache.packet_bytes", "1000", "possible"),
        ("st8000as0002", "translation.cache.packet_writes", "0", "possible"),
        ("st8000as0002", "translation.cache.follow_turns", "-1", "is"),
        ("st8000as0002", "translation.cleaning.room_bytes", "17_000_000_000_000", "possible"),
        ("skylight-1", "translation.cleaning.room_bytes", "-1", "possible"),
        ("st8000as0002", "translation.cleaning.rest_s", "10", "starts anyway"),
        ("skylight-1", "translation.cleaning.rest_s", "0.000001", "before any cleaning"),
        ("skylight-1", "translation.cleaning.low_mark", "0.999", "high mark"),
        ("skylight-1", "translation.cleaning.high_mark", "1.5", "is"),
        ("st8000as0002", "translation.cleaning.driven", "\"pressure\"", "translation.cleaning.idle_ms"),
        ("st8000as0002", "translation.cleaning.driven", "\"mood\"", "one of idle, pressure"),
        ("st8000as0002", "translation.cleaning.merge_bytes", "65537", "multiple of 4096"),
        ("st8000as0002", "translation.cleaning.merge_on_disk", "1", "true or false"),
        ("st8000as0002", "translation.streams.tracked", "-1", "possible"),
        ("skylight-2", "translation.cache.follow_turns", "1", "does not turn"),
        ("skylight-2", "translation.cache.flash_rate_mb_s", "0", "possible"),
        ("skylight-3", "translation.cache.regions", "1000000", "possible"),
    ] {
        let error =
            Profile::parse(&with(&text(name), key, Some(value))).expect_err(&format!("{name}: {key} = {value}"));
        let named = error.key().unwrap_or_default();
        // A contradiction may be told of either side.
        assert!(named == key || reason == named, "{name}: {key} = {value}: {error}");
        assert!(named == reason || error.to_string().contains(reason), "{name}: {key} = {value}: {error}");
    }
}

/// The rule for an entry that is a write is none for one that is a packet.
#[test]
fn a_cache_may_have_fewer_packets_than_twice_the_writes_of_one() {
    let text = with(&text("st8000as0002"), "translation.cache.packet_writes", Some("80"));
    let text = with(&text, "translation.cache.entries", Some("150"));
    assert!(Profile::parse(&text).expect_err("writes").to_string().contains("twice as many"));
    let packets = with(&text, "translation.cache.entry_counts", Some("\"packet\""));
    Profile::parse(&packets).expect("one packet needs one entry");
}

/// The surface of a profile made anew in tracks of the same size.
fn in_tracks_of(name: &str, capacity_bytes: &str, track_bytes: &str) -> String {
    let text = with(&text(name), "geometry.capacity_bytes", Some(capacity_bytes));
    let text = with(&text, "geometry.outer_track_bytes", Some(track_bytes));
    with(&text, "geometry.inner_track_bytes", Some(track_bytes))
}

#[test]
fn more_tracks_or_bands_than_can_be_are_refused_before_they_take_memory() {
    let refused = |text: &str| {
        let error = Profile::parse(text).expect_err("refused");
        (error.key().unwrap_or_default().to_owned(), error.to_string())
    };
    Profile::parse(&in_tracks_of("wd40efrx", "35_000_000_004_096", "8192")).expect("4 billion tracks");
    let (key, told) = refused(&in_tracks_of("wd40efrx", "36_000_000_004_096", "8192"));
    assert_eq!(key, "geometry.outer_track_bytes");
    assert!(told.contains("more than 4294967295"), "{told}");

    let bands = |tracks_per_band: &str| {
        let text = in_tracks_of("st8000as0002", "8_000_000_000_000", "65_536");
        with(&text, "translation.tracks_per_band", Some(tracks_per_band))
    };
    Profile::parse(&bands("8")).expect("15 million bands");
    let (key, told) = refused(&bands("7"));
    assert_eq!(key, "translation.tracks_per_band");
    assert!(told.contains("more than 16777216") && told.contains("40 bytes of memory"), "{told}");
    // What once took 29 GB and ended the program.
    let (key, _) = refused(&in_tracks_of("st8000as0002", "200_000_000_000_000", "8192"));
    assert_eq!(key, "geometry.outer_track_bytes");
}

#[test]
fn a_key_that_is_left_out_is_named() {
    for (name, key) in [
        ("wd40efrx", "geometry.rpm"),
        ("wd40efrx", "mechanics.seek_average_ms"),
        ("st8000as0002", "translation.cache.entries"),
        ("st8000as0002", "translation.cleaning.idle_ms"),
        ("skylight-3", "translation.cache.regions"),
        ("canvio-3tb", "translation.cleaning.ration_until"),
    ] {
        let error = Profile::parse(&with(&text(name), key, None)).expect_err(key);
        assert_eq!(error.key(), Some(key), "{error}");
    }
}

/// What a number may be replaced by.
fn hostile(value: &str) -> BoxedStrategy<String> {
    let number: f64 = value.replace('_', "").parse().unwrap_or(1.0);
    let whole = !value.contains('.');
    let near = prop::sample::select(vec![0.0, 0.001, 0.1, 0.5, 0.9, 1.1, 2.0, 3.0, 10.0, 1000.0, 1e6, -1.0]);
    let near = near.prop_map(move |factor| {
        let scaled = number * factor;
        if whole {
            format!("{}", scaled.round() as i64)
        } else {
            format!("{scaled:?}")
        }
    });
    let blocks = (0..64_u32).prop_map(|power| format!("{}", 1_u64.checked_shl(power).unwrap_or(0) as i64));
    let odd =
        prop::sample::select(vec!["0", "1", "2", "4096", "1e308", "5e-324", "nan", "-inf", "true", "[]", "\"x\""]);
    prop_oneof![4 => near, 2 => blocks, 1 => odd.prop_map(str::to_owned)].boxed()
}

fn mutated() -> impl Strategy<Value = (String, Vec<(String, String)>)> {
    prop::sample::select(ALL.to_vec()).prop_flat_map(|name| {
        let text = text(name);
        let one = {
            let text = text.clone();
            (0..values(&text).len()).prop_flat_map(move |index| {
                let (line, key, value) = values(&text)[index];
                let key = key.to_owned();
                hostile(value).prop_map(move |value| (line, key.clone(), value))
            })
        };
        prop::collection::vec(one, 1..4).prop_map(move |changes| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let mut told = Vec::new();
            for (line, key, value) in changes {
                lines[line] = format!("{key} = {{ value = {value}, origin = \"assumed: x\" }}");
                told.push((key, value));
            }
            (lines.join("\n"), told)
        })
    })
}

/// Two thousand requests of all kinds and sizes.
fn play(profile: &Profile) {
    let mut drive = Drive::new(profile, 1);
    let capacity = drive.capacity_bytes();
    let mut random = sim::stream(7, "requests");
    let (mut now_ns, mut flying, mut done) = (0, 0, Vec::<Completion>::new());
    let mut next = 0;
    for tag in 0..2000 {
        while flying >= drive.queue_depth().min(8) {
            let event_ns = drive.next_event_ns().expect("something is in flight");
            assert!(event_ns >= now_ns, "time runs backwards");
            now_ns = event_ns;
            drive.advance(now_ns, &mut done);
            flying -= done.drain(..).count() as u32;
        }
        let verb = [Verb::Write, Verb::Write, Verb::Write, Verb::Read, Verb::Read, Verb::Trim, Verb::Flush];
        let verb = verb[random.below(7) as usize];
        let bytes = (512 << random.below(13)).min(capacity);
        let place = random.below((capacity - bytes) / 512 + 1) * 512;
        let offset_bytes = if random.below(2) == 0 && next + bytes <= capacity { next } else { place };
        next = offset_bytes + bytes;
        let (offset_bytes, bytes) = if verb == Verb::Flush { (0, 0) } else { (offset_bytes, bytes) };
        drive.submit(now_ns, Request { tag, verb, fua: random.below(4) == 0, offset_bytes, bytes });
        flying += 1;
        if tag % 400 == 399 {
            now_ns += 5_000_000_000;
            drive.advance(now_ns, &mut done);
            flying -= done.drain(..).count() as u32;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_profile_is_refused_by_name_or_plays((text, changes) in mutated()) {
        match Profile::parse(&text) {
            Err(error) => {
                let key = error.key().unwrap_or_default();
                prop_assert!(key.contains('.') || error.to_string().contains("line "), "{:?}: {}", changes, error);
            }
            Ok(profile) => play(&profile),
        }
    }
}

/// Of the divisors that a profile allows the largest leaves the least room in its log.
#[test]
fn a_drive_as_small_as_is_allowed_answers_every_write() {
    for name in ["canvio-3tb", "skylight-1", "skylight-2", "skylight-3", "st5000as0011", "st8000as0002", "wd40efax"] {
        let full = profile(name);
        let allowed = (1..5000).rev().map(|tenths| tenths * 10).filter_map(|by| full.scaled(by).ok());
        for small in allowed.take(3) {
            let mut host = Host::new(&small);
            let slots = host.drive.capacity_bytes() / 4096;
            let mut offsets = sim::stream(1, "offsets");
            for index in 0..6000 {
                host.ask(Verb::Write, offsets.below(slots) * 4096, 4096, index % 2 == 0);
            }
        }
    }
}
