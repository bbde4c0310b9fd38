"""The drive card: one small JSON and one picture a model and firmware, made to be shared and laid beside others.

It holds no serial number, no path and no name of a machine: of the target only model, firmware and size, of the
environment only kernel and fio.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, Final
from xml.sax.saxutils import escape

import numpy as np

from shakedown.report import words
from shakedown.report.played import are_beside, rate_unit, samples_of
from shakedown.report.series import Grid, Values, envelope, tracks
from shakedown.result.folder import Run
from shakedown.result.run_record import StepRecord
from shakedown.units import NS_PER_S, format_duration, format_size

FORMAT_VERSION: Final = 1
HEAD: Final = '{\n "card": "shakedown drive card"'
PICTURE_HEAD: Final = "<svg xmlns="
BINS: Final = 240

_SHARED_ENVIRONMENT: Final = ("kernel", "fio")
_WIDTH: Final = 720
_HEIGHT: Final = 360
_LEFT, _TOP, _RIGHT, _BOTTOM = 70, 74, 16, 34
# Below the lowest decade, for nothing at all.
_ZERO_HEIGHT: Final = 18
_TOLD_FIRST: Final = ("cliff", "recovery", "knee")


def card_document(run: Run, model: str, firmware: str | None) -> dict[str, Any]:
    """The card of a run of a drive; ``rate`` is bounded in length and keeps every extreme (smallest, largest)."""
    record = run.record
    grid, rate = _rate(run)
    return {
        "card": "shakedown drive card",
        "format_version": FORMAT_VERSION,
        "shakedown_version": record.shakedown_version,
        "model": model,
        "firmware": firmware,
        "capacity_bytes": record.target.capacity_bytes,
        "shingled": record.target.shingled,
        "arena": record.arena,
        "target_kind": record.target.kind,
        "modelled": record.is_of_a_model,
        "scale_divisor": record.target.scale_divisor,
        "protocol": {
            "name": record.protocol.name,
            "title": record.protocol.title,
            "sha256": record.protocol.sha256,
            "parameters": record.parameters,
        },
        "environment": {name: record.environment[name] for name in _SHARED_ENVIRONMENT if name in record.environment},
        "status": record.status,
        "verdict": {use.use: use.status for use in record.verdict.uses} if record.verdict else None,
        "findings": [
            {name: getattr(finding, name) for name in ("kind", "step", "value", "unit", "low", "high")}
            for finding in record.findings
            if not finding.kind.endswith("-ratio")
        ],
        "steps": [{"name": step.name, "start_ns": step.start_ns, "end_ns": step.end_ns} for step in record.steps],
        "rate": {
            "unit": _unit(run)[0],
            "bin_ns": grid.bin_ns,
            "values": [[_short(low), _short(high)] for low, high in rate.tolist()],
        },
    }


def card_json(document: dict[str, Any]) -> bytes:
    """The bytes of a card's JSON."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False).encode("utf-8", errors="replace") + b"\n"


_PLACES: Final = {
    "file": "a file",
    "directory": "a file in a folder",
    "nbd": "a device served over NBD",
    "disk": "a disk",
    "loop": "a loop device",
}


def card_picture(run: Run, document: dict[str, Any]) -> bytes:
    """The card as an SVG that needs nothing else: what it is, its rate over time, its findings."""
    grid, rate = _rate(run)
    firmware = f", firmware {document['firmware']}" if document["firmware"] else ""
    title = f"{document['model']}{firmware}, {format_size(document['capacity_bytes'])}"
    where = words.MODELLED if run.record.is_of_a_model else f"measured on {_PLACES[run.record.target.kind]}"
    faults = f", faults: {told}" if (told := run.record.parameters.get("faults")) else ""
    subtitle = f"{run.record.protocol.title} ({run.record.protocol.name}){faults}; {where}"
    found = [f for f in run.record.findings if f.value is not None and not f.kind.endswith("-ratio")]
    found.sort(key=lambda finding: finding.kind not in _TOLD_FIRST)
    facts = "; ".join(
        f"{words.kind_name(f.kind)} in {f.step}: {words.found(f.kind, f.value, f.unit)}" for f in found[:3]
    )
    parts = [
        f'{PICTURE_HEAD}"http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        _text(16, 24, title, 16, "#111"),
        _text(16, 42, subtitle, 11, "#555"),
        _text(16, 60, facts, 11, "#111"),
        *_plot(run, grid, rate),
        "</svg>",
    ]
    return ("\n".join(parts) + "\n").encode("utf-8", errors="replace")


