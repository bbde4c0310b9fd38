//! What a member is to a resilver.

/// What a member is to the resilver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It has what it should have.
    Good,
    /// It is being filled.
    Target,
    /// It is gone.
    Dead,
}
