//! How long each operation of a cleaning pass takes, worked out by hand on the drive of [`super::alone`].

use super::alone::{profile, with_twelve_dirty, Alone, PART, TRACK_BYTES};
use crate::clock::Clock;
use crate::profile::{CachePlace, CleaningOrder, CleaningWhen, EntryCounts, FlashProfile, Mapping};
use crate::truth::Truth;

/// The cache is tracks 0 and 1, so bands begin behind track 2. Band 0 is track 3, of cylinder 1, which begins at 128, and
/// track 4, of cylinder 2, which begins at 192.
#[test]
fn a_band_is_read_its_pieces_collected_and_written_back() {
    let mut drive = Alone::new(&profile());
    drive.cache(0, 10, 4);
    drive.rest_over(0);
    let expected = [
        // The first half of track 3 is read: a seek until 32, it comes at 128 and takes half a turn.
        128 + 128,
        // Its piece is collected: a seek, the settling of a visit to the log, 50 for the piece and 4 for its data.
        256 + 32 + 8 + 50 + 4,
        // It is written back: a seek until 382, just before the half comes again at 384, but settling until 390 misses
        // that, and it comes at 640.
        640 + 128,
        // The second half comes right behind: read at once, written back a turn after it was read.
        768 + 128,
        1024 + 128,
        // Track 4: a seek until 1184; it comes at 1216.
        1216 + 128,
        1472 + 128,
        // And its second half.
        1600 + 128,
        1856 + 128,
    ];
    assert_eq!(drive.clean_all(), expected.map(f64::from));
    assert_eq!((drive.layer.map.dirty_bands(), drive.layer.counters.bands_cleaned), (0, 1));
}

#[test]
fn what_lies_between_two_pieces_is_passed_over_or_costs_as_much_as_a_piece() {
    // Between the two others write so much.
    for (between, gap) in [(20, 20), (120, 50)] {
        let mut drive = Alone::new(&profile());
        drive.cache(0, 10, 4);
        drive.cache(1, 0, between);
        drive.cache(0, 30, 8);
        drive.rest_over(0);
        let ends = [drive.clean(), drive.clean()].map(Option::unwrap);
        assert_eq!(ends, [256.0, f64::from(256 + 32 + 8 + 50 + 4 + gap + 8)]);
    }
}

/// Two halves of track 3 are rewritten as in the first example. Before the second is read the map changes: what it holds then
/// is collected, not what it held when the first was written back.
#[test]
fn what_was_cached_or_trimmed_since_the_phase_before_is_heeded() {
    let first_half = [256, 350, 768].map(f64::from);
    let mut drive = Alone::new(&profile());
    drive.cache(0, 10, 4);
    drive.rest_over(0);
    assert_eq!([(); 3].map(|()| drive.clean().unwrap()), first_half);
    drive.cache(0, 150, 4);
    drive.rest_over(0);
    let expected = [
        // A seek until 800; the second half comes at 1024.
        1024 + 128,
        // Its piece is collected.
        1152 + 32 + 8 + 50 + 4,
        // A seek and settling until 1286 miss it at 1280; it comes at 1536.
        1536 + 128,
    ];
    assert_eq!([(); 3].map(|()| drive.clean().unwrap()), expected.map(f64::from));

    let mut drive = Alone::new(&profile());
    drive.cache(0, 10, 4);
    drive.cache(0, 150, 4);
    drive.rest_over(0);
    assert_eq!([(); 3].map(|()| drive.clean().unwrap()), first_half);
    drive.trim(0, 150, 4);
    // Read at once, and written back a turn later: there is nothing to collect.
    assert_eq!([(); 2].map(|()| drive.clean().unwrap()), [768 + 128, 1024 + 128].map(f64::from));
}

