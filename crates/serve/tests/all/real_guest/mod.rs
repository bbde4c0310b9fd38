//! A real guest: it sees the host's files, for reading only, and its first process is a shell script.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serve::lab::{self, Lab, LabDrive, LabOptions, LabReport, Limits};

/// A kernel that `shakedown lab build` has made.
pub fn kernel() -> Option<PathBuf> {
    let path = std::env::var_os("SHAKEDOWN_LAB_KERNEL").map(PathBuf::from).filter(|path| path.is_file());
    if path.is_none() {
        eprintln!("skipped: no lab kernel (its path goes into SHAKEDOWN_LAB_KERNEL)");
    }
    path
}

/// A guest's process, killed when it is not wanted any more.
struct Guest(Child);

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Boots a script in a guest; returns the report and what it printed.
pub fn boot(kernel: &Path, lab: &mut Lab, folder: &Path, script: &str) -> (LabReport, String) {
    let init = folder.join("init");
    let prepare = "mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t tmpfs tmp /tmp";
    std::fs::write(&init, format!("#!/bin/sh\nexport PATH=/usr/sbin:/usr/bin:/sbin:/bin\n{prepare}\n{script}\nexec halt -f -f || exec busybox halt -f\n")).unwrap();
    std::fs::set_permissions(&init, PermissionsExt::from_mode(0o755)).unwrap();
    let output = folder.join("output");
    let mut command = Command::new("taskset");
    command.args(["-c", "0", "setarch", "-R"]).arg(kernel);
    command.args(["rootfstype=hostfs", "ro", "mem=512M", "norandmaps", "con=null", "con0=null,fd:1", "quiet"]);
    command.args(["time-travel-start=1700000000000000000", "scsi_mod.scan=sync"]);
    command.arg(format!("init={}", init.display())).arg(format!("uml_dir={}", folder.display()));
    command.args(lab.kernel_arguments()).current_dir(folder);
    command.env_clear().env("TMPDIR", "/dev/shm").env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    let printed = std::fs::File::create(&output).unwrap();
    command.stdin(Stdio::null()).stderr(printed.try_clone().unwrap()).stdout(printed);
    let guest = Guest(command.spawn().expect("taskset and setarch are installed"));
    let process = lab::Guest::of_process(guest.0.id() as i32).unwrap();
    let limits = Limits { wall: Some(Duration::from_secs(120)), cpu: Some(0), ..Limits::default() };
    let report = lab.run(Some(&process), &limits, &mut || true).unwrap();
    drop(guest);
    (report, std::fs::read_to_string(&output).unwrap())
}

/// The same with drives of its own.
pub fn run(kernel: &Path, drives: Vec<LabDrive>, script: &str) -> (LabReport, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut lab = Lab::new(drives, &LabOptions::new(folder.path())).unwrap();
    boot(kernel, &mut lab, folder.path(), script)
}
