//! The parameters of one modelled drive, each with its origin. The format is described in `docs/profiles.md`.

mod check;
mod error;
mod origin;
mod parse;
mod scale;
mod section;

use std::collections::BTreeMap;

use serde::Serialize;

pub(crate) use error::{alike, known_here, short};
pub use error::{Lacking, ProfileError};

/// A modelled drive's parameters. Made by [`Profile::parse`], so always consistent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    /// Short name, as in `model:NAME`.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// By how much the drive was made smaller; 1 for the drive as it is.
    pub scale_divisor: u32,
    /// What the drive says it is.
    pub identity: IdentityStrings,
    /// Platters and tracks.
    pub geometry: GeometryProfile,
    /// The arm.
    pub mechanics: MechanicsProfile,
    /// The buffer.
    pub dram: DramProfile,
    /// The command queue.
    pub queue: QueueProfile,
    /// The link to the host.
    pub interface: InterfaceProfile,
    /// From the host's addresses to the platters; `None` for a conventional drive.
    pub shingled: Option<ShingledProfile>,
    /// The origin of every value, by full key.
    pub origins: BTreeMap<String, String>,
}

/// What a drive says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IdentityStrings {
    /// Vendor.
    pub vendor: String,
    /// Model number.
    pub model: String,
    /// Firmware revision.
    pub firmware: String,
    /// What the serial numbers of this model begin with here.
    pub serial_prefix: String,
}

/// Platters, zones, tracks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GeometryProfile {
    /// Usable bytes, a multiple of 4096.
    pub capacity_bytes: u64,
    /// Turns a minute.
    pub rpm: f64,
    /// Surfaces.
    pub heads: u64,
    /// What the platters are written in: 512 or 4096 bytes.
    pub physical_sector_bytes: u64,
    /// Bytes of an outermost track.
    pub outer_track_bytes: u64,
    /// Bytes of an innermost track.
    pub inner_track_bytes: u64,
    /// Recording zones, each with tracks of one size.
    pub zones: u64,
    /// Angle between the ends of one track and the start of the next in the same cylinder.
    pub track_skew_degrees: f64,
    /// The same from one cylinder to the next.
    pub cylinder_skew_degrees: f64,
}

/// How the time of a seek follows from its distance.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SeekCurve {
    /// `single + a sqrt(x) + b x` through the three figures of a data sheet; `average` is a third of the stroke.
    Points {
        /// To the next cylinder.
        single_track_ms: f64,
        /// Over a third of the stroke.
        average_ms: f64,
        /// From edge to edge.
        full_stroke_ms: f64,
    },
    /// Pairs of (share of the full stroke, ms), straight lines between them.
    Table(Vec<[f64; 2]>),
}

/// The arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MechanicsProfile {
    /// Seek time by distance.
    pub seek: SeekCurve,
    /// What a write needs beyond a read after every movement.
    pub write_settle_ms: f64,
    /// From one surface to another.
    pub head_switch_ms: f64,
    /// Silence after which the heads are parked; 0: never.
    pub park_after_s: f64,
    /// From the ramp back to a track.
    pub unpark_ms: f64,
    /// Silence after which the platters are stopped; 0: never.
    pub spin_down_after_s: f64,
    /// From standstill to a track.
    pub spin_up_s: f64,
}

/// The drive's buffer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DramProfile {
    /// Whether a write is acknowledged once it is in the buffer.
    pub write_back: bool,
    /// Bytes that written data may take.
    pub write_bytes: u64,
    /// Separate dirty extents that the drive tracks.
    pub write_segments: u64,
    /// Most bytes that one destaging takes to the platter before others get a turn.
    pub destage_bytes: u64,
    /// Silence of the host after which destaging starts while the buffer is less than half full.
    pub destage_idle_ms: f64,
    /// How far the drive reads on past a read.
    pub read_ahead_bytes: u64,
    /// Separate ranges that the drive keeps from reading ahead.
    pub read_segments: u64,
}

/// In which order queued commands are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueOrder {
    /// Shortest positioning time first.
    Sptf,
    /// As they came.
    Fifo,
}

/// The command queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueProfile {
    /// Commands the drive accepts.
    pub depth: u64,
    /// Order of service.
    pub order: QueueOrder,
    /// A command that has waited this long is served next.
    pub starvation_ms: f64,
}

