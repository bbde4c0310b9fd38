//! Dynamic mapping: which bands move when they are cleaned, and which stay.

use crate::rig::{profile, Host};
use drive::{CleaningDriven, Mapping, Profile, Verb};

const S: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;

fn dynamic() -> Profile {
    let mut profile = profile("st5000as0011");
    profile.shingled.as_mut().unwrap().mapping = Mapping::Dynamic { spare_bands: 4 };
    profile
}

#[test]
fn a_band_that_a_stream_left_is_completed_where_it_lies() {
    let mut host = Host::new(&dynamic());
    // Well past what has to be written before a run counts as a stream; that part is cached, and its band moves.
    host.stream(Verb::Write, 0, MIB, 150);
    host.pause(3600 * S);
    let truth = host.drive.truth();
    assert!(truth.stream_bytes > 100 * MIB, "{truth:?}");
    assert_eq!((truth.streams_broken, truth.bands_moved), (1, 1), "{truth:?}");
    assert_eq!(truth.cached_bytes, 0, "{truth:?}");
}

/// Cleaning that waits for no silence leaves a stream's band open for as long as nothing of it is cached; once something is, all of
/// it is cleaned, where it lies.
#[test]
fn a_band_that_is_open_is_cleaned_where_it_lies() {
    let mut profile = dynamic();
    let cleaning = &mut profile.shingled.as_mut().unwrap().cleaning;
    (cleaning.driven, cleaning.idle_ms) = (CleaningDriven::Pressure, 0.0);
    let mut host = Host::new(&profile);
    host.stream(Verb::Write, 0, MIB, 100);
    host.pause(3600 * S);
    let begun = host.drive.truth();
    assert_eq!((begun.dirty_bands, begun.streams_broken), (0, 0), "{begun:?}");
    host.stream(Verb::Write, 100 * MIB, MIB, 20);
    host.ask(Verb::Flush, 0, 0, false);
    host.ask(Verb::Write, 118 * MIB, 4096, true);
    host.pause(3600 * S);
    let truth = host.drive.truth();
    assert!(truth.stream_bytes > begun.stream_bytes, "{truth:?}");
    assert_eq!((truth.dirty_bands, truth.bands_cleaned), (0, begun.bands_cleaned + 1), "{truth:?}");
    assert_eq!(truth.bands_moved, begun.bands_moved, "{truth:?}");
}

/// What is cleaned moves also on a drive that was made smaller; only bands across the border of two zones have no spare one of
/// their size.
#[test]
fn bands_of_a_smaller_drive_move_as_those_of_the_whole() {
    for (name, divisor, spare_bands) in [("wd40efax", 100, 2), ("wd40efax", 1000, 2), ("st8000as0002", 1000, 2)] {
        let mut whole = profile(name);
        whole.shingled.as_mut().unwrap().mapping = Mapping::Dynamic { spare_bands };
        let small = whole.scaled(divisor).unwrap();
        let mut host = Host::new(&small);
        let mut offsets = sim::stream(1, "offsets");
        let slots = small.capacity_bytes() / 4096;
        (0..300).for_each(|_| _ = host.ask(Verb::Write, offsets.below(slots) * 4096, 4096, true));
        host.pause(4 * 3600 * S);
        let truth = host.drive.truth();
        assert_eq!(truth.dirty_bands, 0, "{name}/{divisor}: {truth:?}");
        assert!(2 * truth.bands_moved > truth.bands_cleaned, "{name}/{divisor}: {truth:?}");
    }
}

#[test]
fn a_smaller_drive_that_is_too_small_for_its_spare_bands_is_refused() {
    let mut whole = profile("wd40efax");
    whole.shingled.as_mut().unwrap().mapping = Mapping::Dynamic { spare_bands: 6 };
    let refused = whole.scaled(1000).unwrap_err();
    assert_eq!(refused.key(), Some("translation.spare_bands"), "{refused}");
}