/// Bands with a piece, three, two and three. Those with most pieces come first, of equals the older, however many a pass has.
#[test]
fn the_most_dirty_bands_come_first_also_if_a_pass_has_all() {
    for bands_per_pass in 1..=5 {
        let mut profile = profile();
        let cleaning = &mut profile.shingled.as_mut().unwrap().cleaning;
        (cleaning.order, cleaning.bands_per_pass) = (CleaningOrder::MostDirty, bands_per_pass);
        let mut drive = Alone::new(&profile);
        for (band, pieces) in [(0, 1), (1, 3), (2, 2), (3, 3)] {
            (0..pieces).for_each(|piece| drive.cache(band, 20 * piece, 4));
        }
        let cleaned = [(); 4].map(|()| {
            let dirty: Vec<_> = drive.layer.map.dirty().collect();
            drive.clean_all();
            dirty.into_iter().find(|band| !drive.layer.map.is_dirty(*band)).unwrap()
        });
        assert_eq!(cleaned, [1, 3, 2, 0], "{bands_per_pass} a pass");
    }
}

#[test]
fn a_pass_that_does_not_give_way_has_so_many_bands_and_no_more() {
    for order in [CleaningOrder::Fifo, CleaningOrder::MostDirty] {
        for (bands_per_pass, cleaned) in [(1, 1), (2, 2), (5, 5), (12, 12), (13, 12)] {
            let mut drive = with_twelve_dirty(order, bands_per_pass, |_| ());
            drive.layer.force_pass();
            while !drive.layer.cleaning.is_idle() {
                drive.clean();
            }
            assert_eq!(drive.layer.counters.bands_cleaned, cleaned, "{order:?}");
        }
    }
}

/// Where cleaning is lazy it begins above eleven entries, and ends with the pass that leaves no more than five: of passes of two, the fourth.
#[test]
fn lazy_cleaning_ends_with_the_pass_that_comes_to_the_low_mark() {
    for (bands_per_pass, cleaned) in [(1, 7), (2, 8), (3, 9), (4, 8), (5, 10), (7, 7), (11, 11)] {
        let mut drive = with_twelve_dirty(CleaningOrder::Fifo, bands_per_pass, |cleaning| {
            cleaning.when = CleaningWhen::Lazy;
            (cleaning.high_mark, cleaning.low_mark, cleaning.rest_s) = (11.0 / 24.0, 5.0 / 24.0, 0.0);
        });
        while drive.layer.cleans_after().is_some() {
            drive.clean();
        }
        assert_eq!(drive.layer.counters.bands_cleaned, cleaned, "{bands_per_pass} a pass");
        // Below the high mark nothing begins, and just above it all goes on as before.
        (12..11 + cleaned as u32).for_each(|band| drive.cache(band, 0, 4));
        assert_eq!(drive.layer.cleans_after(), None, "{bands_per_pass} a pass");
        drive.cache(30, 0, 4);
        assert!(drive.layer.cleans_after().is_some());
    }
}

/// Where packets are limited beside entries, the cache is as full as either says: twelve packets are more than four ninths of 26, not
/// of 27.
#[test]
fn packets_count_for_how_full_the_cache_is() {
    for (packets, begins) in [(26, true), (27, false)] {
        let mut profile = profile();
        let shingled = profile.shingled.as_mut().unwrap();
        (shingled.cache.entry_counts, shingled.cache.packets) = (EntryCounts::Write, Some(packets));
        let cleaning = &mut shingled.cleaning;
        (cleaning.when, cleaning.high_mark, cleaning.low_mark) = (CleaningWhen::Lazy, 4.0 / 9.0, 0.1);
        cleaning.rest_s = 0.0;
        let mut drive = Alone::new(&profile);
        (0..12).for_each(|band| drive.cache(band, 0, 4));
        assert_eq!(drive.layer.cleans_after().is_some(), begins, "of {packets}");
    }
}

