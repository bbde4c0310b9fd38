//! The lab's clock and drives before a guest that is a script.

mod flushes;
mod nonsense;

use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::fake_guest::scripted::{Log, Scripted, CAPACITY_BYTES};
use crate::fake_guest::{process, FakeGuest};
use drive::Verb;
use proptest::prelude::*;
use serve::lab::{FrontKind, Guest, Identity, Lab, LabDrive, LabError, LabOptions, LabReport, Limits, Outcome};
use tempfile::TempDir;

fn identity() -> Identity {
    Identity {
        model: "Scripted".to_owned(),
        firmware: "1.0".to_owned(),
        serial: "S-1".to_owned(),
        wwn: 0x5025_d0c0_0000_0001,
        rpm: 5400,
        form_factor: 2,
        capacity_bytes: CAPACITY_BYTES,
        physical_exponent: 3,
        queue_depth: 32,
        trims: true,
        forces_writes: true,
    }
}

fn drive(device: Scripted, front: FrontKind) -> LabDrive {
    LabDrive {
        device: Box::new(device),
        identity: identity(),
        front,
        write_cache: true,
        store_path: None,
        power_may_fail: true,
        unplugged: Vec::new(),
        history: None,
    }
}

/// Runs a lab with those drives and a script in it.
fn play<T: Send>(
    drives: Vec<LabDrive>,
    script: impl FnOnce(FakeGuest) -> T + Send,
) -> (T, Result<LabReport, LabError>) {
    let folder = tempfile::tempdir().unwrap();
    let mut lab = Lab::new(drives, &LabOptions::new(folder.path())).unwrap();
    boot(&mut lab, folder.path(), script)
}

fn boot<T: Send>(
    lab: &mut Lab,
    folder: &Path,
    script: impl FnOnce(FakeGuest) -> T + Send,
) -> (T, Result<LabReport, LabError>) {
    let ids: Vec<u32> =
        lab.kernel_arguments()[1..].iter().map(|text| text[text.len() - 1..].parse().unwrap()).collect();
    thread::scope(|scope| {
        let guest = scope.spawn(move || script(FakeGuest::boot(folder, &ids)));
        let report = lab.run(None, &Limits::default(), &mut || true);
        (guest.join().expect("the script ends well"), report)
    })
}

fn blk_head(kind: u32, sector: u64) -> Vec<u8> {
    [kind.to_le_bytes().as_slice(), &[0; 4], &sector.to_le_bytes()].concat()
}

impl FakeGuest {
    fn blk_read(&mut self, drive: usize, sector: u64, bytes: usize) -> u64 {
        self.offer(drive, 0, &[&blk_head(0, sector)], bytes + 1)
    }

    fn blk_write(&mut self, drive: usize, sector: u64, data: &[u8]) -> u64 {
        self.offer(drive, 0, &[&blk_head(1, sector), data], 1)
    }

    /// One request from beginning to end: the status and the data.
    fn blk(&mut self, offer: impl FnOnce(&mut Self) -> u64) -> (u8, Vec<u8>) {
        let id = offer(self);
        self.kick(0, 0);
        let mut data = self.answer(id).data;
        (data.pop().expect("a status"), data)
    }

    fn scsi_offer(&mut self, tag: u64, cdb: &[u8], out: &[u8], in_bytes: usize) -> u64 {
        let mut request = vec![1, 0, 0x40, 0, 0, 0, 0, 0];
        request.extend(tag.to_le_bytes());
        request.extend([0; 3]);
        request.extend(cdb);
        request.resize(51, 0);
        self.offer(0, 2, &[&request[..20], &request[20..], out], 108 + in_bytes)
    }

    fn scsi(&mut self, cdb: &[u8], out: &[u8], in_bytes: usize) -> Scsi {
        let id = self.scsi_offer(0, cdb, out, in_bytes);
        self.kick(0, 2);
        Scsi::new(&self.answer(id).data)
    }

    fn task(&mut self, function: u32, tag: u64) -> u64 {
        let mut request = [0_u32.to_le_bytes(), function.to_le_bytes()].concat();
        request.extend([1, 0, 0x40, 0, 0, 0, 0, 0]);
        request.extend(tag.to_le_bytes());
        let id = self.offer(0, 0, &[&request], 1);
        self.kick(0, 0);
        id
    }
}

