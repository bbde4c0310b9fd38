//! Who of many comes first: a tournament of which each match is played again only when one of its players changes.

/// The smallest of `players` keys, kept in a tree of winners: a change costs the tree's height, a look nothing.
#[derive(Clone, Debug)]
pub(crate) struct Tournament {
    /// Keys of the players; the leaves stand in the order of the players.
    keys: Vec<u64>,
    /// `winners[1]` is the root; node `i` plays `2 i` against `2 i + 1`, the leaves begin at `keys.len()`.
    winners: Vec<u32>,
}

impl Tournament {
    /// Nobody has a key yet: all are `u64::MAX`.
    pub fn new(players: usize) -> Self {
        let leaves = players.max(1).next_power_of_two();
        let mut winners = vec![0; 2 * leaves];
        for (player, winner) in winners[leaves..].iter_mut().enumerate() {
            *winner = player as u32;
        }
        for node in (1..leaves).rev() {
            winners[node] = winners[2 * node];
        }
        Self { keys: vec![u64::MAX; leaves], winners }
    }

    /// Gives a player another key.
    pub fn set(&mut self, player: usize, key: u64) {
        if self.keys[player] == key {
            return;
        }
        self.keys[player] = key;
        let mut node = (self.keys.len() + player) / 2;
        while node > 0 {
            let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
            // Of equals the one on the left, so that ties are decided by the players' order.
            let winner = if self.keys[right as usize] < self.keys[left as usize] { right } else { left };
            self.winners[node] = winner;
            node /= 2;
        }
    }

    /// The player with the smallest key, the first of equals, and the key.
    pub fn first(&self) -> (usize, u64) {
        let winner = if self.keys.len() == 1 { 0 } else { self.winners[1] as usize };
        (winner, self.keys[winner])
    }
}

#[cfg(test)]
mod tests {
    use super::Tournament;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_smallest(players in 1..91_usize, changes in prop::collection::vec((any::<usize>(), 0..50_u64), 1..200)) {
            let mut tournament = Tournament::new(players);
            let mut keys = vec![u64::MAX; players];
            for (player, key) in changes {
                tournament.set(player % players, key);
                keys[player % players] = key;
                let expected = keys.iter().enumerate().min_by_key(|(at, key)| (**key, *at)).unwrap();
                prop_assert_eq!(tournament.first(), (expected.0, *expected.1));
            }
        }
    }
}
