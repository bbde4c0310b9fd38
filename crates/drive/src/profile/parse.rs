//! From TOML to a [`Profile`]: every value's type, bounds and origin.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::error::Lacking;
use super::section::{Bounds, Section};
use super::*;
use crate::geometry::BLOCK_BYTES;
use crate::toml_fault::TomlFault;

const FORMAT_VERSION: i64 = 1;

impl Profile {
    /// Reads a profile from TOML text.
    ///
    /// # Errors
    /// A [`ProfileError`] that names the first key that is missing, unknown, without origin, of the wrong type, absurd, or
    /// in contradiction to another, and says why.
    pub fn parse(toml: &str) -> Result<Self, ProfileError> {
        let root: Table = toml.parse().map_err(|error| syntax(toml, &error))?;
        Self::read(&root).map_err(|error| error.elsewhere(&root))
    }

    fn read(root: &Table) -> Result<Self, ProfileError> {
        check_root(root)?;
        let mut origins = BTreeMap::new();
        let origins_mut = &mut origins;
        let profile = Self {
            name: name(root)?,
            title: label(root, "title")?,
            scale_divisor: 1,
            identity: identity(root, origins_mut)?,
            geometry: geometry(root, origins_mut)?,
            mechanics: mechanics(root, origins_mut)?,
            dram: dram(root, origins_mut)?,
            queue: queue(root, origins_mut)?,
            interface: interface(root, origins_mut)?,
            shingled: translation(root, origins_mut)?,
            origins: BTreeMap::new(),
        };
        let profile = Self { origins, ..profile };
        profile.check()?;
        Ok(profile)
    }
}

fn syntax(toml: &str, error: &toml::de::Error) -> ProfileError {
    let fault = TomlFault::new(toml, error);
    if fault.is_too_large {
        return ProfileError::TooLarge { reason: fault.told };
    }
    ProfileError::Syntax { reason: fault.told }
}

fn check_root(root: &Table) -> Result<(), ProfileError> {
    const KNOWN: [&str; 10] = [
        "format_version",
        "name",
        "title",
        "identity",
        "geometry",
        "mechanics",
        "dram",
        "queue",
        "interface",
        "translation",
    ];
    if let Some(key) = root.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Err(ProfileError::Unknown { key: key.clone(), known: KNOWN.map(str::to_owned).to_vec() });
    }
    match root.get("format_version") {
        Some(Value::Integer(FORMAT_VERSION)) => Ok(()),
        Some(other) => Err(ProfileError::value("format_version", other, "this version reads format 1")),
        None => Err(ProfileError::missing(Lacking::Label, "format_version", "write format_version = 1")),
    }
}

/// The name becomes part of others: of files, and of what is said about a run.
fn name(root: &Table) -> Result<String, ProfileError> {
    let name = label(root, "name")?;
    if name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
        return Ok(name);
    }
    Err(ProfileError::value("name", format!("{name:?}"), "small letters, digits and hyphens are expected"))
}

/// The name and the title describe the file, not the drive, and so need no origin.
fn label(root: &Table, key: &str) -> Result<String, ProfileError> {
    match root.get(key) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
        Some(other) => Err(ProfileError::value(key, other, "a text that is not empty is expected")),
        None => Err(ProfileError::missing(Lacking::Label, key, "a profile has a name and a title")),
    }
}

type Origins = BTreeMap<String, String>;

const fn bounds(low: f64, high: f64, reason: &'static str) -> Bounds {
    Bounds { low, high, reason }
}

const MS: Bounds = bounds(0.0, 10_000.0, "0..10000 ms is possible");
const TURNS: Bounds = bounds(0.0, 100.0, "0..100 turns are possible");
const SHARE: Bounds = bounds(0.0, 1.0, "a share lies in 0..1");
const BUFFER: Bounds = bounds(0.0, 17_179_869_184.0, "0..16 GiB is possible");
const IN_FLASH: &str = "a cache in flash does not turn (`translation.cache.place` is \"flash\")";
const DEGREES: Bounds = bounds(0.0, 359.0, "an angle lies in 0..359");

fn identity(root: &Table, origins: &mut Origins) -> Result<IdentityStrings, ProfileError> {
    let mut section = Section::new("identity", root, origins)?;
    let identity = IdentityStrings {
        vendor: section.text("vendor")?,
        model: section.text("model")?,
        firmware: section.text("firmware")?,
        serial_prefix: section.text("serial_prefix")?,
    };
    section.finish()?;
    Ok(identity)
}

