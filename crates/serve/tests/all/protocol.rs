//! The NBD protocol from the other side of the socket: polite clients, rude ones, and those that vanish.

use std::io::Write;
use std::os::unix::net::UnixListener;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::fixed_latency::FixedLatency;
use crate::served::{options, Served, DISC, FLUSH, READ, TRIM, WRITE, WRITE_ZEROES};
use drive::Verb;
use serve::{nbd, ServeError, Store};

const MIB: u64 = 1 << 20;
const EIO: u32 = 5;
const EINVAL: u32 = 22;
const ENOSPC: u32 = 28;
const ESHUTDOWN: u32 = 108;

fn instant_drive() -> Served {
    Served::start(FixedLatency::new(64 * MIB, 0))
}

#[test]
fn options_are_answered_and_unknown_ones_declined() {
    let served = instant_drive();
    let mut client = served.connect();
    client.greet(3);
    client.option(8, &[]);
    assert_eq!(client.option_reply(8).0, (1 << 31) + 1, "structured replies");
    client.option(3, &[]);
    let list = client.option_replies(3);
    assert_eq!(list[0], (2, b"\0\0\0\x05drivea drive for tests".to_vec()));
    assert_eq!(list[1], (1, vec![]));
    client.option(3, b"x");
    assert_eq!(client.option_reply(3).0, (1 << 31) + 3, "LIST with data");
    client.option(6, b"\0\0\0\x04nope\0\0");
    assert_eq!(client.option_reply(6).0, (1 << 31) + 6, "unknown export");
    client.option(6, b"\xff\xff\xff\xffdrive\0\0");
    assert_eq!(client.option_reply(6).0, (1 << 31) + 3, "a name longer than its option");
    client.option(6, b"\0\0\0\x05drive\0\x03\0\x01\0\x02\0\x03");
    let kinds: Vec<_> = client.option_replies(6).into_iter().map(|(kind, data)| (kind, data.get(1).copied())).collect();
    assert_eq!(kinds, [(3, Some(0)), (3, Some(3)), (3, Some(1)), (3, Some(2)), (1, None)]);
    client.option(2, &[]);
    assert_eq!(client.option_reply(2), (1, vec![]));
    client.expect_end();
    assert_eq!(served.stop().refused_connections, 0);
}

#[test]
fn export_name_with_and_without_zeroes() {
    let served = instant_drive();
    for (flags, tail_bytes) in [(3, 0), (1, 124)] {
        let mut client = served.connect();
        client.greet(flags);
        client.option(1, b"drive");
        assert_eq!(u64::from_be_bytes(client.receive()), 64 * MIB);
        assert_eq!(u16::from_be_bytes(client.receive()), 0b1_0111_1101);
        assert!((0..tail_bytes).all(|_| client.receive() == [0]));
        assert_eq!(client.ask(READ, 0, 0, 512), 0);
    }
    let mut client = served.connect();
    client.greet(3);
    client.option(1, b"nope");
    client.expect_end();
    let report = served.stop();
    assert_eq!((report.connections, report.refused_connections), (2, 1));
}

