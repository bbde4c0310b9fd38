"""What each part of a box allows under a load, in requests per second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

from shakedown.analysis.explain.layout import DriveWork, Layout
from shakedown.analysis.explain.load import Load

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


SMALL_BYTES: Final = 8192
"""Of a request, as people mean them who say how many a second a drive serves."""


@dataclass(frozen=True)
class RuleOfThumb:
    """A drive of which two figures are known. The first is for small requests, whatever their number."""

    iops: float
    stream_bytes_per_s: float

    @property
    def label(self) -> str:
        """``50 IOPS, 95 MB/s``."""
        return f"{self.iops:g} IOPS, {self.stream_bytes_per_s / 1e6:g} MB/s"

    def random_iops(self, block_bytes: int, read_share: float, outstanding: int) -> float:  # noqa: ARG002
        """The one figure, and of what is not small the time that the rest takes under the heads."""
        return 1 / (1 / self.iops + max(0, block_bytes - SMALL_BYTES) / self.stream_bytes_per_s)


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


class OneAtATime(NamedTuple):
    """If the box worked on one random request after the other, however many are outstanding."""

    iops: float
    steps: float
    seeks_per_s: float


class Heads(NamedTuple):
    """If nothing were cached, gathered or reordered: a seek for every request, written ones, too."""

    iops: float
    busy: float
    seeks_per_s: float
    work: DriveWork


class Queues(NamedTuple):
    """Of requests at random places that wait together in each drive."""

    depth: int
    served_per_s: float


class Drives(NamedTuple):
    """Random requests reordered in the drives' queues; the rest streams, in whole stripes and records.

    Without ``queues`` no request moves the heads. ``by_seeks``: of drives that hold the same only one streams, and all
    of them do more, even with a seek for each.
    """

    iops: float
    queues: Queues | None
    gathered: bool
    by_seeks: bool = False


class Link(NamedTuple):
    """The payload that it carries each way."""

    iops: float
    bits_per_s: float
    payload_bytes_per_s: float


class RoundTrip(NamedTuple):
    """The requests that are outstanding, once in each."""

    iops: float
    seconds: float


Ceiling = OneAtATime | Heads | Drives | Link | RoundTrip
"""A part's own limit under a load, and what it follows from."""


def ceilings(box: Box, load: Load) -> dict[Part, Ceiling]:
    """Every ceiling that can be computed."""
    heads = _heads(box, load)
    found: dict[Part, Ceiling | None] = {
        "one at a time": _one_at_a_time(box, load),
        "heads": heads,
        "drives": _best(box, load, heads),
        "link": _link(box.way, load),
        "round trip": _round_trip(box.way, load),
    }
    return {part: each for part, each in found.items() if each}


def _one_at_a_time(box: Box, load: Load) -> OneAtATime | None:
    if box.layout.width == 1 or not load.random_share:
        return None
    work = box.layout.lone_request(load)
    each = box.drive.random_iops(work.piece_bytes, 1, 1)
    seconds = load.random_share * work.steps / each
    seconds += (1 - load.random_share) * load.block_bytes / box.drive.stream_bytes_per_s
    return OneAtATime(1 / seconds, work.steps, each)


def _heads(box: Box, load: Load) -> Heads:
    work = box.layout.lone_request(load)
    each, busy = box.drive.random_iops(work.piece_bytes, 1, 1), _at_work(box.layout, load, work)
    return Heads(busy * each / work.total, busy, each, work)


def _at_work(layout: Layout, load: Load, work: DriveWork) -> float:
    """How many drives the outstanding requests keep at work, at the most."""
    return min(layout.width, load.outstanding * max(work.abreast, work.total / work.steps))


def _best(box: Box, load: Load, heads: Heads) -> Drives:
    """No less than a seek for each on all that hold the same."""
    best = _drives(box, load)
    if box.layout.copies > 1 and load.random_share < 1 and heads.iops > best.iops:
        return best._replace(iops=heads.iops, by_seeks=True)
    return best


def _drives(box: Box, load: Load) -> Drives:
    layout, work = box.layout, box.layout.lone_request(load)
    stream = layout.stream_drives * box.drive.stream_bytes_per_s
    seconds = (1 - load.random_share) * load.block_bytes / stream
    if not load.random_share:
        return Drives(1 / seconds, queues=None, gathered=False)
    seconds += load.random_share * work.gathered_bytes / stream
    queues, gathered = None, work.gathered_bytes > 0
    moving, read_share = (work.reads, 1.0) if gathered else (work.total, work.read_share)
    if moving:
        depth = max(1, load.outstanding * work.abreast // layout.width)
        queues = Queues(depth, box.drive.random_iops(work.piece_bytes, read_share, depth))
        seconds += load.random_share * moving / (_at_work(layout, load, work) * queues.served_per_s)
    return Drives(1 / seconds, queues, gathered)


def _link(way: Way, load: Load) -> Link | None:
    if way.link_bits_per_s is None:
        return None
    # Reads and writes go opposite ways, each with the whole width.
    busier = max(load.read_share, load.write_share)
    payload = way.link_bits_per_s / 8 * PAYLOAD_SHARE
    return Link(payload / load.block_bytes / busier, way.link_bits_per_s, payload)


def _round_trip(way: Way, load: Load) -> RoundTrip | None:
    if way.round_trip_s is None:
        return None
    return RoundTrip(load.outstanding / way.round_trip_s, way.round_trip_s)
