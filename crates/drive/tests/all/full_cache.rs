//! What the cleaner does for the host while the cache is full, and what counts as one append.

use crate::rig::{profile, Host};
use drive::{BlockDevice, CleaningProfile, Profile, Verb};

const MIB: u64 = 1 << 20;
const MS: u64 = 1_000_000;

fn archive() -> Profile {
    profile("st8000as0002").scaled(100).unwrap()
}

fn cleaning(profile: &mut Profile) -> &mut CleaningProfile {
    &mut profile.shingled.as_mut().unwrap().cleaning
}

/// Durable writes of one size anywhere, each after so much silence.
struct Writer {
    host: Host,
    offsets: sim::Stream,
    silence_ns: u64,
}

impl Writer {
    fn new(profile: &Profile, silence_ns: u64) -> Self {
        Self { host: Host::new(profile), offsets: sim::stream(1, "offsets"), silence_ns }
    }

    /// Returns how many bands were cleaned from before the silence until the write was done.
    fn write(&mut self, bytes: u64) -> u64 {
        let before = self.host.drive.truth().bands_cleaned;
        self.host.pause(self.silence_ns);
        let slots = self.host.drive.capacity_bytes() / bytes;
        self.host.ask(Verb::Write, self.offsets.below(slots) * bytes, bytes, true);
        self.host.drive.truth().bands_cleaned - before
    }

    /// Until one had to wait for room.
    fn fill(&mut self, bytes: u64) {
        while self.host.drive.truth().forced_passes == 0 {
            self.write(bytes);
        }
    }
}

#[test]
fn visits_right_behind_another_are_recorded_once() {
    let mut profile = archive();
    let record = (profile.geometry.outer_track_bytes / 2).div_ceil(4096) * 4096;
    let mut used = |append_bytes: u64| {
        profile.shingled.as_mut().unwrap().cache.append_bytes = append_bytes;
        let mut host = Host::new(&profile);
        host.ask(Verb::Write, 0, 24 * MIB, true);
        let truth = host.drive.truth();
        assert_eq!(truth.cache_visits, 6, "of 4 MiB each");
        (truth.log_bytes - truth.cached_bytes) / record
    };
    assert_eq!([0, 4, 8, 12, 24].map(|mib| used(mib * MIB)), [6, 6, 3, 2, 1]);
}

#[test]
fn passes_come_between_appends_while_the_host_goes_on() {
    let mut profile = archive();
    cleaning(&mut profile).full_idle_ms = 0.0;
    let most = [(0, 1.0), (1, 0.0)].map(|(appends, until)| {
        (cleaning(&mut profile).ration_appends, cleaning(&mut profile).ration_until) = (appends, until);
        let mut writer = Writer::new(&profile, 0);
        writer.fill(48 * MIB);
        (0..3).map(|_| writer.write(48 * MIB)).collect::<Vec<_>>()
    });
    let least_rationed = most[1].iter().min().unwrap();
    // Four appends, two bands before each but the first.
    assert!(*least_rationed >= 6, "{most:?}");
    assert!(most[0].iter().all(|bands| *bands < 6), "without rationing as many as make room: {most:?}");
}

#[test]
fn a_host_that_pauses_is_not_rationed() {
    let mut profile = archive();
    (cleaning(&mut profile).full_idle_ms, cleaning(&mut profile).ration_until) = (0.0, 0.0);
    let mut writer = Writer::new(&profile, MS);
    writer.fill(48 * MIB);
    writer.write(48 * MIB);
    let cleaned: Vec<_> = (0..5).map(|_| writer.write(MIB)).collect();
    assert_eq!(cleaned, [0; 5], "what the passes before have left over is there for all");
    // As any pass, for those who may have so many visits without a pause: each has to wait.
    cleaning(&mut profile).ration_bands = 0;
    let mut writer = Writer::new(&profile, MS);
    writer.fill(48 * MIB);
    writer.write(48 * MIB);
    assert!((0..5).all(|_| writer.write(MIB) > 0));
}

#[test]
fn little_silence_is_enough_once_there_was_no_room() {
    let mut profile = archive();
    (cleaning(&mut profile).ration_until, cleaning(&mut profile).full_until) = (1.0, 0.5);
    let cleaned = |profile: &Profile| {
        let mut writer = Writer::new(profile, 20 * MS);
        while writer.host.drive.truth().forced_passes == 0 {
            let before = writer.host.drive.truth().bands_cleaned;
            writer.write(16 * MIB);
            assert!(before == 0, "not before");
        }
        let passes = writer.host.drive.truth().forced_passes;
        let bands: Vec<_> = (0..20).map(|_| writer.write(16 * MIB)).collect();
        (bands, writer.host.drive.truth().forced_passes - passes)
    };
    let (bands, _) = cleaned(&profile);
    assert!(bands.iter().all(|bands| *bands > 0), "a band in each silence: {bands:?}");
    cleaning(&mut profile).full_idle_ms = 0.0;
    let (bands, passes) = cleaned(&profile);
    assert!(bands.contains(&0) && bands.iter().sum::<u64>() <= 2 * passes, "only for room: {bands:?}");
}

