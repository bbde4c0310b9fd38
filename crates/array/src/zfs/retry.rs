//! What becomes of a block of which too little could be read. A request that fails fails all that it was made of, and nothing is asked again
//! for that alone: what redundancy is left makes up for it. Only who still lacks something asks once more for all of
//! the block, each part in a request of its own (`zio_vdev_io_assess`).

use drive::BlockDevice;

use super::column::Column;
use super::flow::{Purpose, Target};
use super::geometry::Spread;
use super::queue::Class;
use super::resilver::Resilver;
use super::role::Role;

impl<D: BlockDevice> Resilver<D> {
    /// Asks for a block again, unless that was in vain. Whoever was not asked is so before: the drive that is being put in, which
    /// has nothing to tell (`vdev_raidz_read_all`, `vdev_mirror_child_select`). Returns whether it goes on.
    pub(super) fn reads_once_more(&mut self, number: u32, class: Class) -> bool {
        if self.asks_new_drive(number, class) {
            return true;
        }
        let flow = self.flows.get_mut(number);
        if flow.is_retry {
            return false;
        }
        (flow.is_retry, flow.asked_new) = (true, false);
        (flow.tried, flow.missing, flow.targets_len) = (0, 0, 0);
        if flow.purpose == Purpose::Heal {
            let columns = self.columns_of(number);
            // Without any to ask it ends there.
            self.read_around(number, &columns);
            return true;
        }
        self.read_data(number, class);
        self.flows.get(number).left > 0
    }

    /// Too little of a stretch of allocated space could be read. It has no checksum that would tell: of a mirror what stands on the new
    /// drive is taken for it, and written over what could not be read; in a dRAID what came is written to both.
    pub(super) fn rebuild_blindly(&mut self, number: u32) {
        let is_mirror = self.pool.geometry.spread == Spread::Mirror;
        if is_mirror && self.asks_new_drive(number, Class::Rebuild) {
            return;
        }
        let flow = self.flows.get_mut(number);
        flow.records = 0;
        if is_mirror {
            flow.drop_target(self.plan.lost);
        }
        self.tally.lost_bytes += flow.flight_bytes as f64 * self.clock.weight();
        self.compute(number);
    }

    /// Writes what a user has read to where it could not be read, which that waits for. Not to a raidz that is read past the cache
    /// (`rc_allow_repair`).
    pub(super) fn repairs(&mut self, number: u32) -> bool {
        let may = self.pool.geometry.spread == Spread::Mirror || !self.users.memory.is_direct();
        let flow = self.flows.get_mut(number);
        if flow.writes || !may {
            return false;
        }
        flow.writes = true;
        let flow = *flow;
        for target in flow.targets() {
            if self.roles[target.member as usize] != Role::Dead {
                self.ask(number, Class::AsyncWrite, true, *target);
            }
        }
        self.flows.get(number).left > 0
    }

    /// Reads what is still to be written, for want of others; returns whether there is a drive that was not asked.
    fn asks_new_drive(&mut self, number: u32, class: Class) -> bool {
        let flow = *self.flows.get(number);
        if flow.asked_new || self.has(self.plan.lost, &flow) {
            return false;
        }
        self.flows.get_mut(number).asked_new = true;
        let new = self.new_place(number);
        new.into_iter().for_each(|target| self.ask(number, class, false, target));
        new.is_some()
    }

    /// Where the new drive has its part of a block.
    fn new_place(&self, number: u32) -> Option<Target> {
        let lost = self.plan.lost;
        let columns = self.columns_of(number);
        columns.iter().find(|column| column.member as usize == lost).and_then(|column| self.place(column))
    }

    fn columns_of(&self, number: u32) -> Vec<Column> {
        let flow = self.flows.get(number);
        let mut columns = Vec::new();
        if flow.is_segment {
            self.pool.geometry.segment_columns(flow.offset_bytes, flow.bytes, &mut columns);
        } else {
            self.pool.geometry.columns(flow.offset_bytes, flow.bytes, &mut columns);
        }
        columns
    }
}
