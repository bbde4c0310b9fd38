"""Which options of a fio job say where it goes or what is measured of it: Shakedown sets them, no load does."""

from __future__ import annotations

from typing import Final, Literal


def words(listed: str) -> frozenset[str]:
    """A list of options as it is written here, with blanks between them."""
    return frozenset(listed.split())


_TARGET: Final = words(
    """
    filename filename_format directory opendir unique_filename nrfiles openfiles file_service_type filesize file_append
    fill_device ioengine direct buffered atomic overwrite fallocate create_only create_on_open create_serialize
    create_fsync allow_file_create allow_mounted_write pre_read unlink unlink_each_loop lockfile uri zonemode
    """
)
_MEASUREMENT: Final = words(
    """
    ramp_time disable_lat disable_clat disable_slat disable_bw_measurement gtod_reduce clat_percentiles lat_percentiles
    slat_percentiles percentile_list significant_figures unified_rw_reporting stats disk_util kb_base unit_base
    write_bw_log write_lat_log write_iops_log write_hist_log write_iolog per_job_logs log_avg_msec log_hist_msec
    log_hist_coarseness log_entries log_max_value log_window_value log_offset log_prio log_compression
    log_compression_cpus log_store_compressed log_unix_epoch log_alternate_epoch log_alternate_epoch_clock_id
    bwavgtime iopsavgtime
    """
)


def owner(option: str) -> Literal["target", "measurement"] | None:
    """To what an option belongs, by its own name (no alias); None where it is a load's."""
    if option in _TARGET:
        return "target"
    return "measurement" if option in _MEASUREMENT else None
