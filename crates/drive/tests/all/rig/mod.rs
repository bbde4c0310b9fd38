//! The profiles in `drives/`, and hosts to try drives with.

// Every test program uses its own part of this.
#![allow(dead_code)]

use drive::{BlockDevice, Completion, Drive, Profile, Request, Status, Verb};

pub const GIB: u64 = 1 << 30;

pub fn text(name: &str) -> String {
    let path = format!("{}/../../drives/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

pub fn profile(name: &str) -> Profile {
    Profile::parse(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A host that keeps one request in flight.
pub struct Host {
    pub drive: Drive,
    pub now_ns: u64,
}

impl Host {
    pub fn new(profile: &Profile) -> Self {
        Self { drive: Drive::new(profile, 1), now_ns: 0 }
    }

    pub fn pause(&mut self, ns: u64) {
        self.now_ns += ns;
        self.drive.advance(self.now_ns, &mut Vec::new());
    }

    /// `count` requests one after the other, each where the last ended.
    pub fn stream(&mut self, verb: Verb, from_bytes: u64, bytes: u64, count: u64) {
        for index in 0..count {
            self.ask(verb, from_bytes + index * bytes, bytes, false);
        }
    }

    /// One request from submission to completion; returns how long it took.
    pub fn ask(&mut self, verb: Verb, offset_bytes: u64, bytes: u64, fua: bool) -> u64 {
        self.drive.submit(self.now_ns, Request { tag: 0, verb, fua, offset_bytes, bytes });
        let mut completions: Vec<Completion> = Vec::new();
        while completions.is_empty() {
            let event_ns = self.drive.next_event_ns().expect("a request is in flight");
            assert!(event_ns >= self.now_ns, "time runs backwards");
            self.drive.advance(event_ns, &mut completions);
        }
        assert_eq!(completions.len(), 1);
        assert_eq!(completions[0].status, Status::Good);
        let took_ns = completions[0].completed_ns - self.now_ns;
        self.now_ns = completions[0].completed_ns;
        took_ns
    }
}
