//! How many, which first and how far: what a slip of one, or a wrong order, would break without any other sign.

use crate::rig::{profile, Host};
use drive::{
    BlockDevice, CacheProfile, CleaningOrder, Completion, Drive, EntryCounts, Profile, QueueOrder, Request, Verb,
};

const S: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;

fn band_bytes(profile: &Profile) -> u64 {
    profile.shingled.as_ref().unwrap().tracks_per_band * profile.geometry.outer_track_bytes
}

fn following(tracked: u64) -> Profile {
    let mut profile = profile("wd40efax");
    profile.shingled.as_mut().unwrap().streams.tracked = tracked;
    profile
}

/// Durable writes of 1 MiB in turn to places that go on from each of some offsets, until each is a stream for long.
fn stream(host: &mut Host, from_bytes: &[u64]) {
    for index in 0..24 {
        for first in from_bytes {
            host.ask(Verb::Write, first + index * MIB, MIB, true);
        }
    }
}

#[test]
fn as_many_bands_are_open_as_streams_are_followed() {
    for tracked in [1, 2, 5] {
        let profile = following(tracked);
        let mut host = Host::new(&profile);
        // Near the start of a band, with room for much more.
        let bands: Vec<u64> = (0..=tracked).map(|band| 3 * band * band_bytes(&profile)).collect();
        let (more, all) = bands.split_last().unwrap();
        stream(&mut host, all);
        let truth = host.drive.truth();
        assert!(truth.stream_bytes > tracked * 8 * MIB, "{truth:?}");
        assert_eq!(truth.streams_broken, 0, "{tracked} are followed, and none is left");
        stream(&mut host, &[*more]);
        assert_eq!(host.drive.truth().streams_broken, 1, "for one more the band open longest is completed");
    }
}

#[test]
fn a_band_is_open_at_one_place_only() {
    let profile = following(4);
    assert!(band_bytes(&profile) > 200 * MIB);
    for (second, broken) in [(24 * MIB, 0), (24 * MIB + 4096, 1), (100 * MIB, 1)] {
        let mut host = Host::new(&profile);
        stream(&mut host, &[0]);
        assert_eq!(host.drive.truth().streams_broken, 0);
        // What lies between would be lost: the band is completed before anything behind a gap is written.
        stream(&mut host, &[second]);
        assert_eq!(host.drive.truth().streams_broken, broken, "from {second} on");
    }
}

/// How many entries are left after each band that is cleaned, of 3, 6, 1 and 4 in bands that became dirty in this order.
fn left_over(order: CleaningOrder) -> Vec<u64> {
    let mut profile = profile("wd40efax");
    let shingled = profile.shingled.as_mut().unwrap();
    (shingled.cleaning.order, shingled.cleaning.bands_per_pass) = (order, 1);
    (shingled.cache.entry_counts, shingled.cache.packet_writes) = (EntryCounts::Write, 1);
    let mut host = Host::new(&profile);
    for (band, count) in (0..).zip([3, 6, 1, 4]) {
        let first = 3 * band * band_bytes(&profile);
        (0..count).for_each(|index| _ = host.ask(Verb::Write, first + index * MIB, 4096, true));
    }
    let mut left = vec![host.drive.truth().cached_entries];
    while left.last() != Some(&0) {
        host.pause(S / 100);
        let entries = host.drive.truth().cached_entries;
        if left.last() != Some(&entries) {
            left.push(entries);
        }
    }
    left
}

/// Where room is made in the same bands by one pass after the other, because it is short of what `limit` says: how many of
/// the fourteen entries the first pass takes.
fn taken_for_room(order: CleaningOrder, limit: impl Fn(&mut CacheProfile)) -> u64 {
    let mut profile = profile("wd40efax");
    let shingled = profile.shingled.as_mut().unwrap();
    (shingled.cleaning.order, shingled.cleaning.bands_per_pass) = (order, 1);
    shingled.cleaning.idle_ms = 1e6;
    (shingled.cache.entry_counts, shingled.cache.packet_writes) = (EntryCounts::Write, 1);
    (shingled.cache.packet_bytes, shingled.cache.packet_tracks) = (4096, 0.0);
    limit(&mut shingled.cache);
    let mut host = Host::new(&profile);
    for (band, count) in (0..).zip([3, 6, 1, 4]) {
        let first = 3 * band * band_bytes(&profile);
        (0..count).for_each(|index| _ = host.ask(Verb::Write, first + index * MIB, 4096, true));
    }
    let truth = host.drive.truth();
    assert_eq!((truth.cached_entries, truth.forced_passes), (14, 0), "all of them have room");
    host.ask(Verb::Write, 12 * band_bytes(&profile), 4096, true);
    assert_eq!(host.drive.truth().bands_cleaned, 1, "one band is enough");
    15 - host.drive.truth().cached_entries
}

