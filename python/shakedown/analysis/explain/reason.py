"""The arithmetic of each ceiling, in words."""

from __future__ import annotations

from shakedown.analysis.explain.ceiling import Box, Ceiling, Drives, Heads, Link, OneAtATime, RoundTrip
from shakedown.analysis.explain.layout import Layout
from shakedown.analysis.explain.load import Load
from shakedown.layouts import RAIDZ
from shakedown.units import format_size


def reason(box: Box, load: Load, ceiling: Ceiling) -> str:
    """What a ceiling of this box under this load follows from."""
    match ceiling:
        case OneAtATime(_, steps, each):
            took = "a seek" if steps == 1 else f"{steps:.3g} seeks one after the other"
            return f"{took} for each at a random place, {each:.3g}/s"
        case Heads():
            return _of_the_heads(box.layout, load, ceiling)
        case Drives():
            return _of_the_drives(box, load, ceiling)
        case Link(_, bits_per_s, payload):
            return f"{bits_per_s / 1e9:g} Gb/s carries {payload / 1e6:.4g} MB/s of payload each way"
        case RoundTrip(_, seconds):
            return f"{load.outstanding} outstanding, {seconds * 1e3:.3g} ms each at least"


def _of_the_heads(layout: Layout, load: Load, ceiling: Heads) -> str:
    work, busy = ceiling.work, ceiling.busy
    few = "" if busy == layout.width else f", no more can work with {load.outstanding} outstanding"
    return (
        f"{busy:.3g} x {ceiling.seeks_per_s:.3g} requests/s{few}, {work.total:.3g} at the drives for one of the host "
        f"({work.reads:.3g} read, {work.writes:.3g} written){_of_a_record(layout, load)}"
    )


def _of_a_record(layout: Layout, load: Load) -> str:
    if not layout.is_part_of_a_record(load):
        return ""
    return f": {format_size(load.block_bytes)} of a record of {format_size(layout.record_bytes)}, which moves whole"


def _of_what_it_takes(layout: Layout) -> str:
    """How much of what streams is data, where that is less than all."""
    if not layout.is_zfs or layout.allocated_bytes == layout.record_bytes:
        return ""
    record, takes = format_size(layout.record_bytes), format_size(layout.allocated_bytes)
    return f", a record of {record} taking {takes}{' with parity and padding' if layout.kind in RAIDZ else ''}"


def _of_the_drives(box: Box, load: Load, ceiling: Drives) -> str:
    told = f"streams at {box.layout.abreast} x {box.drive.stream_bytes_per_s / 1e6:.3g} MB/s"
    told += _of_what_it_takes(box.layout)
    if load.read_share and load.random_share < 1 and box.layout.copies > 1:
        told += f", one of each {box.layout.copies} that hold the same"
    if ceiling.queues:
        depth, each = ceiling.queues
        random = f"{load.random_share:.0%} random".replace("%", " %")
        told = f"{random}, {depth} at a time in each drive: {each:.3g}/s; the rest {told}"
    if ceiling.gathered:
        told += "; what is written, in new places one behind the other, too"
    if ceiling.by_seeks:
        told += "; all of them do more, with a seek for each"
    return told