#[test]
fn garbage_instead_of_a_handshake_is_hung_up_on() {
    let served = instant_drive();
    let garbage: [&[u8]; 4] = [
        b"GET / HTTP/1.1\r\n\r\n",
        &[0, 0, 0, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        b"\0\0\0\x03IHAVEOPT\0\0\0\x07\xff\xff\xff\xff",
        &[0xff; 4096],
    ];
    for bytes in garbage {
        let mut client = served.connect();
        client.receive::<18>();
        // The server may hang up before it has read everything.
        let _ = client.stream.write_all(bytes);
        client.expect_end();
    }
    assert_eq!(served.enter().ask(READ, 0, 0, 512), 0, "others are served all the same");
    assert_eq!(served.stop().refused_connections, 4);
}

#[test]
fn what_was_written_is_read_on_every_connection() {
    let served = instant_drive();
    let mut writer = served.enter();
    let mut reader = served.enter();
    let data: Vec<u8> = (0..3 * 512).map(|i| (i % 251) as u8).collect();
    assert_eq!(writer.write(4096, &data), 0);
    assert_eq!(reader.read(4096, data.len()), data);
    assert_eq!(reader.read(4096 + 1536, 512), [0; 512]);
    assert_eq!(writer.ask(FLUSH, 0, 0, 0), 0);
    assert_eq!(writer.ask(TRIM, 0, 4096, 512), 0);
    assert_eq!(writer.ask(WRITE_ZEROES, 1, 4096 + 512, 512), 0);
    assert_eq!(reader.read(4096, 1536), [&[0; 1024], &data[1024..]].concat());
    assert_eq!(writer.ask(WRITE_ZEROES, 2, 4096 + 1024, 512), 0);
    assert_eq!(reader.read(4096, 1536), [0; 1536]);
    assert_eq!(served.stop().errors, 0);
}

#[test]
fn the_drive_hears_what_was_asked_and_whether_it_is_to_last() {
    let device = FixedLatency::new(64 * MIB, 0);
    let heard = Arc::clone(&device.heard);
    let served = Served::start(device);
    let mut client = served.enter();
    // Command and flags, FUA being 1 and NO_HOLE 2; what of it a drive hears.
    let asked = [
        (READ, 0, Verb::Read, false),
        (READ, 1, Verb::Read, true),
        (TRIM, 0, Verb::Trim, false),
        (WRITE_ZEROES, 0, Verb::Write, false),
        (WRITE_ZEROES, 3, Verb::Write, true),
        (WRITE, 0, Verb::Write, false),
        (WRITE, 1, Verb::Write, true),
        (FLUSH, 0, Verb::Flush, false),
    ];
    for (at, (command, flags, verb, fua)) in asked.into_iter().enumerate() {
        let (offset, bytes) = if verb == Verb::Flush { (0, 0) } else { (at as u64 * 4096 + 512, 1024) };
        let payload: &[u8] = if command == WRITE { &[1; 1024] } else { &[] };
        client.request(command, flags, 9, offset, bytes, payload);
        assert_eq!(client.reply(), (9, 0));
        if command == READ {
            client.receive::<1024>();
        }
        let last = heard.lock().expect("nobody panics over a list").pop().expect("it was asked");
        let found = (last.verb, last.fua, last.offset_bytes, last.bytes);
        assert_eq!(found, (verb, fua, offset, u64::from(bytes)), "command {command}, flags {flags}");
    }
    served.stop();
}

#[test]
fn impossible_requests_are_refused_and_the_connection_goes_on() {
    let served = instant_drive();
    let mut client = served.enter();
    let end = 64 * MIB;
    let refused = [
        (READ, 0, end, 512, EINVAL),
        (READ, 0, end - 512, 1024, EINVAL),
        (READ, 0, u64::MAX - 511, 512, EINVAL),
        (READ, 0, 1, 512, EINVAL),
        (READ, 0, 0, 511, EINVAL),
        (READ, 0, 0, 0, EINVAL),
        (READ, 0, 0, u32::MAX - 511, EINVAL),
        (READ, 0, 0, (32 << 20) + 512, EINVAL),
        (READ, 4, 0, 512, EINVAL),
        (TRIM, 0, end, 512, EINVAL),
        (WRITE_ZEROES, 0, end, 512, ENOSPC),
        (WRITE_ZEROES, 16, 0, 512, EINVAL),
        (FLUSH, 0, 0, 512, EINVAL),
        (5, 0, 0, 512, EINVAL),
        (99, 0, 0, 512, EINVAL),
    ];
    for (command, flags, offset, bytes, errno) in refused {
        let got = client.ask(command, flags, offset, bytes);
        assert_eq!(got, errno, "command {command} flags {flags} at {offset} for {bytes}");
    }
    assert_eq!(client.write(end - 512, &[1; 512]), 0, "the last sector is one");
    assert_eq!(client.write(end - 512, &[1; 1024]), ENOSPC);
    assert_eq!(client.write(3, &[1; 512]), EINVAL);
    assert_eq!(client.write(0, &vec![1; (32 << 20) + 512]), EINVAL, "the payload is skipped");
    assert_eq!(client.read(0, 4096), [0; 4096], "nothing of it was kept");
    assert_eq!(client.write(0, &vec![7; 32 << 20]), 0, "the largest that is allowed");
    assert_eq!(client.read(0, 32 << 20), vec![7; 32 << 20]);
    assert_eq!(served.stop().errors, 0, "the drive has seen none of them");
}

#[test]
fn a_request_without_its_magic_ends_the_connection() {
    let served = instant_drive();
    let mut client = served.enter();
    client.send(&[&[0x5a; 28]]);
    client.expect_end();
    served.stop();
}

#[test]
fn a_goodbye_comes_after_the_replies() {
    let served = Served::start(FixedLatency::new(MIB, 20_000_000));
    let mut client = served.enter();
    client.request(READ, 0, 1, 0, 512, &[]);
    client.request(DISC, 0, 2, 0, 0, &[]);
    assert_eq!(client.reply(), (1, 0));
    client.receive::<512>();
    client.expect_end();
    served.stop();
}

#[test]
fn a_modelled_medium_error_is_eio_and_nothing_more() {
    let mut device = FixedLatency::new(64 * MIB, 0);
    device.bad_bytes = 8192..8704;
    let served = Served::start(device);
    let mut client = served.enter();
    assert_eq!(client.ask(READ, 0, 4096, 8192), EIO);
    assert_eq!(client.read(0, 8192), [0; 8192]);
    let report = served.stop();
    assert_eq!((report.errors, report.store_failures, report.requests), (1, 0, 2));
}

#[test]
fn a_store_that_fails_is_eio_and_the_server_lives() {
    use rustix::fs::{fcntl_add_seals, memfd_create, MemfdFlags, SealFlags};
    use std::os::fd::AsRawFd;
    let memory = memfd_create("store", MemfdFlags::ALLOW_SEALING).expect("a file in memory");
    let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
    let store = Store::named(path.as_ref(), MIB).expect("it is a regular file");
    fcntl_add_seals(&memory, SealFlags::WRITE).expect("no more writes");
    let served = Served::start_with(FixedLatency::new(MIB, 0), store);
    let mut client = served.enter();
    assert_eq!(client.write(0, &vec![1; 512 << 10]), EIO);
    assert_eq!(client.ask(TRIM, 0, 0, 512), EIO);
    assert_eq!(client.read(0, 512), [0; 512]);
    let report = served.stop();
    assert_eq!((report.store_failures, report.errors), (2, 0));
}

#[test]
fn answers_are_never_early_and_the_drive_sees_no_more_than_its_queue() {
    let latency = Duration::from_millis(5);
    let mut device = FixedLatency::new(MIB, 5_000_000);
    device.queue_depth = 4;
    let served = Served::start(device);
    let mut client = served.enter();
    let begun = Instant::now();
    for cookie in 0..32 {
        client.request(READ, 0, cookie, 512 * cookie, 512, &[]);
    }
    for answered in 1..=32 {
        assert_eq!(client.reply().1, 0);
        client.receive::<512>();
        assert!(begun.elapsed() >= latency * (answered as u32).div_ceil(4), "reply {answered} came early");
    }
    let report = served.stop();
    let near = |value: u64, expected: u64| value.abs_diff(expected) < expected / 4;
    assert!(near(report.modelled.max_ns, 40_000_000), "waiting for a place in the queue counts: {report:?}");
}

#[test]
fn delivered_latency_is_the_modelled_one() {
    let served = Served::start(FixedLatency::new(MIB, 5_000_000));
    let mut client = served.enter();
    let mut delivered: Vec<Duration> = (0..200)
        .map(|_| {
            let begun = Instant::now();
            client.read(0, 4096);
            begun.elapsed()
        })
        .collect();
    delivered.sort();
    assert!(delivered[0] >= Duration::from_millis(5), "{:?}", delivered[0]);
    assert!(delivered[100] < Duration::from_millis(7), "median {:?}", delivered[100]);
    let report = served.stop();
    assert!(report.modelled.p50_ns.abs_diff(5_000_000) < 10_000, "{report:?}");
    assert!(report.lateness.p50_ns < 2_000_000, "{report:?}");
}

#[test]
fn a_client_that_does_not_read_holds_up_nobody_else() {
    let served = instant_drive();
    let mut deaf = served.enter();
    for cookie in 0..64 {
        deaf.request(READ, 0, cookie, 0, 1 << 20, &[]);
    }
    let mut other = served.enter();
    let begun = Instant::now();
    for _ in 0..100 {
        other.read(0, 4096);
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    for _ in 0..64 {
        assert_eq!(deaf.reply().1, 0);
        for _ in 0..256 {
            deaf.receive::<4096>();
        }
    }
    served.stop();
}

#[test]
fn a_client_that_does_not_read_cannot_prevent_the_end() {
    let served = instant_drive();
    let mut deaf = served.enter();
    for cookie in 0..64 {
        deaf.request(READ, 0, cookie, 0, 1 << 20, &[]);
    }
    served.stop();
}

#[test]
fn what_is_outstanding_at_the_end_is_answered_with_shutdown() {
    let served = Served::start(FixedLatency::new(MIB, 3_600_000_000_000));
    let mut client = served.enter();
    for cookie in 0..40 {
        client.request(READ, 0, cookie, 0, 512, &[]);
    }
    thread::sleep(Duration::from_millis(50));
    assert_eq!(served.stop().requests, 0);
    let mut cookies: Vec<u64> = (0..40)
        .map(|_| {
            let (cookie, error) = client.reply();
            assert_eq!(error, ESHUTDOWN);
            cookie
        })
        .collect();
    cookies.sort_unstable();
    assert_eq!(cookies, (0..40).collect::<Vec<_>>());
    client.expect_end();
}

#[test]
fn clients_that_vanish_in_mid_request_leave_nothing_behind() {
    let served = Served::start(FixedLatency::new(64 * MIB, 1_000_000));
    for round in 0..50_u64 {
        let mut client = served.enter();
        for cookie in 0..8 {
            client.request(READ, 0, cookie, 0, 1 << 20, &[]);
        }
        client.request(WRITE, 0, 9, round * 4096, 1 << 20, &[0xaa; 1000]);
    }
    let mut client = served.enter();
    assert_eq!(client.read(0, 4096), [0; 4096], "half a piece of a write was kept");
    assert_eq!(served.stop().connections, 51);
}

#[test]
fn a_thousand_connections_leave_no_thread_and_no_descriptor_behind() {
    let served = instant_drive();
    let threads = || std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    let descriptors_of = |served: &Served| {
        let socket = served.socket.to_string_lossy().into_owned();
        let table = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
        table.lines().filter(|line| line.ends_with(&socket)).count()
    };
    let (threads_before, sockets_before) = (threads(), descriptors_of(&served));
    for i in 0..1000 {
        let mut client = served.connect();
        match i % 3 {
            0 => {}
            1 => client.greet(3),
            _ => client.enter(),
        }
    }
    let settled = || threads() <= threads_before + 16 && descriptors_of(&served) <= sockets_before;
    let begun = Instant::now();
    while !settled() {
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "{} threads, {} sockets",
            threads(),
            descriptors_of(&served)
        );
        thread::sleep(Duration::from_millis(10));
    }
    served.stop();
}

#[test]
fn too_many_clients_at_once_are_turned_away_and_a_place_becomes_free() {
    let served = instant_drive();
    let mut held: Vec<_> = (0..128).map(|_| served.enter()).collect();
    served.connect().expect_end();
    held.pop();
    let begun = Instant::now();
    while served.connect().try_receive::<18>().is_err() {
        assert!(begun.elapsed() < Duration::from_secs(10), "no place became free");
    }
    drop(held);
    assert!(served.stop().refused_connections >= 1);
}

#[test]
fn a_stale_socket_is_replaced_and_whatever_else_is_there_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("nbd.sock");
    let stopped = Arc::new(AtomicBool::new(true));
    let attempt = || {
        let store = Store::temporary(MIB).expect("a store");
        nbd::serve(FixedLatency::new(MIB, 0), options(&path, store, &stopped))
    };
    let live = UnixListener::bind(&path).expect("a socket");
    assert!(matches!(attempt(), Err(ServeError::InUse(_))));
    assert!(path.exists(), "the other server's socket stays");
    drop(live);
    assert!(path.exists(), "dead, but still there");
    attempt().expect("a dead socket is replaced");
    assert!(!path.exists());
    std::fs::write(&path, "precious").expect("a file");
    assert!(matches!(attempt(), Err(ServeError::NotASocket(_))));
    assert_eq!(std::fs::read(&path).expect("still there"), b"precious");
}

#[test]
fn a_path_that_cannot_be_a_socket_is_an_error_of_ours_to_explain() {
    let stopped = Arc::new(AtomicBool::new(true));
    for path in ["/nowhere/at/all.sock".to_owned(), format!("/tmp/{}", "x".repeat(200))] {
        let store = Store::temporary(MIB).expect("a store");
        let error = nbd::serve(FixedLatency::new(MIB, 0), options(path.as_ref(), store, &stopped));
        let text = error.expect_err("impossible").to_string();
        assert!(text.contains(&path), "{text}");
    }
}