/// The link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InterfaceProfile {
    /// Bytes a microsecond.
    pub rate_mb_s: f64,
    /// From the command's arrival to the drive working on it, the share of a bridge that is not described included.
    pub overhead_us: f64,
    /// In what the host speaks to it.
    pub protocol: Protocol,
    /// What stands between host and drive, if anything does.
    pub bridge: Option<BridgeProfile>,
}

/// In what a host speaks to a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// SATA. A flush is none of the queued commands, and Linux has no single write forced to the medium (`libata.fua=0`).
    Ata,
    /// SAS, and USB.
    Scsi,
}

/// A USB bridge, or another transport that passes commands on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BridgeProfile {
    /// What it adds to each command that it passes on.
    pub bridge_us: f64,
    /// Larger requests are cut into commands of so many bytes.
    pub max_transfer_bytes: u64,
    /// Commands that it has under way at a time; 1 for bulk-only transport.
    pub bridge_queue: u64,
}

/// What one entry of the persistent cache's map stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryCounts {
    /// One write of the host.
    Write,
    /// One packet of the log.
    Packet,
}

/// When bands are cleaned without need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CleaningWhen {
    /// Whenever something is cached and the host is silent.
    Aggressive,
    /// Only above the high mark, down to the low one.
    Lazy,
}

/// What lets cleaning begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CleaningDriven {
    /// The host's silence.
    Idle,
    /// What is cached: cleaning takes turns with the host.
    Pressure,
}

/// Which band is cleaned next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CleaningOrder {
    /// The band that has been dirty longest.
    Fifo,
    /// The band with most entries.
    MostDirty,
}

/// Where bands lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mapping {
    /// Each at its own place for ever: it is rewritten there.
    Static,
    /// A band that is cleaned is written to a spare one of the same size, which it takes the place of.
    Dynamic {
        /// Spare bands in every recording zone.
        spare_bands: u64,
    },
}

/// The shingled translation layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShingledProfile {
    /// Tracks in a band; its bytes follow from the surface.
    pub tracks_per_band: u64,
    /// Whether bands keep their place.
    pub mapping: Mapping,
    /// The persistent cache.
    pub cache: CacheProfile,
    /// Its cleaning.
    pub cleaning: CleaningProfile,
    /// Streams that bypass it.
    pub streams: StreamsProfile,
}

/// Where the persistent cache lies.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CachePlace {
    /// In front of the bands, at the outer diameter.
    Outer,
    /// Behind the bands, at the inner diameter.
    Inner,
    /// In several places; what is written goes to the one nearest its band.
    Spread {
        /// How many, evenly over the bands.
        regions: u64,
    },
    /// In flash memory.
    Flash(FlashProfile),
}

/// Flash memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlashProfile {
    /// What a read costs beyond its data.
    pub flash_read_us: f64,
    /// What a packet costs beyond its data.
    pub flash_write_us: f64,
    /// Bytes a microsecond, both ways.
    pub flash_rate_mb_s: f64,
}

/// The persistent cache: a circular log, or several.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheProfile {
    /// Where it lies.
    pub place: CachePlace,
    /// Bytes of the log, of all its places together.
    pub bytes: u64,
    /// Entries of its map.
    pub entries: u64,
    /// Packets with something of worth, if they are limited beside the entries.
    pub packets: Option<u64>,
    /// What an entry stands for.
    pub entry_counts: EntryCounts,
    /// Most bytes of data in a packet. A visit to the log needs room for a packet of this size at least, however little
    /// it brings: it takes along what arrives meanwhile, as far as that surely fits. So a cache that is limited by its
    /// bytes is full for a small write up to so many bytes before its end.
    pub packet_bytes: u64,
    /// Most host writes in a packet.
    pub packet_writes: u64,
    /// Least share of a track (of the outermost of the log) that a packet occupies.
    pub packet_tracks: f64,
    /// Turns that each packet costs beyond passing over its space: its header.
    pub packet_turns: f64,
    /// Turns that each visit to the log costs before its first packet: finding the place, committing the map.
    pub append_turns: f64,
    /// Turns that a visit right behind another costs beyond that: its place has just passed under the heads.
    pub follow_turns: f64,
    /// Space in the log that each visit takes beyond its packets, as a share of an outermost track.
    pub append_tracks: f64,
    /// Visits right behind another are one append up to so many bytes: recorded once, counted once; 0: each is one.
    pub append_bytes: u64,
    /// Visits after which the map is written out; 0: never.
    pub journal_every: u64,
    /// How long that takes.
    pub journal_ms: f64,
    /// After a loss of power: how long each visit since the map was last written out takes to be replayed.
    pub replay_ms: f64,
}

