//! Faults from TOML, as `docs/faults.md` describes them.

use toml::{Table, Value};

use super::entry::Entry;
use super::error::FaultsError;
use super::{Gone, LatentSectors, PowerLoss, Schedule, Stall, Timeout};
use crate::request::{BlockDevice, SECTOR_BYTES};
use crate::toml_fault::TomlFault;

const FORMAT_VERSION: i64 = 1;

const SHORTEST_S: f64 = 1e-9;

/// Of a device that never comes back.
const FOR_GOOD_S: f64 = f64::INFINITY;

/// Faults, the one that is nearest to the device first.
#[derive(Clone, Debug, PartialEq)]
pub struct Faults {
    kinds: Vec<Kind>,
    /// Their times count from then.
    zero_ns: u64,
}

/// One entry. Times are in seconds of virtual time.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    LatentSectors {
        /// Pairs of the first sector and how many.
        sectors: Vec<[u64; 2]>,
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
        let root: Table =
            text.parse().map_err(|error| FaultsError::Syntax { reason: TomlFault::new(text, &error).told })?;
        if let Some(key) = root.keys().find(|key| !matches!(key.as_str(), "format_version" | "faults")) {
            let known = ["format_version", "faults"].map(str::to_owned).to_vec();
            return Err(FaultsError::Unknown { key: key.clone(), known });
        }
        let needed = |key: &str| root.get(key).ok_or(FaultsError::Missing { key: key.to_owned() });
        match needed("format_version")? {
            Value::Integer(FORMAT_VERSION) => {}
            other => return Err(FaultsError::value("format_version", other, "this version reads format 1")),
        }
        let faults = match needed("faults")? {
            Value::Array(list) => list.iter().enumerate(),
            other => return Err(FaultsError::value("faults", other, "a list of tables is expected")),
        };
        let kinds = faults.map(|(index, fault)| Kind::read(Entry::new(index, fault)?)).collect::<Result<_, _>>()?;
        Ok(Self { kinds, zero_ns: 0 })
    }

    /// The same, their times counted from `zero_ns` on instead of from when the device was made.
    #[must_use]
    pub fn counted_from(&self, zero_ns: u64) -> Self {
        Self { kinds: self.kinds.clone(), zero_ns }
    }

    /// The device with all of the faults around it.
    ///
    /// # Errors
    /// When a fault is about a sector that the device does not have.
    pub fn wrap(&self, device: impl BlockDevice + Send + 'static) -> Result<Box<dyn BlockDevice + Send>, FaultsError> {
        let mut device: Box<dyn BlockDevice + Send> = Box::new(device);
        for (index, fault) in self.kinds.iter().enumerate() {
            device = fault.wrap(device, self.zero_ns, &format!("faults[{index}]"))?;
        }
        Ok(device)
    }

    /// When the device is gone in such a way that a host which can be told is told.
    pub fn unplugged(&self) -> Vec<Schedule> {
        let unplugged = self.kinds.iter().filter(|fault| matches!(fault, Kind::Gone { unplugged: true, .. }));
        unplugged.map(|fault| fault.schedule(self.zero_ns)).collect()
    }
}

impl Kind {
    fn read(mut entry: Entry) -> Result<Self, FaultsError> {
        let word = entry.text("kind")?;
        let kind = match word {
            "latent-sectors" => Self::LatentSectors {
                sectors: entry.ranges("sectors")?,
                from_s: entry.optional_seconds("from_s", 0.0)?.unwrap_or(0.0),
                retry_s: entry.seconds("retry_s", 0.0)?,
            },
            "stall" | "timeout" | "gone" | "power-loss" => Self::read_window(word, &mut entry)?,
            _ => {
                let known = "one of latent-sectors, stall, timeout, gone, power-loss is expected";
                return Err(entry.wrong("kind", format!("\"{word}\""), known));
            }
        };
        entry.finish().map(|()| kind)
    }

    fn read_window(word: &str, entry: &mut Entry) -> Result<Self, FaultsError> {
        let from_s = entry.seconds("from_s", 0.0)?;
        let for_s = match word {
            "gone" => entry.optional_seconds("for_s", SHORTEST_S)?.unwrap_or(FOR_GOOD_S),
            _ => entry.seconds("for_s", SHORTEST_S)?,
        };
        let every_s = entry.optional_seconds("every_s", SHORTEST_S)?;
        if let Some(every_s) = every_s.filter(|_| for_s == FOR_GOOD_S) {
            return Err(entry.wrong("every_s", every_s, "without `for_s` it is gone for good"));
        }
        if let Some(every_s) = every_s.filter(|every_s| *every_s <= for_s) {
            return Err(entry.wrong("every_s", every_s, &format!("not longer than the fault itself ({for_s} s)")));
        }
        Ok(match word {
            "stall" => Self::Stall { from_s, for_s, every_s },
            "timeout" => Self::Timeout {
                from_s,
                for_s,
                every_s,
                one_in: entry.optional_count("one_in", "1 (every command) or more is expected")?,
                answer_after_s: entry.optional_seconds("answer_after_s", 0.0)?,
            },
            "gone" => Self::Gone { from_s, for_s, every_s, unplugged: entry.flag("unplugged")? },
            _ => Self::PowerLoss { from_s, for_s, every_s },
        })
    }

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

    fn schedule(&self, zero_ns: u64) -> Schedule {
        let (from_s, for_s, every_s) = self.window().unwrap_or((0.0, 0.0, None));
        Schedule { from_ns: zero_ns.saturating_add(ns(from_s)), for_ns: ns(for_s), every_ns: every_s.map(ns) }
    }

    fn wrap(
        &self,
        device: Box<dyn BlockDevice + Send>,
        zero_ns: u64,
        name: &str,
    ) -> Result<Box<dyn BlockDevice + Send>, FaultsError> {
        let schedule = self.schedule(zero_ns);
        Ok(match self {
            Self::LatentSectors { sectors, from_s, retry_s } => {
                let ranges = sectors.iter().map(|[first, count]| *first..*first + *count);
                let held = device.capacity_bytes() / SECTOR_BYTES;
                if let Some(beyond) = ranges.clone().find(|range| range.end > held) {
                    let reason = format!("the device has {held} sectors");
                    return Err(FaultsError::value(&format!("{name}.sectors"), format!("{beyond:?}"), &reason));
                }
                let from_ns = zero_ns.saturating_add(ns(*from_s));
                Box::new(LatentSectors::around(device, ranges, from_ns, ns(*retry_s)))
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

/// The end of time for what lasts for good.
fn ns(s: f64) -> u64 {
    (s * 1e9).round() as u64
}
