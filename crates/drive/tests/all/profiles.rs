//! The profiles that come with the project, and what is refused in others.

use crate::rig::{profile, text};
use drive::{Profile, ProfileError};

const CONVENTIONAL: [&str; 6] = ["st12000vn0007", "wd40efrx", "hd103uj", "st31000520as", "st4000vn008", "cmr-16tb"];
const SHINGLED: [&str; 8] = [
    "wd40efax",
    "st8000as0002",
    "canvio-3tb",
    "st5000as0011",
    "backup-plus-slim-2tb",
    "skylight-1",
    "skylight-2",
    "skylight-3",
];

#[test]
fn every_profile_is_sound_and_named_like_its_file() {
    for name in CONVENTIONAL.into_iter().chain(SHINGLED) {
        let profile = profile(name);
        assert_eq!(profile.name, name);
        assert_eq!(profile.shingled.is_some(), SHINGLED.contains(&name));
        assert!(profile.origins.len() > 30, "{name}: {} origins", profile.origins.len());
    }
}

#[test]
fn every_profile_can_be_made_smaller() {
    for name in CONVENTIONAL.into_iter().chain(SHINGLED) {
        let profile = profile(name);
        let small = profile.scaled(100).unwrap();
        assert_eq!(small.capacity_bytes(), profile.capacity_bytes() / 100 / 4096 * 4096);
        assert_eq!(small.geometry.outer_track_bytes, profile.geometry.outer_track_bytes);
        assert_eq!(small.mechanics, profile.mechanics);
        assert_eq!(small.scale_divisor, 100);
        if let (Some(small), Some(whole)) = (small.shingled, profile.shingled) {
            assert_eq!(small.cache.entries, whole.cache.entries / 100);
            assert_eq!(small.tracks_per_band, whole.tracks_per_band);
        }
    }
    assert_eq!(profile("wd40efax").scaled(0).unwrap_err().key(), Some("scale"));
    assert!(profile("wd40efax").scaled(4_000_000).is_err());
}

/// The line that defines `key` replaced by `with`; the profile must then be refused at `expected`.
fn refused(name: &str, key: &str, with: &str, expected: &str) -> ProfileError {
    let original = text(name);
    let line = original.lines().find(|line| line.starts_with(&format!("{key} ="))).expect("the key is there");
    let error = Profile::parse(&original.replacen(line, with, 1)).expect_err(with);
    assert_eq!(error.key(), Some(expected), "{error}");
    error
}

#[test]
fn absurd_and_contradictory_values_are_refused_with_key_and_reason() {
    let cases = [
        ("rpm", "rpm = { value = 0, origin = \"assumed: x\" }", "geometry.rpm"),
        ("rpm", "rpm = { value = nan, origin = \"assumed: x\" }", "geometry.rpm"),
        ("rpm", "rpm = { value = -7200, origin = \"assumed: x\" }", "geometry.rpm"),
        ("rpm", "rpm = { value = \"fast\", origin = \"assumed: x\" }", "geometry.rpm"),
        ("heads", "heads = { value = 1.5, origin = \"assumed: x\" }", "geometry.heads"),
        (
            "inner_track_bytes",
            "inner_track_bytes = { value = 4096000, origin = \"assumed: x\" }",
            "geometry.inner_track_bytes",
        ),
        ("capacity_bytes", "capacity_bytes = { value = 4096000, origin = \"assumed: x\" }", "geometry.capacity_bytes"),
        (
            "cylinder_skew_degrees",
            "cylinder_skew_degrees = { value = 1, origin = \"assumed: x\" }",
            "geometry.cylinder_skew_degrees",
        ),
        ("seek_average_ms", "seek_average_ms = { value = 0.5, origin = \"assumed: x\" }", "mechanics.seek_average_ms"),
        (
            "seek_full_stroke_ms",
            "seek_full_stroke_ms = { value = 9, origin = \"assumed: x\" }",
            "mechanics.seek_full_stroke_ms",
        ),
        ("tracks_per_band", "tracks_per_band = { value = 1, origin = \"assumed: x\" }", "translation.tracks_per_band"),
        ("bytes", "bytes = { value = 9_000_000_000_000, origin = \"assumed: x\" }", "translation.cache.bytes"),
        ("write_bytes", "write_bytes = { value = 4096, origin = \"assumed: x\" }", "dram.write_bytes"),
        ("order", "order = { value = \"random\", origin = \"assumed: x\" }", "queue.order"),
        (
            "collect_turns",
            "collect_turns = { value = -1, origin = \"assumed: x\" }",
            "translation.cleaning.collect_turns",
        ),
    ];
    for (key, with, expected) in cases {
        let error = refused("wd40efax", key, with, expected);
        assert!(matches!(error, ProfileError::Value { .. }), "{error}");
    }
    let error = refused("wd40efax", "rpm", "rpm = { value = 0, origin = \"assumed: x\" }", "geometry.rpm");
    assert_eq!(error.to_string(), "`geometry.rpm` is 0: a drive must turn, 1000..30000 times a minute");
}