/// An answer of virtio-scsi.
#[derive(Debug, PartialEq, Eq)]
struct Scsi {
    response: u8,
    status: u8,
    sense: Vec<u8>,
    untouched: usize,
    data: Vec<u8>,
}

impl Scsi {
    fn new(answer: &[u8]) -> Self {
        let word = |at: usize| u32::from_le_bytes(answer[at..at + 4].try_into().unwrap()) as usize;
        let sense = answer[12..12 + word(0)].to_vec();
        Self { response: answer[11], status: answer[10], sense, untouched: word(4), data: answer[108..].to_vec() }
    }

    fn good(self) -> Vec<u8> {
        assert_eq!((self.response, self.status, &self.sense), (0, 0, &Vec::new()));
        let bytes = self.data.len() - self.untouched;
        self.data[..bytes].to_vec()
    }

    fn sense_key(&self) -> (u8, u8) {
        assert_eq!((self.response, self.status), (0, 2));
        match self.sense[0] & 0x7f {
            0x70 => (self.sense[2], self.sense[12]),
            _ => (self.sense[1], self.sense[2]),
        }
    }
}

#[test]
fn what_is_written_is_read_and_each_takes_its_time() {
    let (times, report) = play(vec![drive(Scripted::new(), FrontKind::Blk)], |mut guest| {
        let data: Vec<u8> = (0..300_000 / 512 * 512).map(|at: u32| (at / 7) as u8).collect();
        assert_eq!(guest.blk(|guest| guest.blk_write(0, 1001, &data)), (0, vec![]));
        let written_ns = guest.now_ns;
        let bytes = data.len();
        assert_eq!(guest.blk(|guest| guest.blk_read(0, 1001, bytes)), (0, data));
        (written_ns, guest.now_ns)
    });
    let takes_ns = Scripted::takes_ns(1001 * 512);
    assert_eq!(times, (takes_ns, 2 * takes_ns));
    let report = report.unwrap();
    assert_eq!(report.outcome, Outcome::Ended);
    assert_eq!(report.virtual_ns, 2 * takes_ns);
    let counters = report.drives[0].counters;
    assert_eq!((counters.reads, counters.writes, counters.errors), (1, 1, 0));
    assert_eq!((counters.read_bytes, counters.written_bytes), (299_520, 299_520));
}

#[test]
fn what_virtio_blk_can_say() {
    let device = Scripted { bad_from_bytes: CAPACITY_BYTES / 2, ..Scripted::new() };
    let log = Log::clone(&device.log);
    let (_, report) = play(vec![drive(device, FrontKind::Blk)], |mut guest| {
        let space = guest.configuration(0, 60);
        assert_eq!(u64::from_le_bytes(space[..8].try_into().unwrap()), CAPACITY_BYTES / 512);
        guest.blk(|guest| guest.blk_write(0, 8, &[9; 8192]));
        assert_eq!(guest.blk(|guest| guest.offer(0, 0, &[&blk_head(4, 0)], 1)), (0, vec![]), "flush");
        let range = [16_u64.to_le_bytes().as_slice(), &8_u32.to_le_bytes(), &[0; 4]].concat();
        assert_eq!(guest.blk(|guest| guest.offer(0, 0, &[&blk_head(11, 0), &range], 1)), (0, vec![]), "discard");
        let (_, data) = guest.blk(|guest| guest.blk_read(0, 8, 8192));
        assert_eq!(data, [[9; 4096], [0; 4096]].concat());
        let (status, name) = guest.blk(|guest| guest.offer(0, 0, &[&blk_head(8, 0)], 21));
        assert_eq!((status, &name[..4]), (0, b"S-1\0".as_slice()));
        assert_eq!(guest.blk(|guest| guest.blk_read(0, CAPACITY_BYTES / 1024, 512)).0, 1, "a bad sector");
        assert_eq!(guest.blk(|guest| guest.blk_read(0, CAPACITY_BYTES / 512, 512)).0, 1, "beyond the end");
        assert_eq!(guest.blk(|guest| guest.offer(0, 0, &[&blk_head(99, 0)], 1)).0, 2, "unknown");
    });
    assert_eq!(report.unwrap().drives[0].counters.errors, 2);
    let verbs: Vec<Verb> = log.lock().unwrap().iter().map(|(_, request)| request.verb).collect();
    assert_eq!(verbs[..4], [Verb::Write, Verb::Flush, Verb::Trim, Verb::Read]);
}

