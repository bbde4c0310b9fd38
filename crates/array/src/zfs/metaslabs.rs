//! In which order metaslabs are filled, and which of them hold content.

/// The metaslabs of a vdev.
#[derive(Clone, Debug)]
pub(super) struct Metaslabs {
    /// In the order of the records in them: those that hold content, then the empty ones.
    pub order: Vec<u64>,
    /// Those that hold content, by their place; where in the order each of them is; and how many lie before the last of that.
    pub content: Vec<u64>,
    by_place: Vec<u64>,
    before_last: u64,
}

impl Metaslabs {
    /// So many, of which some are `holding` content; of a fresh pool the first that are filled, of an aged one the first there are.
    pub fn new(metaslabs: u64, holding: u64, is_aged: bool) -> Self {
        let mut order = filled(metaslabs);
        order[if is_aged { 0 } else { holding as usize }..].sort_unstable();
        let mut by_place: Vec<u64> = (0..holding).collect();
        by_place.sort_unstable_by_key(|index| order[*index as usize]);
        let content = by_place.iter().map(|index| order[*index as usize]).collect();
        let before_last = by_place.iter().position(|index| index + 1 == holding).unwrap_or(0) as u64;
        Self { order, content, by_place, before_last }
    }

    /// Has data gone back to one before the last by place?
    pub fn goes_back(&self) -> bool {
        self.before_last + 1 < self.by_place.len() as u64
    }

    /// Which of `records` comes at a step of who goes by place, where each metaslab holds so many. Of all that hold any only the one
    /// that was filled last has fewer.
    pub fn record_by_place(&self, step: u64, records: u64, each: u64) -> u64 {
        let last = self.by_place.len() as u64 - 1;
        let behind = self.before_last * each;
        let in_last = records - last * each;
        let place = match step.checked_sub(behind) {
            None => step,
            Some(beyond) if beyond < in_last => return last * each + beyond,
            Some(beyond) => behind + each + (beyond - in_last),
        };
        self.by_place[(place / each) as usize] * each + place % each
    }
}

/// Metaslabs in the order in which a fresh pool's data fills them (`metaslab_compare`: of the emptiest the first). Three have
/// the pool's own blocks since it was made, each of which is kept in three. While data fills a metaslab the next one gets the
/// third copies (`METASLAB_WEIGHT_CLAIM`), so that data passes over it, and finds it empty again when three more are full: after 9
/// it takes 4, in a list of the lab's of a dRAID.
fn filled(metaslabs: u64) -> Vec<u64> {
    let pairs = (9..metaslabs + 5).step_by(2).flat_map(|odd| [odd, odd - 5]);
    [0, 3, 5, 7].into_iter().chain(pairs).chain([1, 2]).filter(|metaslab| *metaslab < metaslabs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metaslabs_with_the_pools_own_blocks_are_filled_last() {
        assert_eq!(filled(10), [0, 3, 5, 7, 9, 4, 6, 8, 1, 2]);
        assert_eq!([1, 2, 3, 5].map(filled), [vec![0], vec![0, 1], vec![0, 1, 2], vec![0, 3, 4, 1, 2]]);
    }
}
