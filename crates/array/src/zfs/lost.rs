//! Who is lost on the way: who fails, and who errs too often.

use drive::BlockDevice;

use super::phase::Phase;
use super::resilver::Resilver;
use super::role::Role;

impl<D: BlockDevice> Resilver<D> {
    /// So many requests to a member have failed with one command, which counts, too, if it was of several.
    pub(super) fn note_errors(&mut self, member: usize, requests: usize) {
        let wanted = if self.plan.tunables.faults_errors { requests + usize::from(requests > 1) } else { 0 };
        for _ in 0..wanted {
            self.faults_due.extend(self.errors[member].note(self.now_ns).map(|at_ns| (at_ns, member)));
        }
    }

    /// Who errs too often is left out, but stays where nothing else has what it has (`vdev_fault`, `vdev_dtl_required`).
    pub(super) fn fault_when_due(&mut self) {
        let now_ns = self.now_ns;
        while let Some(due) = self.faults_due.iter().position(|(at_ns, _)| *at_ns <= now_ns) {
            let (_, member) = self.faults_due.swap_remove(due);
            let missing = self.roles.iter().filter(|role| **role != Role::Good).count() as u64;
            if self.roles[member] != Role::Good || missing < self.pool.geometry.redundancy() {
                self.tally.is_faulted[member] |= self.roles[member] != Role::Dead;
                self.lose(member);
            }
        }
    }

    pub(super) fn fail_when_due(&mut self) {
        self.fault_when_due();
        let Some((member, at_ns)) = self.plan.second_failure else { return };
        if !self.is_to_begin() && self.clock.at(self.now_ns) >= at_ns as f64 {
            self.lose(member);
        }
    }

    /// Leaves a member out from here on, whether it comes back or not. Who answers that it is gone is probed, in vain, and is
    /// asked no more (`zio_vdev_io_done`, `vdev_probe`). The resilver fails with the drive that it fills, or with one more than the
    /// pool survives.
    pub(super) fn lose(&mut self, member: usize) {
        let role = std::mem::replace(&mut self.roles[member], Role::Dead);
        if role == Role::Dead {
            return;
        }
        if !self.is_over() {
            let at_ns = self.elapsed_ns();
            self.tally.failed_at_ns[member] = Some(at_ns);
            if role == Role::Target || !self.survives() {
                self.tally.failed = Some((at_ns, member));
                self.note_progress();
                self.turn(0.0);
                self.phase = Phase::Over;
            }
        }
        for entry in self.queues[member].drain() {
            self.column_done(member, entry, true);
        }
    }

    /// Is everything still somewhere? Without that a pool is suspended.
    pub(super) fn survives(&self) -> bool {
        let missing = self.roles.iter().filter(|role| **role != Role::Good).count() as u64;
        missing <= self.pool.geometry.redundancy()
    }
}