/// A turn of 360 degrees takes 8.33 ms, a switch of heads 0.6, a step to the next cylinder 0.8 and settling before a write 0.2: so
/// the skews have to be 34.56 and 43.2 degrees. In 32 zones lies a cylinder of 16 tracks each, of 1,998,848 bytes.
#[test]
fn what_is_just_enough_is_sound_and_a_little_less_is_refused() {
    for (name, table, key, enough, less) in [
        ("st12000vn0007", "geometry", "track_skew_degrees", "34.6", "34.5"),
        ("st12000vn0007", "geometry", "cylinder_skew_degrees", "43.3", "43.1"),
        ("st12000vn0007", "geometry", "capacity_bytes", "1_023_410_176", "1_023_406_080"),
        // Cleaning that begins at 0.95 goes on to below that.
        ("skylight-1", "translation.cleaning", "low_mark", "0.949", "0.95"),
    ] {
        let line = |value: &str| format!("{key} = {{ value = {value}, origin = \"assumed: x\" }}");
        refused(name, key, &line(less), &format!("{table}.{key}"));
        let original = text(name);
        let old = original.lines().find(|line| line.starts_with(&format!("{key} ="))).expect("the key is there");
        Profile::parse(&original.replacen(old, &line(enough), 1)).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn no_more_room_is_wanted_than_the_cache_has() {
    let with_room = |room_bytes: u64| {
        let text = text("st8000as0002").replace("value = 38_900_000_000", "value = 4_096_000_000");
        Profile::parse(&text.replace("value = 1_449_984", &format!("value = {room_bytes}")))
    };
    assert!(with_room(4_096_000_000).is_ok());
    assert_eq!(with_room(4_096_004_096).unwrap_err().key(), Some("translation.cleaning.room_bytes"));
}

#[test]
fn physical_sectors_have_512_or_4096_bytes() {
    assert_eq!(profile("hd103uj").geometry.physical_sector_bytes, 512);
    assert_eq!(profile("wd40efrx").geometry.physical_sector_bytes, 4096, "left out");
    let with = |name, bytes| {
        let line = format!("[geometry]\nphysical_sector_bytes = {{ value = {bytes}, origin = \"assumed: x\" }}");
        Profile::parse(&text(name).replacen("[geometry]", &line, 1))
    };
    let small = with("wd40efrx", 512).unwrap();
    assert_eq!(small.geometry.physical_sector_bytes, 512);
    assert_eq!(small.origins["geometry.physical_sector_bytes"], "assumed: x");
    for (name, bytes) in [("wd40efrx", 1024), ("wd40efrx", 256), ("wd40efrx", 8192), ("wd40efax", 512)] {
        let error = with(name, bytes).unwrap_err();
        assert_eq!(error.key(), Some("geometry.physical_sector_bytes"), "{name}, {bytes}: {error}");
    }
}

#[test]
fn every_value_needs_an_origin() {
    for with in ["rpm = 5400", "rpm = { value = 5400 }", "rpm = { value = 5400, origin = \"hearsay\" }"] {
        let error = refused("wd40efax", "rpm", with, "geometry.rpm");
        assert!(matches!(error, ProfileError::Origin { .. }), "{error}");
    }
}

#[test]
fn missing_and_unknown_keys_are_refused() {
    assert!(matches!(refused("wd40efax", "rpm", "", "geometry.rpm"), ProfileError::Missing { .. }));
    let doubled = "rpm = { value = 5400, origin = \"assumed: x\" }\nrpms = { value = 1, origin = \"assumed: x\" }";
    assert!(matches!(refused("wd40efax", "rpm", doubled, "geometry.rpms"), ProfileError::Unknown { .. }));
    assert!(matches!(Profile::parse("x = ["), Err(ProfileError::Syntax { .. })));
    assert!(matches!(Profile::parse("colour = 1"), Err(ProfileError::Unknown { .. })));
    assert!(matches!(Profile::parse("format_version = 2"), Err(ProfileError::Value { .. })));
    assert!(matches!(Profile::parse(""), Err(ProfileError::Missing { .. })));
}

#[test]
fn what_is_wrong_is_told_in_full_and_shortly() {
    let said = |name: &str, key: &str, with: &str, at: &str| refused(name, key, with, at).to_string();
    let rpm = |value: &str| format!("rpm = {{ value = {value}, origin = \"assumed: x\" }}");
    assert!(said("wd40efax", "rpm", &rpm("1e300"), "geometry.rpm").starts_with("`geometry.rpm` is 1e300: "));
    let long = "ä".repeat(100_000);
    let origin = format!("rpm = {{ value = 5400, origin = \"{long}\" }}");
    let rows = format!("rpm = {{ value = 5400, origin = \"published {long}\" }}");
    for wrong in [rpm(&format!("\"{long}\"")), rpm(&format!("[{}1]", "1, ".repeat(9999))), origin, rows] {
        let said = said("wd40efax", "rpm", &wrong, "geometry.rpm");
        assert!(said.contains("...") && said.len() < 300, "{said}");
    }
    let both = said("wd40efax", "rpm", &rpm("29000"), "geometry.track_skew_degrees");
    assert!(both.contains("`geometry.cylinder_skew_degrees` is "), "{both}");
    let kind = "kind = { value = \"identity\", origin = \"assumed: x\" }";
    let misplaced = said("wd40efax", "kind", kind, "translation.tracks_per_band");
    assert!(misplaced.ends_with("only a shingled drive has it (`translation.kind` is \"identity\")"), "{misplaced}");
    let table = "park_after_s = { value = 0, origin = \"assumed: x\" }\n\
                 seek_table = { value = [[0, 1], [1, 20]], origin = \"assumed: x\" }";
    let beside = said("wd40efax", "park_after_s", table, "mechanics.seek_single_track_ms");
    assert!(beside.contains("`seek_table` says how long seeks take"), "{beside}");
}

/// Lines put behind the one that defines `key`; the profile must then be refused at `expected`, or be sound.
fn with(name: &str, key: &str, lines: &[&str]) -> Result<Profile, ProfileError> {
    let original = text(name);
    let line = original.lines().find(|line| line.starts_with(&format!("{key} ="))).expect("the key is there");
    let more: Vec<String> = lines
        .iter()
        .map(|line| line.split_once(" = ").expect("a key and a value"))
        .map(|(key, value)| format!("{key} = {{ value = {value}, origin = \"assumed: x\" }}"))
        .collect();
    Profile::parse(&original.replacen(line, &format!("{line}\n{}", more.join("\n")), 1))
}

fn contradicts(key: &str, lines: &[&str], expected: &str, words: &str) {
    let error = with("wd40efax", key, lines).expect_err(expected);
    assert_eq!(error.key(), Some(expected), "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn ways_of_cleaning_that_contradict_each_other_are_refused() {
    for (key, lines, expected, words) in [
        ("collect_turns", vec!["ration_appends = 5"], "translation.cleaning.ration_until", "missing"),
        ("collect_turns", vec!["ration_until = 0.9"], "translation.cleaning.ration_appends", "missing"),
        (
            "collect_turns",
            vec!["ration_appends = 0", "ration_until = 0.9"],
            "translation.cleaning.ration_appends",
            "leave both",
        ),
        ("collect_turns", vec!["ration_bands = 2"], "translation.cleaning.ration_appends", "missing"),
        ("collect_turns", vec!["full_idle_ms = 4"], "translation.cleaning.full_until", "missing"),
        ("collect_turns", vec!["full_until = 0.9"], "translation.cleaning.full_idle_ms", "missing"),
        ("collect_turns", vec!["merge_turns = -1"], "translation.cleaning.merge_turns", "turns"),
        ("collect_turns", vec!["merge_whole = 1"], "translation.cleaning.merge_whole", "true or false"),
        ("collect_turns", vec!["finishes_phase = 1"], "translation.cleaning.finishes_phase", "true or false"),
        (
            "collect_turns",
            vec!["finishes_band = true", "finishes_phase = true"],
            "translation.cleaning.finishes_band",
            "only while",
        ),
        ("entries", vec!["append_bytes = -1"], "translation.cache.append_bytes", "possible"),
        ("collect_turns", vec!["finishes_band = 1"], "translation.cleaning.finishes_band", "true or false"),
    ] {
        contradicts(key, &lines, expected, words);
    }
}

#[test]
fn parts_that_contradict_each_other_are_refused() {
    let flash = ["flash_read_us = 100", "flash_write_us = 400", "flash_rate_mb_s = 200"];
    let in_flash = [&["place = \"flash\""], &flash[..]].concat();
    let cache = "translation.cache";
    for (key, lines, expected, words) in [
        ("entries", vec!["place = \"middle\""], "translation.cache.place", "one of outer, inner, spread, flash"),
        ("entries", vec!["place = \"spread\""], "translation.cache.regions", "missing"),
        ("entries", vec!["place = \"spread\"", "regions = 1"], "translation.cache.regions", "2..64"),
        ("entries", vec!["place = \"inner\"", "regions = 4"], "translation.cache.regions", "\"inner\""),
        ("entries", vec!["flash_read_us = 100"], "translation.cache.flash_read_us", "not in flash"),
        ("entries", in_flash.clone(), "translation.cache.packet_tracks", "does not turn"),
        ("entries", vec!["place = \"flash\"", "flash_read_us = 1"], "translation.cache.flash_write_us", "missing"),
        ("entries", vec!["packets = 100"], "translation.cache.packets", "`entries` limits them already"),
        ("entries", vec!["replay_ms = -1"], "translation.cache.replay_ms", "0..10000 ms"),
        ("entries", vec!["append_tracks = 1000"], "translation.cache.append_tracks", "0..100 tracks"),
        ("tracked", vec!["durable = \"no\""], "translation.streams.durable", "true or false"),
        ("tracks_per_band", vec!["mapping = \"loose\""], "translation.mapping", "one of static, dynamic"),
        ("tracks_per_band", vec!["mapping = \"dynamic\""], "translation.spare_bands", "missing"),
        ("tracks_per_band", vec!["spare_bands = 3"], "translation.spare_bands", "keep their place"),
        (
            "tracks_per_band",
            vec!["mapping = \"dynamic\"", "spare_bands = 9000"],
            "translation.spare_bands",
            "at least half are not spare",
        ),
        ("collect_turns", vec!["high_mark = 0.5"], "translation.cleaning.high_mark", "waits for no mark"),
        ("unpark_ms", vec!["spin_down_after_s = 100", "spin_up_s = 10"], "mechanics.spin_down_after_s", "300 s"),
        ("unpark_ms", vec!["spin_down_after_s = 900"], "mechanics.spin_up_s", "250 ms"),
        ("overhead_us", vec!["bridge_us = 100"], "interface.max_transfer_bytes", "missing"),
        (
            "overhead_us",
            vec!["bridge_us = 1", "max_transfer_bytes = 122880", "bridge_queue = 64"],
            "interface.bridge_queue",
            "takes 32 commands",
        ),
        (
            "overhead_us",
            vec!["bridge_us = 1", "max_transfer_bytes = 5000", "bridge_queue = 1"],
            "interface.max_transfer_bytes",
            "multiple of the 512",
        ),
    ] {
        contradicts(key, &lines, expected, words);
    }
    let queue = |count: &str| {
        with(
            "wd40efax",
            "overhead_us",
            &["bridge_us = 1", "max_transfer_bytes = 122880", &format!("bridge_queue = {count}")],
        )
    };
    assert!(queue("32").is_ok() && queue("33").is_err());
    let error = with("canvio-3tb", "packet_bytes", &["place = \"spread\"", "regions = 64"]);
    assert!(error.is_ok(), "64 places of {cache} are a few, not too many: {error:?}");
    // Two bands of 12 GB around each of 64 places are more than half of the drive, which is all where the inner tracks are half as long.
    let tracks = with("canvio-3tb", "packet_bytes", &["place = \"spread\"", "regions = 64"]).unwrap();
    let mut wide = text("canvio-3tb");
    let line = wide.lines().find(|line| line.starts_with("tracks_per_band =")).expect("it is there").to_owned();
    let tracks_per_band = 12_000_000_000 / tracks.geometry.outer_track_bytes;
    wide = wide.replace(&line, &format!("tracks_per_band = {{ value = {tracks_per_band}, origin = \"assumed: x\" }}"));
    wide = wide.replace("packet_bytes =", "place = { value = \"spread\", origin = \"assumed: x\" }\nregions = { value = 64, origin = \"assumed: x\" }\npacket_bytes =");
    assert_eq!(Profile::parse(&wide).unwrap_err().key(), Some("translation.cache.regions"));
    let mut many = text("canvio-3tb").replace("value = 21_700_000_000", "value = 2_900_000_000_000");
    many = many.replace("packet_bytes =", "place = { value = \"spread\", origin = \"assumed: x\" }\nregions = { value = 2, origin = \"assumed: x\" }\npacket_bytes =");
    assert_eq!(Profile::parse(&many).unwrap_err().key(), Some("translation.cache.regions"));
}

#[test]
fn all_parts_together_are_a_profile() {
    let mut text = text("wd40efax");
    for key in ["packet_tracks", "packet_turns", "append_turns", "collect_turns"] {
        let line = text.lines().find(|line| line.starts_with(&format!("{key} ="))).expect("it is there").to_owned();
        text = text.replacen(&line, "", 1);
    }
    let value = |key: &str, value: &str| format!("{key} = {{ value = {value}, origin = \"assumed: x\" }}\n");
    for (before, keys) in [
        ("entries =", vec![("place", "\"flash\""), ("flash_read_us", "90"), ("flash_write_us", "300")]),
        ("entries =", vec![("flash_rate_mb_s", "200.0"), ("replay_ms", "5")]),
        ("tracks_per_band =", vec![("mapping", "\"dynamic\""), ("spare_bands", "4")]),
        ("unpark_ms =", vec![("spin_down_after_s", "1200"), ("spin_up_s", "11")]),
        ("overhead_us =", vec![("bridge_us", "120"), ("max_transfer_bytes", "1_048_576"), ("bridge_queue", "30")]),
    ] {
        let lines: String = keys.iter().map(|(key, text)| value(key, text)).collect();
        text = text.replacen(&format!("\n{before}"), &format!("\n{lines}{before}"), 1);
    }
    let profile = Profile::parse(&text).unwrap();
    assert_eq!(profile.queue_depth(), 30);
    let shingled = profile.shingled.as_ref().unwrap();
    assert_eq!(shingled.mapping, drive::Mapping::Dynamic { spare_bands: 4 });
    assert!(matches!(shingled.cache.place, drive::CachePlace::Flash(_)));
    assert_eq!(profile.origins["interface.bridge_queue"], "assumed: x");
    profile.scaled(100).unwrap();
}

/// Every number of every profile, replaced by what no drive has, is refused under its own name.
#[test]
fn no_key_takes_an_absurd_number() {
    for name in ["wd40efrx", "canvio-3tb", "skylight-1", "skylight-2", "skylight-3"] {
        let original = text(name);
        let numbers = original.lines().filter(|line| {
            let value = line.split_once("{ value = ").map_or("x", |(_, rest)| rest);
            value.starts_with(|first: char| first.is_ascii_digit())
        });
        for line in numbers {
            let key = line.split(" = ").next().unwrap();
            for absurd in ["-1", "nan", "inf", "1e30", "\"many\"", "true", "[]"] {
                let with = format!("{key} = {{ value = {absurd}, origin = \"assumed: x\" }}");
                let error = Profile::parse(&original.replacen(line, &with, 1)).expect_err(&with);
                let named = error.key().unwrap_or_default().to_owned();
                assert!(named.ends_with(&format!(".{key}")), "{name}: {with}: {error}");
            }
        }
    }
}

#[test]
fn a_misspelt_key_is_named_with_the_one_that_was_meant() {
    let rpm = "rpmm = { value = 5400, origin = \"assumed: x\" }";
    let error = refused("wd40efax", "rpm", rpm, "geometry.rpmm");
    assert_eq!(error.to_string(), "`geometry.rpmm` is not a known key; did you mean `rpm`?");
    let heads = "haeds = { value = 6, origin = \"assumed: x\" }";
    assert!(refused("wd40efax", "heads", heads, "geometry.haeds").to_string().ends_with("did you mean `heads`?"));
    let other = "spindles = { value = 1, origin = \"assumed: x\" }";
    let error = refused("wd40efax", "rpm", other, "geometry.rpm");
    assert!(error.to_string().starts_with("`geometry.rpm` is missing"), "{error}");
}

#[test]
fn a_number_that_no_computer_holds_is_told_with_its_line() {
    let whole = "rpm = { value = 99999999999999999999999, origin = \"assumed: x\" }";
    let original = text("wd40efax");
    let line = original.lines().position(|line| line.starts_with("rpm =")).unwrap();
    let found = original.lines().nth(line).unwrap();
    let error = Profile::parse(&original.replacen(found, whole, 1)).unwrap_err();
    let expected =
        format!("is too large for TOML: a whole number of more than 63 bits (at line {}, column 17)", line + 1);
    assert!(error.to_string().ends_with(&expected), "{error}");
    assert!(error.hint().ends_with("9223372036854775807"), "{}", error.hint());
    for whole in ["9223372036854775808", &format!("1{}", "0".repeat(30))] {
        let error = Profile::parse(&format!("capacity_bytes = {whole}")).unwrap_err();
        assert!(matches!(error, ProfileError::TooLarge { .. }), "{whole}: {error}");
    }
}

#[test]
fn no_refusal_quotes_a_screenful() {
    for hostile in ["[".repeat(100_000), "\0".repeat(10_000)] {
        let told = Profile::parse(&format!("a = {hostile}")).unwrap_err().to_string();
        assert!(told.len() < 160 && !told.contains('\0'), "{told:.300}");
    }
}

#[test]
fn what_is_missing_is_told_as_it_is_written() {
    let original = text("wd40efax");
    let without = |line: &str| Profile::parse(&original.replacen(line, "", 1)).unwrap_err().hint();
    assert_eq!(
        Profile::parse("").unwrap_err().hint(),
        "write `format_version = ...` above the tables, alone: it has no origin"
    );
    assert!(
        without(original.lines().find(|line| line.starts_with("name =")).unwrap()).starts_with("write `name = ...`")
    );
    assert!(without(original.lines().find(|line| line.starts_with("rpm =")).unwrap())
        .contains("`geometry.rpm`, with its origin"));
    let error = Profile::parse("format_version = 1\nname = \"a\"\ntitle = \"a\"").unwrap_err();
    assert_eq!(error.hint(), "write the table `[identity]`, each of its values with an origin");
}

#[test]
fn a_key_in_the_wrong_table_is_told_with_the_right_one() {
    let rpm = "rpm = { value = 5400, origin = \"assumed: x\" }\n";
    let error = Profile::parse(&format!("{rpm}{}", text("wd40efax"))).unwrap_err();
    assert_eq!(error.to_string(), "`rpm` is not a known key; did you mean `geometry.rpm`?");
    assert_eq!(error.hint(), "write `geometry.rpm` for `rpm`");
    // Nowhere in the profile: no short key is taken for another.
    let error = Profile::parse("rpm = 5400").unwrap_err();
    assert!(error.hint().starts_with("leave `rpm` out"), "{error}");
    let entries = "[dram]\nentries = { value = 1, origin = \"assumed: x\" }";
    let error = Profile::parse(&text("st8000as0002").replacen("[dram]", entries, 1)).unwrap_err();
    assert_eq!(error.hint(), "write `translation.cache.entries` for `dram.entries`");
}

#[test]
fn a_name_is_no_path() {
    for name in ["../../etc", "a/b", "WD40", "a b", "a_b"] {
        refused("wd40efax", "name", &format!("name = \"{name}\""), "name");
    }
}