/// The cache has two places: the outer is tracks 0 and 1, the other, before track 38, has its log on track 36, which begins
/// at 192, and merges on track 37 of the same cylinder, which begins at 224. Band 19 is tracks 38, which begins at 32, and 39.
#[test]
fn a_band_is_put_aside_in_its_own_place_of_the_cache() {
    let mut profile = profile();
    let shingled = profile.shingled.as_mut().unwrap();
    shingled.cache.place = CachePlace::Spread { regions: 2 };
    (shingled.cleaning.merge_on_disk, shingled.cleaning.collect_turns) = (true, 1.0);
    let mut drive = Alone::new(&profile);
    drive.cache(19, 10, 4);
    drive.rest_over(36);
    let expected = [
        // The first half of track 38 comes just when the heads are there.
        32 + 128,
        // The piece is collected.
        160 + 32 + 8 + 256 + 4,
        // What is not cached of the half is put aside: a switch of heads until 476, just before the place comes at 480,
        // but settling until 484 misses that, and it comes at 736.
        736 + 124,
        // Written back: a seek and settling until 900; it comes at 1056.
        1056 + 128,
    ];
    let ends = [(); 4].map(|()| drive.clean().unwrap());
    assert_eq!(ends, expected.map(f64::from));
}

/// The same where a phase is merged whole, and to record that costs a turn.
#[test]
fn a_phase_that_is_merged_whole_is_put_aside_whole_and_read_though_all_of_it_is_cached() {
    let mut profile = profile();
    let shingled = profile.shingled.as_mut().unwrap();
    shingled.cache.place = CachePlace::Spread { regions: 2 };
    (shingled.cleaning.merge_on_disk, shingled.cleaning.collect_turns) = (true, 1.0);
    (shingled.cleaning.merge_whole, shingled.cleaning.merge_turns) = (true, 1.0);
    let mut drive = Alone::new(&profile);
    drive.cache(19, 10, 4);
    drive.rest_over(36);
    // Read and collected as above; all 128 put aside, and a turn; its place comes again at 1312.
    let expected = [160, 160 + 32 + 8 + 256 + 4, 736 + 128 + 256, 1312 + 128].map(f64::from);
    assert_eq!([(); 4].map(|()| drive.clean().unwrap()), expected);

    for (whole, first) in [(true, 32 + 128), (false, 256 + 128)] {
        profile.shingled.as_mut().unwrap().cleaning.merge_whole = whole;
        let mut drive = Alone::new(&profile);
        drive.cache(19, 0, 128);
        drive.rest_over(36);
        // Read first; or collected at once, where the heads are already.
        assert_eq!(drive.clean(), Some(f64::from(first)), "{whole}");
    }
}

/// A stream leaves band 0, now of tracks 3, 4 and 5, in the middle of track 3: from that track on it is rewritten, a track at a
/// time. Track 4 begins at 192, and track 5, of the same cylinder, at 224.
#[test]
fn a_band_that_a_stream_left_is_rewritten_from_there_also_when_the_power_fails_meanwhile() {
    let mut profile = profile();
    let shingled = profile.shingled.as_mut().unwrap();
    (shingled.tracks_per_band, shingled.cleaning.merge_bytes) = (3, TRACK_BYTES);
    let mut drive = Alone::new(&profile);
    drive.stream(0, 100);
    drive.rest_over(0);
    // Track 3 comes at 128, and again right behind its end; then a seek, and track 4 comes at 704 and is read.
    let ends = [(); 3].map(|()| drive.clean().unwrap());
    assert_eq!(ends, [384.0, 640.0, 960.0]);
    // It is about to be written back. The pass that follows begins with it.
    drive.layer.abandon_pass();
    drive.rest_over(0);
    assert_eq!(drive.now, 1024 * PART);
    let expected = [
        // A seek; track 4 comes at 1216, is read and written back.
        1216 + 256,
        1472 + 256,
        // A switch of heads while the platters turn by 32, and track 5.
        1760 + 256,
        2016 + 256,
    ];
    assert_eq!(drive.clean_all(), expected.map(f64::from));
}