/// Space in the log comes back at its tail only, entries and packets wherever they are.
#[test]
fn what_is_short_decides_which_band_makes_room() {
    for (order, anywhere) in [(CleaningOrder::Fifo, 3), (CleaningOrder::MostDirty, 6)] {
        // One more than there are, since a write may cut another in two.
        assert_eq!(taken_for_room(order, |cache| cache.entries = 15), anywhere, "{order:?}, entries by writes");
        assert_eq!(taken_for_room(order, |cache| cache.packets = Some(14)), anywhere, "{order:?}, packets");
        let by_packets = |cache: &mut CacheProfile| {
            (cache.entry_counts, cache.entries) = (EntryCounts::Packet, 14);
        };
        assert_eq!(taken_for_room(order, by_packets), anywhere, "{order:?}, entries by packets");
        assert_eq!(taken_for_room(order, |cache| cache.bytes = 14 * 4096), 3, "{order:?}, space in the log");
    }
}

/// Of which band the first pass takes something, of four with as many entries each.
fn first_of_equals(places: [u64; 4]) -> u64 {
    let mut profile = profile("wd40efax");
    let shingled = profile.shingled.as_mut().unwrap();
    (shingled.cleaning.order, shingled.cleaning.bands_per_pass) = (CleaningOrder::MostDirty, 1);
    shingled.streams.tracked = 0;
    let mut host = Host::new(&profile);
    // Each as long as no other: by what is gone it is known.
    for (length, place) in (1..).zip(places) {
        host.ask(Verb::Write, 3 * place * band_bytes(&profile), length * 4096, true);
    }
    let cached = host.drive.truth().cached_bytes;
    while host.drive.truth().cached_bytes == cached {
        host.pause(S / 100);
    }
    (cached - host.drive.truth().cached_bytes) / 4096
}

#[test]
fn of_bands_as_dirty_the_one_that_has_been_so_longest_is_cleaned_first() {
    for places in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
        assert_eq!(first_of_equals(places), 1, "{places:?}");
    }
}

#[test]
fn bands_are_cleaned_in_their_order() {
    assert_eq!(left_over(CleaningOrder::Fifo), [14, 11, 5, 4, 0]);
    assert_eq!(left_over(CleaningOrder::MostDirty), [14, 8, 4, 1, 0]);
}

#[test]
fn all_of_a_band_is_read_and_written_back_whatever_fits_into_the_merge_buffer() {
    let mut profile = profile("st8000as0002");
    let shingled = profile.shingled.as_mut().unwrap();
    shingled.cleaning.merge_on_disk = false;
    let idle_ns = (shingled.cleaning.idle_ms * 1e6) as u64;
    let (tracks, band_bytes) = (shingled.tracks_per_band, band_bytes(&profile));
    let track_turns = 1.0 + profile.geometry.track_skew_degrees / 360.0;
    for share in [0.15, 0.3, 0.4, 0.6, 0.7, 0.9, 1.0] {
        let merge_bytes = (share * band_bytes as f64) as u64 / 4096 * 4096;
        profile.shingled.as_mut().unwrap().cleaning.merge_bytes = merge_bytes;
        let mut host = Host::new(&profile);
        host.ask(Verb::Write, 3 * band_bytes, 4096, true);
        let from_ns = host.now_ns;
        while host.drive.truth().bands_cleaned == 0 {
            host.pause(S / 1000);
        }
        // The last writing is under way. A read waits for it.
        host.ask(Verb::Read, 4 * band_bytes + MIB, 4096, false);
        let turns = (host.now_ns - from_ns - idle_ns) as f64 / (60e9 / profile.rpm());
        let (passing, phases) = (2.0 * tracks as f64 * track_turns, (1.0 / share).ceil());
        // Each phase goes to the log and back, and waits for its first sector twice.
        let range = passing - 1.0..passing + 3.0 + 9.0 * phases;
        assert!(range.contains(&turns), "{turns} turns, not {range:?}, with room for {share} of a band");
    }
}

