//! Clients that send anything at all: the drive hears nothing impossible of them, and others are served.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::thread;

use crate::fixed_latency::FixedLatency;
use crate::served::{Served, READ, WRITE};
use drive::{Request, Verb};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const CAPACITY_BYTES: u64 = 1 << 20;

/// Numbers at which something changes, those beside them, and any other.
fn near(edges: &'static [u64]) -> impl Strategy<Value = u64> {
    let edge = || prop::sample::select(edges);
    let beside = (edge(), any::<bool>()).prop_map(|(edge, above)| edge.wrapping_add(if above { 1 } else { u64::MAX }));
    prop_oneof![4 => edge(), 1 => beside, 1 => any::<u64>()]
}

/// Mostly with the payload that it should have, so that the next one is understood.
fn request() -> impl Strategy<Value = Vec<u8>> {
    let flags = prop_oneof![4 => Just(0_u16), 2 => Just(1), 1 => any::<u16>()];
    let sectors = |most: u64| (1..=most).prop_map(|sectors| sectors * 512);
    let offset = prop_oneof![3 => sectors(1024), 1 => near(&[0, CAPACITY_BYTES - 512, CAPACITY_BYTES, u64::MAX - 511])];
    let bytes = prop_oneof![3 => sectors(8), 1 => near(&[0, CAPACITY_BYTES, 32 << 20, u32::MAX as u64 - 511])];
    let other_payload = prop_oneof![9 => Just(None), 1 => (0..5000_usize).prop_map(Some)];
    let fields = (flags, 0..8_u16, any::<u64>(), offset, bytes, other_payload);
    fields.prop_map(|(flags, command, cookie, offset, bytes, other_payload)| {
        let kind = [flags, command].map(u16::to_be_bytes).concat();
        let place = [cookie, offset].map(u64::to_be_bytes).concat();
        let (magic, bytes) = (0x2560_9513_u32, bytes as u32);
        let payload_bytes = if command == WRITE && u64::from(bytes) <= CAPACITY_BYTES { bytes as usize } else { 0 };
        let payload = vec![7; other_payload.unwrap_or(payload_bytes)];
        [&magic.to_be_bytes()[..], &kind, &place, &bytes.to_be_bytes(), &payload].concat()
    })
}

fn option() -> impl Strategy<Value = Vec<u8>> {
    let data = prop_oneof![
        Just(b"\0\0\0\x05drive\0\x01\0\x03".to_vec()),
        Just(vec![0; 6]),
        prop::collection::vec(any::<u8>(), 0..20),
    ];
    let claimed = prop_oneof![4 => Just(None), 1 => near(&[0, 6, 13, 16 << 10]).prop_map(Some)];
    (0..10_u32, data, claimed).prop_map(|(option, data, claimed)| {
        let bytes = claimed.map_or(data.len() as u32, |bytes| bytes as u32);
        [b"IHAVEOPT", &option.to_be_bytes()[..], &bytes.to_be_bytes(), &data].concat()
    })
}

/// Whether the client has been let in already, and what it sends then.
fn talk() -> impl Strategy<Value = (bool, Vec<u8>)> {
    let noise = || prop::collection::vec(any::<u8>(), 0..64);
    let outside = prop::collection::vec(prop_oneof![6 => option(), 2 => request(), 1 => noise()], 0..8);
    let inside = prop::collection::vec(prop_oneof![19 => request(), 1 => noise()], 0..8);
    prop_oneof![
        outside.prop_map(|parts| (false, [&[0, 0, 0, 3], &parts.concat()[..]].concat())),
        inside.prop_map(|parts| (true, parts.concat())),
    ]
}

fn is_possible(asked: &Request) -> bool {
    let Request { verb, offset_bytes, bytes, .. } = *asked;
    let is_whole = offset_bytes % 512 == 0 && bytes % 512 == 0 && bytes > 0;
    let is_inside = offset_bytes.checked_add(bytes).is_some_and(|end_bytes| end_bytes <= CAPACITY_BYTES);
    if verb == Verb::Flush {
        (offset_bytes, bytes) == (0, 0)
    } else {
        is_whole && is_inside
    }
}

#[test]
fn whatever_clients_send_the_drive_hears_nothing_impossible_and_others_are_served() {
    let device = FixedLatency::new(CAPACITY_BYTES, 0);
    let heard = Arc::clone(&device.heard);
    let served = Served::start(device);
    let other = RefCell::new(served.enter());
    let play = |(let_in, sent): (bool, Vec<u8>)| {
        let mut client = if let_in { served.enter() } else { served.connect() };
        let mut sender = client.stream.try_clone().expect("a second descriptor");
        let sender = thread::spawn(move || {
            // The server may hang up before it has read everything.
            let _ = sender.write_all(&sent);
            let _ = sender.shutdown(Shutdown::Write);
        });
        if let Err(error) = client.stream.read_to_end(&mut Vec::new()) {
            prop_assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "the server does not hang up");
        }
        sender.join().expect("nothing panics there");
        let asked = std::mem::take(&mut *heard.lock().expect("nobody panics over a list"));
        prop_assert!(asked.iter().all(is_possible), "{asked:?}");
        prop_assert_eq!(other.borrow_mut().ask(READ, 4, 0, 512), 22, "one who is in is answered");
        Ok(())
    };
    TestRunner::new(Config { cases: 500, failure_persistence: None, ..Config::default() })
        .run(&talk(), play)
        .expect("nothing sent does harm");
    let report = served.stop();
    assert_eq!(report.errors, 0, "{report:?}");
    assert!(report.requests > 20 && report.refused_connections > 20, "hardly anything was tried: {report:?}");
}
