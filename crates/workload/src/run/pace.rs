//! `rate`: no direction runs ahead of its bytes a second.

use crate::job::{Access, Direction};

const NS_PER_S: u128 = 1_000_000_000;

/// When each direction may issue its next request.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    rate_bytes: [Option<u64>; 3],
    since_ns: u64,
    issued_bytes: [u64; 3],
    next_ns: [u64; 3],
}

impl Pace {
    /// Counts from `now_ns`.
    pub fn new(rate_bytes: [Option<u64>; 3], now_ns: u64) -> Self {
        Self { rate_bytes, since_ns: now_ns, issued_bytes: [0; 3], next_ns: [now_ns; 3] }
    }

    /// Which direction goes now, given the one that was drawn; or when to look again. A mixed job turns to its other
    /// direction while the drawn one is ahead, as fio does.
    pub fn choose(&self, drawn: Direction, access: Access, now_ns: u64) -> Result<Direction, u64> {
        if self.next_ns[drawn as usize] <= now_ns {
            return Ok(drawn);
        }
        let other = match (access, drawn) {
            (Access::Mixed { read_percent: 1..=100 }, Direction::Write) => Direction::Read,
            (Access::Mixed { read_percent: 0..=99 }, Direction::Read) => Direction::Write,
            _ => return Err(self.next_ns[drawn as usize]),
        };
        if self.next_ns[other as usize] <= now_ns {
            return Ok(other);
        }
        Err(self.next_ns[drawn as usize].min(self.next_ns[other as usize]))
    }

    /// Counts what was issued.
    pub fn issued(&mut self, direction: Direction, bytes: u64) {
        let at = direction as usize;
        if let Some(rate) = self.rate_bytes[at] {
            self.issued_bytes[at] += bytes;
            let due_ns = u128::from(self.issued_bytes[at]) * NS_PER_S / u128::from(rate);
            self.next_ns[at] = self.since_ns.saturating_add(due_ns.min(u128::from(u64::MAX)) as u64);
        }
    }
}
