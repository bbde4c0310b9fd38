//! The profiles that come with the project, and what is refused in others.

mod rig;

use drive::{Profile, ProfileError};
use rig::{profile, text};

const ALL: [&str; 5] = ["st12000vn0007", "wd40efrx", "wd40efax", "st8000as0002", "canvio-3tb"];

#[test]
fn every_profile_is_sound_and_named_like_its_file() {
    for name in ALL {
        let profile = profile(name);
        assert_eq!(profile.name, name);
        assert_eq!(profile.shingled.is_some(), !["st12000vn0007", "wd40efrx"].contains(&name));
        assert!(profile.origins.len() > 30, "{name}: {} origins", profile.origins.len());
    }
}

#[test]
fn every_profile_can_be_made_smaller() {
    for name in ALL {
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
    assert_eq!(error.to_string(), "`geometry.rpm` is 0: a drive must turn; 3600..15000 is usual");
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
