//! Requests that are answered when data is durable.

use crate::buffer::Dirty;
use crate::range::Range;
use crate::request::Request;

/// A request that is answered when data is durable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Durable {
    pub tag: u32,
    pub arrived: u64,
    pub need: Need,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Need {
    /// A write through the cache: this range, as it was after this write. What is written there later is no concern.
    Range(Range, u64),
    /// A flush: everything up to this write.
    UpTo(u64),
}

impl Need {
    /// Whether what becomes durable within a range may be what was missing.
    pub fn is_met_within(&self, range: &Range) -> bool {
        match self {
            Self::Range(needed, _) => needed.overlaps(range),
            Self::UpTo(_) => true,
        }
    }
}

impl Durable {
    pub fn awaits(&self, range: &Range) -> bool {
        matches!(&self.need, Need::Range(needed, _) if needed.overlaps(range))
    }

    pub fn of(request: &Request, range: Range, about: &Dirty) -> Self {
        Self { tag: request.tag, arrived: about.arrived, need: Need::Range(range, about.sequence) }
    }

    /// The range that a write waits for, if it is one.
    pub fn range(&self) -> Option<&Range> {
        match &self.need {
            Need::Range(range, _) => Some(range),
            Need::UpTo(_) => None,
        }
    }

    pub fn ends_by(&self, sector: u64) -> bool {
        self.range().is_some_and(|range| range.end <= sector)
    }
}