fn geometry(root: &Table, origins: &mut Origins) -> Result<GeometryProfile, ProfileError> {
    const CAPACITY: Bounds = bounds(1e6, 2e14, "1 MB..200 TB is possible");
    const RPM: Bounds = bounds(1000.0, 30_000.0, "a drive must turn, 1000..30000 times a minute");
    const HEADS: Bounds = bounds(1.0, 64.0, "1..64 heads are possible");
    const SECTOR: Bounds = bounds(512.0, 4096.0, "512 or 4096 bytes are possible");
    const TRACK: Bounds = bounds(8192.0, 67_108_864.0, "a track holds 8 KiB..64 MiB");
    const ZONES: Bounds = bounds(1.0, 4096.0, "1..4096 zones are possible");
    let mut section = Section::new("geometry", root, origins)?;
    let geometry = GeometryProfile {
        capacity_bytes: section.whole("capacity_bytes", &CAPACITY)?,
        rpm: section.float("rpm", &RPM)?,
        heads: section.whole("heads", &HEADS)?,
        physical_sector_bytes: section.whole_or("physical_sector_bytes", &SECTOR, BLOCK_BYTES)?,
        outer_track_bytes: section.whole("outer_track_bytes", &TRACK)?,
        inner_track_bytes: section.whole("inner_track_bytes", &TRACK)?,
        zones: section.whole("zones", &ZONES)?,
        track_skew_degrees: section.float("track_skew_degrees", &DEGREES)?,
        cylinder_skew_degrees: section.float("cylinder_skew_degrees", &DEGREES)?,
    };
    section.finish()?;
    Ok(geometry)
}

fn mechanics(root: &Table, origins: &mut Origins) -> Result<MechanicsProfile, ProfileError> {
    const SEEK: Bounds = bounds(0.01, 1000.0, "a seek takes 0.01..1000 ms");
    const PARK: Bounds = bounds(0.0, 1e6, "0 (never) or up to 1000000 s is possible");
    const SPIN_UP: Bounds = bounds(0.0, 600.0, "0..600 s are possible");
    let mut section = Section::new("mechanics", root, origins)?;
    let seek = if section.has("seek_table") {
        const POINTS: [&str; 3] = ["seek_single_track_ms", "seek_average_ms", "seek_full_stroke_ms"];
        section.misplaced(&POINTS, "`seek_table` says how long seeks take; leave out one or the other")?;
        SeekCurve::Table(section.pairs("seek_table")?)
    } else {
        SeekCurve::Points {
            single_track_ms: section.float("seek_single_track_ms", &SEEK)?,
            average_ms: section.float("seek_average_ms", &SEEK)?,
            full_stroke_ms: section.float("seek_full_stroke_ms", &SEEK)?,
        }
    };
    let mechanics = MechanicsProfile {
        seek,
        write_settle_ms: section.float("write_settle_ms", &MS)?,
        head_switch_ms: section.float("head_switch_ms", &MS)?,
        park_after_s: section.float("park_after_s", &PARK)?,
        unpark_ms: section.float("unpark_ms", &MS)?,
        spin_down_after_s: section.float_or("spin_down_after_s", &PARK, 0.0)?,
        spin_up_s: section.float_or("spin_up_s", &SPIN_UP, 0.0)?,
    };
    section.finish()?;
    Ok(mechanics)
}

fn dram(root: &Table, origins: &mut Origins) -> Result<DramProfile, ProfileError> {
    const SEGMENTS: Bounds = bounds(1.0, 65_536.0, "1..65536 segments are possible");
    const DESTAGE: Bounds = bounds(4096.0, 1_073_741_824.0, "4 KiB..1 GiB is possible");
    let mut section = Section::new("dram", root, origins)?;
    let dram = DramProfile {
        write_back: section.flag("write_back")?,
        write_bytes: section.whole("write_bytes", &BUFFER)?,
        write_segments: section.whole("write_segments", &SEGMENTS)?,
        destage_bytes: section.whole("destage_bytes", &DESTAGE)?,
        destage_idle_ms: section.float("destage_idle_ms", &MS)?,
        read_ahead_bytes: section.whole("read_ahead_bytes", &BUFFER)?,
        read_segments: section.whole("read_segments", &SEGMENTS)?,
    };
    section.finish()?;
    Ok(dram)
}