/// How cached data gets home.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CleaningProfile {
    /// When.
    pub when: CleaningWhen,
    /// By what.
    pub driven: CleaningDriven,
    /// In which order.
    pub order: CleaningOrder,
    /// Silence of the host before cleaning starts or goes on; 0 where it does not wait for that.
    pub idle_ms: f64,
    /// Silence of the host after which lazy cleaning starts below its mark, too; 0: never.
    pub rest_s: f64,
    /// Fill above which lazy cleaning starts (share of entries or bytes, whichever is fuller).
    pub high_mark: f64,
    /// Fill at which lazy cleaning stops.
    pub low_mark: f64,
    /// Bands cleaned by one pass.
    pub bands_per_pass: u64,
    /// Silence that is enough once there was no room, until the fill is down to `full_until`; 0: as ever.
    pub full_idle_ms: f64,
    /// Fill (share of entries or bytes, whichever is fuller) down to which that is so.
    pub full_until: f64,
    /// Whether a band that is being cleaned is finished before the host is served again.
    pub finishes_band: bool,
    /// Whether a phase is, and a band only as long as the cache counts as full.
    pub finishes_phase: bool,
    /// Who had to wait for room waits until one visit to the log has room for so many bytes, or for its own packets
    /// at their largest if that is more; 0: for those.
    pub room_bytes: u64,
    /// Appends to the log that the host gets from one forced pass to the next, once there was no room; 0: as many as
    /// find room.
    pub ration_appends: u64,
    /// Fill (share of entries or bytes, whichever is fuller) at which rationing ends.
    pub ration_until: f64,
    /// Bands of a pass that comes between appends, which then are rationed only where the host has not paused; 0: as any
    /// pass.
    pub ration_bands: u64,
    /// Turns to collect one packet from the log.
    pub collect_turns: f64,
    /// Bytes merged at a time in DRAM.
    pub merge_bytes: u64,
    /// Whether merged data is written to a place of its own before it goes home.
    pub merge_on_disk: bool,
    /// Whether a phase is read and put aside in whole, what the cache holds included.
    pub merge_whole: bool,
    /// Turns that putting aside costs beyond its data.
    pub merge_turns: f64,
}

/// Detection of sequential streams.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamsProfile {
    /// Streams followed at a time; 0: none is ever detected.
    pub tracked: u64,
    /// Writes smaller than this belong to no stream.
    pub min_request_bytes: u64,
    /// A stream bypasses the cache from this many bytes on.
    pub min_run_bytes: u64,
    /// Whether writes that must be durable before they are answered may bypass it, too.
    pub durable: bool,
}

impl Profile {
    /// Usable bytes.
    pub fn capacity_bytes(&self) -> u64 {
        self.geometry.capacity_bytes
    }

    /// Turns a minute.
    pub fn rpm(&self) -> f64 {
        self.geometry.rpm
    }

    /// Commands that a host can have in flight: what the drive accepts, or what a bridge in front of it passes on.
    pub fn queue_depth(&self) -> u32 {
        self.interface.bridge.as_ref().map_or(self.queue.depth, |bridge| bridge.bridge_queue) as u32
    }
}

impl ShingledProfile {
    /// Whole bands in a recording zone of mean size, were its tracks outermost ones.
    pub(crate) fn bands_per_zone(&self, geometry: &GeometryProfile) -> u64 {
        geometry.capacity_bytes / geometry.zones / (self.tracks_per_band * geometry.outer_track_bytes)
    }

    /// As many bands as a recording zone has to have: more than half of them are no spare ones.
    pub(crate) fn least_bands_per_zone(&self) -> u64 {
        match self.mapping {
            Mapping::Dynamic { spare_bands } => 2 * spare_bands + 1,
            Mapping::Static => 0,
        }
    }

    /// Spare bands in each recording zone.
    pub(crate) fn spare_bands(&self) -> u64 {
        match self.mapping {
            Mapping::Dynamic { spare_bands } => spare_bands,
            Mapping::Static => 0,
        }
    }
}
