//! What a host has given a device and has no answer to yet.

use crate::request::{BlockDevice, Verb};

/// How many commands, and whether a flush is among them that stands alone: a SATA drive's is none of its queued commands, so
/// Linux waits with it until the drive has nothing else, and with all else until it is answered (`ata_std_qc_defer`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    commands: u32,
    lone_flush: bool,
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
        let stands_alone = verb == Verb::Flush && device.speaks_ata();
        let most = if stands_alone { 1 } else { device.queue_depth() };
        self.commands < most && !self.lone_flush
    }

    /// The device is given one.
    #[inline]
    pub fn give(&mut self, verb: Verb, device: &(impl BlockDevice + ?Sized)) {
        self.commands += 1;
        self.lone_flush |= verb == Verb::Flush && device.speaks_ata();
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
        self.lone_flush &= self.commands > 0;
    }

    /// The host waits for one no more. Of what is queued the drive goes on, and keeps its place. A flush that stands alone ends with the
    /// reset of the link, and the drive takes others while it still does what the flush asked for.
    pub fn give_up(&mut self, verb: Verb, device: &(impl BlockDevice + ?Sized)) {
        if Self::is_dropped(verb, device) {
            self.answered(1);
        }
    }

    /// Does the device take others at once when one of this kind was given up?
    pub fn is_dropped(verb: Verb, device: &(impl BlockDevice + ?Sized)) -> bool {
        verb == Verb::Flush && device.speaks_ata()
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
    use crate::profile::{Profile, Protocol};
    use proptest::prelude::*;

    const SATA: &str = include_str!("../../../drives/wd40efax.toml");

    fn drive(protocol: Protocol) -> Drive {
        let mut profile = Profile::parse(SATA).unwrap();
        profile.interface.protocol = protocol;
        Drive::new(&profile, 1)
    }

    proptest! {
        /// However many come and go, no more are there than the queue has room for, and a flush is there alone if it has to be.
        #[test]
        fn a_flush_of_ata_stands_alone(
            ata in any::<bool>(),
            steps in prop::collection::vec((any::<bool>(), prop::bool::weighted(0.2)), 1..200),
        ) {
            let drive = drive(if ata { Protocol::Ata } else { Protocol::Scsi });
            let (mut given, mut there) = (Given::default(), Vec::new());
            for (comes, flush) in steps {
                let verb = if flush { Verb::Flush } else { Verb::Read };
                if !comes {
                    given.answered(u32::from(there.pop().is_some()));
                } else if given.leaves_room_for(verb, &drive) {
                    given.give(verb, &drive);
                    there.push(verb);
                } else {
                    let alone = ata && (verb == Verb::Flush || there.contains(&Verb::Flush));
                    prop_assert!(!there.is_empty() && alone || there.len() == 32, "{:?} is refused beside {:?}", verb, there);
                }
                prop_assert!(!ata || there.len() <= 1 || !there.contains(&Verb::Flush));
                prop_assert_eq!(given.commands() as usize, there.len());
            }
        }
    }

    #[test]
    fn who_does_not_say_otherwise_speaks_ata_and_behind_a_bridge_scsi() {
        let speaks_ata = |text: String| Drive::new(&Profile::parse(&text).unwrap(), 1).speaks_ata();
        let with = |keys: &str| SATA.replace("[interface]\n", &format!("[interface]\n{keys}"));
        let key = |name: &str, value: &str| format!("{name} = {{ value = {value}, origin = \"assumed: a test\" }}\n");
        let bridge = [("bridge_us", "50"), ("max_transfer_bytes", "122_880"), ("bridge_queue", "1")];
        assert!(speaks_ata(SATA.to_owned()));
        assert!(!speaks_ata(with(&key("protocol", "\"scsi\""))));
        let bridged = bridge.map(|(name, value)| key(name, value)).concat();
        assert!(!speaks_ata(with(&bridged)));
        assert!(speaks_ata(with(&(bridged + &key("protocol", "\"ata\"")))));
    }
}
