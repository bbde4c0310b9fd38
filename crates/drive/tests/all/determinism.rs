//! The same seed and the same requests give the same completions, in another process too.

use std::fmt::Write;
use std::process::Command;

use crate::rig::profile;
use drive::{BlockDevice, Completion, Drive, Request, Verb};

const CHILD: &str = "SHAKEDOWN_TEST_COMPLETIONS";

/// Every completion of a mixed load at depth 16 on each drive, as text.
fn completions() -> String {
    let mut text = String::new();
    for name in ["st12000vn0007", "wd40efax", "canvio-3tb", "st8000as0002"] {
        let mut drive = Drive::new(&profile(name).scaled(500).expect("scalable"), 11);
        let mut random = sim::stream(2, "requests");
        let mut done: Vec<Completion> = Vec::new();
        let mut submit = |drive: &mut Drive, now_ns: u64, tag: u32| {
            let verb = [Verb::Read, Verb::Write, Verb::Write, Verb::Trim][random.below(4) as usize];
            let bytes = 512 << random.below(12);
            let offset_bytes = random.below((drive.capacity_bytes() - bytes) / 512) * 512;
            drive.submit(now_ns, Request { tag, verb, fua: random.below(2) == 0, offset_bytes, bytes });
        };
        (0..16).for_each(|tag| submit(&mut drive, 0, tag));
        for _ in 0..5000 {
            while done.is_empty() {
                let event_ns = drive.next_event_ns().expect("the loop is closed");
                drive.advance(event_ns, &mut done);
            }
            let first = done.remove(0);
            writeln!(text, "{name} {first:?}").expect("text grows");
            submit(&mut drive, first.completed_ns.max(drive_time(&done)), first.tag);
        }
        writeln!(text, "{:?}", drive.truth()).expect("text grows");
    }
    text
}

/// When the last of the completions that were collected together fell due: no request can be submitted before.
fn drive_time(done: &[Completion]) -> u64 {
    done.iter().map(|done| done.completed_ns).max().unwrap_or(0)
}

#[test]
fn other_processes_complete_the_same_to_the_byte() {
    let here = completions();
    if std::env::var_os(CHILD).is_some() {
        println!("begin\n{here}that is all");
        return;
    }
    for _ in 0..2 {
        let this = std::env::current_exe().expect("a test is a program");
        let arguments = ["--exact", "determinism::other_processes_complete_the_same_to_the_byte", "--nocapture"];
        let output = Command::new(this).args(arguments).env(CHILD, "1").output().expect("it starts again");
        let there = String::from_utf8(output.stdout).expect("text");
        let (_, there) = there.split_once("begin\n").expect("a beginning");
        let (there, _) = there.split_once("that is all").expect("an end");
        assert!(here == there, "another process completes otherwise");
        assert!(here.lines().count() > 20_000);
    }
}
