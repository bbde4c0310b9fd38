//! When a fault is there.

/// A window of virtual time, which may come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// It begins then, and ends `for_ns` later (that nanosecond not included).
    pub from_ns: u64,
    /// How long it lasts.
    pub for_ns: u64,
    /// From one beginning to the next; `None`: there is only one. Longer than the window.
    pub every_ns: Option<u64>,
}

impl Schedule {
    /// The end of the window that a time lies in.
    pub fn end_at(&self, now_ns: u64) -> Option<u64> {
        let since_ns = now_ns.checked_sub(self.from_ns)?;
        let begin_ns = now_ns - self.every_ns.map_or(since_ns, |every_ns| since_ns % every_ns);
        let end_ns = begin_ns.saturating_add(self.for_ns);
        (now_ns < end_ns).then_some(end_ns)
    }

    /// The first window's begin and end of which the begin is not before a time.
    pub fn next_window(&self, from_ns: u64) -> Option<(u64, u64)> {
        let begin_ns = match (from_ns.checked_sub(self.from_ns), self.every_ns) {
            (None | Some(0), _) => self.from_ns,
            (Some(_), None) => return None,
            (Some(since_ns), Some(every_ns)) => self.from_ns + since_ns.div_ceil(every_ns) * every_ns,
        };
        Some((begin_ns, begin_ns.saturating_add(self.for_ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::Schedule;

    #[test]
    fn windows_come_back() {
        let schedule = Schedule { from_ns: 100, for_ns: 10, every_ns: Some(50) };
        let ends: Vec<Option<u64>> =
            [0, 99, 100, 109, 110, 149, 155, 1_000_005].map(|now| schedule.end_at(now)).to_vec();
        assert_eq!(ends, [None, None, Some(110), Some(110), None, None, Some(160), Some(1_000_010)]);
        let begins: Vec<u64> =
            [0, 100, 101, 150, 151].map(|from| schedule.next_window(from).map_or(0, |window| window.0)).to_vec();
        assert_eq!(begins, [100, 100, 150, 150, 200]);
    }

    #[test]
    fn one_that_does_not_come_back_is_over() {
        let schedule = Schedule { from_ns: 100, for_ns: 10, every_ns: None };
        assert_eq!((schedule.end_at(105), schedule.end_at(110)), (Some(110), None));
        assert_eq!((schedule.next_window(100), schedule.next_window(101)), (Some((100, 110)), None));
    }
}