#[test]
fn who_the_scsi_drive_is() {
    let (_, report) = play(vec![drive(Scripted::new(), FrontKind::Scsi)], |mut guest| {
        let inquiry = guest.scsi(&[0x12, 0, 0, 0, 96], &[], 96).good();
        assert_eq!(&inquiry[8..36], b"ATA     Scripted        1.0 ");
        let pages = guest.scsi(&[0x12, 1, 0, 0, 255], &[], 255).good();
        assert_eq!(pages, [0, 0, 0, 7, 0, 0x80, 0x83, 0x89, 0xb0, 0xb1, 0xb2]);
        let serial = guest.scsi(&[0x12, 1, 0x80, 0, 255], &[], 255).good();
        assert_eq!(&serial[4..], b"S-1");
        let names = guest.scsi(&[0x12, 1, 0x83, 0, 255], &[], 255).good();
        assert!(names.ends_with(&identity().wwn.to_be_bytes()));
        let characteristics = guest.scsi(&[0x12, 1, 0xb1, 0, 64], &[], 64).good();
        assert_eq!(characteristics[4..9], [0x15, 0x18, 0, 2, 0], "5400 turns, 3.5 inches, no word of zones");
        assert_eq!(guest.scsi(&[0x12, 1, 0xd7, 0, 255], &[], 255).sense_key(), (5, 0x24));
        let capacity = guest.scsi(&[0x25, 0], &[], 8).good();
        assert_eq!(capacity, [((CAPACITY_BYTES / 512 - 1) as u32).to_be_bytes(), 512_u32.to_be_bytes()].concat());
        let cdb = [0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32];
        let capacity = guest.scsi(&cdb, &[], 32).good();
        assert_eq!((capacity[13], capacity[14]), (3, 0xc0), "4096 bytes physically, thinly provisioned");
        let luns = guest.scsi(&[0xa0, 0, 0, 0, 0, 0, 0, 0, 0, 255], &[], 255).good();
        assert_eq!(luns.len(), 16);
        assert_eq!(guest.scsi(&[0xff], &[], 0).sense_key(), (5, 0x20), "unknown");
    });
    assert_eq!(report.unwrap().drives[0].counters.others, 10);
}

#[test]
fn the_sata_drive_behind_the_scsi_commands() {
    play(vec![drive(Scripted::new(), FrontKind::Scsi)], |mut guest| {
        let pass = |feature: u8, middle: u8, high: u8, command: u8, flags: u8| {
            [0x85, 8, flags, 0, feature, 0, 1, 0, 0, 0, middle, 0, high, 0, command]
        };
        let identify = guest.scsi(&pass(0, 0, 0, 0xec, 0x0e), &[], 512).good();
        let sum = |data: &[u8]| data.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        assert_eq!((identify.len(), sum(&identify)), (512, 0));
        let swapped: Vec<u8> = identify[54..62].chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect();
        assert_eq!(swapped, b"Scripted");
        let smart = guest.scsi(&pass(0xd0, 0x4f, 0xc2, 0xb0, 0x0e), &[], 512).good();
        assert_eq!((smart.len(), sum(&smart)), (512, 0));
        let healthy = guest.scsi(&pass(0xda, 0x4f, 0xc2, 0xb0, 0x2c), &[], 0);
        assert_eq!(healthy.sense_key(), (1, 0));
        assert_eq!((healthy.sense[8], healthy.sense[17], healthy.sense[19]), (9, 0x4f, 0xc2));
        assert_eq!(guest.scsi(&pass(0, 0, 0, 0x61, 0x0e), &[], 512).sense_key(), (0xb, 0), "not known");
    })
    .1
    .unwrap();
}

