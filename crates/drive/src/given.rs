//! What a host has given a device and has no answer to yet.

use crate::request::{BlockDevice, Verb};

/// How many commands, and whether a flush is among them that stands alone: a SATA drive's is none of its queued commands, so
/// Linux waits with it until the drive has nothing else, and with all else until it is answered (`ata_std_qc_defer`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    commands: u32,
    flushes_alone: bool,
}

impl Given {
    /// How many.
    #[inline]
    pub fn commands(&self) -> u32 {
        self.commands
    }

    /// May the device be given one more, of this kind?
    #[inline]
    pub fn leaves_room_for(&self, verb: Verb, device: &(impl BlockDevice + ?Sized)) -> bool {
        let stands_alone = verb == Verb::Flush && device.flushes_alone();
        let most = if stands_alone { 1 } else { device.queue_depth() };
        self.commands < most && !self.flushes_alone
    }

    /// The device is given one.
    #[inline]
    pub fn give(&mut self, verb: Verb, device: &(impl BlockDevice + ?Sized)) {
        self.commands += 1;
        self.flushes_alone |= verb == Verb::Flush && device.flushes_alone();
    }

    /// It was given so many that are no flushes.
    #[inline]
    pub fn give_many(&mut self, commands: u32) {
        self.commands += commands;
    }

    /// It has answered so many.
    #[inline]
    pub fn answered(&mut self, commands: u32) {
        self.commands -= commands;
        self.flushes_alone &= self.commands > 0;
    }

    /// It has forgotten all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::Drive;
    use crate::profile::Profile;
    use proptest::prelude::*;

    const SATA: &str = include_str!("../../../drives/wd40efax.toml");

    fn drive(queued_flush: bool) -> Drive {
        let mut profile = Profile::parse(SATA).unwrap();
        profile.interface.queued_flush = queued_flush;
        Drive::new(&profile, 1)
    }

    proptest! {
        /// However many come and go, no more are there than the queue has room for, and a flush is there alone if it has to be.
        #[test]
        fn a_flush_stands_alone_where_it_is_no_queued_command(
            queued_flush in any::<bool>(),
            steps in prop::collection::vec((any::<bool>(), prop::bool::weighted(0.2)), 1..200),
        ) {
            let drive = drive(queued_flush);
            let (mut given, mut there) = (Given::default(), Vec::new());
            for (comes, flush) in steps {
                let verb = if flush { Verb::Flush } else { Verb::Read };
                if !comes {
                    given.answered(u32::from(there.pop().is_some()));
                } else if given.leaves_room_for(verb, &drive) {
                    given.give(verb, &drive);
                    there.push(verb);
                } else {
                    let alone = !queued_flush && (verb == Verb::Flush || there.contains(&Verb::Flush));
                    prop_assert!(!there.is_empty() && alone || there.len() == 32, "{:?} is refused beside {:?}", verb, there);
                }
                prop_assert!(queued_flush || there.len() <= 1 || !there.contains(&Verb::Flush));
                prop_assert_eq!(given.commands() as usize, there.len());
            }
        }
    }

    /// SATA's is none unless the profile says so; USB's is one.
    #[test]
    fn a_flush_is_a_queued_command_where_the_profile_or_a_bridge_makes_it_one() {
        let flushes_alone = |text: String| Drive::new(&Profile::parse(&text).unwrap(), 1).flushes_alone();
        let with = |keys: &str| SATA.replace("[interface]\n", &format!("[interface]\n{keys}"));
        let key = |name: &str, value: &str| format!("{name} = {{ value = {value}, origin = \"assumed: a test\" }}\n");
        let bridge = [("bridge_us", "50"), ("max_transfer_bytes", "122_880"), ("bridge_queue", "1")];
        assert!(flushes_alone(SATA.to_owned()));
        assert!(!flushes_alone(with(&key("queued_flush", "true"))));
        let bridged = bridge.map(|(name, value)| key(name, value)).concat();
        assert!(!flushes_alone(with(&bridged)));
        assert!(flushes_alone(with(&(bridged + &key("queued_flush", "false")))));
    }
}
