//! Streams where cleaning is driven by what is cached: no silence tells that one of them has left its band.

use crate::rig::{profile, Host};
use drive::{CleaningDriven, CleaningWhen, Profile, Truth, Verb};

const S: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;

fn by_pressure(mut profile: Profile) -> Profile {
    let cleaning = &mut profile.shingled.as_mut().unwrap().cleaning;
    (cleaning.driven, cleaning.idle_ms) = (CleaningDriven::Pressure, 0.0);
    profile
}

fn lazy(mut profile: Profile) -> Profile {
    let cleaning = &mut profile.shingled.as_mut().unwrap().cleaning;
    (cleaning.when, cleaning.high_mark, cleaning.low_mark) = (CleaningWhen::Lazy, 0.9, 0.5);
    profile
}

/// A stream of 1 GiB: how long its second half takes, when what was cached of its beginning is home, and what came of it.
fn stream(profile: &Profile) -> (f64, Truth) {
    let mut host = Host::new(profile);
    host.stream(Verb::Write, 0, MIB, 512);
    host.ask(Verb::Flush, 0, 0, false);
    let from_ns = host.now_ns;
    host.stream(Verb::Write, 512 * MIB, MIB, 512);
    host.ask(Verb::Flush, 0, 0, false);
    ((host.now_ns - from_ns) as f64, host.drive.truth())
}

#[test]
fn a_stream_is_as_fast_as_where_cleaning_waits_for_silence() {
    let (idle_ns, _) = stream(&profile("wd40efax"));
    for profile in [by_pressure(profile("wd40efax")), lazy(by_pressure(profile("wd40efax")))] {
        let (took_ns, truth) = stream(&profile);
        assert_eq!(truth.streams_broken, 0, "{truth:?}");
        // Its beginning is cached before it is known for a stream, and cleaned at most after each visit.
        assert!(truth.bands_cleaned <= truth.cache_visits && truth.cache_visits < 8, "{truth:?}");
        assert!((took_ns / idle_ns - 1.0).abs() < 0.01, "{took_ns} and {idle_ns} ns");
    }
}

#[test]
fn below_its_marks_lazy_cleaning_leaves_streams_and_what_is_cached_alone() {
    let mut host = Host::new(&lazy(by_pressure(profile("wd40efax"))));
    host.ask(Verb::Write, 1 << 40, 4096, true);
    host.stream(Verb::Write, 0, MIB, 300);
    host.pause(3600 * S);
    let truth = host.drive.truth();
    assert_eq!((truth.bands_cleaned, truth.forced_passes), (0, 0), "{truth:?}");
}

#[test]
fn a_band_stays_open_until_another_stream_needs_the_place() {
    let mut profile = by_pressure(profile("wd40efax"));
    profile.shingled.as_mut().unwrap().streams.tracked = 1;
    let mut host = Host::new(&profile);
    // What is cached of its beginning is cleaned; what follows leaves the band open.
    host.stream(Verb::Write, 0, MIB, 20);
    host.pause(3600 * S);
    host.stream(Verb::Write, 20 * MIB, MIB, 20);
    host.ask(Verb::Flush, 0, 0, false);
    let left = host.drive.truth();
    assert_eq!((left.dirty_bands, left.streams_broken), (0, 0), "{left:?}");
    host.pause(3600 * S);
    assert_eq!(host.drive.truth().bands_cleaned, left.bands_cleaned, "it stays open");
    host.stream(Verb::Write, 1 << 40, MIB, 20);
    host.ask(Verb::Flush, 0, 0, false);
    assert_eq!(host.drive.truth().streams_broken, 1, "{:?}", host.drive.truth());
}

/// Below its marks a lazy drive cleans once the host has rested for long. Another turn of the host's is no rest.
#[test]
fn below_its_marks_lazy_cleaning_takes_no_turns() {
    let mut profile = lazy(by_pressure(profile("wd40efax")));
    profile.shingled.as_mut().unwrap().cleaning.rest_s = 60.0;
    let mut host = Host::new(&profile);
    (0..50).for_each(|index| _ = host.ask(Verb::Write, index << 30, 4096, true));
    host.pause(59 * S);
    assert_eq!(host.drive.truth().bands_cleaned, 0, "{:?}", host.drive.truth());
    host.pause(600 * S);
    assert!(host.drive.truth().bands_cleaned > 0);
}