#[test]
fn reads_and_writes_of_every_length() {
    let device = Scripted { bad_from_bytes: CAPACITY_BYTES / 2, ..Scripted::new() };
    let log = Log::clone(&device.log);
    let (_, report) = play(vec![drive(device, FrontKind::Scsi)], |mut guest| {
        guest.scsi(&[0x0a, 0, 0, 8, 1], &[1; 512], 0).good();
        guest.scsi(&[0x2a, 8, 0, 0, 0, 9, 0, 0, 1], &[2; 512], 0).good();
        guest.scsi(&[0xaa, 0, 0, 0, 0, 10, 0, 0, 0, 1], &[3; 512], 0).good();
        guest.scsi(&[0x8a, 0, 0, 0, 0, 0, 0, 0, 0, 11, 0, 0, 0, 1], &[4; 512], 0).good();
        guest.scsi(&[0x93, 0, 0, 0, 0, 0, 0, 0, 0, 12, 0, 0, 0, 3], &[5; 512], 0).good();
        let expected: Vec<u8> = [1, 2, 3, 4, 5, 5, 5, 0].iter().flat_map(|fill| [*fill; 512]).collect();
        for cdb in [
            [0x08, 0, 0, 8, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [0x28, 0, 0, 0, 0, 8, 0, 0, 8, 0, 0, 0, 0, 0],
            [0xa8, 0, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0, 0, 0],
            [0x88, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 8],
        ] {
            assert_eq!(guest.scsi(&cdb, &[], 4096).good(), expected, "{cdb:x?}");
        }
        guest.scsi(&[0x35], &[], 0).good();
        let unmap = [vec![0, 22, 0, 16], vec![0; 11], vec![8, 0, 0, 0, 2], vec![0; 4]].concat();
        guest.scsi(&[0x42, 0, 0, 0, 0, 0, 0, 0, 24], &unmap, 0).good();
        let data = guest.scsi(&[0x28, 0, 0, 0, 0, 8, 0, 0, 3], &[], 1536).good();
        assert_eq!(data, [[0; 512], [0; 512], [3; 512]].concat());
        let bad = guest.scsi(&[0x28, 0, 0, 0x10, 0, 5, 0, 0, 1], &[], 512);
        assert_eq!(bad.sense_key(), (3, 0x11));
        assert_eq!(bad.sense[3..7], [0, 0x10, 0, 5], "the sector");
        assert_eq!(guest.scsi(&[0x2a, 0, 0, 0x10, 0, 5, 0, 0, 1], &[0; 512], 0).sense_key(), (3, 0x0c));
        assert_eq!(guest.scsi(&[0x28, 0, 0x7f, 0, 0, 0, 0, 0, 1], &[], 512).sense_key(), (5, 0x21));
    });
    report.unwrap();
    let fua: Vec<bool> = log.lock().unwrap().iter().take(4).map(|(_, request)| request.fua).collect();
    assert_eq!(fua, [false, true, false, false]);
}

#[test]
fn without_its_write_cache_every_write_is_durable() {
    let device = Scripted::new();
    let log = Log::clone(&device.log);
    play(vec![drive(device, FrontKind::Scsi)], |mut guest| {
        let caching = |guest: &mut FakeGuest| guest.scsi(&[0x1a, 8, 8, 0, 64], &[], 64).good()[6];
        assert_eq!(caching(&mut guest), 4);
        let list = [vec![0; 4], vec![8, 18], vec![0; 18]].concat();
        guest.scsi(&[0x15, 0x10, 0, 0, 24], &list, 0).good();
        assert_eq!(caching(&mut guest), 0);
        guest.scsi(&[0x2a, 0, 0, 0, 0, 9, 0, 0, 1], &[2; 512], 0).good();
    })
    .1
    .unwrap();
    assert!(log.lock().unwrap().iter().any(|(_, request)| request.verb == Verb::Write && request.fua));
}

#[test]
fn a_command_that_hangs_is_aborted_and_then_never_heard_of() {
    let device = Scripted { hangs_from_bytes: 1 << 20, queue_depth: 2, ..Scripted::new() };
    let (_, report) = play(vec![drive(device, FrontKind::Scsi)], |mut guest| {
        let read = |block: u8| [0x28, 0, 0, 0, block, 0, 0, 0, 1];
        let stuck = guest.scsi_offer(7, &read(0x10), &[], 512);
        let queued: Vec<u64> = (8..11).map(|tag| guest.scsi_offer(tag, &read(0x11), &[], 512)).collect();
        guest.kick(0, 2);
        guest.wait(30_000_000_000);
        assert_eq!((guest.now_ns, guest.pending()), (30_000_000_000, 4));
        let task = guest.task(0, 7);
        assert_eq!(guest.answer(task).data, [0], "the abort succeeds");
        assert_eq!(guest.now_ns, 30_001_000_000);
        let aborted = guest.answer(stuck);
        assert_eq!((aborted.data[11], aborted.at_ns), (2, 30_001_000_000));
        let task = guest.task(5, 0);
        assert_eq!(guest.answer(task).data, [0], "the reset, too");
        assert!(queued.into_iter().all(|id| guest.answer(id).data[11] == 2));
        // A place in the drive's queue is still taken by what it hangs at, but it can be spoken to once that ends.
        let id = guest.scsi_offer(12, &[0x00], &[], 0);
        guest.kick(0, 2);
        assert_eq!(Scsi::new(&guest.answer(id).data).sense_key(), (6, 0x29), "it was reset");
        guest.scsi(&[0x00], &[], 0).good();
        assert_eq!(guest.pending(), 0);
        assert!(guest.answered.is_empty());
    });
    let counters = report.unwrap().drives[0].counters;
    assert_eq!((counters.aborted, counters.resets, counters.errors), (4, 1, 0));
}

#[derive(Clone, Copy, Debug)]
struct Step {
    pause_ns: u64,
    drive: usize,
    sector: u64,
    write: Option<u8>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..400_000_u64, 0..3_usize, 0..2000_u64, prop::option::of(any::<u8>()));
    let step = step.prop_map(|(pause_ns, drive, sector, write)| Step {
        pause_ns: if pause_ns < 100_000 { 0 } else { pause_ns },
        drive,
        sector,
        write,
    });
    prop::collection::vec(step, 1..120)
}