fn queue(root: &Table, origins: &mut Origins) -> Result<QueueProfile, ProfileError> {
    const DEPTH: Bounds = bounds(1.0, 1024.0, "1..1024 commands are possible");
    const STARVATION: Bounds = bounds(1.0, 1e6, "1..1000000 ms is possible");
    let mut section = Section::new("queue", root, origins)?;
    let queue = QueueProfile {
        depth: section.whole("depth", &DEPTH)?,
        order: section.word("order", &[("sptf", QueueOrder::Sptf), ("fifo", QueueOrder::Fifo)])?,
        starvation_ms: section.float("starvation_ms", &STARVATION)?,
    };
    section.finish()?;
    Ok(queue)
}

fn interface(root: &Table, origins: &mut Origins) -> Result<InterfaceProfile, ProfileError> {
    const RATE: Bounds = bounds(1.0, 100_000.0, "1..100000 MB/s is possible");
    const OVERHEAD: Bounds = bounds(0.0, 1e6, "0..1000000 us is possible");
    const PROTOCOLS: [(&str, Protocol); 2] = [("ata", Protocol::Ata), ("scsi", Protocol::Scsi)];
    let mut section = Section::new("interface", root, origins)?;
    let bridge = bridge(&mut section, &OVERHEAD)?;
    let interface = InterfaceProfile {
        rate_mb_s: section.float("rate_mb_s", &RATE)?,
        overhead_us: section.float("overhead_us", &OVERHEAD)?,
        protocol: section.word_or(
            "protocol",
            &PROTOCOLS,
            if bridge.is_some() { Protocol::Scsi } else { Protocol::Ata },
        )?,
        bridge,
    };
    section.finish()?;
    Ok(interface)
}

/// A bridge is described by all of its keys or by none.
fn bridge(section: &mut Section, overhead: &Bounds) -> Result<Option<BridgeProfile>, ProfileError> {
    const TRANSFER: Bounds = bounds(4096.0, 1_073_741_824.0, "4 KiB..1 GiB is possible");
    const QUEUE: Bounds = bounds(1.0, 1024.0, "1 (bulk-only transport)..1024 commands are possible");
    let keys = ["bridge_us", "max_transfer_bytes", "bridge_queue"];
    if !keys.map(|key| section.optional(key)).contains(&true) {
        return Ok(None);
    }
    Ok(Some(BridgeProfile {
        bridge_us: section.float("bridge_us", overhead)?,
        max_transfer_bytes: section.whole("max_transfer_bytes", &TRANSFER)?,
        bridge_queue: section.whole("bridge_queue", &QUEUE)?,
    }))
}

fn translation(root: &Table, origins: &mut Origins) -> Result<Option<ShingledProfile>, ProfileError> {
    let mut section = Section::new("translation", root, origins)?;
    if !section.word("kind", &[("identity", false), ("shingled", true)])? {
        const SHINGLED: [&str; 6] = ["tracks_per_band", "mapping", "spare_bands", "cache", "cleaning", "streams"];
        section.misplaced(&SHINGLED, "only a shingled drive has it (`translation.kind` is \"identity\")")?;
        section.finish()?;
        return Ok(None);
    }
    const TRACKS: Bounds = bounds(2.0, 100_000.0, "a band has 2..100000 tracks");
    let tracks_per_band = section.whole("tracks_per_band", &TRACKS)?;
    let mapping = mapping(&mut section)?;
    for part in ["cache", "cleaning", "streams"] {
        section.nested(part);
    }
    section.finish()?;
    let cache = cache(root, origins)?;
    let cleaning = cleaning(root, origins, matches!(cache.place, CachePlace::Flash(_)))?;
    Ok(Some(ShingledProfile { tracks_per_band, mapping, cache, cleaning, streams: streams(root, origins)? }))
}

fn mapping(section: &mut Section) -> Result<Mapping, ProfileError> {
    const SPARE: Bounds = bounds(1.0, 10_000.0, "1..10000 spare bands in a zone are possible");
    if section.word_or("mapping", &[("static", false), ("dynamic", true)], false)? {
        return Ok(Mapping::Dynamic { spare_bands: section.whole("spare_bands", &SPARE)? });
    }
    section.refuse("spare_bands", "bands that keep their place have no spare ones (`mapping` is \"static\")")?;
    Ok(Mapping::Static)
}

