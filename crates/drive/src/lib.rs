//! One hard drive in virtual time: geometry, mechanics, DRAM cache, command queue, translation layers.
//!
//! In reading order: [`request`](BlockDevice) is the surface to the host, `profile` the parameters, `drive` the state
//! machine, `bridge` what may stand before it, `given` what a host may give it at a time, `reads` and `writes` what happens to a request, `forward` a short cut past
//! many, `ahead`, `buffer` (with its `footprint`), `queue` and `sweep` what they keep, `passing` and `power` what of that survives, `mechanics`, `geometry` and
//! `clock` the platters underneath. [`faults`] are wrappers around any device.

mod ages;
mod ahead;
mod answers;
mod bridge;
mod buffer;
mod clock;
mod drive;
pub mod faults;
#[cfg(test)]
mod first;
mod footprint;
mod forward;
mod geometry;
mod given;
mod line;
mod mechanics;
mod passing;
mod power;
mod profile;
mod queue;
mod range;
mod reads;
mod request;
#[cfg(test)]
mod shadow;
mod shingled;
mod sweep;
mod toml_fault;
mod truth;
mod work;
mod writes;

pub use drive::Drive;
pub use given::Given;
pub use line::line_of;
pub use profile::{
    BridgeProfile, CachePlace, CacheProfile, CleaningDriven, CleaningOrder, CleaningProfile, CleaningWhen, DramProfile,
    EntryCounts, FlashProfile, GeometryProfile, IdentityStrings, InterfaceProfile, Lacking, Mapping, MechanicsProfile,
    Profile, ProfileError, Protocol, QueueOrder, QueueProfile, SeekCurve, ShingledProfile, StreamsProfile,
};
pub use request::{BlockDevice, Completion, Forwarded, Lost, Reads, Request, Status, Verb, Writes, SECTOR_BYTES};
pub use toml_fault::TomlFault;
pub use truth::Truth;