#[test]
fn heads_are_parked_when_they_have_rested_for_so_long_and_not_before() {
    let mut profile = profile("wd40efrx");
    (profile.mechanics.park_after_s, profile.dram.read_ahead_bytes) = (10.0, 0);
    for (rest_s, parks) in [(4, 0), (6, 0), (9, 0), (11, 1)] {
        let mut host = Host::new(&profile);
        host.ask(Verb::Read, 64 * MIB, 4096, false);
        let before = host.drive.truth().unparks;
        host.pause(rest_s * S);
        host.ask(Verb::Read, 640 * MIB, 4096, false);
        assert_eq!(host.drive.truth().unparks - before, parks, "after {rest_s} s");
    }
}

/// Reads from DRAM, of what lies behind one that went to the platters.
fn hits_behind(profile: &Profile, offset_bytes: u64) -> u64 {
    let mut host = Host::new(profile);
    host.ask(Verb::Read, 0, 4096, false);
    host.pause(S);
    host.ask(Verb::Read, 4096 + offset_bytes, 4096, false);
    host.drive.truth().dram_read_hits
}

#[test]
fn the_heads_read_ahead_as_far_as_the_profile_says() {
    let mut profile = profile("st12000vn0007");
    for ahead_bytes in [64 << 10, 1 << 20] {
        profile.dram.read_ahead_bytes = ahead_bytes;
        let hits = [0, ahead_bytes - 4096, ahead_bytes].map(|offset| hits_behind(&profile, offset));
        assert_eq!(hits, [1, 1, 0], "{ahead_bytes}");
    }
}

/// A read right behind what is read ahead goes on with that, so all between is in DRAM; of what a stream has read no more is kept
/// than is read ahead.
#[test]
fn a_stream_is_kept_without_gaps_and_no_longer_than_the_heads_read_ahead() {
    let mut profile = profile("st12000vn0007");
    let ahead_bytes = MIB;
    profile.dram.read_ahead_bytes = ahead_bytes;
    let hits = |bytes: u64, reads: &[u64]| {
        let mut host = Host::new(&profile);
        reads.iter().for_each(|offset_bytes| _ = host.ask(Verb::Read, *offset_bytes, bytes, false));
        host.drive.truth().dram_read_hits
    };
    let behind = 4096 + ahead_bytes;
    for between in (4096..behind).step_by(16 * 4096) {
        assert_eq!(hits(4096, &[0, behind, between]) - hits(4096, &[0, behind]), 1, "{between}");
    }
    // Of which the platters take longer to pass than a host to ask.
    let bytes = ahead_bytes / 4;
    let stream: Vec<u64> = (0..64).map(|index| index * bytes).collect();
    for (back, kept) in [(1, 1), (4, 1), (5, 0), (63, 0)] {
        let with_one_more = [stream.as_slice(), &[(63 - back) * bytes]].concat();
        assert_eq!(hits(bytes, &with_one_more) - hits(bytes, &stream), kept, "{back} back");
    }
}

#[test]
fn as_many_ranges_are_kept_for_reading_as_there_are_segments() {
    let mut profile = profile("st12000vn0007");
    for segments in [1, 3, 8] {
        profile.dram.read_segments = segments;
        let kept = |back: u64| {
            let mut host = Host::new(&profile);
            (0..=10).for_each(|place| {
                host.ask(Verb::Read, place << 30, 4096, false);
                host.pause(S / 10);
            });
            host.ask(Verb::Read, (10 - back) << 30, 4096, false);
            host.drive.truth().dram_read_hits == 1
        };
        // The last is still being read on.
        assert_eq!((1..10).take_while(|back| kept(*back)).count() as u64, segments);
    }
}

