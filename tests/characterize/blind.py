"""Profiles that nobody has seen: those of ours with other insides, drawn by a seed; and their truth, for tests only."""

from __future__ import annotations

import json
import random
import tomllib
from dataclasses import dataclass
from typing import Any

from shakedown.data import profile_path


@dataclass(frozen=True)
class Truth:
    """A profile's values by their full keys, and its text."""

    values: dict[str, Any]
    toml: str

    @staticmethod
    def of(text: str) -> Truth:
        return Truth(dict(_flat(tomllib.loads(text))), text)

    @property
    def shingled(self) -> bool:
        return bool(self.values["translation.kind"] == "shingled")


def known(name: str) -> Truth:
    """A profile of ours."""
    return Truth.of(profile_path(name).read_text())


def drawn(name: str, seed: int) -> Truth:
    """One with other insides."""
    draw = random.Random(seed)
    truth = known(name)
    values = truth.values
    outer = draw.randrange(300, 600) * 4096
    new: dict[str, Any] = {
        "geometry.rpm": draw.choice([5400, 5425, 5900, 7200, 7213.5]),
        "geometry.heads": draw.randrange(2, 13),
        "geometry.outer_track_bytes": outer,
        "geometry.inner_track_bytes": int(outer * draw.uniform(0.42, 0.6)) // 4096 * 4096,
        "geometry.track_skew_degrees": draw.randrange(44, 56),
        "geometry.cylinder_skew_degrees": draw.randrange(60, 80),
        "interface.overhead_us": draw.randrange(40, 200),
    }
    if truth.shingled:
        writes = draw.choice([1, 1, 4, 11])
        new |= {
            "translation.tracks_per_band": draw.randrange(14, 120),
            "translation.cache.bytes": draw.randrange(15, 45) * 10**9 // 4096 * 4096,
            "translation.cache.entries": draw.randrange(120, 450) * 1000,
            "translation.cache.entry_counts": draw.choice(["write", "packet"]),
            "translation.cache.packet_writes": writes,
            "translation.cleaning.idle_ms": draw.randrange(700, 3000),
            "translation.cleaning.bands_per_pass": draw.choice([1, 1, 2, 4, 8]),
            "translation.cleaning.collect_turns": round(draw.uniform(0.1, 0.5), 2),
            "translation.streams.min_request_bytes": draw.choice([32_768, 65_536, 131_072, 262_144]),
            "translation.streams.tracked": draw.randrange(2, 17),
        }
    return Truth.of(_written(values | new))


def wild(seed: int) -> Truth:
    """One of any kind: where its cache lies, how it maps and when it cleans are drawn as well.

    None that is lazy with a cache in several places: see docs/characterize.md.
    """
    draw = random.Random(f"wild {seed}")
    values = drawn("wd40efax", seed).values
    place = draw.choice(["outer", "inner", "spread", "flash"])
    values |= {"translation.cache.place": place}
    if place == "spread":
        values["translation.cache.regions"] = draw.choice([2, 3, 5, 8, 12])
    if place == "flash":
        for key in ("packet_tracks", "packet_turns", "append_turns"):
            del values[f"translation.cache.{key}"]
        del values["translation.cleaning.collect_turns"]
        values |= {
            "translation.cache.flash_read_us": draw.randrange(60, 200),
            "translation.cache.flash_write_us": draw.randrange(60, 300),
            "translation.cache.flash_rate_mb_s": draw.randrange(200, 480),
        }
    else:
        values["translation.cache.append_tracks"] = draw.choice([0.0, 0.0, 0.3, 0.5])
        values["translation.cache.packet_tracks"] = draw.choice([0.0, 0.0, 0.1, 0.4])
    if place != "spread" and draw.random() < 0.4:
        low = draw.uniform(0.4, 0.8)
        high = low + draw.uniform(0.05, 0.15)
        values["translation.cleaning.when"] = "lazy"
        values |= {"translation.cleaning.high_mark": round(high, 2), "translation.cleaning.low_mark": round(low, 2)}
    elif draw.random() < 0.3:
        values |= {"translation.mapping": "dynamic", "translation.spare_bands": draw.randrange(2, 6)}
    if draw.random() < 0.25:
        values["translation.streams.tracked"] = 0
    return Truth.of(_written(values))


