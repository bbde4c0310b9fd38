//! Other people's NBD clients on a served drive. A test whose program is not installed says so and passes.

use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::fixed_latency::FixedLatency;
use crate::served::Served;
use drive::{Drive, Profile};

const MIB: u64 = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a program to its end; `None` if it is not installed. One that hangs is killed and fails the test.
fn run(program: &str, arguments: &[&str]) -> Option<Output> {
    let child = start(program, arguments)?;
    let id = child.id();
    let (sender, ended) = std::sync::mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    match ended.recv_timeout(PATIENCE) {
        Ok(output) => Some(output.expect("it can be waited for")),
        Err(_) => {
            kill(id);
            panic!("{program} {arguments:?} hangs");
        }
    }
}

fn start(program: &str, arguments: &[&str]) -> Option<Child> {
    let child = Command::new(program).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    if child.is_err() {
        eprintln!("skipped: {program} is not installed");
    }
    child.ok()
}

fn kill(id: u32) {
    Command::new("kill").args(["-9", &id.to_string()]).status().expect("kill is everywhere");
}

fn has_nbd_engine() -> bool {
    let engines = run("fio", &["--enghelp"]).map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let has = engines.is_some_and(|engines| engines.split_whitespace().any(|engine| engine == "nbd"));
    if !has {
        eprintln!("skipped: no fio with the nbd engine");
    }
    has
}

fn fio(served: &Served, options: &[&str]) {
    let uri = format!("--uri={}", served.uri());
    let folder = format!("--aux-path={}", served.folder.path().display());
    let fixed = ["--name=test", "--ioengine=nbd", "--thread=1", uri.as_str(), folder.as_str()];
    let output = run("fio", &[&fixed, options].concat()).expect("fio was there a moment ago");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !text.contains("err=-"), "{text}");
}

#[test]
fn nbdinfo_sees_the_drive() {
    let served = Served::start(FixedLatency::new(64 * MIB, 0));
    if let Some(output) = run("nbdinfo", &[&served.uri()]) {
        let text = String::from_utf8_lossy(&output.stdout);
        for line in [
            "export-size: 67108864 (64M)",
            "description: a drive for tests",
            "is_rotational: true",
            "is_read_only: false",
            "can_flush: true",
            "can_fua: true",
            "can_trim: true",
            "can_zero: true",
            "can_multi_conn: true",
            "block_size_minimum: 512",
            "block_size_preferred: 4096",
            "block_size_maximum: 33554432",
        ] {
            assert!(text.contains(line), "no `{line}` in:\n{text}");
        }
    }
    served.stop();
}

#[test]
fn fio_verifies_what_it_wrote_at_depth_32() {
    if !has_nbd_engine() {
        return;
    }
    let served = Served::start(FixedLatency::new(64 * MIB, 200_000));
    fio(&served, &["--rw=randwrite", "--bs=4k-64k", "--iodepth=32", "--size=32m", "--verify=crc32c", "--fsync=64"]);
    let report = served.stop();
    assert!(report.requests > 500 && report.errors == 0, "{report:?}");
}

#[test]
fn fio_verifies_on_a_modelled_drive() {
    if !has_nbd_engine() {
        return;
    }
    let text = include_str!("../../../../drives/st12000vn0007.toml");
    let profile = Profile::parse(text).and_then(|profile| profile.scaled(1000)).expect("a profile of ours");
    let served = Served::start(Drive::new(&profile, 1));
    fio(&served, &["--rw=randwrite", "--bs=4k", "--iodepth=32", "--size=4m", "--verify=crc32c", "--end_fsync=1"]);
    let report = served.stop();
    assert_eq!(report.errors, 0, "{report:?}");
    assert!(report.modelled.p50_ns > 100_000, "heads move slower than that: {report:?}");
}

#[test]
fn fio_verifies_over_several_connections() {
    if !has_nbd_engine() {
        return;
    }
    let served = Served::start(FixedLatency::new(64 * MIB, 100_000));
    let shares = ["--numjobs=4", "--size=8m", "--offset_increment=8m"];
    fio(&served, &[&shares[..], &["--rw=randwrite", "--bs=4k", "--iodepth=16", "--verify=crc32c"]].concat());
    fio(&served, &["--rw=read", "--bs=1M", "--iodepth=8", "--size=32m"]);
    assert!(served.stop().connections >= 5);
}

#[test]
fn qemu_io_reads_zeroes_discards_and_what_it_wrote() {
    let served = Served::start(FixedLatency::new(64 * MIB, 0));
    let steps = [
        "write -P 0x5a 1M 1M",
        "write -z 1536k 64k",
        "discard 1792k 64k",
        "read -P 0x5a 1M 512k",
        "read -P 0 1536k 64k",
        "read -P 0 1792k 64k",
        "read -P 0x5a 1600k 192k",
        "flush",
    ];
    let uri = served.uri();
    let mut arguments = vec!["-f", "raw"];
    steps.iter().for_each(|step| arguments.extend(["-c", step]));
    arguments.push(&uri);
    if let Some(output) = run("qemu-io", &arguments) {
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !text.contains("failed"), "{text}");
    }
    served.stop();
}

#[test]
fn a_client_killed_in_mid_write_leaves_the_server_fit() {
    if !has_nbd_engine() {
        return;
    }
    let served = Served::start(FixedLatency::new(64 * MIB, 2_000_000));
    let uri = format!("--uri={}", served.uri());
    let endless =
        ["--name=test", "--ioengine=nbd", "--thread=1", "--rw=write", "--bs=4M", "--iodepth=32", "--size=64m"];
    for _ in 0..3 {
        let mut child =
            start("fio", &[&endless[..], &[&uri, "--time_based", "--runtime=30"]].concat()).expect("fio was there");
        thread::sleep(Duration::from_millis(700));
        kill(child.id());
        child.wait().expect("it is dead");
    }
    let begun = Instant::now();
    fio(&served, &["--rw=randwrite", "--bs=4k", "--iodepth=32", "--size=8m", "--verify=crc32c"]);
    assert!(begun.elapsed() < PATIENCE / 2);
    served.stop();
}
