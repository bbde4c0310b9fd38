//! Who comes when: appends, passes between them, streams that leave bands open; on the drive of [`super::alone`].

use super::alone::{profile, with_twelve_dirty, Alone, TRACK_BYTES};
use crate::mechanics::Arm;
use crate::profile::{CachePlace, CleaningOrder};

/// Streams leave bands 2 and 0. In silence they are completed in that order.
#[test]
fn bands_that_streams_left_are_completed_in_the_order_in_which_they_were_left() {
    let mut drive = Alone::new(&profile());
    drive.stream(2, 100);
    drive.stream(0, 100);
    drive.clean();
    let under_way = |band| {
        let first = drive.layer.bands.blocks(&drive.mechanics.geometry, band).0;
        drive.layer.is_under_way(&drive.mechanics.geometry, first)
    };
    assert_eq!([2, 0].map(under_way), [true, false]);
}

/// One append is left between passes, and the host has had it. A pass that gave way, in silence, counts as well.
#[test]
fn a_pass_in_silence_comes_between_appends_as_any_other() {
    let mut drive = with_twelve_dirty(CleaningOrder::Fifo, 1, |cleaning| {
        (cleaning.ration_appends, cleaning.ration_until, cleaning.ration_bands) = (1, 0.0, 0);
    });
    drive.layer.press();
    drive.cache(12, 0, 4);
    assert!(drive.layer.ration_is_spent(drive.now));
    drive.clean_all();
    assert!(!drive.layer.ration_is_spent(drive.now));
}

/// The host has had its append and gives up all that is cached: there is nothing to clean any more, so it need not wait for that.
#[test]
fn where_nothing_is_cached_any_more_no_pass_comes_between_appends() {
    let mut drive = with_twelve_dirty(CleaningOrder::Fifo, 1, |cleaning| {
        (cleaning.ration_appends, cleaning.ration_until, cleaning.ration_bands) = (1, 0.0, 0);
    });
    drive.layer.press();
    drive.cache(12, 0, 4);
    assert!(drive.layer.ration_is_spent(drive.now));
    (0..13).for_each(|band| drive.trim(band, 0, 4));
    assert!(!drive.layer.ration_is_spent(drive.now));
}

/// A pass has made room. So much that is wanted is enough, one block more is not there.
#[test]
fn room_that_is_wanted_beyond_a_visit_is_there_to_the_block() {
    let mut drive = with_twelve_dirty(CleaningOrder::Fifo, 1, |_| ());
    drive.clean_all();
    let log = &drive.layer.regions[0].log;
    let free = log.capacity_blocks() - log.used_blocks() - 2 * drive.layer.regions[0].visit_blocks;
    for (room_blocks, lacks) in [(free, false), (free + 1, true)] {
        drive.layer.rules.room_blocks = room_blocks;
        assert_eq!(drive.layer.lacks_room(0, 1, 100), lacks, "{room_blocks} of {free}");
    }
}

/// A visit right behind one to another place of the cache writes a record of its own there.
#[test]
fn a_visit_to_another_place_of_the_cache_is_an_append_of_its_own() {
    let mut profile = profile();
    let cache = &mut profile.shingled.as_mut().unwrap().cache;
    (cache.place, cache.append_bytes) = (CachePlace::Spread { regions: 2 }, TRACK_BYTES);
    let mut drive = Alone::new(&profile);
    drive.cache(1, 10, 4);
    let (region, ends) = drive.layer.last_visit;
    assert_eq!([0, 1].map(|other| drive.layer.goes_on(other, ends, 4)), [region == 0, region == 1]);
}

/// Behind a hole in the row of home addresses, where tracks have another size, a home address says nothing of where on a track a block
/// lies. A stream that enters a band at its beginning merges nothing, and one that enters within a track does.
#[test]
fn a_stream_merges_what_lies_before_it_on_its_track_behind_a_place_of_the_cache_too() {
    let mut profile = profile();
    (profile.geometry.zones, profile.geometry.inner_track_bytes) = (4, TRACK_BYTES / 2);
    profile.shingled.as_mut().unwrap().cache.place = CachePlace::Spread { regions: 2 };
    for (inside, merges) in [(0, false), (10, true)] {
        let mut drive = Alone::new(&profile);
        let geometry = &drive.mechanics.geometry;
        let first = drive.layer.bands.blocks(geometry, drive.layer.bands.count() as u32 - 2).0 + inside;
        let mut arm = Arm { mechanics: &drive.mechanics, head: &mut drive.head, truth: &mut drive.truth };
        let written = drive.layer.write_direct(&mut arm, 0, first, first + 5);
        assert_eq!(written.passes.is_none(), merges, "{inside}");
    }
}
