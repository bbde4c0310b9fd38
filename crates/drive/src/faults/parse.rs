//! Faults from TOML, as `docs/faults.md` describes them.

use serde::Deserialize;
use thiserror::Error;

use super::{Gone, LatentSectors, PowerLoss, Schedule, Stall, Timeout};
use crate::request::{BlockDevice, SECTOR_BYTES};

const FORMAT_VERSION: u32 = 1;

/// Why a list of faults is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FaultsError {
    /// The text is not TOML, or has other keys or types than a list of faults.
    #[error("the list of faults cannot be read: {reason}")]
    Syntax {
        /// What the TOML reader says.
        reason: String,
    },
    /// A value that cannot be, or contradicts another.
    #[error("`{key}` is {value}: {reason}")]
    Value {
        /// The key, such as `faults[0].from_s`; faults are counted from 0.
        key: String,
        /// The value as found.
        value: String,
        /// Why it cannot be.
        reason: String,
    },
}

/// Faults, the one that is nearest to the device first.
#[derive(Clone, Debug, PartialEq)]
pub struct Faults(Vec<Kind>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format_version: u32,
    faults: Vec<Kind>,
}

/// One entry. Times are in seconds of virtual time since the device was made.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Kind {
    LatentSectors {
        /// Pairs of the first sector and how many.
        sectors: Vec<[u64; 2]>,
        #[serde(default)]
        from_s: f64,
        retry_s: f64,
    },
    Stall {
        from_s: f64,
        for_s: f64,
        every_s: Option<f64>,
    },
    Timeout {
        from_s: f64,
        for_s: f64,
        every_s: Option<f64>,
        one_in: Option<u64>,
        answer_after_s: Option<f64>,
    },
    Gone {
        from_s: f64,
        for_s: f64,
        every_s: Option<f64>,
        #[serde(default)]
        unplugged: bool,
    },
    PowerLoss {
        from_s: f64,
        for_s: f64,
        every_s: Option<f64>,
    },
}

impl Faults {
    /// Reads a list of faults from TOML text.
    ///
    /// # Errors
    /// A [`FaultsError`] that names what cannot be and says why.
    pub fn parse(text: &str) -> Result<Self, FaultsError> {
        let file: File = toml::from_str(text)
            .map_err(|error| FaultsError::Syntax { reason: error.to_string().trim_end().to_owned() })?;
        if file.format_version != FORMAT_VERSION {
            return Err(wrong("format_version", file.format_version, "this version reads format 1"));
        }
        for (index, fault) in file.faults.iter().enumerate() {
            fault.check(&format!("faults[{index}]"))?;
        }
        Ok(Self(file.faults))
    }

    /// The device with all of the faults around it.
    ///
    /// # Errors
    /// When a fault is about a sector that the device does not have.
    pub fn wrap(&self, device: impl BlockDevice + Send + 'static) -> Result<Box<dyn BlockDevice + Send>, FaultsError> {
        let mut device: Box<dyn BlockDevice + Send> = Box::new(device);
        for (index, fault) in self.0.iter().enumerate() {
            device = fault.wrap(device, &format!("faults[{index}]"))?;
        }
        Ok(device)
    }

    /// When the device is gone in such a way that a host which can be told is told.
    pub fn unplugged(&self) -> Vec<Schedule> {
        self.0.iter().filter(|fault| matches!(fault, Kind::Gone { unplugged: true, .. })).map(Kind::schedule).collect()
    }
}

impl Kind {
    /// Its window and how often that comes.
    fn window(&self) -> Option<(f64, f64, Option<f64>)> {
        match self {
            Self::LatentSectors { .. } => None,
            Self::Stall { from_s, for_s, every_s }
            | Self::Timeout { from_s, for_s, every_s, .. }
            | Self::Gone { from_s, for_s, every_s, .. }
            | Self::PowerLoss { from_s, for_s, every_s } => Some((*from_s, *for_s, *every_s)),
        }
    }

    fn schedule(&self) -> Schedule {
        let (from_s, for_s, every_s) = self.window().unwrap_or((0.0, 0.0, None));
        Schedule { from_ns: ns(from_s), for_ns: ns(for_s), every_ns: every_s.map(ns) }
    }

    fn check(&self, name: &str) -> Result<(), FaultsError> {
        if let Some((from_s, for_s, every_s)) = self.window() {
            seconds(name, "from_s", from_s, 0.0)?;
            seconds(name, "for_s", for_s, 1e-9)?;
            if let Some(every_s) = every_s {
                seconds(name, "every_s", every_s, 1e-9)?;
                if every_s <= for_s {
                    let reason = format!("not longer than the fault itself ({for_s} s)");
                    return Err(wrong(&format!("{name}.every_s"), every_s, &reason));
                }
            }
        }
        match self {
            Self::LatentSectors { sectors, from_s, retry_s } => {
                seconds(name, "from_s", *from_s, 0.0)?;
                seconds(name, "retry_s", *retry_s, 0.0)?;
                match sectors.iter().find(|[first, count]| *count == 0 || first.checked_add(*count).is_none()) {
                    Some(pair) => {
                        let reason = "pairs of the first sector and how many, at least 1, are expected";
                        Err(wrong(&format!("{name}.sectors"), format!("{pair:?}"), reason))
                    }
                    None => Ok(()),
                }
            }
            Self::Timeout { one_in: Some(0), .. } => {
                Err(wrong(&format!("{name}.one_in"), 0, "1 (every command) or more is expected"))
            }
            Self::Timeout { answer_after_s: Some(after_s), .. } => seconds(name, "answer_after_s", *after_s, 0.0),
            _ => Ok(()),
        }
    }

    fn wrap(
        &self,
        device: Box<dyn BlockDevice + Send>,
        name: &str,
    ) -> Result<Box<dyn BlockDevice + Send>, FaultsError> {
        let schedule = self.schedule();
        Ok(match self {
            Self::LatentSectors { sectors, from_s, retry_s } => {
                let ranges = sectors.iter().map(|[first, count]| *first..*first + *count);
                let held = device.capacity_bytes() / SECTOR_BYTES;
                if let Some(beyond) = ranges.clone().find(|range| range.end > held) {
                    let reason = format!("the device has {held} sectors");
                    return Err(wrong(&format!("{name}.sectors"), format!("{beyond:?}"), &reason));
                }
                Box::new(LatentSectors::around(device, ranges, ns(*from_s), ns(*retry_s)))
            }
            Self::Stall { .. } => Box::new(Stall::around(device, schedule)),
            Self::Timeout { one_in, answer_after_s, .. } => {
                Box::new(Timeout::around(device, schedule, one_in.unwrap_or(1), answer_after_s.map(ns)))
            }
            Self::Gone { .. } => Box::new(Gone::around(device, schedule)),
            Self::PowerLoss { .. } => Box::new(PowerLoss::around(device, schedule)),
        })
    }
}

fn ns(s: f64) -> u64 {
    (s * 1e9).round() as u64
}

fn wrong(key: &str, value: impl ToString, reason: &str) -> FaultsError {
    FaultsError::Value { key: key.to_owned(), value: value.to_string(), reason: reason.to_owned() }
}

fn seconds(name: &str, key: &str, value: f64, least: f64) -> Result<(), FaultsError> {
    // Three centuries; nanoseconds of more do not fit into 64 bits.
    if (least..=9e9).contains(&value) {
        return Ok(());
    }
    let reason = if least > 0.0 { "more than 0 and up to 9e9 s are possible" } else { "0..9e9 s are possible" };
    Err(wrong(&format!("{name}.{key}"), value, reason))
}
