"""The faults that were ordered for a rebuild, in words: who reads of a failure must see that it was made to happen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from shakedown.toml import parse_toml
from shakedown.units import NS_PER_S, format_duration


def told_faults(faults: Mapping[int, str]) -> str:
    """``drive 1 gone from 60 min on for 5 s; drive 2 stall from the beginning on for 10 s``; empty without any."""
    drives = (
        f"drive {place} " + ", ".join(_told(fault) for fault in parse_toml(text).get("faults", ()))
        for place, text in sorted(faults.items())
    )
    return "; ".join(drives)


_FOR_GOOD_S: Final = 10_000_000
"""Four months: no rebuild goes on for longer."""


def _told(fault: Mapping[str, Any]) -> str:
    parts = [str(fault["kind"])]
    if "sectors" in fault:
        sectors = sum(int(count) for _, count in fault["sectors"])
        parts.append(f"({sectors} {'sector' if sectors == 1 else 'sectors'})")
    parts.append(f"from {_duration(fault.get('from_s', 0))} on")
    if "for_s" in fault:
        parts.append("for good" if fault["for_s"] >= _FOR_GOOD_S else f"for {_duration(fault['for_s'])}")
    elif fault["kind"] == "gone":
        parts.append("for good")
    parts += [f"every {_duration(fault['every_s'])}"] if "every_s" in fault else []
    return " ".join(parts)


def _duration(seconds: float) -> str:
    return format_duration(round(seconds * NS_PER_S)) if seconds else "the beginning"