/// A piece that takes seven turns and four parts to collect: after six others get their turn. If nobody comes, the heads are still
/// over the log.
#[test]
fn collecting_makes_way_for_others_after_six_turns() {
    let mut profile = profile();
    profile.shingled.as_mut().unwrap().cleaning.collect_turns = 7.0;
    let mut drive = Alone::new(&profile);
    drive.cache(0, 10, 4);
    drive.rest_over(0);
    let first = 256 + 32 + 8 + 6 * 256;
    assert_eq!([(); 3].map(|()| drive.clean().unwrap()), [256, first, first + 256 + 4].map(f64::from));
}

/// Twelve of 24 entries are a half: once there was no room little silence is enough down to that and no further.
#[test]
fn little_silence_is_enough_above_the_fill_down_to_which_it_is_so() {
    for (full_until, silence_ms) in [(0.49, 20.0), (0.5, 3000.0), (0.51, 3000.0)] {
        let mut drive = with_twelve_dirty(CleaningOrder::Fifo, 1, |cleaning| {
            (cleaning.idle_ms, cleaning.full_idle_ms, cleaning.full_until) = (3000.0, 20.0, full_until);
        });
        drive.layer.press();
        assert_eq!(drive.layer.cleans_after(), Some(Clock::new(6000.0).span(silence_ms * 1e6)), "{full_until}");
    }
}

/// With the append that follows there are thirteen of 26 entries: the host is rationed above the fill at which that ends.
#[test]
fn rationing_ends_at_its_fill() {
    for (ration_until, rationed) in [(0.49, true), (0.5, false), (0.51, false)] {
        let mut profile = profile();
        let shingled = profile.shingled.as_mut().unwrap();
        shingled.cache.entries = 26;
        let cleaning = &mut shingled.cleaning;
        (cleaning.ration_appends, cleaning.ration_until, cleaning.ration_bands) = (1, ration_until, 0);
        let mut drive = Alone::new(&profile);
        (0..12).for_each(|band| drive.cache(band, 0, 4));
        drive.layer.press();
        drive.cache(12, 0, 4);
        assert_eq!(drive.layer.ration_is_spent(drive.now), rationed, "{ration_until}");
    }
}

/// The same place of the cache as above, and a piece that takes seven turns and four parts to collect. Between the first six and the
/// rest the host gives up half of it: what is put aside is what the cache does not hold by then.
#[test]
fn what_is_put_aside_is_judged_when_all_is_collected() {
    let mut profile = profile();
    let shingled = profile.shingled.as_mut().unwrap();
    shingled.cache.place = CachePlace::Spread { regions: 2 };
    (shingled.cleaning.merge_on_disk, shingled.cleaning.collect_turns) = (true, 7.0);
    let mut drive = Alone::new(&profile);
    drive.cache(19, 10, 4);
    drive.rest_over(36);
    let collected = 160 + 32 + 8 + 6 * 256;
    assert_eq!([(); 2].map(|()| drive.clean().unwrap()), [160, collected].map(f64::from));
    drive.trim(19, 10, 2);
    let expected = [
        // The heads are there.
        collected + 256 + 4,
        // A switch of heads and settling until 2020 miss the place at 2016; it comes at 2272.
        2272 + 126,
    ];
    assert_eq!([(); 2].map(|()| drive.clean().unwrap()), expected.map(f64::from));
}

