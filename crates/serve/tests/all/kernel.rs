//! The lab with a real User-Mode Linux kernel. Its path is in SHAKEDOWN_LAB_KERNEL; without one these tests do nothing but
//! say so.

use crate::fake_guest::scripted::Scripted;
use crate::real_guest::{boot, kernel, run};
use drive::{Drive, Profile};
use serve::lab::{FrontKind, Lab, LabDrive, LabOptions, Outcome};

fn profile() -> Profile {
    Profile::parse(include_str!("../../../../drives/wd40efax.toml")).unwrap().scaled(100).unwrap()
}

fn modelled(front: FrontKind) -> LabDrive {
    let profile = profile();
    LabDrive { front, ..LabDrive::new(&profile, 1, Box::new(Drive::new(&profile, 1))) }
}

#[test]
fn a_disk_as_on_real_hardware() {
    let Some(kernel) = kernel() else { return };
    let script = "cd /sys/block/sda; cat queue/rotational queue/write_cache device/model device/wwid device/queue_depth; \
        grep -a -o WD-.* device/vpd_pg80; cat queue/discard_max_bytes size; cat /sys/block/vda/serial; echo; cat /sys/block/vda/size";
    let drives = vec![modelled(FrontKind::Scsi), modelled(FrontKind::Blk)];
    let identity = drives[0].identity.clone();
    let (report, printed) = run(&kernel, drives, script);
    assert_eq!(report.outcome, Outcome::Ended);
    let sectors = identity.sectors().to_string();
    let wwn = format!("naa.{:016x}", identity.wwn);
    let expected = [
        "1",
        "write back",
        &identity.model,
        &wwn,
        "32",
        &identity.serial,
        "2147450880",
        &sectors,
        &identity.serial,
        &sectors,
    ];
    let found: Vec<&str> = printed.lines().map(str::trim).filter(|line| !line.contains("ubd")).collect();
    assert_eq!(found[..expected.len()], expected, "{printed}");
    assert!(report.boot_wall_ns.is_some_and(|wall_ns| wall_ns < 1_000_000_000), "{report:?}");
}

#[test]
fn the_same_script_leaves_the_same_trace() {
    let Some(kernel) = kernel() else { return };
    let script = "for disk in /dev/sda /dev/vda; do
        dd if=/proc/kallsyms of=$disk bs=4k count=500 conv=fsync
        dd if=/dev/urandom of=$disk bs=64k seek=7 count=40 oflag=direct
        dd if=$disk of=/dev/null bs=16k count=300 iflag=direct & dd if=$disk of=/dev/null bs=4k skip=100 count=300 iflag=direct
        wait
    done";
    // The kernel's command line seeds its random numbers, and the folder is in it.
    let folder = tempfile::tempdir().unwrap();
    let once = || {
        let drives = vec![modelled(FrontKind::Scsi), modelled(FrontKind::Blk)];
        let mut lab = Lab::new(drives, &LabOptions::new(folder.path())).unwrap();
        boot(&kernel, &mut lab, folder.path(), script).0
    };
    let (first, second) = (once(), once());
    assert!(first.drives.iter().all(|drive| drive.counters.written_bytes > 2_500_000), "{first:?}");
    assert_eq!(first.trace_hash, second.trace_hash);
    assert_eq!(first.virtual_ns, second.virtual_ns);
}

/// A drive that never answers some requests: the host waits for 30 s, aborts, tries again five times, and gives up.
#[test]
fn the_host_loses_its_patience() {
    let Some(kernel) = kernel() else { return };
    let device = Scripted { hangs_from_bytes: 512 << 20, ..Scripted::new() };
    let identity = serve::lab::Identity { capacity_bytes: device.capacity_bytes, ..modelled(FrontKind::Scsi).identity };
    let stubborn = LabDrive { identity, device: Box::new(device), ..modelled(FrontKind::Scsi) };
    let script = "dd if=/dev/sda of=/dev/null bs=4k count=1 skip=150000 iflag=direct && echo read; dmesg | tail -5";
    let (report, printed) = run(&kernel, vec![stubborn], script);
    eprintln!("{printed}");
    let counters = report.drives[0].counters;
    assert!(printed.contains("Input/output error") && !printed.contains("\nread"), "{printed}");
    assert!((180_000_000_000..200_000_000_000).contains(&report.virtual_ns), "{report:?}");
    assert_eq!(counters.aborted, 6, "{report:?}");
    assert!(report.wall_ns < 20_000_000_000, "{report:?}");
}

#[test]
fn a_bad_sector_is_an_error_of_that_sector_alone() {
    let Some(kernel) = kernel() else { return };
    let device = || Scripted { bad_from_bytes: 1000 << 20, ..Scripted::new() };
    let identity =
        serve::lab::Identity { capacity_bytes: device().capacity_bytes, ..modelled(FrontKind::Scsi).identity };
    let drive = |front| LabDrive { identity: identity.clone(), device: Box::new(device()), ..modelled(front) };
    let script = "for disk in sda vda; do
        dd if=/dev/$disk of=/dev/null bs=4k count=1 skip=100 iflag=direct && echo $disk good
        dd if=/dev/$disk of=/dev/null bs=4k count=1 skip=257000 iflag=direct || echo $disk bad
    done; dmesg | grep -i 'medium error'";
    let (_, printed) = run(&kernel, vec![drive(FrontKind::Scsi), drive(FrontKind::Blk)], script);
    for expected in ["sda good", "vda good", "sda bad", "vda bad", "Medium Error"] {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
}
