//! Who waits for whom, and for how long: what a drive does in one piece is what everybody else has to wait for.

mod rig;

use drive::{BlockDevice, CleaningDriven, Profile, Verb};
use rig::{profile, Host};

const S: u64 = 1_000_000_000;

fn turn_ns(profile: &Profile) -> f64 {
    60e9 / profile.rpm()
}

/// Turns that a read waits for which comes when the first operation of a pass has just begun.
fn turns_behind_the_first_operation(merge_tracks: u64) -> f64 {
    let mut profile = profile("st8000as0002").scaled(100).unwrap();
    let track_bytes = profile.geometry.outer_track_bytes;
    let shingled = profile.shingled.as_mut().unwrap();
    let idle_ns = (shingled.cleaning.idle_ms * 1e6) as u64;
    (shingled.cleaning.merge_bytes, shingled.cleaning.finishes_band) = (merge_tracks * track_bytes, false);
    assert!(shingled.tracks_per_band > 14);
    let mut host = Host::new(&profile);
    host.ask(Verb::Write, 0, 4096, true);
    let (seeks, dirty) = (host.drive.truth().seeks, host.drive.truth().dirty_bands);
    host.pause(idle_ns);
    while host.drive.truth().seeks == seeks {
        host.pause(S / 1000);
    }
    assert_eq!((dirty, host.drive.truth().bands_cleaned), (1, 0), "it is under way");
    let took_ns = host.ask(Verb::Read, 64 * track_bytes, 4096, false);
    took_ns as f64 / turn_ns(&profile)
}

#[test]
fn nobody_waits_longer_for_cleaning_than_the_merge_buffer_is_large() {
    for tracks in [3, 6] {
        let passed = turns_behind_the_first_operation(tracks);
        // The tracks with their skews; the way there and back, and a turn of waiting at either end.
        let (least, most) = (tracks as f64 - 0.5, 1.25 * tracks as f64 + 2.5);
        assert!((least..most).contains(&passed), "{passed} turns behind {tracks} tracks");
    }
}

#[test]
fn cleaning_under_pressure_gives_way_after_each_operation() {
    let mut profile = profile("canvio-3tb").scaled(1000).unwrap();
    profile.interface.bridge = None;
    let cleaning = &mut profile.shingled.as_mut().unwrap().cleaning;
    (cleaning.driven, cleaning.idle_ms, cleaning.finishes_band) = (CleaningDriven::Pressure, 0.0, false);
    let mut host = Host::new(&profile);
    let mut offsets = sim::stream(1, "offsets");
    let slots = profile.capacity_bytes() / 4096;
    for _ in 0..60 {
        host.ask(Verb::Write, offsets.below(slots) * 4096, 4096, true);
    }
    let before = host.drive.truth();
    assert!(before.dirty_bands > 20, "{before:?}");
    for _ in 0..20 {
        host.ask(Verb::Read, offsets.below(slots) * 4096, 4096, false);
    }
    let after = host.drive.truth();
    // A band takes three operations at least: reading, collecting, writing.
    let cleaned = after.bands_cleaned - before.bands_cleaned;
    assert!((1..=20 / 3 + 1).contains(&cleaned), "{cleaned} bands while 20 reads were answered");
}
