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

#[cfg(test)]
mod tests {
    use drive::Drive;

    use super::super::example::{drives, plan};
    use super::super::{Geometry, Order, Tunables};
    use super::*;

    fn raidz(parity: u64) -> Resilver<Drive> {
        let plan = plan(Geometry::raidz(parity, 5, 12).unwrap(), Order::Sorted, 1 << 30);
        Resilver::new(plan.clone(), drives(&plan), 0).unwrap()
    }

    /// Each request counts, and the command that was made of several as well (`zio_vdev_io_done` of the aggregate): three commands of
    /// three are twelve errors, of which ten are too many.
    #[test]
    fn a_command_of_several_requests_is_an_error_more() {
        let due = |commands: &[usize]| {
            let mut resilver = raidz(2);
            commands.iter().for_each(|requests| resilver.note_errors(3, *requests));
            resilver.faults_due.len()
        };
        assert_eq!([due(&[3, 3]), due(&[3, 3, 3]), due(&[1; 9]), due(&[1; 10])], [0, 1, 0, 1]);
        let mut old = raidz(2);
        old.plan.tunables = Tunables::v0_6();
        old.note_errors(3, 100);
        assert!(old.faults_due.is_empty());
    }

    /// `vdev_dtl_required`: beside the drive that is being filled one of two parities may go, the only one may not.
    #[test]
    fn who_errs_too_often_stays_where_nothing_else_has_what_it_has() {
        for (parity, role) in [(1, Role::Good), (2, Role::Dead)] {
            let mut resilver = raidz(parity);
            resilver.faults_due.push((0, 3));
            resilver.fault_when_due();
            assert_eq!((resilver.roles[3], resilver.tally.is_faulted[3]), (role, role == Role::Dead));
            assert!(resilver.survives());
        }
    }
}
