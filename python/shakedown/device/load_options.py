"""Which of fio's options a load may use on a real target, and what its sizes mean there.

An allow list: fio can run commands, write logs and open any path, and a new fio may learn more of the kind.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

from shakedown.errors import UsageError
from shakedown.sample import Direction
from shakedown.tools.fio.job import (
    Option,
    OptionError,
    Section,
    of_direction,
    parse_fio_bytes,
    parse_fio_time_ns,
    parse_job,
)
from shakedown.tools.fio.owned import owner, words
from shakedown.units import NS_PER_S, format_size

_ALLOWED: Final = words(
    """
    description rw rw_sequencer bs ba bsrange bssplit bs_unaligned
    size offset offset_increment offset_align io_size number_ios loops
    randrepeat allrandrepeat randseed norandommap softrandommap random_generator random_distribution percentage_random
    iodepth iodepth_low iodepth_batch iodepth_batch_complete iodepth_batch_complete_min iodepth_batch_complete_max
    serialize_overlap io_submit_mode numjobs thread nice prio prioclass
    cpumask cpus_allowed cpus_allowed_policy numa_cpu_nodes numa_mem_policy
    rwmixread rwmixwrite sync fsync fdatasync write_barrier sync_file_range end_fsync fsync_on_close invalidate
    runtime time_based startdelay thinktime thinktime_spin thinktime_blocks thinktime_blocks_type thinktime_iotime
    rate rate_min rate_iops rate_iops_min rate_process rate_cycle rate_ignore_thinktime flow flow_id flow_sleep
    max_latency latency_target latency_window latency_percentile latency_run
    stonewall new_group group_reporting wait_for exitall exit_what exitall_on_error
    verify do_verify verify_interval verify_offset verify_pattern verify_fatal verify_backlog verify_backlog_batch
    verify_async verify_only trim_percentage trim_verify_zero trim_backlog trim_backlog_batch
    zero_buffers refill_buffers scramble_buffers buffer_pattern buffer_compress_percentage buffer_compress_chunk
    dedupe_percentage dedupe_mode dedupe_working_set_percentage dedupe_global
    continue_on_error ignore_error write_hint
    """
)
_FIO_BLOCK: Final = "4k"
_TIMES: Final = ("runtime", "startdelay", "thinktime", "thinktime_spin", "thinktime_iotime")
# fio hands what stands in backquotes to a shell, replaces `$`, and reads the file that a pattern in quotes names.
_REACHES_OUT: Final = "`$'\""


def admit_job(text: str, name: str, capacity_bytes: int) -> tuple[Section, ...]:
    """The sections of a job, sizes and offsets in bytes of a target of ``capacity_bytes``. Raises UsageError."""
    sections = parse_job(text, name)
    for section in sections:
        for option in section.options:
            _admit(section, option)
        for time in _TIMES:
            _time_ns(section, time, NS_PER_S)
        _refuse_rate_of_several_sizes(section)
    return tuple(_place(_seed(section), capacity_bytes) for section in sections)


def longest_pause_ns(sections: tuple[Section, ...]) -> int:
    """For how long a job may do nothing because it was told to. fio says nothing meanwhile. Raises UsageError."""
    return max(_time_ns(each, "thinktime", 1_000) + _time_ns(each, "startdelay", NS_PER_S) for each in sections)


def _time_ns(section: Section, name: str, bare_ns: int) -> int:
    """The longest time that an option gives: ``startdelay`` may be a range. fio takes `15min` for 15 us: refused."""
    try:
        return max(parse_fio_time_ns(text, bare_ns) for text in section.last(name, "0").split("-"))
    except UsageError as error:
        raise OptionError(section.name, name, section.last(name), str(error), hint=error.hint) from error


def _admit(section: Section, option: Option) -> None:
    value = option.value or ""

    def refusal(reason: str, hint: str = "") -> OptionError:
        return OptionError(section.name, option.name, value, reason, hint=hint)

    whose = owner(option.name)
    if whose == "target":
        raise refusal("it belongs to the target", "take it out: Shakedown sets it to suit the target")
    if whose == "measurement":
        raise refusal("it belongs to the measurement", "take it out; a warm-up is a step of its own")
    if option.name not in _ALLOWED:
        close = get_close_matches(option.name, _ALLOWED, n=1)
        raise refusal("it is not part of a load", f"did you mean `{close[0]}`?" if close else "take it out")
    if any(character in value for character in _REACHES_OUT) or not value.isprintable():
        raise refusal("it has a character with which fio reaches out of the load", "take that out")
    if option.name == "thread" and value == "0":
        raise refusal("jobs are threads of one fio, so that nothing can outlive it", "take it out")


def _refuse_rate_of_several_sizes(section: Section) -> None:
    """Of requests of several sizes fio makes another rate of ``rate_iops`` than it says, without a word."""
    for direction in section.directions:
        rate = section.count("rate_iops", 0, direction)
        sizes = _several_sizes(section, direction)
        if rate and sizes:
            least = min(sizes)
            makes = f"{rate} times the shortest request's {least}"
            reason = f"fio makes bytes a second of it, {makes}, so that there are fewer of longer ones"
            hint = f"say so with `rate={rate * least}`, or give one size"
            raise OptionError(section.name, "rate_iops", section.last("rate_iops"), reason, hint=hint)


def _several_sizes(section: Section, direction: Direction) -> frozenset[int]:
    """Those that a job draws from; empty where it has one, or fio itself says what is wrong with them."""
    split = of_direction(section.last("bssplit"), direction)
    sizes = [part.partition("/")[0] for part in split.split(":")]
    if not split:
        sizes = of_direction(section.last("bsrange"), direction).split("-")
    try:
        found = frozenset(parse_fio_bytes(size.strip(), 0) for size in sizes if size)
    except UsageError:
        return frozenset()
    return found if len(found) > 1 else frozenset()


def _seed(section: Section) -> Section:
    """Make a seed count: some fio (seen: 3.33) draw offsets without it unless told not to repeat them."""
    if not section.last("randseed"):
        return section
    for name in ("randrepeat", "allrandrepeat"):
        if section.flag(name):
            reason = "it does away with randseed in many versions of fio"
            raise OptionError(section.name, name, section.last(name), reason, hint=f"take out {name} or randseed")
    return Section(section.name, (*section.options, Option("randrepeat", "0")))


def _refuse_larger_than(size_bytes: int, section: Section) -> None:
    """Refuse requests that do not fit where they go, as fio does once it runs; of ``bsrange`` it alone knows."""
    if section.last("bsrange") or section.last("bssplit"):
        return
    block = section.last("bs", _FIO_BLOCK)
    try:
        least_bytes = min(parse_fio_bytes(each.strip() or _FIO_BLOCK, 0) for each in block.split(","))
    except UsageError:
        return  # fio itself says what is wrong with it, before anything is touched
    if least_bytes > size_bytes:
        raise OptionError(
            section.name,
            "bs",
            section.last("bs"),
            f"a request of {format_size(least_bytes)} does not fit into the {format_size(size_bytes)} that it goes to",
            hint="take a larger target, of a file that is made a larger `--size`; or a smaller `bs`",
        )


def _place(section: Section, capacity_bytes: int) -> Section:
    """Spell out which bytes are used: fio extends, or replaces, a file that is shorter than a job asks for."""

    def bytes_of(name: str, default: int) -> int:
        text = section.last(name)
        try:
            return parse_fio_bytes(text, capacity_bytes) if text else default
        except UsageError as error:
            raise OptionError(section.name, name, text, str(error), hint=error.hint) from error

    offset_bytes = bytes_of("offset", 0)
    step_bytes = bytes_of("offset_increment", 0)
    jobs = section.count("numjobs", 1)
    first_bytes = capacity_bytes - offset_bytes - step_bytes * (jobs - 1)
    size_bytes = bytes_of("size", first_bytes)
    if section.last("size").endswith("%"):
        size_bytes = min(size_bytes, first_bytes)
    if not 0 < size_bytes <= first_bytes:
        raise OptionError(
            section.name,
            "size",
            section.last("size"),
            f"from offset {offset_bytes} it reaches past the end of the target ({format_size(capacity_bytes)})",
            hint="give `size` and `offset` in percent, or take a larger target",
        )
    _refuse_larger_than(size_bytes, section)
    kept = [each for each in section.options if each.name not in ("size", "offset", "offset_increment")]
    placed = [Option("size", str(size_bytes)), Option("offset", str(offset_bytes))]
    stepped = [Option("offset_increment", str(step_bytes))] if step_bytes else []
    return Section(section.name, (*kept, *placed, *stepped))