/// Plays the steps and returns when each was answered, with the lab's report.
fn play_steps(steps: &[Step]) -> (Vec<(u64, u64)>, LabReport) {
    let drives = || (0..3).map(|_| drive(Scripted::new(), FrontKind::Blk)).collect();
    let (times, report) = play(drives(), |mut guest| {
        let mut arrived = Vec::new();
        for step in steps {
            let until_ns = guest.now_ns + step.pause_ns;
            while guest.now_ns < until_ns {
                guest.wait(until_ns);
            }
            let id = match step.write {
                Some(fill) => guest.blk_write(step.drive, step.sector, &[fill; 512]),
                None => guest.blk_read(step.drive, step.sector, 512),
            };
            arrived.push((id, guest.now_ns));
            guest.kick(step.drive, 0);
        }
        while guest.pending() > 0 {
            guest.wait(guest.now_ns + 1_000_000_000);
        }
        let mut answered = std::mem::take(&mut guest.answered);
        answered.sort_by_key(|answer| answer.id);
        assert_eq!(answered.len(), arrived.len());
        arrived
            .iter()
            .zip(answered)
            .map(|((id, at_ns), answer)| {
                assert_eq!(*id, answer.id);
                (*at_ns, answer.at_ns)
            })
            .collect()
    });
    (times, report.unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// However requests and answers cross, on three drives: each is answered once, at its time, and the guest's time never
    /// runs backwards (which the fake guest checks). The same again leaves the same trace.
    #[test]
    fn each_request_is_answered_once_and_at_its_time(steps in steps()) {
        let (times, report) = play_steps(&steps);
        for (step, (arrived_ns, answered_ns)) in steps.iter().zip(&times) {
            // Two requests side by side take their time each, unless the queue of 32 is full.
            let least_ns = arrived_ns + Scripted::takes_ns(step.sector * 512);
            prop_assert!(*answered_ns >= least_ns);
            if steps.len() <= 32 {
                prop_assert_eq!(*answered_ns, least_ns);
            }
        }
        let (again, second) = play_steps(&steps);
        prop_assert_eq!(times, again);
        prop_assert_eq!(report.trace_hash, second.trace_hash);
        prop_assert_eq!(report.messages, second.messages);
    }
}

#[test]
fn other_data_or_another_time_is_another_trace() {
    let one = |fill: u8, pause_ns: u64| {
        let step = Step { pause_ns, drive: 0, sector: 5, write: Some(fill) };
        play_steps(&[step]).1.trace_hash
    };
    assert_eq!(one(1, 200_000), one(1, 200_000));
    assert_ne!(one(1, 200_000), one(2, 200_000));
    assert_ne!(one(1, 200_000), one(1, 200_001));
}

#[test]
fn data_and_time_outlive_a_boot() {
    let folder = tempfile::tempdir().unwrap();
    let device = Scripted { hangs_from_bytes: 1 << 20, ..Scripted::new() };
    let mut lab = Lab::new(vec![drive(device, FrontKind::Blk)], &LabOptions::new(folder.path())).unwrap();
    assert_eq!(lab.kernel_arguments(), ["time-travel=ext:1:tt", "virtio_uml.device=d0:2"]);
    let (_, first) = boot(&mut lab, folder.path(), |mut guest| {
        assert_eq!(guest.blk(|guest| guest.blk_write(0, 3, &[7; 512])).0, 0);
        // In the middle of a request the guest dies.
        guest.blk_read(0, 4096, 512);
        guest.kick(0, 0);
        guest.wait(5_000_000_000);
    });
    let first = first.unwrap();
    assert_eq!((first.virtual_ns, lab.now_ns()), (5_000_000_000, 5_000_000_000));
    let (_, second) = boot(&mut lab, folder.path(), |mut guest| {
        assert_eq!(guest.now_ns, 0, "a guest's clock starts at its boot");
        assert_eq!(guest.blk(|guest| guest.blk_read(0, 3, 512)), (0, vec![7; 512]));
        // The drive ends what the first guest has begun, and nobody hears of it.
        guest.wait(2_000_000_000_000);
        assert_eq!((guest.now_ns, guest.answered.len()), (2_000_000_000_000, 0));
    });
    assert_eq!(second.unwrap().virtual_ns, 2_000_000_000_000);
    assert_eq!(lab.now_ns(), 2_005_000_000_000);
}

/// The model decides what is lost; here the drive of a profile, whose buffer keeps what was just written.
fn lab_of_a_modelled_drive(front: FrontKind) -> (TempDir, Lab) {
    let profile =
        drive::Profile::parse(include_str!("../../../../../drives/wd40efrx.toml")).unwrap().scaled(100).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let device = Box::new(drive::Drive::new(&profile, 1));
    let order = LabDrive { front, power_may_fail: true, ..LabDrive::new(&profile, 1, device) };
    let lab = Lab::new(vec![order], &LabOptions::new(folder.path())).unwrap();
    (folder, lab)
}

#[test]
fn what_was_not_flushed_may_be_lost_and_what_was_is_not() {
    let (folder, mut lab) = lab_of_a_modelled_drive(FrontKind::Blk);
    let flush = |guest: &mut FakeGuest| guest.blk(|guest| guest.offer(0, 0, &[&blk_head(4, 0)], 1)).0;
    boot(&mut lab, folder.path(), |mut guest| {
        for fill in [1, 2] {
            assert_eq!(guest.blk(|guest| guest.blk_write(0, 80, &[fill; 8192])).0, 0);
            assert_eq!(guest.blk(|guest| guest.blk_write(0, 4000, &[fill; 4096])).0, 0);
            if fill == 1 {
                assert_eq!(flush(&mut guest), 0);
            }
        }
        assert_eq!(guest.blk(|guest| guest.blk_write(0, 8000, &[3; 4096])).0, 0);
    })
    .1
    .unwrap();
    lab.power_cycle(3_000_000_000).unwrap();
    let (found, report) = boot(&mut lab, folder.path(), |mut guest| {
        [(80, 8192), (4000, 4096), (8000, 4096)]
            .map(|(sector, bytes)| guest.blk(|guest| guest.blk_read(0, sector, bytes)).1)
    });
    assert_eq!(found, [vec![1; 8192], vec![1; 4096], vec![0; 4096]], "as of the flush");
    assert_eq!(report.unwrap().drives[0].counters.errors, 0);
}

#[test]
fn who_switches_the_write_cache_off_need_not_flush_any_more() {
    let mode_select = (vec![0x15, 0x10, 0, 0, 24], [vec![0; 4], vec![8, 18], vec![0; 18]].concat());
    let set_features = (vec![0xa1, 3 << 1, 0, 0x82, 0, 0, 0, 0, 0, 0xef], Vec::new());
    for (cdb, list) in [mode_select, set_features] {
        let (folder, mut lab) = lab_of_a_modelled_drive(FrontKind::Scsi);
        boot(&mut lab, folder.path(), |mut guest| {
            guest.scsi(&[0x2a, 0, 0, 0, 0, 80, 0, 0, 8], &[7; 4096], 0).good();
            guest.scsi(&cdb, &list, 0).good();
        })
        .1
        .unwrap();
        lab.power_cycle(3_000_000_000).unwrap();
        let (found, report) = boot(&mut lab, folder.path(), |mut guest| {
            assert_eq!(guest.scsi(&[0x00], &[], 0).sense_key(), (6, 0x29), "it was reset");
            guest.scsi(&[0x28, 0, 0, 0, 0, 80, 0, 0, 8], &[], 4096).good()
        });
        report.unwrap();
        assert!(found == [7; 4096], "lost after {cdb:x?}");
    }
}

#[test]
fn a_write_that_the_drive_has_is_cached_although_the_write_cache_is_switched_off_before_it_ends() {
    let (folder, mut lab) = lab_of_a_modelled_drive(FrontKind::Blk);
    boot(&mut lab, folder.path(), |mut guest| {
        let write = guest.blk_write(0, 80, &[7; 4096]);
        guest.kick(0, 0);
        guest.wait(1_000);
        assert_eq!(guest.pending(), 1);
        guest.configure(0, 32, &[0]);
        assert_eq!(guest.answer(write).data, [0]);
    })
    .1
    .unwrap();
    lab.power_cycle(3_000_000_000).unwrap();
    let (found, report) = boot(&mut lab, folder.path(), |mut guest| guest.blk(|guest| guest.blk_read(0, 80, 4096)).1);
    report.unwrap();
    assert!(found == [0; 4096], "it was not lost");
}

#[test]
fn a_guest_that_does_not_go_on_is_given_up() {
    let limits = |wall: Option<u64>, silence: u64| Limits {
        wall: wall.map(Duration::from_millis),
        silence: Duration::from_millis(silence),
        cpu: Some(0),
        ..Limits::default()
    };
    let outcome = |limits: Limits, go_on: bool, script: fn(&mut FakeGuest)| {
        let folder = tempfile::tempdir().unwrap();
        let mut lab = Lab::new(vec![drive(Scripted::new(), FrontKind::Blk)], &LabOptions::new(folder.path())).unwrap();
        thread::scope(|scope| {
            let path = folder.path();
            scope.spawn(move || {
                let mut guest = FakeGuest::boot(path, &[2]);
                script(&mut guest);
                guest.linger();
            });
            lab.run(None, &limits, &mut || go_on).unwrap().outcome
        })
    };
    assert_eq!(outcome(limits(None, 60_000), true, FakeGuest::sleep), Outcome::Deadlock);
    assert_eq!(outcome(limits(None, 200), true, |_| ()), Outcome::Hangs);
    assert_eq!(outcome(limits(Some(200), 60_000), true, |_| ()), Outcome::WallLimit);
    assert_eq!(outcome(limits(None, 60_000), false, |_| ()), Outcome::Interrupted);
}

#[test]
fn a_guest_that_never_speaks_ends_with_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut lab = Lab::new(vec![drive(Scripted::new(), FrontKind::Scsi)], &LabOptions::new(folder.path())).unwrap();
    let (process, end) = process();
    end();
    let report = lab.run(Some(&Guest::unseen(process)), &Limits::default(), &mut || true).unwrap();
    assert_eq!((report.outcome, report.virtual_ns, report.boot_wall_ns), (Outcome::Ended, 0, None));
}

#[test]
fn sockets_need_a_folder_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let options = LabOptions::new(folder.path());
    let lab = Lab::new(Vec::new(), &options).unwrap();
    let second = Lab::new(Vec::new(), &options).err().expect("they are taken");
    assert!(matches!(second, LabError::Listen { .. }), "{second}");
    drop(lab);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the sockets are removed");
}
