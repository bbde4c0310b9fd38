"""What each part of a box allows under a load, in requests per second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

from shakedown.analysis.explain.layout import DriveWork, Layout
from shakedown.analysis.explain.load import Load
from shakedown.units import format_size

Part = Literal["one at a time", "heads", "drives", "link", "round trip"]

PAYLOAD_SHARE: Final = 1448 / 1538
"""Of an Ethernet frame of 1500 bytes: TCP's payload with timestamps, over what the frame takes on the wire (8 bytes
preamble, 18 header and checksum, 12 gap)."""


class Drive(Protocol):
    """What one drive can do; a model or a rule of thumb."""

    @property
    def label(self) -> str:
        """For people."""
        ...

    @property
    def stream_bytes_per_s(self) -> float:
        """Of one long read where it is fastest."""
        ...

    def random_iops(self, block_bytes: int, read_share: float, outstanding: int) -> float:
        """Requests per second at random places."""
        ...


@dataclass(frozen=True)
class RuleOfThumb:
    """A drive of which two figures are known. The first is for small requests, whatever their size and number."""

    iops: float
    stream_bytes_per_s: float

    @property
    def label(self) -> str:
        """``50 IOPS, 95 MB/s``."""
        return f"{self.iops:g} IOPS, {self.stream_bytes_per_s / 1e6:g} MB/s"

    def random_iops(self, block_bytes: int, read_share: float, outstanding: int) -> float:  # noqa: ARG002
        """The one figure."""
        return self.iops


@dataclass(frozen=True)
class Way:
    """Between host and box: what of it is known."""

    link_bits_per_s: float | None = None
    round_trip_s: float | None = None


@dataclass(frozen=True)
class Box:
    """All that ceilings follow from."""

    layout: Layout
    drive: Drive
    way: Way = Way()


class Ceiling(NamedTuple):
    """A part's own limit under a load, and the arithmetic in words."""

    part: Part
    iops: float
    reason: str


def ceilings(box: Box, load: Load) -> dict[Part, Ceiling]:
    """Every ceiling that can be computed."""
    found = [
        _one_at_a_time(box, load),
        _heads(box, load),
        _drives(box, load),
        _link(box.way, load),
        _round_trip(box.way, load),
    ]
    return {each.part: each for each in found if each}


def _one_at_a_time(box: Box, load: Load) -> Ceiling | None:
    """If the box worked on one random request after the other, however many are outstanding."""
    if box.layout.width == 1 or not load.random_share:
        return None
    work = box.layout.small_request(load)
    each, steps = box.drive.random_iops(work.piece_bytes, 1, 1), work.steps
    seconds = load.random_share * steps / each
    seconds += (1 - load.random_share) * load.block_bytes / box.drive.stream_bytes_per_s
    took = "a seek" if steps == 1 else f"{steps:.3g} seeks one after the other"
    return Ceiling("one at a time", 1 / seconds, f"{took} for each at a random place, {each:.3g}/s")


def _heads(box: Box, load: Load) -> Ceiling:
    """If nothing were cached, gathered or reordered: a seek for every request, written ones, too."""
    work = box.layout.small_request(load)
    each, busy = box.drive.random_iops(work.piece_bytes, 1, 1), _at_work(box.layout, load, work)
    few = "" if busy == box.layout.width else f", no more at work with {load.outstanding} outstanding"
    reason = (
        f"{busy:.3g} x {each:.3g} requests/s{few}, {work.total:.3g} at the drives for one of the host "
        f"({work.reads:.3g} read, {work.writes:.3g} written){_of_a_record(box.layout, load)}"
    )
    return Ceiling("heads", busy * each / work.total, reason)


def _at_work(layout: Layout, load: Load, work: DriveWork) -> float:
    """How many drives the outstanding requests keep at work, at the most."""
    return min(layout.width, load.outstanding * max(work.abreast, work.total / work.steps))


def _of_a_record(layout: Layout, load: Load) -> str:
    if not layout.is_part_of_a_record(load):
        return ""
    return f": {format_size(load.block_bytes)} of a record of {format_size(layout.record_bytes)}, which moves whole"


def _drives(box: Box, load: Load) -> Ceiling:
    """Random requests reordered in the drives' queues; the rest streams over all data drives, in whole stripes."""
    layout, work = box.layout, box.layout.small_request(load)
    stream = layout.data_drives * box.drive.stream_bytes_per_s
    seconds = (1 - load.random_share) * load.block_bytes / stream
    reason = f"streams at {layout.data_drives} x {box.drive.stream_bytes_per_s / 1e6:.3g} MB/s"
    if load.random_share:
        seconds += load.random_share * work.gathered_bytes / stream
        moving, read_share = (work.reads, 1.0) if work.gathered_bytes else (work.total, work.read_share)
        if moving:
            depth = max(1, load.outstanding * work.abreast // layout.width)
            each = box.drive.random_iops(work.piece_bytes, read_share, depth)
            seconds += load.random_share * moving / (_at_work(layout, load, work) * each)
            reason = f"{load.random_share:.0%} random, {depth} at a time in each drive: {each:.3g}/s; the rest {reason}"
        if work.gathered_bytes:
            reason += "; what is written, in new places one behind the other, too"
    return Ceiling("drives", 1 / seconds, reason.replace("%", " %"))


def _link(way: Way, load: Load) -> Ceiling | None:
    if way.link_bits_per_s is None:
        return None
    # Reads and writes go opposite ways, each with the whole width.
    busier = max(load.read_share, load.write_share)
    payload = way.link_bits_per_s / 8 * PAYLOAD_SHARE
    reason = f"{way.link_bits_per_s / 1e9:g} Gb/s carry {payload / 1e6:.4g} MB/s of payload each way"
    return Ceiling("link", payload / load.block_bytes / busier, reason)


def _round_trip(way: Way, load: Load) -> Ceiling | None:
    if way.round_trip_s is None:
        return None
    reason = f"{load.outstanding} outstanding, {way.round_trip_s * 1e3:.3g} ms each at least"
    return Ceiling("round trip", load.outstanding / way.round_trip_s, reason)
