//! The guest as this machine sees it: a tree of processes.
//!
//! A guest that says nothing loops, hangs, or does not get its turn on a busy machine. Which it is only the host's kernel
//! knows: one that loops uses the processor, one that hangs has no process that could run, and one that is starved has such
//! a process and does not use the processor.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;
use rustix::process::{pidfd_open, Pid, PidfdFlags};

/// Its processes, or only the end of them.
pub struct Guest {
    pub(super) end: OwnedFd,
    root: Option<i32>,
}

/// What the processes of a guest do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pulse {
    /// How long they have used a processor, all together.
    pub used: Duration,
    /// One of them runs, or would if this machine let it.
    pub can_run: bool,
}

/// A process, as a line of `/proc` has it.
struct Process {
    parent: i32,
    can_run: bool,
    ticks: u64,
}

impl Guest {
    /// The process `pid` and all that descend from it.
    ///
    /// # Errors
    /// What the system says: there is no such process, or no room for a descriptor.
    pub fn of_process(pid: i32) -> io::Result<Self> {
        let known = (pid > 0).then(|| Pid::from_raw(pid)).flatten().ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self { end: pidfd_open(known, PidfdFlags::empty())?, root: Some(pid) })
    }

    /// One of which is known only that it is gone when `end` becomes readable.
    pub fn unseen(end: OwnedFd) -> Self {
        Self { end, root: None }
    }

    /// What its processes do; `None` if that cannot be seen here.
    pub(super) fn pulse(&self) -> Option<Pulse> {
        let processes = processes().ok()?;
        let of_guest = |pid: &i32| self.root.is_some_and(|root| descends(&processes, *pid, root));
        let mut pulse = None;
        for process in processes.keys().filter(|pid| of_guest(pid)).map(|pid| &processes[pid]) {
            let Pulse { used, can_run } = pulse.unwrap_or(Pulse { used: Duration::ZERO, can_run: false });
            let more = Duration::from_secs_f64(process.ticks as f64 / clock_ticks_per_second() as f64);
            pulse = Some(Pulse { used: used + more, can_run: can_run || process.can_run });
        }
        pulse
    }
}

fn descends(processes: &HashMap<i32, Process>, mut pid: i32, from: i32) -> bool {
    // The table was not read in one moment: a number given anew in between must not lead in a circle.
    for _ in 0..processes.len() {
        if pid == from {
            return true;
        }
        match processes.get(&pid) {
            Some(process) => pid = process.parent,
            None => return false,
        }
    }
    false
}

fn processes() -> io::Result<HashMap<i32, Process>> {
    let entries = fs::read_dir("/proc")?.flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    // One that has ended meanwhile has no line.
    let lines = numbers.filter_map(|pid| Some((pid, fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)));
    Ok(lines.filter_map(|(pid, line)| Some((pid, Process::read(&line)?))).collect())
}

impl Process {
    /// `man 5 proc_pid_stat`; the name, in brackets, may hold anything.
    fn read(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        // The time of children that have ended and were waited for is their parent's.
        let ticks = fields.get(11..15)?.iter().map(|ticks| ticks.parse::<u64>().ok()).sum::<Option<u64>>()?;
        // It waits for a processor, for a disk of this machine, or until somebody who has stopped it lets it go on.
        Some(Self { parent: fields[1].parse().ok()?, can_run: matches!(fields[0], "R" | "D" | "T"), ticks })
    }
}

#[cfg(test)]
mod tests {
    use super::{descends, processes, Process};
    use std::collections::HashMap;

    #[test]
    fn a_line_is_read_whatever_the_name() {
        let process = Process::read("17 (a) R (b) ) T 3 17 17 0 -1 4 100 0 0 0 1 20 300 4000 20 0 1 0 5").unwrap();
        assert_eq!((process.parent, process.can_run, process.ticks), (3, true, 4321));
        assert!(!Process::read("17 (x) t 3 17 17 0 -1 4 100 0 0 0 1 20 300 4000 20").unwrap().can_run);
        assert!(Process::read("17 (x) S 3").is_none());
        assert!(Process::read("nonsense").is_none());
    }

    #[test]
    fn a_circle_has_an_end() {
        let process = |parent| Process { parent, can_run: false, ticks: 0 };
        let circle = HashMap::from([(2, process(3)), (3, process(2)), (4, process(1))]);
        assert!(!descends(&circle, 2, 1) && descends(&circle, 4, 1) && descends(&circle, 4, 4));
        assert!(processes().unwrap().contains_key(&(std::process::id() as i32)));
    }
}
