//! When the kernel's timers go off: at a tick, and never early.

/// When the tick after a time is.
pub(super) fn next_jiffy(now_ns: u64, jiffy_ns: u64) -> u64 {
    (now_ns / jiffy_ns + 1) * jiffy_ns
}

/// At which tick one goes off that is set at `now`, counted as the kernel does, for no earlier than `expires`. The farther that is away
/// the coarser it is kept (`calc_wheel_index`): of 100 ticks a second what is 5 s away goes off every 64 only.
pub(super) fn goes_off(now: u64, expires: u64) -> u64 {
    let mut shift = 0;
    while expires - now >= 63 << shift {
        shift += 3;
    }
    ((expires >> shift) + 1) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `calc_wheel_index` by hand: eight ticks from the 63rd on, 64 from the 504th on.
    #[test]
    fn what_is_far_away_goes_off_late() {
        for (expires, at) in
            [(1, 2), (62, 63), (63, 64), (64, 72), (503, 504), (504, 512), (512, 576), (600, 640), (4032, 4096)]
        {
            assert_eq!(goes_off(0, expires), at, "{expires}");
        }
        // How far away it is decides, not when it is: of 62 ticks each counts, of 63 every eighth.
        assert_eq!([69, 70].map(|expires| goes_off(7, expires)), [70, 72]);
    }
}