/// However many at once: all of it passes over one link.
#[test]
fn the_link_carries_one_after_the_other() {
    let profile = profile("st12000vn0007");
    let carried_ns = |bytes: u64| (bytes as f64 * 1e3 / profile.interface.rate_mb_s) as u64;
    for verb in [Verb::Write, Verb::Read] {
        let mut host = Host::new(&profile);
        host.ask(Verb::Write, 0, 16 * MIB, false);
        let from_ns = host.now_ns;
        for tag in 0..16 {
            let offset_bytes = u64::from(tag) * MIB;
            host.drive.submit(from_ns, Request { tag, verb, fua: false, offset_bytes, bytes: MIB });
        }
        let mut done = Vec::<Completion>::new();
        while done.len() < 16 {
            let event_ns = host.drive.next_event_ns().unwrap();
            host.drive.advance(event_ns, &mut done);
        }
        for (count, completion) in (1..).zip(&done) {
            let least_ns = carried_ns(count * MIB) - 1000;
            assert!(completion.completed_ns - from_ns >= least_ns, "{verb:?}: {count} after {completion:?}");
        }
    }
}

/// Written data rests in DRAM until the host is silent for so long, or until DRAM is half full.
#[test]
fn dram_is_written_out_in_silence_or_when_it_is_half_full() {
    let mut profile = profile("st12000vn0007");
    (profile.dram.destage_idle_ms, profile.dram.write_bytes, profile.dram.write_segments) = (500.0, 64 * MIB, 1000);
    let seeks = |pause_ns: u64, written: u64| {
        let mut host = Host::new(&profile);
        host.ask(Verb::Read, 0, 4096, false);
        let before = host.drive.truth().seeks;
        (0..written).for_each(|place| _ = host.ask(Verb::Write, (1 + place) << 30, MIB, false));
        host.pause(pause_ns);
        host.drive.truth().seeks - before
    };
    assert_eq!((seeks(S / 5, 2), seeks(2 * S / 5, 31)), (0, 0), "neither silent for long, nor half full");
    assert_eq!(seeks(S, 2), 2);
    assert!(seeks(S / 5, 36) > 0);
}

/// So it is where the extents are half as many as DRAM has segments.
#[test]
fn dram_is_written_out_when_half_of_its_segments_are_taken() {
    let mut profile = profile("st12000vn0007");
    (profile.dram.destage_idle_ms, profile.dram.write_bytes, profile.dram.write_segments) = (1e6, 1 << 30, 32);
    let seeks = |written: u64| {
        let mut host = Host::new(&profile);
        host.ask(Verb::Read, 0, 4096, false);
        let before = host.drive.truth().seeks;
        (0..written).for_each(|place| _ = host.ask(Verb::Write, (1 + place) << 30, 4096, false));
        host.pause(S);
        host.drive.truth().seeks - before
    };
    assert_eq!([15, 16, 17].map(seeks), [0, 1, 2], "down to fifteen");
}

/// What DRAM holds rests there for long, but not when somebody waits for its room, be that little.
#[test]
fn dram_is_emptied_for_a_write_that_needs_all_of_it() {
    let mut profile = profile("st12000vn0007");
    (profile.dram.destage_idle_ms, profile.dram.write_bytes, profile.dram.write_segments) = (1e6, 64 * MIB, 32);
    let mut host = Host::new(&profile);
    host.ask(Verb::Write, 0, 4096, false);
    let took_ns = host.ask(Verb::Write, 1 << 30, 64 * MIB, false);
    assert!(took_ns < S, "{took_ns} ns");
}

/// What is on its way to the platters takes room as well, until it is there.
#[test]
fn no_more_waits_for_the_platters_than_dram_holds() {
    let mut profile = profile("st12000vn0007");
    (profile.dram.write_bytes, profile.dram.write_segments) = (4 * MIB, 1000);
    for after_ms in 0..20 {
        let mut host = Host::new(&profile);
        host.ask(Verb::Read, profile.capacity_bytes() / 4096 / 2 * 4096, 4096, false);
        host.ask(Verb::Write, 0, 4 * MIB, false);
        host.pause(after_ms * S / 1000);
        host.ask(Verb::Write, 1 << 30, 4096, false);
        let lost = host.drive.power_loss(host.now_ns).ranges;
        let lost_bytes: u64 = lost.iter().map(|range| range.end - range.start).sum();
        assert!(lost_bytes <= 4 * MIB, "{after_ms} ms after DRAM was full: {lost_bytes} bytes");
    }
}