fn cache(root: &Table, origins: &mut Origins) -> Result<CacheProfile, ProfileError> {
    const BYTES: Bounds = bounds(65_536.0, 1e13, "64 KiB..10 TB is possible");
    const ENTRIES: Bounds = bounds(1.0, 4e9, "1..4000000000 entries are possible");
    const PACKET: Bounds = bounds(4096.0, 1_073_741_824.0, "4 KiB..1 GiB is possible");
    const WRITES: Bounds = bounds(1.0, 65_536.0, "1..65536 writes are possible");
    const TRACKS: Bounds = bounds(0.0, 100.0, "0..100 tracks are possible");
    const EVERY: Bounds = bounds(0.0, 1e9, "0 (never)..1000000000 is possible");
    let mut section = Section::new("translation.cache", root, origins)?;
    let counts = [("write", EntryCounts::Write), ("packet", EntryCounts::Packet)];
    let place = place(&mut section)?;
    let on_disk = !matches!(place, CachePlace::Flash(_));
    let mut turning = |key: &str, bounds: &Bounds| match on_disk {
        true => section.float(key, bounds),
        false => section.refuse(key, IN_FLASH).map(|()| 0.0),
    };
    let packet_tracks = turning("packet_tracks", &SHARE)?;
    let packet_turns = turning("packet_turns", &TURNS)?;
    let append_turns = turning("append_turns", &TURNS)?;
    let append_tracks = match on_disk {
        true => section.float_or("append_tracks", &TRACKS, 0.0)?,
        false => section.refuse("append_tracks", IN_FLASH).map(|()| 0.0)?,
    };
    let follow_turns = match on_disk {
        true => section.float_or("follow_turns", &TURNS, 0.0)?,
        false => section.refuse("follow_turns", IN_FLASH).map(|()| 0.0)?,
    };
    let cache = CacheProfile {
        place,
        bytes: section.whole("bytes", &BYTES)?,
        entries: section.whole("entries", &ENTRIES)?,
        packets: if section.optional("packets") { Some(section.whole("packets", &ENTRIES)?) } else { None },
        entry_counts: section.word("entry_counts", &counts)?,
        packet_bytes: section.whole("packet_bytes", &PACKET)?,
        packet_writes: section.whole("packet_writes", &WRITES)?,
        packet_tracks,
        packet_turns,
        append_turns,
        follow_turns,
        append_tracks,
        append_bytes: section.whole_or("append_bytes", &BUFFER, 0)?,
        journal_every: section.whole("journal_every", &EVERY)?,
        journal_ms: section.float("journal_ms", &MS)?,
        replay_ms: section.float_or("replay_ms", &MS, 0.0)?,
    };
    section.finish()?;
    Ok(cache)
}

/// The cache's place, and the keys that belong to it; those of the other places are refused.
fn place(section: &mut Section) -> Result<CachePlace, ProfileError> {
    const REGIONS: Bounds = bounds(2.0, 64.0, "2..64 places are possible");
    const LATENCY: Bounds = bounds(0.0, 1e6, "0..1000000 us is possible");
    const RATE: Bounds = bounds(1.0, 100_000.0, "1..100000 MB/s is possible");
    let places = [("outer", "outer"), ("inner", "inner"), ("spread", "spread"), ("flash", "flash")];
    let place = section.word_or("place", &places, "outer")?;
    if place != "spread" {
        section.refuse("regions", &format!("only a cache in several places has them (`place` is \"{place}\")"))?;
    }
    if place != "flash" {
        for key in ["flash_read_us", "flash_write_us", "flash_rate_mb_s"] {
            section.refuse(key, &format!("the cache is not in flash (`place` is \"{place}\")"))?;
        }
    }
    Ok(match place {
        "inner" => CachePlace::Inner,
        "spread" => CachePlace::Spread { regions: section.whole("regions", &REGIONS)? },
        "flash" => CachePlace::Flash(FlashProfile {
            flash_read_us: section.float("flash_read_us", &LATENCY)?,
            flash_write_us: section.float("flash_write_us", &LATENCY)?,
            flash_rate_mb_s: section.float("flash_rate_mb_s", &RATE)?,
        }),
        _ => CachePlace::Outer,
    })
}

