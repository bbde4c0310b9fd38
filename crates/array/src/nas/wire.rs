//! One direction of a link, or what the box does to each byte of one.

/// Carries one message behind the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    bytes_per_s: Option<u64>,
    free_ns: u64,
}

impl Wire {
    pub fn new(bytes_per_s: Option<u64>) -> Self {
        Self { bytes_per_s, free_ns: 0 }
    }

    /// When the last of so many bytes is through that are there at `now_ns`.
    pub fn carry(&mut self, now_ns: u64, bytes: u64) -> u64 {
        let Some(rate) = self.bytes_per_s else {
            return now_ns;
        };
        let takes_ns = (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(rate));
        self.free_ns = self.free_ns.max(now_ns).saturating_add(u64::try_from(takes_ns).unwrap_or(u64::MAX));
        self.free_ns
    }
}

#[cfg(test)]
mod tests {
    use super::Wire;

    #[test]
    fn messages_follow_each_other_and_a_silence_is_not_made_up_for() {
        let mut wire = Wire::new(Some(100_000_000));
        assert_eq!(wire.carry(0, 1_000_000), 10_000_000);
        assert_eq!(wire.carry(5_000_000, 1_000_000), 20_000_000);
        assert_eq!(wire.carry(50_000_000, 1_000_000), 60_000_000);
    }

    #[test]
    fn without_a_rate_it_holds_nothing_up() {
        assert_eq!(Wire::new(None).carry(7, 1 << 40), 7);
    }
}
