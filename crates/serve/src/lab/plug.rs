//! A drive's plug: when it is pulled, and whether the host has been told.

use std::collections::VecDeque;

use drive::faults::Schedule;

use super::ring::Chain;

/// The plug of one bay.
#[derive(Default)]
pub(super) struct Plug {
    pulled: Vec<Schedule>,
    /// What the host believes: that the drive is there.
    told_gone: bool,
    /// Buffers that the host has given for what it is told: the queue, and the chain.
    spares: VecDeque<(usize, Chain)>,
}

impl Plug {
    pub fn new(pulled: Vec<Schedule>) -> Self {
        Self { pulled, ..Self::default() }
    }

    /// Another host, which looks for itself what is there.
    pub fn forget_host(&mut self, now_ns: u64) {
        self.spares.clear();
        self.told_gone = self.is_pulled(now_ns);
    }

    pub fn spare(&mut self, queue: usize, chain: Chain) {
        if !self.pulled.is_empty() {
            self.spares.push_back((queue, chain));
        }
    }

    fn is_pulled(&self, now_ns: u64) -> bool {
        self.pulled.iter().any(|schedule| schedule.end_at(now_ns).is_some())
    }

    /// When there is something to tell next, given that the host knows what was before `now_ns`.
    pub fn next_ns(&self, now_ns: u64) -> Option<u64> {
        if self.spares.is_empty() {
            return None;
        }
        if self.is_pulled(now_ns) != self.told_gone {
            return Some(now_ns);
        }
        // What is pulled for good does not end: there is nothing to wait for.
        let ends =
            self.pulled.iter().filter_map(|schedule| schedule.end_at(now_ns).filter(|end_ns| *end_ns < u64::MAX));
        let begins = self.pulled.iter().filter_map(|schedule| Some(schedule.next_window(now_ns + 1)?.0));
        ends.chain(begins).min()
    }

    /// What the host is to be told now, that the drive is gone or that it is there, and in which buffer.
    pub fn news(&mut self, now_ns: u64) -> Option<(bool, usize, Chain)> {
        let is_gone = self.is_pulled(now_ns);
        if is_gone == self.told_gone {
            return None;
        }
        let (queue, chain) = self.spares.pop_front()?;
        self.told_gone = is_gone;
        Some((is_gone, queue, chain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_told_of_every_change_once_it_has_room_for_it() {
        let schedule = |from_ns, for_ns, every_ns| Schedule { from_ns, for_ns, every_ns };
        let mut plug = Plug::new(vec![schedule(100, 10, Some(50)), schedule(105, 20, None)]);
        assert_eq!(plug.next_ns(0), None);
        (0..3).for_each(|_| plug.spare(1, Chain::default()));
        let mut told = Vec::new();
        let mut now_ns = 0;
        while let Some(next_ns) = plug.next_ns(now_ns) {
            now_ns = next_ns;
            told.extend(plug.news(now_ns).map(|(is_gone, ..)| (now_ns, is_gone)));
        }
        assert_eq!(told, [(100, true), (125, false), (150, true)]);
        plug.forget_host(155);
        plug.spare(1, Chain::default());
        assert_eq!((plug.news(159).is_none(), plug.next_ns(159)), (true, Some(160)));
        assert_eq!(plug.news(160).map(|news| news.0), Some(false));
    }

    #[test]
    fn of_what_is_pulled_for_good_nothing_more_is_told() {
        let mut plug = Plug::new(vec![Schedule { from_ns: 100, for_ns: u64::MAX, every_ns: None }]);
        (0..2).for_each(|_| plug.spare(1, Chain::default()));
        assert_eq!(plug.next_ns(0), Some(100));
        assert_eq!(plug.news(100).map(|news| news.0), Some(true));
        assert_eq!(plug.next_ns(100), None);
    }
}