/// In flash a piece takes ten parts and one for each block. Nothing is reserved for merging, so bands begin behind track 0: band 0 on
/// track 1, of the same cylinder, which begins at 32.
#[test]
fn in_flash_each_piece_costs_its_command() {
    let mut profile = profile();
    let part_us = 10_000.0 / 256.0;
    let flash = FlashProfile { flash_read_us: 10.0 * part_us, flash_write_us: 0.0, flash_rate_mb_s: 4096.0 / part_us };
    profile.shingled.as_mut().unwrap().cache.place = CachePlace::Flash(flash);
    let mut drive = Alone::new(&profile);
    for (inside, blocks) in [(10, 4), (30, 4), (50, 8)] {
        drive.cache(0, inside, blocks);
    }
    drive.rest_over(0);
    // Half of the track is read after a switch of heads.
    let ends = [drive.clean(), drive.clean()].map(Option::unwrap);
    assert_eq!(ends[0], 32.0 + 128.0);
    assert!((ends[1] - ends[0] - (3.0 * 10.0 + 16.0)).abs() < 0.01, "{ends:?}");
}

/// A stream leaves band 0 in the middle of track 3, and behind it, on track 4, something is cached. A pass that makes room in that band
/// rewrites it from track 3 on, which comes at 128: what lay behind the stream is gone.
#[test]
fn a_band_that_is_open_is_rewritten_from_where_it_is_open_whatever_is_dirty_behind() {
    let mut drive = Alone::new(&profile());
    drive.stream(0, 100);
    drive.cache(0, 300, 4);
    drive.rest_over(0);
    drive.layer.force_pass();
    assert_eq!(drive.clean(), Some(f64::from(128 + 128)));
}

/// A pass has band 0 alone, which a stream left and which is dirty as well. It is over when that band is home, also where it does not
/// give way any more: others have to be asked for again.
#[test]
fn a_band_that_is_open_and_dirty_is_planned_once() {
    let mut drive = Alone::new(&profile());
    drive.cache(0, 300, 4);
    drive.cache(1, 0, 4);
    drive.stream(0, 100);
    drive.clean();
    drive.layer.force_pass();
    while !drive.layer.cleaning.is_idle() {
        drive.clean();
    }
    assert_eq!(drive.layer.counters.bands_cleaned, 1);
}

/// A pass has four bands, and has cleaned one, when a stream needs a fifth to be closed.
#[test]
fn a_band_that_a_stream_waits_for_comes_before_those_that_were_planned() {
    let mut drive = with_twelve_dirty(CleaningOrder::Fifo, 4, |_| ());
    drive.clean_all();
    drive.stream(20, 100);
    let open = drive.layer.closes_before(&drive.mechanics, drive.layer.bands.blocks(&drive.mechanics.geometry, 20).0);
    let dirty = drive.layer.map.dirty_bands();
    drive.layer.force_close(open);
    drive.clean_all();
    assert_eq!(drive.layer.map.dirty_bands(), dirty, "it was the one that is not dirty");
}

/// Band 0 is rewritten half a track at a time. What begins with the second half is collected with that.
#[test]
fn a_piece_is_collected_with_its_phase_only() {
    let mut drive = Alone::new(&profile());
    drive.cache(0, 10, 4);
    drive.cache(0, 128, 4);
    drive.rest_over(0);
    assert_eq!([(); 2].map(|()| drive.clean().unwrap()), [256, 256 + 32 + 8 + 50 + 4].map(f64::from));
}

/// Of the first half of track 3 the host gave up the beginning, and the rest is cached, together with some of the second half: there is
/// nothing to read, and the heads collect at once, where they are already.
#[test]
fn a_phase_is_not_read_though_what_is_cached_goes_on_behind_it() {
    let mut drive = Alone::new(&profile());
    drive.trim(0, 0, 100);
    drive.cache(0, 100, 40);
    drive.rest_over(0);
    assert_eq!(drive.clean(), Some(f64::from(50 + 40)));
}

/// Two streams are followed, and their bands are open. A third has the one closed that has been open longest, and whoever comes to an
/// open band has that one closed.
#[test]
fn the_band_that_has_been_open_longest_makes_room_for_another() {
    for (comes_to, closed) in [(7, 2), (5, 5), (2, 2)] {
        let mut profile = profile();
        profile.shingled.as_mut().unwrap().streams.tracked = 2;
        let mut drive = Alone::new(&profile);
        drive.stream(2, 100);
        drive.stream(5, 100);
        let first = drive.layer.bands.blocks(&drive.mechanics.geometry, comes_to).0 + 300;
        assert!(drive.layer.must_close_before(&drive.mechanics, first));
        assert_eq!(drive.layer.closes_before(&drive.mechanics, first).band, closed);
    }
}