def _rate(run: Run) -> tuple[Grid, Values]:
    """Requests, of a rebuild MiB, a second over the whole run, all directions together: least and most of each bin.

    There are at most BINS of them.
    """
    steps = run.record.steps
    end_ns = max((step.end_ns for step in steps), default=0)
    interval_ns = min((step.interval_ns for step in steps if step.job), default=NS_PER_S)
    grid = Grid.over(0, end_ns, interval_ns, BINS)
    return grid, np.sort(envelope(grid, tracks(samples_of(run, _drawn(run)))["iops"]), axis=1)


def _drawn(run: Run) -> Sequence[StepRecord]:
    """Mebibytes of a rebuild are no requests of the users' beside it."""
    steps = run.record.steps
    return [step for step in steps if step.name != "rebuild"] if are_beside(steps) else steps


def _unit(run: Run) -> tuple[str, str]:
    """What the rate is of, in JSON and in words: of a rebuild without users it is its progress."""
    units = {rate_unit(run, step) for step in _drawn(run)}
    return ("mebibytes_per_second", "MiB/s") if units == {"MiB/s"} else ("operations_per_second", "requests a second")


def _plot(run: Run, grid: Grid, rate: Values) -> list[str]:
    """Steps as bands, decades as lines, the rate of each bin as a bar from smallest to largest; 0 below all decades."""
    positive = rate[rate > 0]
    low = math.floor(math.log10(positive.min())) if len(positive) else 0
    high = max(math.ceil(math.log10(positive.max())) if len(positive) else 1, low + 1)
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    span_ns = grid.bin_ns * grid.bins

    def across(time_ns: float) -> float:
        return _LEFT + width * time_ns / span_ns

    def up(value: float) -> float:
        if value <= 0:
            return _TOP + height
        return _TOP + (height - _ZERO_HEIGHT) * (1 - (math.log10(value) - low) / (high - low))

    parts = []
    for number, step in enumerate(run.record.steps):
        left, right = across(step.start_ns), across(step.end_ns)
        fill = "#f3f3f3" if number % 2 else "#e9eef5"
        parts.append(f'<rect x="{left:.1f}" y="{_TOP}" width="{right - left:.1f}" height="{height}" fill="{fill}"/>')
        if right - left > 6 * len(step.name):
            parts.append(_text(left + 3, _TOP + 12, step.name, 10, "#777"))
    for value in (0.0, *(10.0**decade for decade in range(low, high + 1))):
        y = up(value)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ccc"/>')
        parts.append(_text(_LEFT - 6, y + 4, f"{value:g}", 10, "#555", "end"))
    for place in np.flatnonzero(~np.isnan(rate[:, 0])):
        x = across((float(place) + 0.5) * grid.bin_ns)
        least, most = (up(float(value)) for value in rate[place])
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{least + 0.8:.1f}" y2="{most - 0.8:.1f}"'
            ' stroke="#1f5fa8" stroke-width="2"/>'
        )
    parts.append(_text(_LEFT, _HEIGHT - 12, f"{_unit(run)[1]} over {format_duration(span_ns)}", 11, "#555"))
    return parts


def _text(x: float, y: float, text: str, size: int, fill: str, anchor: str = "start") -> str:
    plain = "".join(each if each.isprintable() else "\ufffd" for each in text)
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}">{escape(plain)}</text>'
    )


def _short(value: float) -> float | None:
    """Four digits are finer than the picture."""
    return None if math.isnan(value) else float(f"{value:.4g}")
