"""Plays every protocol on every profile twice, in the model arena and in the lab, and keeps what both found in
docs/conformance.csv, as the table of docs/conformance-table.md and, what misses, in docs/conformance.md: ``make
conformance``. What is there already and was made
from the same steps, drive and settings is not played again, so one that was stopped goes on where it was; a pair
that fails is told of and left for the next time. With arguments, only what they name is played (``cliff``,
``wd40efax``). With ``--model`` the model plays again what is there already, for the lab's figures as they are: a change
of the model does not change them, and they are what takes long. With ``--scatter`` only those pairs are played of
which the model says that one play is not enough.

One play is not enough where a stall more or less decides: the model plays every pair with several seeds, which draw the
fifth of a millisecond in which each fio starts. Where a figure with a goal scatters by more than the goal allows, so
does the lab, whose runs differ by their folders' names, too, and means are compared.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from drive_digest import drive_digest
from made_part import put
from shakedown.analysis.finding import Finding
from shakedown.data import list_profiles
from shakedown.errors import EnvironmentFailure
from shakedown.protocol.load import load_protocol
from shakedown.protocol.play import Listener
from shakedown.protocol.run import Order, run
from shakedown.target.data_sheet import listed_sheets

ROOT: Final = Path(__file__).resolve().parent.parent
DOCUMENT: Final = ROOT / "docs" / "conformance.md"
TABLE: Final = ROOT / "docs" / "conformance-table.md"
KEPT: Final = ROOT / "docs" / "conformance.csv"
BEGIN: Final = "<!-- made by make conformance -->\n"
# Few enough requests for the lab to take a few seconds of a processor for each.
IOMETER: Final = ("iometer-max-read", "iometer-real-life", "iometer-max-mixed", "iometer-random-8k")
SCALE: Final = {"random-1m": 100, "sequential-32k": 100, "cliff": 50, "atto": 100, "ramp": 100} | dict.fromkeys(
    IOMETER, 100
)
PLAYED: Final = {
    "random-1m": {"span": "2G", "duration": "60s"},
    "sequential-32k": {"span": "2G", "amount": "128M", "limit": "60s"},
    # A twentieth of the window covers some probes: where each covers several, a row of reads counts as often.
    "cliff": {
        **{"span": "1G", "limit": "30s", "confirm": "8s", "hold": "60s", "window": "60s", "patience": "20min"},
        **{"tail": "5s", "probes": "1", "pause": "1s", "interval": "200ms", "long_interval": "1s"},
    },
    **{protocol: {"span": "2G", "duration": "10s"} for protocol in IOMETER},
    "atto": {"length": "256M"},
    "ramp": {"span": "2G", "each": "5s"},
}
# Of random writing, for drives that take it longer.
LIMITS: Final = {"backup-plus-slim-2tb": "60s", "canvio-3tb": "200s"}
# Of sequential writing, for drives of which much of a pass would otherwise still be in memory when the next one begins.
AMOUNTS: Final = {"cmr-16tb": "512M"}
GOALS: Final = {"throughput": 0.05, "latency": 0.05, "cliff": 0.03, "recovery": 0.05}
# The first is that of a pair that is played once.
SEEDS: Final = (1, 2, 3)
# When a backlog went is known to one probe.
PROBES_APART_S: Final = 1.1

Play = tuple[Finding, ...]
_NUMBERS: Final = ("model", "lab", "model_least", "model_most", "lab_least", "lab_most")


@dataclass(frozen=True)
class Row:
    """One figure of one protocol on one drive, in both arenas; None where there is nothing to state.

    Of a pair that was played several times ``model`` and ``lab`` are means, and beside them stand the least and the
    most that came out.
    """

    protocol: str
    drive: str
    kind: str
    step: str
    unit: str
    model: float | None
    lab: float | None
    made_from: str
    plays: int = 1
    model_least: float | None = None
    model_most: float | None = None
    lab_least: float | None = None
    lab_most: float | None = None

    @property
    def error(self) -> float | None:
        """Lab / model - 1; None if just one of them has something to state."""
        if self.model is None or self.lab is None:
            return 0.0 if self.model is self.lab else None
        return self.lab / self.model - 1 if self.model else 0.0

    @property
    def holds(self) -> bool | None:
        """Whether the goal is held; None where there is none, or nothing to judge."""
        goal = GOALS.get(self.kind)
        if goal is None or self.model is self.lab is None:
            return None
        if self.error is None or self.model is None or self.lab is None:
            return False
        return abs(self.error) <= goal or (self.kind == "recovery" and abs(self.lab - self.model) <= PROBES_APART_S)

    def cells(self) -> list[str]:
        """As the table has it."""
        error = "differs" if self.error is None else f"{self.error:+.1%}".replace("%", " %")
        held = {None: "", True: "yes", False: "**no**"}[self.holds]
        model = _figure(self.model, self.unit, self.model_least, self.model_most)
        lab = _figure(self.lab, self.unit, self.lab_least, self.lab_most)
        return [self.protocol, self.drive, f"{self.kind} ({self.step})", str(self.plays), model, lab, error, held]


def _figure(value: float | None, unit: str, least: float | None, most: float | None) -> str:
    if value is None:
        return "none"
    return f"{value:.4g} {unit}" + ("" if least is None or most is None else f" ({least:.4g} to {most:.4g})")


@dataclass(frozen=True)
class Scatter:
    """A figure as one or several plays in one arena found it; None where most of them had nothing to state."""

    mean: float | None
    least: float | None
    most: float | None
    disputed: bool

    @classmethod
    def of(cls, values: list[float | None]) -> Scatter:
        """Of what each play found."""
        stated = [value for value in values if value is not None]
        disputed = 0 < len(stated) < len(values)
        if 2 * len(stated) <= len(values):
            return cls(None, None, None, disputed)
        least, most = (min(stated), max(stated)) if len(values) > 1 else (None, None)
        return cls(fmean(stated), least, most, disputed)

    def exceeds(self, goal: float) -> bool:
        """Whether two plays can be further apart than two arenas may be."""
        return self.disputed or (
            self.least is not None and self.most is not None and self.most > self.least * (1 + goal)
        )


def settings(protocol: str, drive: str) -> dict[str, str]:
    """Of the protocol's parameters."""
    limit = {"limit": LIMITS[drive]} if protocol == "cliff" and drive in LIMITS else {}
    amount = {"amount": AMOUNTS[drive]} if protocol == "sequential-32k" and drive in AMOUNTS else {}
    return PLAYED[protocol] | limit | amount


