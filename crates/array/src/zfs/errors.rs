//! What the event daemon does about a drive that errs (`zfs_diagnosis.c`, `zfs_retire.c`).

use std::collections::VecDeque;

/// So many errors (`DEFAULT_IO_N`) in so long (`DEFAULT_IO_T`) are too many.
const TOO_MANY: usize = 10;
const WITHIN_NS: u64 = 600_000_000_000;

/// `zfs_remove_timeout`: it waits for so long whether the drive turns out to be gone.
const WAITS_NS: u64 = 15_000_000_000;

/// The errors of one drive.
#[derive(Clone, Debug, Default)]
pub(super) struct Errors {
    /// When the last of them were.
    at_ns: VecDeque<u64>,
    are_too_many: bool,
}

impl Errors {
    /// One more. Returns, once, when the drive is to be set faulty.
    pub fn note(&mut self, now_ns: u64) -> Option<u64> {
        if self.are_too_many {
            return None;
        }
        self.at_ns.push_back(now_ns);
        if self.at_ns.len() > TOO_MANY {
            self.at_ns.pop_front();
        }
        self.are_too_many = self.at_ns.len() == TOO_MANY && now_ns - self.at_ns[0] <= WITHIN_NS;
        self.are_too_many.then_some(now_ns + WAITS_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn ten_within_ten_minutes_are_too_many() {
        let mut errors = Errors::default();
        assert!((0..9).all(|at| errors.note(at * 60 * S).is_none()));
        assert_eq!(errors.note(541 * S), Some(556 * S));
        assert_eq!(errors.note(550 * S), None, "told once");
        let mut slowly = Errors::default();
        assert!((0..100).all(|at| slowly.note(at * 67 * S).is_none()));
    }
}
