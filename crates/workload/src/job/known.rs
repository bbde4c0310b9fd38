//! Every option that is known here, and what becomes of it. `docs/fio-options.md` says the same for people.

/// What becomes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// It is read under this name, of which others may be aliases.
    Honoured(&'static str),
    /// It has no effect on a modelled device, and so is accepted.
    Inert,
    /// It is refused for this reason.
    Refused(&'static str),
}

/// Looks an option up; `None` if nobody knows it.
pub(crate) fn treatment(key: &str) -> Option<Treatment> {
    let canonical = canonical(key);
    if let Some(name) = HONOURED.iter().find(|name| **name == canonical) {
        return Some(Treatment::Honoured(name));
    }
    if INERT.contains(&canonical) {
        return Some(Treatment::Inert);
    }
    REFUSED.iter().find(|(names, _)| names.contains(&canonical)).map(|(_, reason)| Treatment::Refused(reason))
}

/// The name under which fio has an option: of an alias another one, of everything else its own.
pub fn canonical(key: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == key).map_or(key, |(_, name)| *name)
}

/// The known option closest to a misspelt one.
pub(crate) fn closest(key: &str) -> Option<&'static str> {
    HONOURED
        .iter()
        .copied()
        .chain(ALIASES.iter().map(|(alias, _)| *alias))
        .map(|name| (strsim::damerau_levenshtein(key, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 5)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

const ALIASES: &[(&str, &str)] = &[
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("blocksize_range", "bsrange"),
    ("blockalign", "ba"),
    ("io_limit", "io_size"),
    ("timeout", "runtime"),
    ("wait_for_previous", "stonewall"),
    ("blocksize_unaligned", "bs_unaligned"),
    ("iodepth_batch_submit", "iodepth_batch"),
    ("ratemin", "rate_min"),
];

const HONOURED: &[&str] = &[
    "rw",
    "rw_sequencer",
    "rwmixread",
    "rwmixwrite",
    "bs",
    "bsrange",
    "bssplit",
    "ba",
    "kb_base",
    "size",
    "io_size",
    "offset",
    "offset_align",
    "offset_increment",
    "number_ios",
    "loops",
    "numjobs",
    "ioengine",
    "iodepth",
    "direct",
    "buffered",
    "sync",
    "fsync",
    "fdatasync",
    "end_fsync",
    "fsync_on_close",
    "runtime",
    "time_based",
    "ramp_time",
    "startdelay",
    "stonewall",
    "rate",
    "rate_iops",
    "rate_process",
    "thinktime",
    "thinktime_blocks",
    "thinktime_blocks_type",
    "thinktime_spin",
    "norandommap",
    "percentage_random",
    "random_distribution",
    "randseed",
    "randrepeat",
    "allrandrepeat",
];

/// Names, reporting, the host's memory and processors, and the content of buffers: the timing of a modelled device
/// depends on none of them.
const INERT: &[&str] = &[
    "name",
    "description",
    "group_reporting",
    "new_group",
    "thread",
    "unit_base",
    "stats",
    "disk_util",
    "clat_percentiles",
    "lat_percentiles",
    "slat_percentiles",
    "percentile_list",
    "significant_figures",
    "invalidate",
    "random_generator",
    "clocksource",
    "mem",
    "iomem",
    "iomem_align",
    "mem_align",
    "lockmem",
    "nice",
    "refill_buffers",
    "zero_buffers",
    "scramble_buffers",
    "buffer_pattern",
    "buffer_compress_percentage",
    "buffer_compress_chunk",
    "dedupe_percentage",
];

const ONE_TARGET: &str = "the target is chosen outside the job";
const ONE_FILE: &str = "a modelled device is one block device, without files";
const OUTPUT: &str = "samples are kept in the run folder, not by the job";
const NO_VERIFY: &str = "a modelled device holds no data to verify";
const NO_HOST: &str = "the host's processors and scheduler are not modelled";

const REFUSED: &[(&[&str], &str)] = &[
    (&["filename", "directory", "filename_format", "opendir", "hostname", "port"], ONE_TARGET),
    (
        &[
            "nrfiles",
            "openfiles",
            "filesize",
            "file_service_type",
            "file_append",
            "fill_device",
            "fallocate",
            "create_on_open",
            "create_only",
            "create_fsync",
            "create_serialize",
            "overwrite",
            "unlink",
            "pre_read",
            "fadvise_hint",
            "unique_filename",
            "lockfile",
            "allow_file_create",
            "allow_mounted_write",
        ],
        ONE_FILE,
    ),
    (
        &[
            "write_bw_log",
            "write_lat_log",
            "write_iops_log",
            "write_hist_log",
            "log_avg_msec",
            "log_hist_msec",
            "log_offset",
            "log_max_value",
            "log_window_value",
            "per_job_logs",
            "write_iolog",
            "bwavgtime",
            "iopsavgtime",
            "unified_rw_reporting",
            "gtod_reduce",
            "disable_lat",
            "disable_clat",
            "disable_slat",
            "output",
            "output-format",
        ],
        OUTPUT,
    ),
    (
        &[
            "verify",
            "do_verify",
            "verify_only",
            "verify_pattern",
            "verify_fatal",
            "verify_backlog",
            "verify_interval",
            "verify_async",
            "verify_dump",
            "verify_state_save",
            "verify_state_load",
            "trim_percentage",
            "trim_verify_zero",
        ],
        NO_VERIFY,
    ),
    (
        &[
            "cpus_allowed",
            "cpumask",
            "cpus_allowed_policy",
            "cgroup",
            "prio",
            "prioclass",
            "ioscheduler",
            "numa_cpu_nodes",
        ],
        NO_HOST,
    ),
    (
        &[
            "iodepth_batch",
            "iodepth_batch_complete",
            "iodepth_batch_complete_min",
            "iodepth_batch_complete_max",
            "iodepth_low",
        ],
        "requests are submitted and reaped one by one",
    ),
    (&["rate_min", "rate_iops_min", "max_latency"], "a job is not ended for being slow; judge its samples instead"),
    (&["rate_cycle"], "it only concerns rate_min, which is not honoured"),
    (&["rate_ignore_thinktime"], "a job catches up with its rate after a pause"),
    (&["thinktime_iotime"], "a pause can only be set by requests, with thinktime_blocks"),
    (&["latency_target", "latency_window", "latency_percentile", "latency_run"], "the depth is not searched for"),
    (
        &["steadystate", "steadystate_duration", "steadystate_ramp_time", "ss"],
        "a step's `until` ends it when it is steady",
    ),
    (
        &["read_iolog", "replay_redirect", "replay_scale", "replay_no_stall", "merge_blktrace_file"],
        "traces are not replayed",
    ),
    (
        &["zonemode", "zonesize", "zonerange", "zoneskip", "zonecapacity", "max_open_zones"],
        "zone modes are not modelled",
    ),
    (&["io_submit_mode"], "requests are submitted by the job itself"),
    (&["serialize_overlap"], "overlapping requests are not held back"),
    (&["bs_is_seq_rand", "bs_unaligned"], "block sizes are multiples of the sector and set for each direction"),
    (&["sync_file_range", "write_barrier", "atomic", "write_hint"], "a modelled device has no such request"),
    (&["continue_on_error", "ignore_error", "error_dump"], "a job ends at the first failed request"),
    (&["exitall", "exitall_on_error", "exit_what"], "each job ends for itself"),
    (&["wait_for"], "jobs wait for all before them, with stonewall"),
    (&["flow", "flow_id", "flow_sleep", "profile", "random_center"], "it is not modelled"),
    (&["exec_prerun", "exec_postrun"], "a job starts no programs"),
];

#[cfg(test)]
mod tests {
    use super::{closest, treatment, Treatment, ALIASES, HONOURED, INERT, REFUSED};

    #[test]
    fn every_name_is_known_once() {
        let refused = REFUSED.iter().flat_map(|(names, _)| names.iter());
        let mut names: Vec<&str> = HONOURED
            .iter()
            .chain(INERT)
            .chain(refused)
            .copied()
            .chain(ALIASES.iter().map(|(alias, _)| *alias))
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn aliases_and_typos_are_found() {
        assert_eq!(treatment("readwrite"), Some(Treatment::Honoured("rw")));
        assert_eq!(treatment("group_reporting"), Some(Treatment::Inert));
        assert!(matches!(treatment("rate_min"), Some(Treatment::Refused(_))));
        assert_eq!(treatment("ratemin"), treatment("rate_min"));
        assert_eq!((treatment("iodeph"), closest("iodeph")), (None, Some("iodepth")));
        assert_eq!((treatment("RW"), closest("xyzzy")), (None, None));
    }

    #[test]
    fn the_page_names_every_honoured_option() {
        let page = include_str!("../../../../docs/fio-options.md");
        for name in HONOURED.iter().chain(INERT) {
            assert!(page.contains(&format!("`{name}`")), "docs/fio-options.md does not name `{name}`");
        }
    }
}