/// The heads are away when writes come, one after the other: how many are answered before they are back, and whether one of them goes out
/// by itself afterwards.
fn taken_in(profile: &Profile, writes: &[u64]) -> (usize, bool) {
    let mut drive = Drive::new(profile, 1);
    let request = |tag, verb, offset_bytes, bytes| Request { tag, verb, fua: false, offset_bytes, bytes };
    drive.submit(0, request(99, Verb::Read, profile.capacity_bytes() / 8192 * 4096, 4096));
    let mut done = Vec::<Completion>::new();
    for (tag, bytes) in (0..).zip(writes) {
        drive.submit(0, request(tag, Verb::Write, u64::from(tag) << 30, *bytes));
    }
    while done.len() < writes.len() + 1 {
        drive.advance(drive.next_event_ns().unwrap(), &mut done);
    }
    let written: u64 = writes.iter().sum();
    drive.advance(10 * S, &mut done);
    (done.iter().position(|one| one.tag == 99).unwrap(), drive.truth().dram_dirty_bytes < written)
}

#[test]
fn dram_is_filled_to_its_last_sector_and_segment() {
    let mut profile = profile("st12000vn0007");
    profile.interface.rate_mb_s = 5000.0;
    (profile.dram.destage_idle_ms, profile.dram.write_bytes, profile.dram.write_segments) = (1e6, 4 * MIB, 1000);
    assert_eq!(taken_in(&profile, &[2 * MIB, 2 * MIB, 512]), (2, true));
    assert_eq!(taken_in(&profile, &[2 * MIB, 2 * MIB - 512, 512]), (3, true));
    assert_eq!(taken_in(&profile, &[MIB, MIB]), (2, true), "half full");
    assert_eq!(taken_in(&profile, &[MIB, MIB - 4096]), (2, false), "not half full");
    profile.dram.write_segments = 4;
    assert_eq!(taken_in(&profile, &[4096; 4]), (4, true));
    assert_eq!(taken_in(&profile, &[4096; 5]), (4, true));
}

/// Half of what a flush waits for is on the platters, and makes room for who waits for that: it need not wait for the flush.
#[test]
fn who_waits_for_room_comes_in_though_a_flush_still_waits() {
    let mut profile = profile("st12000vn0007");
    (profile.dram.write_bytes, profile.dram.destage_bytes) = (4 * MIB, 2 * MIB);
    let mut drive = Drive::new(&profile, 1);
    for (tag, verb, bytes) in [(0, Verb::Write, 4 * MIB), (1, Verb::Flush, 0), (2, Verb::Write, MIB)] {
        drive.submit(0, Request { tag, verb, fua: false, offset_bytes: u64::from(tag) << 30, bytes });
    }
    let mut done = Vec::<Completion>::new();
    while done.len() < 3 {
        drive.advance(drive.next_event_ns().unwrap(), &mut done);
    }
    assert_eq!(done.iter().map(|completion| completion.tag).collect::<Vec<_>>(), [0, 2, 1]);
}

/// Room appears just when a write is on its way to the drive: that takes as long as ever.
#[test]
fn nobody_comes_in_before_having_arrived() {
    let mut profile = profile("st12000vn0007");
    (profile.dram.write_bytes, profile.dram.destage_bytes) = (4 * MIB, 2 * MIB);
    let answered_ns = |at_ns: u64| {
        let mut drive = Drive::new(&profile, 1);
        let write =
            |tag, bytes| Request { tag, verb: Verb::Write, fua: false, offset_bytes: u64::from(tag) << 30, bytes };
        let mut done = Vec::<Completion>::new();
        drive.submit(0, write(0, 4 * MIB));
        drive.advance(at_ns, &mut done);
        drive.submit(at_ns, write(1, 4096));
        while done.len() < 2 {
            drive.advance(drive.next_event_ns().unwrap(), &mut done);
        }
        done[1].completed_ns
    };
    let overhead_ns = (profile.interface.overhead_us * 1e3) as u64;
    let first_ns = answered_ns(overhead_ns + 8 * S / 1000);
    for before_ns in (0..overhead_ns).step_by(1000) {
        let at_ns = first_ns - before_ns;
        assert!(answered_ns(at_ns) >= at_ns + overhead_ns, "asked for {before_ns} ns before there was room");
    }
}

