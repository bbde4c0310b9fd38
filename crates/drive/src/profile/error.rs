//! What can be wrong with a profile.

use thiserror::Error;
use toml::{Table, Value};

/// Why a profile is refused. `key` is the full key, such as `geometry.rpm`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    /// The text is not TOML.
    #[error("the profile is not valid TOML: {reason}")]
    Syntax {
        /// What the TOML reader says, with line and column.
        reason: String,
    },
    /// A whole number that TOML has no room for, wherever it stands.
    #[error("a number of the profile is too large for TOML: {reason}")]
    TooLarge {
        /// What it is, with line and column.
        reason: String,
    },
    /// A key that every profile of this kind needs is not there.
    #[error("`{key}` is missing: {reason}")]
    Missing {
        /// What it would be.
        lacking: Lacking,
        /// The key.
        key: String,
        /// What belongs there.
        reason: String,
    },
    /// A key that no part of the model knows.
    #[error("`{key}` is not a known key{}", known_here(.key, .known))]
    Unknown {
        /// The key.
        key: String,
        /// The keys known at this place.
        known: Vec<String>,
    },
    /// A key or a table that only belongs to other values of another key.
    #[error("`{key}` does not belong here: {reason}")]
    Misplaced {
        /// The key.
        key: String,
        /// Where it belongs.
        reason: String,
    },
    /// A value has no origin, or one of no known kind.
    #[error("`{key}` has no usable origin: {reason}")]
    Origin {
        /// The key.
        key: String,
        /// What is wrong with its origin.
        reason: String,
    },
    /// A value of the wrong type, an absurd one, or one that contradicts another.
    #[error("`{key}` is {value}: {reason}")]
    Value {
        /// The key.
        key: String,
        /// The value as found.
        value: String,
        /// Why it cannot be.
        reason: String,
    },
}

/// What is not there: how it is written follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// Of the file, not of the drive: without an origin.
    Label,
    /// A table.
    Table,
    /// A value with its origin.
    Value,
}

pub(crate) fn known_here(key: &str, known: &[String]) -> String {
    match meant(key, known) {
        Some(meant) => format!("; did you mean `{meant}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; known here: {}", known.join(", ")),
    }
}

/// The known key that may have been meant.
fn meant<'a>(key: &str, known: &'a [String]) -> Option<&'a String> {
    known.iter().find(|each| alike(last(each), last(key)))
}

/// A key without its tables.
fn last(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// Whether one key may be the other, misspelt: two slips of the finger, in a short word one. No two keys of a table are
/// as near.
pub(crate) fn alike(one: &str, other: &str) -> bool {
    strsim::damerau_levenshtein(one, other) <= (one.len().min(other.len()) / 2).min(2)
}

/// The full key of what has the name of `wrong`, and stands in another table than it.
fn held_as(wrong: &str, table: &Table, path: &str) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        let full = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match value {
            _ if full != wrong && key == last(wrong) => Some(full),
            Value::Table(inner) if !inner.contains_key("value") => held_as(wrong, inner, &full),
            _ => None,
        }
    })
}

/// A value as it is, but for a number of hundreds of digits and whatever else is longer than a line.
pub(crate) fn short(value: impl ToString) -> String {
    const LONGEST_NUMBER: usize = 24;
    const LONGEST: usize = 60;
    let value = value.to_string();
    match (value.parse::<f64>(), value.char_indices().nth(LONGEST)) {
        (Ok(number), _) if value.len() > LONGEST_NUMBER => format!("{number:e}"),
        (_, Some((end, _))) => format!("{}...", &value[..end]),
        _ => value,
    }
}

impl ProfileError {
    /// The key that is wrong; `None` when the text is not TOML at all.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Syntax { .. } | Self::TooLarge { .. } => None,
            Self::Missing { key, .. }
            | Self::Unknown { key, .. }
            | Self::Misplaced { key, .. }
            | Self::Origin { key, .. }
            | Self::Value { key, .. } => Some(key),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Syntax { .. } => "a text stands in quotes, a key once in its table".to_owned(),
            Self::TooLarge { .. } => format!("the largest that a profile can hold is {}", i64::MAX),
            Self::Missing { key, lacking: Lacking::Label, .. } => {
                format!("write `{key} = ...` above the tables, alone: it has no origin")
            }
            Self::Missing { key, lacking: Lacking::Table, .. } => {
                format!("write the table `[{key}]`, each of its values with an origin")
            }
            Self::Missing { key, lacking: Lacking::Value, .. } => {
                format!("write `{key}`, with its origin; `assumed: why` is one")
            }
            Self::Unknown { key, known } => match meant(key, known) {
                Some(meant) => format!("write `{meant}` for `{key}`"),
                None => format!("leave `{key}` out: no part of the model would read it"),
            },
            Self::Misplaced { key, .. } => format!("leave `{key}` out, or change what it is to belong to"),
            Self::Origin { key, .. } => {
                format!("`origin` says beside the value of `{key}` where that is from: `assumed: why`, if from nowhere")
            }
            Self::Value { key, .. } => format!("give `{key}` a value that can be, or change what it contradicts"),
        }
    }

    /// Of a key that is not known where it stands: with its place, if another table of the profile has one of its name.
    pub(super) fn elsewhere(self, root: &Table) -> Self {
        let Self::Unknown { key, known } = self else { return self };
        let known = held_as(&key, root, "").map_or(known, |place| vec![place]);
        Self::Unknown { key, known }
    }

    pub(super) fn missing(lacking: Lacking, key: &str, reason: &str) -> Self {
        Self::Missing { lacking, key: key.to_owned(), reason: reason.to_owned() }
    }

    pub(crate) fn value(key: &str, value: impl ToString, reason: impl Into<String>) -> Self {
        Self::Value { key: key.to_owned(), value: short(value), reason: reason.into() }
    }
}
