//! Whether a member has what belongs on it.

/// What a member is to the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    InSync,
    /// Filled by the recovery under way.
    Rebuilding,
    Missing,
}
