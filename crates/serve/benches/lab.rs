//! How fast the lab is: wall time for what happens in a guest. Everything but the lab and the guest's kernel is left out:
//! drives that take the same time for everything, programs that do nothing else, and the boot is subtracted.
//!
//! Needs a kernel in SHAKEDOWN_LAB_KERNEL, and a machine that does nothing else: clock and guest share one processor.

#[path = "../tests/fixed_latency/mod.rs"]
mod fixed_latency;
#[path = "../tests/real_guest/mod.rs"]
mod real_guest;

use std::path::Path;

use drive::Profile;
use fixed_latency::FixedLatency;
use real_guest::{kernel, run};
use serve::lab::{FrontKind, Identity, LabDrive, LabReport};

const REQUESTS: u64 = 40_000;
const BULK_MIB: u64 = 2048;
const LATENCY_NS: u64 = 100_000;
/// Data that is not zeros, in the guest's memory.
const DATA: &str = "head -c 64M /dev/urandom >/tmp/data";

fn drive(front: FrontKind) -> LabDrive {
    let profile = Profile::parse(include_str!("../../../drives/wd40efrx.toml")).expect("a profile");
    let profile = profile.scaled(100).expect("a smaller one");
    let device = Box::new(FixedLatency::new(profile.capacity_bytes(), LATENCY_NS));
    let identity = Identity::new(&profile, 1, "");
    LabDrive { identity, front, ..LabDrive::new(&profile, 1, device) }
}

/// The best of three, for a script in a guest with one drive.
fn wall_s(kernel: &Path, front: FrontKind, script: &str) -> (f64, LabReport) {
    let once = |_| run(kernel, vec![drive(front)], script).0;
    let best = (0..3).map(once).min_by_key(|report| report.wall_ns).expect("three");
    (best.wall_ns as f64 / 1e9, best)
}

fn main() {
    let Some(kernel) = kernel() else { return };
    for (front, disk) in [(FrontKind::Scsi, "/dev/sda"), (FrontKind::Blk, "/dev/vda")] {
        let (boot_s, report) = wall_s(&kernel, front, "");
        let kernel_s = report.boot_wall_ns.unwrap_or(0) as f64 / 1e9;
        println!("{disk}: boot to the first command for the drive {kernel_s:.3} s, to the end of an empty script {boot_s:.2} s");
        let (day_s, _) = wall_s(&kernel, front, "sleep 86400");
        println!("{disk}: an idle day {:.2} s", day_s - boot_s);
        let (sync_s, _) =
            wall_s(&kernel, front, &format!("dd if={disk} of=/dev/null bs=4k count={REQUESTS} iflag=direct 2>&1"));
        println!("{disk}: {:.0} synchronous reads of 4 KiB a second", REQUESTS as f64 / (sync_s - boot_s));
        let (data_s, _) = wall_s(&kernel, front, DATA);
        let fill = format!(
            "{DATA}; for at in `seq 0 64 {}`; do dd if=/tmp/data of={disk} bs=1M seek=$at oflag=direct; done 2>&1",
            BULK_MIB - 64
        );
        let (write_s, _) = wall_s(&kernel, front, &fill);
        println!("{disk}: writes {:.2} GB/s", (BULK_MIB << 20) as f64 / 1e9 / (write_s - data_s));
        let read = format!("{fill}; dd if={disk} of=/dev/null bs=1M count={BULK_MIB} iflag=direct 2>&1");
        let (read_s, _) = wall_s(&kernel, front, &read);
        println!("{disk}: reads {:.2} GB/s", (BULK_MIB << 20) as f64 / 1e9 / (read_s - write_s));
    }
}