fn cleaning(root: &Table, origins: &mut Origins, in_flash: bool) -> Result<CleaningProfile, ProfileError> {
    const IDLE: Bounds = bounds(1.0, 1e9, "1..1000000000 ms is possible");
    const REST: Bounds = bounds(0.0, 1e6, "0 (never)..1000000 s is possible");
    const BANDS: Bounds = bounds(1.0, 10_000.0, "1..10000 bands are possible");
    const RATION: Bounds = bounds(1.0, 1e6, "1..1000000 visits are possible; leave both keys out for no rationing");
    const MERGE: Bounds = bounds(65_536.0, 17_179_869_184.0, "64 KiB..16 GiB is possible");
    let mut section = Section::new("translation.cleaning", root, origins)?;
    let when = [("aggressive", CleaningWhen::Aggressive), ("lazy", CleaningWhen::Lazy)];
    let order = [("fifo", CleaningOrder::Fifo), ("most-dirty", CleaningOrder::MostDirty)];
    let driven = [("idle", CleaningDriven::Idle), ("pressure", CleaningDriven::Pressure)];
    let when = section.word("when", &when)?;
    let lazy = when == CleaningWhen::Lazy;
    let driven = section.word_or("driven", &driven, CleaningDriven::Idle)?;
    let idle_ms = match driven {
        CleaningDriven::Idle => section.float("idle_ms", &IDLE)?,
        CleaningDriven::Pressure => {
            section.refuse("idle_ms", "cleaning under pressure waits for no silence").map(|()| 0.0)?
        }
    };
    let rest_s = match lazy {
        true => section.float_or("rest_s", &REST, 0.0)?,
        false => section.refuse("rest_s", "aggressive cleaning starts anyway").map(|()| 0.0)?,
    };
    let rations =
        section.optional("ration_appends") | section.optional("ration_until") | section.optional("ration_bands");
    let full = section.optional("full_idle_ms") | section.optional("full_until");
    let mut mark = |key: &str| match lazy {
        true => section.float(key, &SHARE),
        false => section.refuse(key, "aggressive cleaning waits for no mark").map(|()| 0.0),
    };
    let (high_mark, low_mark) = (mark("high_mark")?, mark("low_mark")?);
    let collect_turns = match in_flash {
        true => section.refuse("collect_turns", IN_FLASH).map(|()| 0.0)?,
        false => section.float("collect_turns", &TURNS)?,
    };
    let finishes_phase = section.flag_or("finishes_phase", false)?;
    if finishes_phase {
        section.refuse("finishes_band", "with `finishes_phase` it is finished only while the cache is full")?;
    }
    let cleaning = CleaningProfile {
        when,
        order: section.word("order", &order)?,
        driven,
        idle_ms,
        rest_s,
        high_mark,
        low_mark,
        bands_per_pass: section.whole("bands_per_pass", &BANDS)?,
        full_idle_ms: if full { section.float("full_idle_ms", &IDLE)? } else { 0.0 },
        full_until: if full { section.float("full_until", &SHARE)? } else { 1.0 },
        finishes_band: section.flag_or("finishes_band", false)?,
        finishes_phase,
        room_bytes: section.whole_or("room_bytes", &BUFFER, 0)?,
        ration_appends: if rations { section.whole("ration_appends", &RATION)? } else { 0 },
        ration_until: if rations { section.float("ration_until", &SHARE)? } else { 1.0 },
        ration_bands: section.whole_or("ration_bands", &BANDS, 0)?,
        collect_turns,
        merge_bytes: section.whole("merge_bytes", &MERGE)?,
        merge_on_disk: section.flag("merge_on_disk")?,
        merge_whole: section.flag_or("merge_whole", false)?,
        merge_turns: section.float_or("merge_turns", &TURNS, 0.0)?,
    };
    section.finish()?;
    Ok(cleaning)
}

fn streams(root: &Table, origins: &mut Origins) -> Result<StreamsProfile, ProfileError> {
    const TRACKED: Bounds = bounds(0.0, 1024.0, "0..1024 streams are possible");
    let mut section = Section::new("translation.streams", root, origins)?;
    let streams = StreamsProfile {
        tracked: section.whole("tracked", &TRACKED)?,
        min_request_bytes: section.whole("min_request_bytes", &BUFFER)?,
        min_run_bytes: section.whole("min_run_bytes", &BUFFER)?,
        durable: section.flag_or("durable", true)?,
    };
    section.finish()?;
    Ok(streams)
}
