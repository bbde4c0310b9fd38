//! What can be wrong with a profile.

use thiserror::Error;

/// Why a profile is refused. `key` is the full key, such as `geometry.rpm`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    /// The text is not TOML.
    #[error("the profile is not valid TOML: {reason}")]
    Syntax {
        /// What the TOML reader says, with line and column.
        reason: String,
    },
    /// A key that every profile of this kind needs is not there.
    #[error("`{key}` is missing: {reason}")]
    Missing {
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

fn known_here(key: &str, known: &[String]) -> String {
    match meant(key, known) {
        Some(meant) => format!("; did you mean `{meant}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; known here: {}", known.join(", ")),
    }
}

/// The known key that may have been meant.
fn meant<'a>(key: &str, known: &'a [String]) -> Option<&'a String> {
    let written = key.rsplit('.').next().unwrap_or(key);
    known.iter().find(|each| alike(each, written))
}

/// Whether one key may be the other, misspelt: two slips of the finger. No two keys of a profile are as near.
pub(super) fn alike(one: &str, other: &str) -> bool {
    strsim::damerau_levenshtein(one, other) <= 2
}

/// A value as it is, but for a number of hundreds of digits.
pub(crate) fn short(value: impl ToString) -> String {
    const LONGEST: usize = 24;
    let value = value.to_string();
    match value.parse::<f64>() {
        Ok(number) if value.len() > LONGEST => format!("{number:e}"),
        _ => value,
    }
}

impl ProfileError {
    /// The key that is wrong; `None` when the text is not TOML at all.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Syntax { .. } => None,
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
            Self::Missing { key, .. } => format!("write `{key}`, with its origin; `assumed: why` is one"),
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

    pub(crate) fn value(key: &str, value: impl ToString, reason: impl Into<String>) -> Self {
        Self::Value { key: key.to_owned(), value: short(value), reason: reason.into() }
    }
}
