"""A profile made of a data sheet: what the sheet says, what follows from it, and the rest as of a drive that is known.

``docs/profiles.md`` tells the rules.
"""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass
from typing import Any, Final

from shakedown.data import profile_path, reference_path
from shakedown.errors import UsageError
from shakedown.fit.twin import Plain, Twin
from shakedown.model_number import UNKNOWN_MODEL
from shakedown.reference import read_rows
from shakedown.target.profile import read_profile
from shakedown.toml import parse_toml
from shakedown.units import SECTOR_BYTES, parse_data_rate, parse_memory_bytes, parse_rated_bytes

LIKE: Final = "assumed: as "
"""The beginning of the origin of what is taken of another drive; its name follows."""

ADVISED: Final = "it advises for its self-test"
"""In the origin of a rate that follows from that."""

_MADE: Final = "Made of a data sheet: docs/profiles.md tells the rules."
_MADE_OF_LIST: Final = "Made by `make profiles` of reference/data_sheets.csv: docs/profiles.md tells the rules."
_FAST_RPM: Final = 6000
_FAST, _SLOW = "st12000vn0007", "wd40efrx"
"""The conventional drives that others are like: of 7200 turns a minute, and of 5400."""

_BLOCK_BYTES: Final = 4096
_WRITTEN_SHARE: Final = 3 / 8
_INNER_SHARE: Final = 1 / 2
_MEAN_SHARE: Final = (1 + _INNER_SHARE) / 2
"""Of the rate at the edge: all zones have as many tracks, in even steps from the edge to the inner edge."""
_SMALL_GB: Final = 8000
MOST_HEADS: Final = 64
"""As the core has it."""
_COUNTED_SECTORS: Final = 1 << 21

_BY: Final = {
    "data sheet": "by its data sheet",
    "published": "of which others measured it",
    "fitted": "of which it is fitted",
    "measured": "of which it was measured",
    "assumed": "of which it is assumed, too",
}
_Section = dict[str, tuple[Plain, str]]


@dataclass(frozen=True)
class DataSheet:
    """What is known of a drive from outside. ``source`` is the origin of its figures, ``rate_source`` of the rate;
    ``is_listed``: it is a row of ``reference/data_sheets.csv``. ``self_test_s`` is what the drive itself advises for
    its extended self-test, ``self_test_source`` its origin. One of that and the rate has to be known.

    ``like`` is the drive whose mechanics and buffer it has where nothing is said, None: a usual one. ``shingles_like``
    is the one whose translation layer it has, None: it is conventional.
    """

    name: str
    title: str
    capacity_bytes: int
    rpm: float
    outer_bytes_per_s: int | None
    source: str
    rate_source: str
    self_test_s: float | None = None
    self_test_source: str = ""
    vendor: str = "unknown"
    model: str = UNKNOWN_MODEL
    firmware: str = "0"
    cache_bytes: int | None = None
    seek_ms: float | None = None
    heads: int | None = None
    like: str | None = None
    shingles_like: str | None = None
    is_listed: bool = False


def listed_sheets() -> dict[str, DataSheet]:
    """The drives of ``reference/data_sheets.csv``, by name."""
    text = reference_path("data_sheets.csv").read_text(encoding="utf-8")
    sheets = (_sheet(row) for row in csv.DictReader(text.splitlines()))
    return {sheet.name: sheet for sheet in sheets}


def _sheet(row: dict[str, str]) -> DataSheet:
    number = row["model"]
    capacity = re.sub(r"(\d)(\D)", r"\1 \2", row["capacity"])
    remembered = f"assumed: remembered of the data sheet of {number}, not looked up"
    self_test = read_rows(reference_path("published.csv"))[row["self_test"]] if row["self_test"] else None
    kind = f"drive-managed SMR; how it shingles is assumed, as {row['shingles_like']}"
    return DataSheet(
        name=number.lower(),
        title=f"{row['family']} {capacity} ({number}), {kind if row['shingles_like'] else 'conventional'}",
        capacity_bytes=rated_bytes(parse_rated_bytes(row["capacity"])),
        rpm=int(row["rpm"]),
        outer_bytes_per_s=parse_data_rate(row["outer_rate"]),
        source=row["source"] or remembered,
        rate_source=row["rate_source"] or row["source"] or remembered,
        self_test_s=float(self_test.value) * 60 if self_test else None,
        self_test_source=f"published {self_test.id}" if self_test else "",
        vendor=row["vendor"],
        model=row["reported_model"],
        firmware=row["firmware"] or "0",
        cache_bytes=parse_memory_bytes(row["cache"]),
        heads=int(row["heads"]) if row["heads"] else None,
        like=row["like"] or None,
        shingles_like=row["shingles_like"] or None,
        is_listed=True,
    )


