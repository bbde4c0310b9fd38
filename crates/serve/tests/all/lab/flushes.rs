//! A SATA drive's flush is none of its queued commands, and no single write of it is forced to the medium.

use drive::Verb;
use serve::lab::{FrontKind, Identity, LabDrive, Outcome};

use super::{blk_head, drive, identity, play};
use crate::fake_guest::scripted::{Log, Scripted};

const READ_9: [u8; 10] = [0x28, 0, 0, 0, 0, 9, 0, 0, 1, 0];
const SYNCHRONIZE: [u8; 10] = [0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Who commands a SATA drive sends no flush while it has anything else, and nothing else meanwhile: the driver is told to ask again.
#[test]
fn a_flush_of_sata_stands_alone() {
    const BUSY: u8 = 8;
    let takes_ns = Scripted::takes_ns(9 * 512);
    let device = Scripted { speaks_ata: true, ..Scripted::new() };
    let log = Log::clone(&device.log);
    let (_, report) = play(vec![drive(device, FrontKind::Scsi)], |mut guest| {
        let read = guest.scsi_offer(1, &READ_9, &[], 512);
        let flush = guest.scsi_offer(2, &SYNCHRONIZE, &[], 0);
        let again = guest.scsi_offer(3, &READ_9, &[], 512);
        guest.kick(0, 2);
        let told = guest.answer(again);
        assert_eq!((told.data[10], told.at_ns), (BUSY, 0), "the flush waits for the read, and comes next");
        assert_eq!(guest.answer(read).at_ns, takes_ns);
        assert_eq!(guest.answer(flush).at_ns, takes_ns + 1_000);
        let flush = guest.scsi_offer(4, &SYNCHRONIZE, &[], 0);
        guest.kick(0, 2);
        let again = guest.scsi_offer(5, &READ_9, &[], 512);
        let ready = guest.scsi_offer(6, &[0x00], &[], 0);
        guest.kick(0, 2);
        assert_eq!(guest.answer(again).data[10], BUSY, "the flush is under way");
        assert_eq!(guest.answer(flush).data[10], 0);
        assert_eq!(guest.answer(ready).data[10], 0, "what asks for nothing of the medium stands beside it");
        guest.scsi(&READ_9, &[], 512).good();
    });
    let counters = report.unwrap().drives[0].counters;
    assert_eq!((counters.reads, counters.flushes, counters.errors), (2, 2, 0));
    assert_eq!(log.lock().unwrap().iter().filter(|(_, request)| request.verb == Verb::Flush).count(), 2);
}

/// Who has waited long enough for a flush resets the link: the drive takes others, though it goes on for an hour. One that still
/// waits for its turn has taken nobody's.
#[test]
fn a_flush_that_was_given_up_keeps_nobody_from_the_drive() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    let device = Scripted { speaks_ata: true, flush_ns: HOUR_NS, ..Scripted::new() };
    let log = Log::clone(&device.log);
    let (_, report) = play(vec![drive(device, FrontKind::Scsi)], |mut guest| {
        let flushes = [1, 2].map(|tag| guest.scsi_offer(tag, &SYNCHRONIZE, &[], 0));
        guest.kick(0, 2);
        guest.wait(60_000_000_000);
        for tag in [2, 1] {
            let task = guest.task(0, tag);
            assert_eq!(guest.answer(task).data, [0], "the abort succeeds");
        }
        assert_eq!(flushes.map(|id| guest.answer(id).data[11]), [2; 2], "aborted");
        guest.scsi(&READ_9, &[], 512).good();
        assert!(guest.now_ns < 61_000_000_000, "{}", guest.now_ns);
        guest.wait(HOUR_NS + 1);
        let flush = guest.scsi_offer(3, &SYNCHRONIZE, &[], 0);
        guest.kick(0, 2);
        assert_eq!(guest.answer(flush).at_ns, 2 * HOUR_NS + 1, "when the first was over another was sent");
    });
    let counters = report.unwrap().drives[0].counters;
    assert_eq!((counters.reads, counters.flushes, counters.aborted), (1, 1, 2));
    assert_eq!(log.lock().unwrap().iter().filter(|(_, request)| request.verb == Verb::Flush).count(), 2);
}

/// No clock of a host runs against a disk of virtio-blk: there it waits before the drive.
#[test]
fn before_a_disk_without_a_clock_all_wait_for_a_flush_that_stands_alone() {
    let device = Scripted { speaks_ata: true, ..Scripted::new() };
    let log = Log::clone(&device.log);
    let (_, report) = play(vec![drive(device, FrontKind::Blk)], |mut guest| {
        let first = guest.blk_read(0, 9, 512);
        let flush = guest.offer(0, 0, &[&blk_head(4, 0)], 1);
        let last = guest.blk_read(0, 9, 512);
        guest.kick(0, 0);
        [first, flush, last].map(|id| guest.answer(id).at_ns)
    });
    report.unwrap();
    let takes_ns = Scripted::takes_ns(9 * 512);
    let asked: Vec<(u64, Verb)> = log.lock().unwrap().iter().map(|(at_ns, request)| (*at_ns, request.verb)).collect();
    assert_eq!(asked, [(0, Verb::Read), (takes_ns, Verb::Flush), (takes_ns + 1_000, Verb::Read)]);
}

#[test]
fn linux_is_told_that_a_sata_drive_forces_no_single_write() {
    for forces_writes in [false, true] {
        let told =
            LabDrive { identity: Identity { forces_writes, ..identity() }, ..drive(Scripted::new(), FrontKind::Scsi) };
        let (flags, report) = play(vec![told], |mut guest| {
            let short = guest.scsi(&[0x1a, 8, 8, 0, 64], &[], 64).good()[2];
            let long = guest.scsi(&[0x5a, 8, 8, 0, 0, 0, 0, 0, 64], &[], 64).good()[3];
            [short, long].map(|byte| byte & 0x10 != 0)
        });
        assert_eq!((flags, report.unwrap().outcome), ([forces_writes; 2], Outcome::Ended));
    }
}
