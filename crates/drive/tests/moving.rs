//! Dynamic mapping: which bands move when they are cleaned, and which stay.

mod rig;

use drive::{Mapping, Profile, Verb};
use rig::{profile, Host};

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
