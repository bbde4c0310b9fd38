//! How far a rebuild was at each moment, and when it would have said that it will be over.

/// One look at a rebuild.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Since the rebuild began, in nanoseconds.
    pub at_ns: u64,
    /// Bytes of the replacement that are rebuilt.
    pub done_bytes: u64,
    /// Bytes a second, as the rebuild's own status would have shown them.
    pub shown_bytes_per_s: f64,
    /// What it would have said is left; `None` where it would have said nothing.
    pub left_ns: Option<u64>,
}

/// Looks at a rebuild in the order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// All of them.
    pub points: Vec<Point>,
}
