//! What the heads are at.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// A read, whose completion is already due.
    Read,
    /// Data from DRAM, kept in `in_flight`, on its way to the platters.
    Destage,
    /// One operation of cleaning a band.
    Clean,
    /// Nothing, for want of power, or until the drive has started.
    Start,
}

/// What came of looking for work for idle heads.
pub(crate) enum Choice {
    /// The heads are busy now.
    Busy,
    /// Nothing to do before this tick.
    Rest(Option<u64>),
}
