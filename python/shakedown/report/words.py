"""How figures, uses and outcomes read, the same wherever they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from shakedown.analysis.rules import Use
from shakedown.analysis.status import off_by
from shakedown.analysis.verdict import Status, UseVerdict
from shakedown.result.folder import Run
from shakedown.result.identity import Identity
from shakedown.result.run_record import EndedBecause, RunRecord
from shakedown.units import TIME_UNITS_NS, format_around, format_duration

NONE: Final = "–"

USE_NAMES: Final[dict[Use, str]] = {
    "archive": "Archive",
    "desktop": "Desktop",
    "mdraid": "Linux md RAID",
    "zfs": "ZFS",
}
USE_PLACES: Final[dict[Use, str]] = {
    "archive": "as an archive",
    "desktop": "as a desktop's disk",
    "mdraid": "in a Linux md RAID",
    "zfs": "in a ZFS pool",
}
Outcome = Literal[Status, "caution"]
_GRAVITY: Final[tuple[Outcome, ...]] = ("fail", "inconclusive", "caution", "pass")
USE_MEANINGS: Final[dict[Use, str]] = {
    "archive": "written once in large pieces, then read",
    "desktop": "system and everyday work",
    "mdraid": "member of an mdraid array, rebuilds included",
    "zfs": "member of a ZFS pool, resilvers included",
}
STATUS_WORDS: Final = {
    "pass": "trust it",
    "fail": "do not trust it",
    "inconclusive": "not enough evidence to trust it",
}
KIND_NAMES: Final = {
    "throughput": "throughput",
    "latency": "mean latency",
    "worst-latency": "worst latency",
    "cliff": "time to the cliff",
    "recovery": "time to recover",
    "knee": "knee of the load",
    "rebuild-time": "time to rebuild",
    "bottleneck": "waiting for one drive",
    "estimate-error": "error of the estimate",
}
ENDED: Final[dict[EndedBecause, str]] = {
    "condition": "the condition was seen",
    "job-ended": "the job was done",
    "idle-over": "the pause was over",
    "failed": "it failed",
    "interrupted": "it was interrupted",
    "skipped": "it was skipped",
}

_CAUTION: Final = "CAUTION: "
MODELLED: Final = "Modelled drive: a prediction, not a measurement."


_SHARES: Final = frozenset({"bottleneck", "estimate-error"})
"""Of which nobody asks how many times one is the other."""


def below(time_ms: float, limit_ms: float) -> str:
    """A time that is shorter than a limit, however near: what reads like it is just under it."""
    told = format_duration(time_ms * 1e6)
    return f"just under {told}" if time_ms < limit_ms and told == format_duration(limit_ms * 1e6) else told


def kind_name(kind: str) -> str:
    """``worst-latency`` as people say it."""
    return KIND_NAMES.get(kind, kind.replace("-", " "))


def sentence(text: str) -> str:
    """With a capital at the beginning and a full stop at the end."""
    return text[:1].upper() + text[1:].rstrip(".") + "." if text else ""


def worst_first(uses: Sequence[UseVerdict]) -> list[UseVerdict]:
    """In the order in which people should read them."""
    return sorted(uses, key=lambda use: _GRAVITY.index(outcome(use)))


def outcome(use: UseVerdict) -> Outcome:
    """The status, with a use that passed with cautions told from one that just passed."""
    return "caution" if is_careful(use) else use.status


def is_careful(use: UseVerdict) -> bool:
    """Whether a use passed with cautions."""
    return use.status == "pass" and any(reason.status == "caution" for reason in use.reasons)


def trust(use: UseVerdict) -> str:
    """The verdict for a use in a few words."""
    return "trust it with care" if is_careful(use) else STATUS_WORDS[use.status]


def in_short(uses: Sequence[UseVerdict]) -> list[tuple[Outcome, str]]:
    """The whole verdict in a few sentences, the worst first: ``Do not trust it as a ZFS member.``."""
    said: dict[str, tuple[Outcome, list[str]]] = {}
    for use in worst_first(uses):
        said.setdefault(trust(use), (outcome(use), []))[1].append(USE_PLACES[use.use])
    return [(status, sentence(f"{trusted} {listed(places)}")) for trusted, (status, places) in said.items()]


def listed(parts: Sequence[str]) -> str:
    """``one``, ``one or two``, ``one, two or three``."""
    return " or ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def number(value: float) -> str:
    """Three significant digits, whole numbers in full: ``13.2``, ``0.149``, ``662000``."""
    return f"{value:.0f}" if abs(value) >= 99.95 or value == 0 else f"{value:#.3g}"


def quantity(value: float | None, unit: str) -> str:
    """A value with its unit, times in the unit that suits them; a dash for None."""
    if value is None:
        return NONE
    if unit in TIME_UNITS_NS:
        return format_duration(value * TIME_UNITS_NS[unit])
    if unit == "share":
        return f"{value * 100:.0f} %"
    return f"{number(value)} {unit}".rstrip()


def bounds(value: float | None, low: float | None, high: float | None, unit: str) -> str:
    """``7 h 40 min to 7 h 54 min``, ``± 49 ms`` where both would read the same; empty where there is no interval.

    In the units of the value beside which it stands: who reads ``21 h`` and ``70 h`` need not reckon what ``2 d`` are.
    """
    if low is None or high is None or high <= low:
        return ""
    unit_ns = TIME_UNITS_NS.get(unit)
    texts = (
        (quantity(low, unit), quantity(high, unit))
        if unit_ns is None
        else format_around((low if value is None else value) * unit_ns, low * unit_ns, high * unit_ns)
    )
    return f"± {_half_width((high - low) / 2, unit)}" if texts[0] == texts[1] else " to ".join(texts)


def _half_width(value: float, unit: str) -> str:
    """Of how sure something is one digit tells all."""
    if unit in TIME_UNITS_NS:
        return quantity(value, unit)
    value, unit = (value * 100, "%") if unit == "share" else (value, unit)
    return f"{float(f'{value:.1g}'):.9g} {unit}".rstrip()


def found(kind: str, value: float | None, unit: str, low: float | None = None, high: float | None = None) -> str:
    """A finding's value: what was looked for and did not happen was `not seen`; what was not looked for is a dash.

    Of estimates the mean says nothing where they were off to both sides: ``low`` to ``high`` does.
    """
    if value is None and kind == "rebuild-time":
        return "failed"
    if value is None and kind in ("cliff", "recovery", "knee") and unit:
        return "not seen"
    if kind == "estimate-error" and value is not None:
        return off_by(value if low is None else low, value if high is None else high)
    return quantity(value, unit)


def time_ns(value: float, unit: str) -> float | None:
    """A value in a unit of time as nanoseconds, None for any other unit."""
    return value * TIME_UNITS_NS[unit] if unit in TIME_UNITS_NS else None


def times(kind: str, value: float | None) -> str:
    """A ratio candidate / baseline in words: ``15.9× slower``, ``1.69× longer``."""
    if value is None or value <= 0 or kind in _SHARES:
        return NONE
    more, less = ("faster", "slower") if kind.startswith("throughput") else ("longer", "shorter")
    factor = max(value, 1 / value)
    if number(factor) == "1.00":
        return "the same"
    return f"{number(factor)}× {more if value > 1 else less}"


def interval(kind: str, value: float | None, low: float | None, high: float | None) -> str:
    """The confidence interval of a ratio in the terms of `times`: ``15.4 to 16.3``; empty where there is none.

    One that includes 1 names both directions: ``1.46× slower to 1.01× faster``; it is empty where both are the same.
    """
    if value is None or low is None or high is None or low <= 0:
        return ""
    if low < 1 < high:
        ends = (times(kind, low), times(kind, high))
        return "" if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
    return f"{number(low)} to {number(high)}" if value > 1 else f"{number(1 / high)} to {number(1 / low)}"


def scaled(records: Sequence[RunRecord]) -> str:
    """``, scaled down by 100``; empty where nothing is."""
    divisors = dict.fromkeys(record.target.scale_divisor for record in records)
    smaller = [str(divisor) for divisor in divisors if divisor > 1]
    return f", scaled down by {listed(smaller)}" if smaller else ""


def unfinished(record: RunRecord) -> str:
    """Of a run that is not complete how it stands, and what goes on with it."""
    if record.status == "failed":
        return f"not complete ({record.status})"
    status = "cut off, or still going on" if record.status == "running" else record.status
    return f"not complete ({status}; `shakedown run --resume` goes on with it)"


def cautions(record: RunRecord) -> list[str]:
    """Notes without which the main figure may mislead; and errors of the target, where no verdict tells them."""
    told = record.verdict is not None and record.verdict.uses
    failures = () if told else record.failures
    errors = [
        f"{_CAUTION}The target answered a request of step {each.step} with an error: {each.words}" for each in failures
    ]
    return [note for note in record.notes if note.startswith(_CAUTION)] + errors


def cautions_of(run: Run) -> list[str]:
    """Those of a run and those of its baseline, told apart."""
    others = cautions(run.baseline.record) if run.baseline else []
    return cautions(run.record) + [f"{_CAUTION}Of the baseline: {note.removeprefix(_CAUTION)}" for note in others]


def target_name(identity: Identity) -> str:
    """The model, or what was given on the command line if the model is unknown."""
    return identity.model or identity.name or identity.text


def where(record: RunRecord) -> str:
    """Arena and seed in one phrase."""
    arena = {
        "model": "the model, in virtual time",
        "lab": "the lab: real Linux on a modelled drive, in virtual time",
        "device": "the device, by the clock on the wall",
    }[record.arena]
    return f"{arena}{scaled([record])}, seed {record.seed}"