#[test]
fn a_phase_is_finished_before_the_host_is_served() {
    let mut profile = archive();
    let idle_ns = (cleaning(&mut profile).idle_ms * 1e6) as u64;
    let waited = [(true, false), (false, true), (false, false)].map(|(band, phase)| {
        (cleaning(&mut profile).finishes_band, cleaning(&mut profile).finishes_phase) = (band, phase);
        let mut host = Host::new(&profile);
        // From the first track of a band on.
        host.ask(Verb::Write, 0, MIB, true);
        host.pause(idle_ns + 10 * MS);
        host.ask(Verb::Read, 1 << 33, 4096, false)
    });
    let turn_ns = 60_000_000_000 / 5980;
    // A phase is seven tracks, which are read, put aside and written back; a band has two or three.
    assert!((7 * turn_ns..12 * turn_ns).contains(&waited[2]), "one operation: {waited:?}");
    assert!((21 * turn_ns..35 * turn_ns).contains(&waited[1]), "a phase: {waited:?}");
    assert!(waited[0] > 51 * turn_ns, "17 tracks, three times: {waited:?}");
}

/// `journal_every` counts appends, of which each takes three visits here: the map is written out, for a second, as often as one begins.
#[test]
fn the_map_is_written_out_with_an_append_and_not_with_each_of_its_visits() {
    let mut profile = archive();
    profile.shingled.as_mut().unwrap().cache.journal_every = 1;
    let mut took_ns = |append_bytes: u64, journal_ms: f64| {
        let cache = &mut profile.shingled.as_mut().unwrap().cache;
        (cache.append_bytes, cache.journal_ms) = (append_bytes, journal_ms);
        Host::new(&profile).ask(Verb::Write, 0, 24 * MIB, true)
    };
    for (append_mib, appends) in [(0, 6), (12, 2), (24, 1)] {
        let written_out_ns = took_ns(append_mib * MIB, 1000.0) - took_ns(append_mib * MIB, 0.0);
        assert!(written_out_ns.abs_diff(appends * 1000 * MS) < MS / 10, "{append_mib} MiB: {written_out_ns}");
    }
}

/// A drive that was full and is so no more waits for as much silence as ever.
#[test]
fn little_silence_is_not_enough_any_more_once_there_is_room() {
    let mut profile = archive();
    cleaning(&mut profile).full_until = 0.5;
    let mut writer = Writer::new(&profile, 20 * MS);
    writer.fill(16 * MIB);
    assert!((0..5).map(|_| writer.write(16 * MIB)).sum::<u64>() > 0, "still full");
    while writer.host.drive.truth().cached_bytes > 0 {
        writer.host.pause(1000 * MS);
    }
    assert_eq!((0..5).map(|_| writer.write(16 * MIB)).sum::<u64>(), 0);
}

/// A band that a stream has not written to its end stays as it is for as long as the stream may only have paused.
#[test]
fn little_silence_is_not_enough_to_close_a_band() {
    let mut profile = archive();
    cleaning(&mut profile).full_until = 0.1;
    let shingled = profile.shingled.as_mut().unwrap();
    let band_bytes = shingled.tracks_per_band * profile.geometry.outer_track_bytes;
    let mut writer = Writer::new(&profile, 0);
    writer.fill(16 * MIB);
    let from_bytes = 8 * band_bytes;
    (0..16).for_each(|number| _ = writer.host.ask(Verb::Write, from_bytes + number * MIB, MIB, false));
    writer.host.ask(Verb::Flush, 0, 0, false);
    let begun = writer.host.drive.truth();
    assert!(begun.stream_bytes > 0 && begun.streams_broken == 0, "{begun:?}");
    for number in 16..(band_bytes / MIB) - 1 {
        writer.host.pause(20 * MS);
        writer.host.ask(Verb::Write, from_bytes + number * MIB, MIB, false);
    }
    assert_eq!(writer.host.drive.truth().streams_broken, 0);
}

/// One append is left between passes, and one of six visits is one: no pass comes between these.
#[test]
fn an_append_is_one_for_the_ration_however_many_visits_it_takes() {
    let mut profile = archive();
    profile.shingled.as_mut().unwrap().cache.append_bytes = 24 * MIB;
    let part = cleaning(&mut profile);
    (part.full_idle_ms, part.ration_appends, part.ration_until, part.ration_bands) = (0.0, 1, 0.0, 0);
    let mut writer = Writer::new(&profile, 0);
    writer.fill(24 * MIB);
    while writer.host.drive.truth().cached_bytes > 0 {
        writer.host.pause(1000 * MS);
    }
    assert_eq!([(); 3].map(|()| writer.write(24 * MIB) > 0), [false, true, true]);
    let visits = writer.host.drive.truth().cache_visits;
    let passes = writer.host.drive.truth().forced_passes;
    writer.write(24 * MIB);
    let truth = writer.host.drive.truth();
    assert_eq!((truth.cache_visits - visits, truth.forced_passes - passes), (6, 1));
}
