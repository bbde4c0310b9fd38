//! How fast the lab is, by the wall clock, for what happens in a guest. Everything but the lab and the guest's kernel is left
//! out: drives that take the same time for everything, programs that do nothing else, and the boot is subtracted.
//!
//! Needs a kernel in SHAKEDOWN_LAB_KERNEL. Clock and guest share one processor; how much of it they got is told beside every
//! figure, since a machine that is busy with other things makes all of them smaller.

#[path = "../tests/all/fixed_latency/mod.rs"]
mod fixed_latency;
#[path = "../tests/all/real_guest/mod.rs"]
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

/// What a script in a guest with one drive took.
#[derive(Clone, Copy)]
struct Cost {
    wall_s: f64,
    processor_s: f64,
}

impl std::ops::Sub for Cost {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { wall_s: self.wall_s - other.wall_s, processor_s: self.processor_s - other.processor_s }
    }
}

impl Cost {
    fn share(self) -> String {
        format!("with {:.0} % of a processor", 100.0 * self.processor_s / self.wall_s)
    }
}

/// The best of three.
fn cost(kernel: &Path, front: FrontKind, script: &str) -> (Cost, LabReport) {
    let once = |_| {
        let before_s = processor_s();
        let report = run(kernel, vec![drive(front)], script).0;
        (Cost { wall_s: report.wall_ns as f64 / 1e9, processor_s: processor_s() - before_s }, report)
    };
    (0..3).map(once).min_by(|one, other| one.0.wall_s.total_cmp(&other.0.wall_s)).expect("three")
}

/// What this process and those that it has waited for have had of the processors, in clock ticks of 10 ms.
fn processor_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("a process");
    let fields = stat.rsplit(')').next().expect("what follows the name").split_whitespace();
    let ticks: u64 = fields.skip(11).take(4).map(|field| field.parse::<u64>().expect("a number")).sum();
    ticks as f64 / 100.0
}

fn main() {
    let Some(kernel) = kernel() else { return };
    for (front, disk) in [(FrontKind::Scsi, "/dev/sda"), (FrontKind::Blk, "/dev/vda")] {
        let (boot, report) = cost(&kernel, front, "");
        let kernel_s = report.boot_wall_ns.unwrap_or(0) as f64 / 1e9;
        println!(
            "{disk}: boot to the first command for the drive {kernel_s:.3} s, an empty script {:.2} s",
            boot.wall_s
        );
        let day = cost(&kernel, front, "sleep 86400").0 - boot;
        println!("{disk}: an idle day {:.2} s {}", day.wall_s, day.share());
        let read = format!("dd if={disk} of=/dev/null bs=4k count={REQUESTS} iflag=direct 2>&1");
        let sync = cost(&kernel, front, &read).0 - boot;
        println!("{disk}: {:.0} reads of 4 KiB a second {}", REQUESTS as f64 / sync.wall_s, sync.share());
        let (data, _) = cost(&kernel, front, DATA);
        let last = BULK_MIB - 64;
        let fill = format!(
            "{DATA}; for at in `seq 0 64 {last}`; do dd if=/tmp/data of={disk} bs=1M seek=$at oflag=direct; done 2>&1"
        );
        let (filled, _) = cost(&kernel, front, &fill);
        let read = format!("{fill}; dd if={disk} of=/dev/null bs=1M count={BULK_MIB} iflag=direct 2>&1");
        let (refilled, _) = cost(&kernel, front, &read);
        for (what, took) in [("writes", filled - data), ("reads", refilled - filled)] {
            let rate = (BULK_MIB << 20) as f64 / 1e9 / took.wall_s;
            println!("{disk}: {what} {rate:.2} GB/s {}", took.share());
        }
    }
}