def restless(seed: int) -> Truth:
    """A wild one of which it is drawn as well what drives its cleaning, and in which order bands are cleaned."""
    draw = random.Random(f"restless {seed}")
    values = wild(seed).values | {"translation.cleaning.order": draw.choice(["fifo", "most-dirty"])}
    if draw.random() < 0.5:
        values["translation.cleaning.driven"] = "pressure"
        del values["translation.cleaning.idle_ms"]
    return Truth.of(_written(values))


def with_values(values: dict[str, Any]) -> Truth:
    """The one with these values."""
    return Truth.of(_written(values))


def changed(name: str, **new: Any) -> Truth:
    """One with other values, dots of their keys written as double underscores."""
    return Truth.of(_written(known(name).values | {key.replace("__", "."): value for key, value in new.items()}))


def small(*, rpm: float = 5400, shingled: bool = True) -> Truth:
    """A drive of 8 GB, for real time: everything of it is small, but no part is missing."""
    truth = changed(
        "wd40efax" if shingled else "st12000vn0007",
        geometry__capacity_bytes=8_000_000_000 // 4096 * 4096,
        geometry__rpm=rpm,
        geometry__heads=4,
        geometry__outer_track_bytes=1 << 20,
        geometry__inner_track_bytes=1 << 19,
        geometry__zones=8,
        geometry__track_skew_degrees=80,
        geometry__cylinder_skew_degrees=100,
        dram__write_bytes=16 << 20,
    )
    if not shingled:
        return truth
    cache = {"bytes": 160_000_000 // 4096 * 4096, "entries": 1500, "journal_ms": 200}
    values = truth.values | {f"translation.cache.{key}": value for key, value in cache.items()}
    return Truth.of(_written(values | {"translation.tracks_per_band": 16}))


def small_wild(seed: int) -> Truth:
    """One of 8 to 14 GB, for real time, with everything about it drawn."""
    draw = random.Random(f"small {seed}")
    values = wild(seed).values | {"translation.cache.place": draw.choice(["outer", "outer", "inner"])}
    _put_in_one_place(values)
    outer = draw.randrange(180, 420) * 4096
    values |= {
        "geometry.capacity_bytes": draw.randrange(8_000, 14_000) * 10**6 // 4096 * 4096,
        "geometry.rpm": round(draw.uniform(5000, 7400), 1),
        "geometry.heads": draw.randrange(2, 9),
        "geometry.outer_track_bytes": outer,
        "geometry.inner_track_bytes": int(outer * draw.uniform(0.42, 0.62)) // 4096 * 4096,
        "geometry.zones": draw.randrange(6, 20),
        "geometry.track_skew_degrees": draw.randrange(60, 80),
        "geometry.cylinder_skew_degrees": draw.randrange(90, 110),
        "mechanics.seek_average_ms": round(draw.uniform(9, 13), 1),
        "mechanics.seek_full_stroke_ms": round(draw.uniform(17, 25), 1),
        "dram.write_bytes": draw.choice([8, 16, 32]) << 20,
        "translation.tracks_per_band": draw.randrange(10, 40),
        "translation.cache.bytes": draw.randrange(150, 300) * 10**6 // 4096 * 4096,
        "translation.cache.entries": draw.randrange(9, 40) * 100,
        "translation.cache.packet_tracks": draw.choice([0.0, 0.1, 0.4]),
        "translation.cache.packet_turns": 0.5,
        "translation.cache.append_turns": round(draw.uniform(0.5, 1.2), 2),
        "translation.cleaning.collect_turns": round(draw.uniform(0.1, 0.5), 2),
        "translation.cache.journal_every": draw.choice([0, 120, 240]),
        "translation.cache.journal_ms": draw.randrange(100, 400),
    }
    return Truth.of(_written(values))


def pressed(seed: int) -> Truth:
    """A small one that is lazy and, above its high mark, cleans without waiting for silence, in either order."""
    draw = random.Random(f"pressed {seed}")
    low, order = draw.uniform(0.25, 0.8), draw.choice(["fifo", "most-dirty"])
    high = low + draw.uniform(0.05, 0.2)
    return Truth.of(_written(under_pressure(small_wild(seed).values, round(high, 2), round(low, 2), order=order)))


def large_pressed(seed: int) -> Truth:
    """One of usual size, on its platters, that is lazy and cleans under pressure, in either order."""
    draw = random.Random(f"bigpressed {seed}")
    values = wild(seed).values
    cache, cleaning = "translation.cache", "translation.cleaning"
    if values[f"{cache}.place"] in ("flash", "spread"):
        _put_in_one_place(values)
        values |= {
            f"{cache}.place": draw.choice(["outer", "inner"]),
            f"{cache}.packet_tracks": draw.choice([0.0, 0.07, 0.3]),
            f"{cache}.packet_turns": round(draw.uniform(0.05, 0.6), 2),
            f"{cache}.append_turns": round(draw.uniform(0.4, 1.2), 2),
        }
        values.setdefault(f"{cleaning}.collect_turns", round(draw.uniform(0.1, 0.5), 2))
    low = draw.uniform(0.25, 0.8)
    high = min(low + draw.uniform(0.05, 0.25), 0.97)
    values |= {
        "geometry.capacity_bytes": draw.randrange(500, 16_000) * 10**9 // 4096 * 4096,
        f"{cache}.bytes": draw.randrange(3, 60) * 10**9 // 4096 * 4096,
        f"{cache}.entries": draw.randrange(15, 450) * 1000,
        f"{cache}.entry_counts": draw.choice(["write", "packet"]),
        f"{cache}.packet_writes": draw.choice([1, 3, 8]),
    }
    bands, order = draw.choice([1, 2, 3, 5]), draw.choice(["fifo", "most-dirty"])
    values = under_pressure(values, round(high, 2), round(low, 2), bands_per_pass=bands, order=order)
    if draw.random() < 0.6:
        values.pop("translation.mapping", None)
    if "translation.mapping" not in values:
        values.pop("translation.spare_bands", None)
    return Truth.of(_written(values))


def under_pressure(values: dict[str, Any], high: float, low: float, **cleaning: Any) -> dict[str, Any]:
    """The same drive, but lazy, and above its high mark it cleans without waiting for silence."""
    marks = {"when": "lazy", "driven": "pressure", "high_mark": high, "low_mark": low}
    values = values | {f"translation.cleaning.{key}": value for key, value in (marks | cleaning).items()}
    values.pop("translation.cleaning.idle_ms", None)
    return values


def _put_in_one_place(values: dict[str, Any]) -> None:
    """Drop what only caches in flash or in several places have."""
    for key in ("regions", "flash_read_us", "flash_write_us", "flash_rate_mb_s"):
        values.pop(f"translation.cache.{key}", None)


def _flat(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found = []
    for key, inner in table.items():
        if isinstance(inner, dict) and "origin" in inner:
            found.append((prefix + key, inner["value"]))
        elif isinstance(inner, dict):
            found += _flat(inner, f"{prefix}{key}.")
    return found


def _written(values: dict[str, Any]) -> str:
    lines = ["format_version = 1", 'name = "blind"', 'title = "A drive that nobody has seen"']
    sections: dict[str, list[str]] = {}
    for key, value in values.items():
        section, _, name = key.rpartition(".")
        line = f'{name} = {{ value = {json.dumps(value)}, origin = "assumed: drawn for a test" }}'
        sections.setdefault(section, []).append(line)
    for section, entries in sections.items():
        lines += [f"[{section}]", *entries]
    return "\n".join(lines) + "\n"