@dataclass(frozen=True)
class Edge:
    """The rate at which a drive is said to read on and on at its edge, and who says so."""

    bytes_per_s: float
    origin: str


def edge_of(sheet: DataSheet) -> Edge:
    """The sheet's rate, or the one with which reading all of it takes as long as the drive advises for its self-test.

    The faster one: a self-test reads all of the surface, so advice may hold a reserve, but a drive that advises less
    than its sheet's rate allows is faster than its sheet. Raises UsageError if neither is known.
    """
    told = sheet.outer_bytes_per_s
    if sheet.self_test_s is None:
        if told is None:
            raise UsageError("how fast does it read?", hint="give `--outer-rate`, `--self-test`, or both")
        return Edge(told, sheet.rate_source)
    advised = sheet.capacity_bytes / sheet.self_test_s / _MEAN_SHARE
    advises = f"{ADVISED} {sheet.self_test_s / 60:.0f} min"
    if told is None or advised > told:
        beside = "" if told is None else f", less than the {told / 1e6:g} MB/s of its data sheet would take"
        return Edge(advised, f"{sheet.self_test_source}: {advises}{beside}")
    return Edge(told, sheet.rate_source)


def rated_bytes(told_bytes: int) -> int:
    """The usable bytes of a drive that is sold as so many: what all vendors have agreed on.

    Up to 8 TB by IDEMA's LBA1-03, which counts sectors from 50 GB on; above, whole multiples of 2^21 sectors. A size
    that is not a round number of GB is taken as it is, but for the part of a block.
    """
    gigabytes, rest = divmod(told_bytes, 10**9)
    if rest or gigabytes < 50:
        return told_bytes // _BLOCK_BYTES * _BLOCK_BYTES
    if gigabytes <= _SMALL_GB:
        return (97_696_368 + 1_953_504 * (gigabytes - 50)) * SECTOR_BYTES
    return -(-told_bytes // (SECTOR_BYTES * _COUNTED_SECTORS)) * _COUNTED_SECTORS * SECTOR_BYTES


def profile_of(sheet: DataSheet) -> str:
    """The profile's text. Raises UsageError for a drive to be like that is not there, or has no shingles."""
    usual = _FAST if sheet.rpm >= _FAST_RPM else _SLOW
    like = _Known(sheet.like or usual)
    twin = Twin(sheet.name, sheet.title)
    twin.sections["identity"] = _identity(sheet)
    twin.sections["geometry"] = _geometry(sheet, like)
    twin.sections["mechanics"] = _mechanics(sheet, like)
    twin.sections["dram"] = _dram(sheet, like)
    # What it is like may stand behind a USB bridge.
    for section in ("queue", "interface"):
        twin.sections[section] = _Known(usual).section(section)
    twin.sections |= _translation(sheet)
    return f"# {_MADE_OF_LIST if sheet.is_listed else _MADE}\n{twin.toml}"


class _Known:
    """A drive that others are like; whatever is taken of it says so."""

    def __init__(self, name: str) -> None:
        path = profile_path(name)
        self.name = path.stem
        self._table = parse_toml(read_profile(path))

    def number(self, section: str, key: str) -> float:
        return float(self._table[section][key]["value"])

    def section(self, name: str) -> _Section:
        """All values of a table, such as ``translation.cache``."""
        table: dict[str, Any] = self._table
        for part in name.split("."):
            table = table[part]
        return {key: (each["value"], self._origin(each["origin"])) for key, each in table.items() if "value" in each}

    def shingles(self) -> dict[str, _Section]:
        """Its translation layer. Raises UsageError for a conventional drive."""
        if self._table["translation"]["kind"]["value"] != "shingled":
            raise UsageError(f"`{self.name}` does not shingle", hint="take one that does: `shakedown profiles` tells")
        parts = [f"translation.{key}" for key, each in self._table["translation"].items() if "value" not in each]
        return {name: self.section(name) for name in ("translation", *parts)}

    def _origin(self, own: str) -> str:
        """Without the rows that the other one was made from: they say nothing of this drive."""
        kind = "data sheet" if own.startswith("data sheet") else own.split(" ", maxsplit=1)[0].rstrip(":")
        return f"{LIKE}{self.name}, {_BY[kind]}"


def _identity(sheet: DataSheet) -> _Section:
    decides = "assumed: as smartctl shows it of some; it decides nothing"
    return {
        "vendor": (sheet.vendor, decides),
        "model": (sheet.model, decides),
        "firmware": (sheet.firmware, decides),
        "serial_prefix": ("DS", "assumed: of a data sheet; it decides nothing"),
    }


def _geometry(sheet: DataSheet, like: _Known) -> _Section:
    """Tracks that sustain the rate, as many a surface as of the one it is like; skews that hide as much time."""
    section = like.section("geometry")
    degrees = {}
    for key in ("track_skew_degrees", "cylinder_skew_degrees"):
        degrees[key] = math.ceil(like.number("geometry", key) * sheet.rpm / like.number("geometry", "rpm"))
        section[key] = (degrees[key], f"assumed: hides as many ms as that of {like.name}")
    edge = edge_of(sheet)
    turn_bytes = edge.bytes_per_s * 60 / sheet.rpm
    of_surface = like.number("geometry", "capacity_bytes") / like.number("geometry", "heads")
    of_track = like.number("geometry", "outer_track_bytes")
    by_rule = max(1, round(sheet.capacity_bytes / (of_surface * turn_bytes / of_track)))
    heads = sheet.heads or _possible(by_rule, edge)
    outer_bytes = _whole_blocks(turn_bytes * turns_of_track(heads, *degrees.values()))
    section["capacity_bytes"] = (sheet.capacity_bytes, f"{sheet.source}; in the sectors that vendors have agreed on")
    section["rpm"] = (sheet.rpm, sheet.source)
    section["heads"] = (
        heads,
        "assumed: both sides of its platters, whose number is told"
        if sheet.heads
        else f"assumed: as many tracks a surface as {like.name}",
    )
    sustained = sustained_bytes_per_s(outer_bytes, sheet.rpm, heads, *degrees.values())
    sustains = f"sustains {sustained / 1e6:.0f} MB/s at the edge, skews included"
    section["outer_track_bytes"] = (outer_bytes, f"{edge.origin}; {sustains}")
    half = "assumed: half of an outer track, the usual ratio of the radii"
    section["inner_track_bytes"] = (_whole_blocks(outer_bytes * _INNER_SHARE), half)
    return section


def _possible(heads: int, edge: Edge) -> int:
    if heads > MOST_HEADS:
        raise UsageError(
            f"at {edge.bytes_per_s / 1e6:.3g} MB/s at the edge its tracks are so short that it needs {heads} heads",
            hint=f"no drive has more than {MOST_HEADS}: is the capacity too much, or what tells the rate too slow?",
        )
    return heads


def _mechanics(sheet: DataSheet, like: _Known) -> _Section:
    section = like.section("mechanics")
    if sheet.seek_ms is None:
        return section
    section.pop("seek_table", None)
    single = _Known(_FAST if sheet.rpm >= _FAST_RPM else _SLOW).section("mechanics")["seek_single_track_ms"]
    return {
        "seek_single_track_ms": single,
        "seek_average_ms": (sheet.seek_ms, sheet.source),
        "seek_full_stroke_ms": (2 * sheet.seek_ms, "assumed: twice the average seek"),
        **{key: value for key, value in section.items() if not key.startswith("seek_")},
    }


def _dram(sheet: DataSheet, like: _Known) -> _Section:
    section = like.section("dram")
    if sheet.cache_bytes is not None:
        share = f"{sheet.source}; three eighths of {sheet.cache_bytes / 2**20:.0f} MiB, assumed, are for written data"
        section["write_bytes"] = (_whole_blocks(sheet.cache_bytes * _WRITTEN_SHARE), share)
    return section


def _translation(sheet: DataSheet) -> dict[str, _Section]:
    kind = "as reference/smr_models.csv has it, which tells by whom" if sheet.is_listed else "as ordered"
    if sheet.shingles_like is None:
        return {"translation": {"kind": ("identity", f"assumed: {kind}")}}
    known = _Known(sheet.shingles_like)
    sections = known.shingles()
    sections["translation"]["kind"] = ("shingled", f"assumed: {kind}")
    share = sheet.capacity_bytes / known.number("geometry", "capacity_bytes")
    log_bytes, origin = sections["translation.cache"]["bytes"]
    assert isinstance(log_bytes, int)
    sections["translation.cache"]["bytes"] = (
        _whole_blocks(log_bytes * share),
        f"{origin}; the same share of the drive",
    )
    return sections


def sustained_bytes_per_s(track_bytes: int, rpm: float, heads: int, *skews_degrees: float) -> float:
    """At which a drive reads on and on where its tracks, of whole blocks, hold so much; skews are those of a track."""
    return track_bytes / turns_of_track(heads, *skews_degrees) / (60 / rpm)


def turns_of_track(heads: int, track_skew_degrees: float, cylinder_skew_degrees: float) -> float:
    """What a track takes where it is one of many in a row: its turn, and its share of a cylinder's skews."""
    return 1 + (track_skew_degrees * (heads - 1) + cylinder_skew_degrees) / heads / 360


def _whole_blocks(size_bytes: float) -> int:
    return max(1, round(size_bytes / _BLOCK_BYTES)) * _BLOCK_BYTES