/// A small write that there is room for waits behind a large one that there is none for.
#[test]
fn who_waits_for_room_in_dram_is_not_overtaken() {
    let mut profile = profile("st12000vn0007");
    (profile.dram.write_bytes, profile.dram.write_segments) = (4 * MIB, 1000);
    let mut drive = Drive::new(&profile, 1);
    for (tag, bytes) in [(0, 3 * MIB), (1, 2 * MIB), (2, 4096)] {
        let offset_bytes = u64::from(tag) << 30;
        drive.submit(0, Request { tag, verb: Verb::Write, fua: false, offset_bytes, bytes });
    }
    let mut done = Vec::<Completion>::new();
    while done.len() < 3 {
        drive.advance(drive.next_event_ns().unwrap(), &mut done);
    }
    assert_eq!(done.iter().map(|completion| completion.tag).collect::<Vec<_>>(), [0, 1, 2]);
}

/// What a drive took long to answer was asked all the while: the silence begins with the answer.
#[test]
fn the_host_is_silent_from_its_answer_on() {
    let mut profile = profile("st8000as0002").scaled(100).unwrap();
    (profile.mechanics.park_after_s, profile.mechanics.spin_down_after_s, profile.mechanics.spin_up_s) =
        (0.0, 60.0, 30.0);
    profile.dram.read_ahead_bytes = 0;
    let idle_ns = (profile.shingled.as_ref().unwrap().cleaning.idle_ms * 1e6) as u64;
    assert!(idle_ns < 20 * S);
    let mut host = Host::new(&profile);
    host.ask(Verb::Write, 0, 4096, true);
    host.pause(3600 * S);
    // The platters start first, which takes longer than a silence.
    assert!(host.ask(Verb::Write, 0, 4096, true) > 30 * S);
    let seeks = host.drive.truth().seeks;
    host.pause(idle_ns * 9 / 10);
    assert_eq!(host.drive.truth().seeks, seeks, "not yet");
    host.pause(idle_ns);
    assert!(host.drive.truth().seeks > seeks, "its band is cleaned");
}

/// In which order the heads come to eight commands that lie to and fro over the drive, of which the first `writes` are durable writes.
fn served(mut profile: Profile, order: QueueOrder, writes: u32) -> Vec<u32> {
    profile.queue.order = order;
    let eighth = profile.capacity_bytes() / 8 / MIB * MIB;
    let mut drive = Drive::new(&profile, 1);
    // They have all come when the heads are free.
    drive.submit(0, Request { tag: 99, verb: Verb::Read, fua: false, offset_bytes: 4 * eighth, bytes: MIB });
    for (tag, place) in (0..).zip([0, 6, 1, 7, 2, 5, 3, 4]) {
        let verb = if tag < writes { Verb::Write } else { Verb::Read };
        drive.submit(0, Request { tag, verb, fua: true, offset_bytes: place * eighth + 8 * MIB, bytes: 4096 });
    }
    let mut done = Vec::<Completion>::new();
    while done.len() < 9 {
        drive.advance(drive.next_event_ns().unwrap(), &mut done);
    }
    done.iter().map(|completion| completion.tag).filter(|tag| *tag < 99).collect()
}

