//! Why a job cannot be run.

use thiserror::Error;

/// A job file that cannot be run as it stands: which option of which section, and why.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("[{section}] {option}{}{value}: {reason}", if value.is_empty() { "" } else { "=" })]
pub struct JobError {
    /// The section the option stands in (`global` when it is inherited from there); empty where all of the file is meant.
    pub section: String,
    /// The option as it was written.
    pub option: String,
    /// Its value as it was written; empty where the fault is not in a value.
    pub value: String,
    /// What is wrong.
    pub reason: String,
    /// What to do next; may be empty.
    pub hint: String,
}
