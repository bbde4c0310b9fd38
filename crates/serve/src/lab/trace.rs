//! A fingerprint of everything that a lab's drives did: two runs with the same one did the same.

use std::io::Write;

use drive::{Status, Verb};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// One request that is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub arrived_ns: u64,
    pub completed_ns: u64,
    pub drive: usize,
    pub verb: Verb,
    pub offset_bytes: u64,
    pub bytes: u64,
    pub status: Status,
    /// Of the data that was read or written; 0 where there was none.
    pub data_hash: u64,
}

/// The fingerprint, and the list behind it for those who want to know where two runs part.
#[derive(Default)]
pub(super) struct Trace {
    hash: u64,
    list: Option<std::io::BufWriter<std::fs::File>>,
}

impl Trace {
    /// Also writes a line of text for each entry.
    pub fn listed(list: std::fs::File) -> Self {
        Self { hash: 0, list: Some(std::io::BufWriter::new(list)) }
    }

    pub fn hash(&self) -> u64 {
        self.hash
    }

    pub fn add(&mut self, entry: Entry) {
        let verb = u64::from(entry.verb.code());
        let good = u64::from(entry.status == Status::Good);
        let numbers = [
            entry.completed_ns,
            entry.drive as u64 | verb << 32 | good << 40,
            entry.offset_bytes,
            entry.bytes,
            entry.data_hash,
        ];
        let mut record = [0; 40];
        for (bytes, number) in record.chunks_exact_mut(8).zip(numbers) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        self.hash = xxh3_64_with_seed(&record, self.hash);
        if let Some(list) = &mut self.list {
            let Entry { arrived_ns, completed_ns, drive, verb, offset_bytes, bytes, status, data_hash } = entry;
            // The list is an aid: a full disk must not end the run.
            let _ = writeln!(
                list,
                "{completed_ns} d{drive} {verb:?} {offset_bytes} {bytes} {status:?} {arrived_ns} {data_hash:016x} {:016x}",
                self.hash
            );
        }
    }

    /// Brings the list to its file.
    pub fn flush(&mut self) {
        if let Some(list) = &mut self.list {
            let _ = list.flush();
        }
    }
}