/// Where the order is that of arrival nobody is preferred for lying near.
#[test]
fn in_the_order_of_arrival_the_way_does_not_count() {
    let served = |order| served(profile("st12000vn0007"), order, 0);
    assert_eq!(served(QueueOrder::Fifo), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_ne!(served(QueueOrder::Sptf), [0, 1, 2, 3, 4, 5, 6, 7]);
}

/// Where reads, of which one has just gone, and durable writes cannot be compared they take turns. One visit to the log has room for
/// all of the writes.
#[test]
fn reads_and_durable_writes_take_turns() {
    let writes = |profile: Profile, order| served(profile, order, 3).iter().map(|tag| *tag < 3).collect::<Vec<_>>();
    let turns = [true, false, true, false, true, false, false, false];
    assert_eq!(writes(profile("st12000vn0007"), QueueOrder::Fifo), turns);
    let visit = [true, true, true, false, false, false, false, false];
    assert_eq!(writes(profile("wd40efax"), QueueOrder::Sptf), visit);
}

/// All that DRAM holds is on its way to the platters when somebody comes who needs all of it: it takes room until it is there.
#[test]
fn who_needs_all_of_dram_waits_for_what_is_on_its_way() {
    let mut profile = profile("st12000vn0007");
    (profile.dram.write_bytes, profile.dram.write_segments) = (4 * MIB, 1000);
    let mut drive = Drive::new(&profile, 1);
    for (tag, bytes) in [(0, MIB), (1, 4 * MIB)] {
        let offset_bytes = u64::from(tag) << 30;
        drive.submit(0, Request { tag, verb: Verb::Write, fua: true, offset_bytes, bytes });
    }
    let mut done = Vec::<Completion>::new();
    while done.len() < 2 {
        assert!(drive.truth().dram_dirty_bytes <= 4 * MIB);
        drive.advance(drive.next_event_ns().unwrap(), &mut done);
    }
}

/// The heads are there long before the data is, whether that goes to its place, to its band or into the persistent cache.
#[test]
fn nothing_is_written_before_it_has_come() {
    let mut streams = profile("wd40efax");
    let part = &mut streams.shingled.as_mut().unwrap().streams;
    (part.min_request_bytes, part.min_run_bytes) = (65_536, 65_536);
    let mut caches = profile("wd40efax");
    caches.shingled.as_mut().unwrap().streams.tracked = 0;
    for mut profile in [profile("st12000vn0007"), streams, caches] {
        profile.interface.overhead_us = 50_000.0;
        let carried_ns = (50_000.0 + MIB as f64 / profile.interface.rate_mb_s) * 1e3;
        let passes_ns = MIB as f64 / profile.geometry.outer_track_bytes as f64 * 60e9 / profile.rpm();
        let mut host = Host::new(&profile);
        for place in 0..20 {
            let took_ns = host.ask(Verb::Write, place * MIB, MIB, true);
            assert!(took_ns as f64 >= carried_ns + passes_ns, "{place}: {took_ns} of {carried_ns} and {passes_ns}");
        }
    }
}

/// A read has gone, for which no write had to wait, when a durable write and another read come: now it is the write's turn.
#[test]
fn a_read_that_went_alone_has_had_its_turn() {
    let mut profile = profile("st12000vn0007");
    profile.queue.order = QueueOrder::Fifo;
    let mut drive = Drive::new(&profile, 1);
    let ask = |drive: &mut Drive, at_ns, tag: u32, verb| {
        drive.submit(at_ns, Request { tag, verb, fua: true, offset_bytes: u64::from(tag + 1) << 36, bytes: 4096 });
    };
    (0..2).for_each(|tag| ask(&mut drive, 0, tag, Verb::Read));
    let mut done = Vec::<Completion>::new();
    while done.is_empty() {
        drive.advance(drive.next_event_ns().unwrap(), &mut done);
    }
    ask(&mut drive, done[0].completed_ns, 2, Verb::Write);
    ask(&mut drive, done[0].completed_ns, 3, Verb::Read);
    while done.len() < 4 {
        drive.advance(drive.next_event_ns().unwrap(), &mut done);
    }
    assert_eq!(done.iter().map(|completion| completion.tag).collect::<Vec<_>>(), [0, 1, 2, 3]);
}

/// Where the link is slow it has nothing to carry before the heads have come to the data.
#[test]
fn the_link_carries_what_the_heads_have_come_to() {
    let mut profile = profile("st12000vn0007");
    profile.interface.rate_mb_s = 20.0;
    let carried_ns = MIB * 50;
    let mut host = Host::new(&profile);
    for place in 0..20 {
        let offset_bytes = (place * 7 % 20) << 38;
        let mut other = Host { drive: host.drive.clone(), now_ns: host.now_ns };
        let found_ns = other.ask(Verb::Read, offset_bytes, 4096, false);
        let took_ns = host.ask(Verb::Read, offset_bytes, MIB, false);
        assert!(took_ns + S / 1000 > found_ns + carried_ns, "{took_ns}, found in {found_ns}");
    }
}
