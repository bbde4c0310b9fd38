//! One hard drive in virtual time: geometry, mechanics, DRAM cache, command queue, translation layers.
//!
//! In reading order: [`request`](BlockDevice) is the surface to the host, `profile` the parameters, `drive` the state
//! machine, `reads` and `writes` what happens to a request, `ahead`, `buffer`, `queue` and `sweep` what they keep, `forward` a short cut,
//! `mechanics`,
//! `geometry` and `clock` the platters underneath.

mod ahead;
mod buffer;
mod clock;
mod drive;
mod forward;
mod geometry;
mod mechanics;
mod profile;
mod queue;
mod reads;
mod request;
#[cfg(test)]
mod shadow;
mod shingled;
mod sweep;
mod truth;
mod writes;

pub use drive::Drive;
pub use profile::{
    CacheProfile, CleaningOrder, CleaningProfile, CleaningWhen, DramProfile, EntryCounts, GeometryProfile,
    IdentityStrings, InterfaceProfile, MechanicsProfile, Profile, ProfileError, QueueOrder, QueueProfile, SeekCurve,
    ShingledProfile, StreamsProfile,
};
pub use request::{BlockDevice, Completion, Forwarded, Reads, Request, Status, Verb, SECTOR_BYTES};
pub use truth::Truth;