def made_from(protocol: str, drive: str) -> str:
    """A digest of what is played, on which drive."""
    steps = load_protocol(protocol, settings(protocol, drive)).protocol.steps
    played = repr((SCALE[protocol], [step.model_dump_json() for step in steps])).encode()
    return sha256(drive_digest(drive) + played).hexdigest()[:12]


def play(arena: str, protocol: str, drive: str, seed: int) -> Play:
    """Every figure that the protocol finds on that drive, in one arena."""
    loaded = load_protocol(protocol, settings(protocol, drive))
    order = Order(target=f"{arena}:{drive}", scale_divisor=SCALE[protocol], seed=seed, like_lab=arena == "model")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / (arena if seed == SEEDS[0] else f"{arena}-{seed}")
        return tuple(run(loaded, order, out, Listener()).record.findings)


def plays(arena: str, protocol: str, drive: str, seeds: tuple[int, ...]) -> list[Play]:
    """Several of them."""
    return [play(arena, protocol, drive, seed) for seed in seeds]


def together(found: list[Play]) -> list[tuple[Finding, Scatter]]:
    """Each figure as the first play found it, and what all of them say of it."""
    return [(same[0], Scatter.of([_value(each) for each in same])) for same in zip(*found, strict=True)]


def _value(finding: Finding) -> float | None:
    """Of a cliff when the rate fell, for good or not: a fiftieth of a drive may recover under its load."""
    fell_s = finding.evidence.get("passing_fall_s")
    return finding.value if fell_s is None else float(fell_s)


def scatters(found: list[Play]) -> bool:
    """Whether plays in one arena are further apart than two arenas may be."""
    return any(scatter.exceeds(GOALS[figure.kind]) for figure, scatter in together(found) if figure.kind in GOALS)


def compare(protocol: str, drive: str, *, only_scatter: bool = False) -> list[Row]:
    """Both arenas beside each other; nothing if one play is enough and that is not wanted."""
    found = plays("model", protocol, drive, SEEDS)
    if not scatters(found):
        found = found[: 0 if only_scatter else 1]
    others = plays("lab", protocol, drive, SEEDS[: len(found)])
    source = made_from(protocol, drive)
    return [
        Row(
            *(protocol, drive, one.kind, one.step, one.unit or other.unit, ours.mean, theirs.mean, source, len(found)),
            *(ours.least, ours.most, theirs.least, theirs.most),
        )
        for (one, ours), (other, theirs) in zip(together(found), together(others), strict=True)
    ]