/// The merging of the track in whose middle a stream enters a band is work of the heads, too. They rest from its end on.
#[test]
fn heads_rest_once_the_first_track_of_a_stream_is_merged() {
    let mut drive = Alone::new(&profile());
    for (inside, blocks) in [(100, 50), (150, 50)] {
        let ends = drive.stream_at(3, inside, blocks);
        assert_eq!(drive.head.rested_at, ends);
    }
}

/// Twelve entries of four blocks. To drop the middle of one would need another: where the map is full that is not done.
#[test]
fn a_full_map_takes_no_advice() {
    for (entries, cached_blocks, cached_entries) in [(12, 48, 12), (13, 46, 13)] {
        let mut profile = profile();
        let cache = &mut profile.shingled.as_mut().unwrap().cache;
        (cache.entry_counts, cache.entries) = (EntryCounts::Write, entries);
        let mut drive = Alone::new(&profile);
        (0..12).for_each(|band| drive.cache(band, 0, 4));
        drive.trim(3, 1, 2);
        let truth = drive.layer.truth(Truth::default());
        assert_eq!((truth.cached_bytes / 4096, truth.cached_entries), (cached_blocks, cached_entries), "of {entries}");
    }
}

/// As in the first example the operations end at 256, 350 and 768. Where the band is finished, or the pass does not give way, those that
/// follow are done at once, as far as those before them end sooner than somebody may come.
#[test]
fn what_follows_is_done_at_once_until_somebody_may_come() {
    for (finishes, forced) in [(true, false), (false, true), (false, false)] {
        for (alone_before, ends) in [(0, 256), (256, 256), (257, 350), (350, 350), (351, 768)] {
            let mut profile = profile();
            profile.shingled.as_mut().unwrap().cleaning.finishes_band = finishes;
            let mut drive = Alone::new(&profile);
            drive.cache(0, 10, 4);
            drive.rest_over(0);
            if forced {
                drive.layer.force_pass();
            }
            let expected = if finishes || forced { ends } else { 256 };
            assert_eq!(
                drive.clean_before(alone_before),
                Some(f64::from(expected)),
                "{finishes} {forced} {alone_before}"
            );
        }
    }
}

/// The pass is abandoned before it has written anything home, so the band is free to move as before.
#[test]
fn a_band_moves_though_the_power_has_failed_meanwhile() {
    let mut profile = profile();
    profile.shingled.as_mut().unwrap().mapping = Mapping::Dynamic { spare_bands: 1 };
    let mut drive = Alone::new(&profile);
    drive.cache(0, 10, 4);
    drive.clean();
    drive.layer.lose_power();
    drive.clean_all();
    assert_eq!(drive.layer.counters.bands_moved, 1);
}

/// A pass of four bands has three left when the host is short of appends, of which a pass has one band: those three are cleaned. The next
/// pass that does not give way is forced by something else, and has four again.
#[test]
fn a_pass_between_appends_that_was_not_planned_shortens_no_other() {
    let mut drive = with_twelve_dirty(CleaningOrder::Fifo, 4, |cleaning| {
        (cleaning.ration_appends, cleaning.ration_bands) = (1, 1);
    });
    drive.clean_all();
    drive.layer.press();
    for (force_for_append, cleaned) in [(true, 4), (false, 8)] {
        if force_for_append {
            drive.layer.force_pass_for(0, 1, 0);
        } else {
            drive.layer.force_pass();
        }
        while !drive.layer.cleaning.is_idle() {
            drive.clean();
        }
        assert_eq!(drive.layer.counters.bands_cleaned, cleaned);
    }
}
