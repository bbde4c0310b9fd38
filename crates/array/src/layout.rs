//! The names of array layouts, how many members each needs and how many losses it survives.

use std::str::FromStr;

use thiserror::Error;

/// A layout by the name that people use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Linux md: stripes without redundancy.
    Raid0,
    /// Linux md: the same on every member.
    Raid1,
    /// Linux md: copies and stripes.
    Raid10,
    /// Linux md: one parity, rotated.
    Raid5,
    /// Linux md: two parities, rotated.
    Raid6,
    /// ZFS: the same on every member.
    Mirror,
    /// ZFS: 1, 2 or 3 parities in stripes of variable width.
    Raidz(u8),
    /// ZFS: 1, 2 or 3 parities in declustered groups.
    Draid(u8),
}

/// Why an array cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// There is no such layout.
    #[error("`{name}` is not a layout: there are {}", Layout::NAMES.join(", "))]
    Unknown {
        /// As given.
        name: String,
    },
    /// Too few or too many members.
    #[error("{layout} of {width} members cannot be: it takes {least} or more")]
    Width {
        /// Which.
        layout: &'static str,
        /// As given.
        width: usize,
        /// What it takes.
        least: usize,
    },
    /// A value that cannot be, or contradicts another.
    #[error("`{key}` is {value}: {reason}")]
    Value {
        /// Which.
        key: &'static str,
        /// As given.
        value: String,
        /// Why it cannot be.
        reason: String,
    },
}

impl LayoutError {
    /// For a value that cannot be.
    pub fn value(key: &'static str, value: impl ToString, reason: impl ToString) -> Self {
        Self::Value { key, value: value.to_string(), reason: reason.to_string() }
    }

    /// For a size that cannot be, as people write one.
    pub fn size(key: &'static str, bytes: u64, reason: impl ToString) -> Self {
        Self::value(key, as_typed(bytes), reason)
    }

    /// For a time that cannot be, as people write one.
    pub fn duration(key: &'static str, duration_ns: u64, reason: impl ToString) -> Self {
        Self::value(key, format!("{}s", duration_ns as f64 / 1e9), reason)
    }
}

/// The largest first.
const UNITS: [(u64, &str); 8] = [
    (1 << 40, "TiB"),
    (1_000_000_000_000, "TB"),
    (1 << 30, "GiB"),
    (1_000_000_000, "GB"),
    (1 << 20, "MiB"),
    (1_000_000, "MB"),
    (1 << 10, "KiB"),
    (1_000, "kB"),
];

/// `4MiB`, `500MB`, or `5 bytes` where no unit divides it.
fn as_typed(bytes: u64) -> String {
    let unit = UNITS.iter().find(|(unit, _)| bytes > 0 && bytes % unit == 0);
    unit.map_or_else(|| format!("{bytes} bytes"), |(unit, name)| format!("{}{name}", bytes / unit))
}

impl Layout {
    /// Every name, as on the command line.
    pub const NAMES: [&'static str; 12] = [
        "raid0", "raid1", "raid10", "raid5", "raid6", "mirror", "raidz1", "raidz2", "raidz3", "draid1", "draid2",
        "draid3",
    ];

    /// The name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Raid0 => "raid0",
            Self::Raid1 => "raid1",
            Self::Raid10 => "raid10",
            Self::Raid5 => "raid5",
            Self::Raid6 => "raid6",
            Self::Mirror => "mirror",
            Self::Raidz(parity) => ["raidz1", "raidz2", "raidz3"][usize::from(parity - 1).min(2)],
            Self::Draid(parity) => ["draid1", "draid2", "draid3"][usize::from(parity - 1).min(2)],
        }
    }

    /// The fewest members that it can be made of.
    pub fn least_width(self) -> usize {
        match self {
            // mdadm makes a RAID5 of two, which is a mirror by another name; of one drive it makes nothing unless forced.
            Self::Raid0 | Self::Raid1 | Self::Raid10 | Self::Raid5 | Self::Mirror => 2,
            Self::Raid6 => 4,
            Self::Raidz(parity) | Self::Draid(parity) => usize::from(parity) + 1,
        }
    }

    /// Refuses a number of members that the layout cannot be made of.
    ///
    /// # Errors
    /// [`LayoutError::Width`].
    pub fn check_width(self, width: usize) -> Result<(), LayoutError> {
        let least = self.least_width();
        if width < least {
            return Err(LayoutError::Width { layout: self.name(), width, least });
        }
        Ok(())
    }
}

impl FromStr for Layout {
    type Err = LayoutError;

    fn from_str(name: &str) -> Result<Self, LayoutError> {
        Ok(match name {
            "raid0" => Self::Raid0,
            "raid1" => Self::Raid1,
            "raid10" => Self::Raid10,
            "raid5" => Self::Raid5,
            "raid6" => Self::Raid6,
            "mirror" => Self::Mirror,
            "raidz1" => Self::Raidz(1),
            "raidz2" => Self::Raidz(2),
            "raidz3" => Self::Raidz(3),
            "draid1" => Self::Draid(1),
            "draid2" => Self::Draid(2),
            "draid3" => Self::Draid(3),
            _ => return Err(LayoutError::Unknown { name: name.to_owned() }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Layout;

    #[test]
    fn every_name_is_a_layout_of_that_name() {
        for name in Layout::NAMES {
            assert_eq!(name.parse::<Layout>().unwrap().name(), name);
        }
        assert!("raid7".parse::<Layout>().unwrap_err().to_string().contains("raid0, raid1"));
    }

    #[test]
    fn a_layout_has_as_many_members_as_it_needs() {
        assert!("raid6".parse::<Layout>().unwrap().check_width(4).is_ok());
        let refusal = "raid6".parse::<Layout>().unwrap().check_width(3).unwrap_err();
        assert_eq!(refusal.to_string(), "raid6 of 3 members cannot be: it takes 4 or more");
        assert!("raidz3".parse::<Layout>().unwrap().check_width(3).is_err());
    }
}