def model_again(protocol: str, drive: str) -> list[Row]:
    """The rows of a pair with what the model says now."""
    rows = [row for row in kept() if (row.protocol, row.drive) == (protocol, drive)]
    found = together(plays("model", protocol, drive, SEEDS[: rows[0].plays]))
    says: dict[tuple[str, str], Scatter] = {(figure.kind, figure.step): scatter for figure, scatter in found}
    return [_with_model(row, says[row.kind, row.step]) for row in rows]


def _with_model(row: Row, says: Scatter) -> Row:
    return replace(row, model=says.mean, model_least=says.least, model_most=says.most)


def kept() -> list[Row]:
    """What was found at some time."""
    if not KEPT.exists():
        return []
    with KEPT.open(encoding="utf-8", newline="") as file:
        return [_row(values) for values in csv.DictReader(file)]


def _row(values: dict[str, str]) -> Row:
    read: dict[str, Any] = {**values, "plays": int(values["plays"])}
    return Row(**read | {name: _number(values[name]) for name in _NUMBERS})


def _number(text: str) -> float | None:
    return float(text) if text else None


def drives_of_their_own() -> list[str]:
    """Those that are made of data sheets have the parts of these."""
    made = listed_sheets()
    return [name for name in list_profiles() if name not in made]


def pairs() -> Iterator[tuple[str, str]]:
    """All there are of protocol and drive."""
    drives = drives_of_their_own()
    return ((protocol, drive) for protocol in PLAYED for drive in drives)


def stale() -> list[tuple[str, str]]:
    """The pairs that were never played, or with another protocol, drive or settings."""
    fresh = {(row.protocol, row.drive) for row in kept() if row.made_from == made_from(row.protocol, row.drive)}
    return [pair for pair in pairs() if pair not in fresh]


def keep(found: list[Row]) -> None:
    """Put the rows of one pair in the place of older ones, and make the table anew."""
    pair = (found[0].protocol, found[0].drive)
    order = list(pairs())
    rows = [row for row in kept() if (row.protocol, row.drive) != pair and (row.protocol, row.drive) in order] + found
    rows.sort(key=lambda row: order.index((row.protocol, row.drive)))
    with KEPT.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    put(DOCUMENT, BEGIN, summary(rows) + "\n" + table([row for row in rows if row.holds is False]))
    put(TABLE, BEGIN, table(rows))


def summary(rows: list[Row]) -> str:
    """How many hold their goal, of each protocol."""
    by_protocol = "; ".join(f"`{each}` {_held([row for row in rows if row.protocol == each])}" for each in PLAYED)
    left = set(pairs()) - {(row.protocol, row.drive) for row in rows}
    text = f"{_held(rows)} figures with a goal hold it: {by_protocol}."
    return text + (f" {len(left)} pairs of protocol and drive were not played yet." if left else "") + "\n"


def table(rows: list[Row]) -> str:
    """One line a row."""
    head = "| protocol | drive | figure | plays | `model:` | `lab:` | difference | within the goal |\n"
    return head + "| --- " * 8 + "|\n" + "".join(f"| {' | '.join(row.cells())} |\n" for row in rows)


def _held(rows: list[Row]) -> str:
    judged = [row.holds for row in rows if row.holds is not None]
    return f"{sum(judged)} of {len(judged)}"


def main() -> None:
    """Play what is stale, or what is named."""
    wanted = set(sys.argv[1:])
    own = drives_of_their_own()
    protocols, drives = wanted & set(PLAYED), wanted & set(own)
    if unknown := wanted - protocols - drives - {"--model", "--scatter"}:
        sys.exit(f"neither a protocol, a drive, --model nor --scatter: {', '.join(sorted(unknown))}")
    named = [pair for pair in pairs() if pair[0] in (protocols or PLAYED) and pair[1] in (drives or own)]
    again, only_scatter = "--model" in wanted, "--scatter" in wanted
    there = {(row.protocol, row.drive) for row in kept()} - set(stale())
    chosen = [pair for pair in named if pair in there] if again else named if wanted else stale()
    failed = 0
    for pair in chosen:
        try:
            found = model_again(*pair) if again else compare(*pair, only_scatter=only_scatter)
        except EnvironmentFailure as error:
            failed += 1
            print(*pair, f"failed: {error}", file=sys.stderr, flush=True)
            continue
        if found:
            keep(found)
        for row in found:
            print(" | ".join(row.cells()), file=sys.stderr, flush=True)
    if failed:
        sys.exit(f"{failed} of {len(chosen)} pairs failed: the next `make conformance` plays them")


if __name__ == "__main__":
    main()
