//! Why a list of faults cannot be.

use thiserror::Error;

use crate::profile::{known_here, short};

/// Why a list of faults is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FaultsError {
    /// The text is not TOML.
    #[error("the list of faults cannot be read: {reason}")]
    Syntax {
        /// What the TOML reader says.
        reason: String,
    },
    /// A key that is needed is not there.
    #[error("`{key}` is missing")]
    Missing {
        /// The key.
        key: String,
    },
    /// A key that this kind of fault does not have.
    #[error("`{key}` is not a known key{}", known_here(.key, .known))]
    Unknown {
        /// The key.
        key: String,
        /// Those that are known at this place.
        known: Vec<String>,
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

impl FaultsError {
    /// The key that is wrong; `None` when the text is not TOML at all.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Syntax { .. } => None,
            Self::Missing { key } | Self::Unknown { key, .. } | Self::Value { key, .. } => Some(key),
        }
    }

    pub(super) fn value(key: &str, value: impl ToString, reason: &str) -> Self {
        Self::Value { key: key.to_owned(), value: short(value), reason: reason.to_owned() }
    }
}
