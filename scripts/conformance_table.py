"""Plays every protocol on every profile twice, in the model arena and in the lab, and keeps what both found in
docs/conformance.csv and as the table of docs/conformance.md: ``make conformance``. What is there already and was made
from the same protocol, drive and settings is not played again, so one that was stopped goes on where it was; a pair
that fails is told of and left for the next time. With arguments, only what they name is played (``cliff``,
``wd40efax``). With ``--model`` the model plays again what is there already, for the lab's figures as they are: a change
of the model does not change them, and they are what takes long.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Final

from shakedown.analysis.finding import Finding
from shakedown.data import list_profiles
from shakedown.errors import EnvironmentFailure
from shakedown.protocol.load import load_protocol
from shakedown.protocol.play import Silence
from shakedown.protocol.run import Order, run

ROOT: Final = Path(__file__).resolve().parent.parent
DOCUMENT: Final = ROOT / "docs" / "conformance.md"
KEPT: Final = ROOT / "docs" / "conformance.csv"
BEGIN, END = "<!-- made by make conformance -->\n", "<!-- end of what is made -->"
# Few enough requests for the lab to take a few seconds of a processor for each.
IOMETER: Final = ("iometer-max-read", "iometer-real-life", "iometer-max-mixed", "iometer-random-8k")
SCALE: Final = {"random-1m": 100, "sequential-32k": 100, "cliff": 50, "atto": 100, "ramp": 100} | dict.fromkeys(
    IOMETER, 100
)
PLAYED: Final = {
    "random-1m": {"span": "2G", "duration": "60s"},
    "sequential-32k": {"span": "2G", "amount": "128M", "limit": "60s"},
    "cliff": {
        **{"span": "1G", "limit": "30s", "confirm": "8s", "hold": "60s", "window": "30s", "patience": "10min"},
        **{"tail": "5s", "probes": "5", "pause": "5s", "interval": "200ms", "long_interval": "1s"},
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
# When a backlog went is known to one row of probes.
PROBES_APART_S: Final = 5.1


@dataclass(frozen=True)
class Row:
    """One figure of one protocol on one drive, in both arenas; None where there is nothing to state."""

    protocol: str
    drive: str
    kind: str
    step: str
    unit: str
    model: float | None
    lab: float | None
    made_from: str

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
        figures = [_figure(self.model, self.unit), _figure(self.lab, self.unit)]
        return [self.protocol, self.drive, f"{self.kind} ({self.step})", *figures, error, held]


def _figure(value: float | None, unit: str) -> str:
    return "none" if value is None else f"{value:.4g} {unit}"


def settings(protocol: str, drive: str) -> dict[str, str]:
    """Of the protocol's parameters."""
    limit = {"limit": LIMITS[drive]} if protocol == "cliff" and drive in LIMITS else {}
    amount = {"amount": AMOUNTS[drive]} if protocol == "sequential-32k" and drive in AMOUNTS else {}
    return PLAYED[protocol] | limit | amount


def made_from(protocol: str, drive: str) -> str:
    """A digest of protocol, drive and settings."""
    files = (ROOT / "protocols" / f"{protocol}.toml", ROOT / "drives" / f"{drive}.toml")
    asked = repr((SCALE[protocol], sorted(settings(protocol, drive).items()))).encode()
    return sha256(b"".join(path.read_bytes() for path in files) + asked).hexdigest()[:12]


def play(arena: str, protocol: str, drive: str) -> tuple[Finding, ...]:
    """Every figure that the protocol finds on that drive, in one arena."""
    loaded = load_protocol(protocol, settings(protocol, drive))
    order = Order(target=f"{arena}:{drive}", scale_divisor=SCALE[protocol], like_lab=arena == "model")
    with tempfile.TemporaryDirectory() as folder:
        return tuple(run(loaded, order, Path(folder) / arena, Silence()).record.findings)


def compare(protocol: str, drive: str) -> list[Row]:
    """Both arenas beside each other."""
    source = made_from(protocol, drive)
    return [
        Row(protocol, drive, one.kind, one.step, one.unit or other.unit, one.value, other.value, source)
        for one, other in zip(play("model", protocol, drive), play("lab", protocol, drive), strict=True)
    ]


def model_again(protocol: str, drive: str) -> list[Row]:
    """The rows of a pair with what the model says now."""
    rows = [row for row in kept() if (row.protocol, row.drive) == (protocol, drive)]
    found = {(each.kind, each.step): each.value for each in play("model", protocol, drive)}
    return [replace(row, model=found[row.kind, row.step]) for row in rows]


def kept() -> list[Row]:
    """What was found at some time."""
    if not KEPT.exists():
        return []
    with KEPT.open(encoding="utf-8", newline="") as file:
        return [
            Row(**values | {name: _number(values[name]) for name in ("model", "lab")})
            for values in csv.DictReader(file)
        ]  # type: ignore[arg-type]


def _number(text: str) -> float | None:
    return float(text) if text else None


def pairs() -> Iterator[tuple[str, str]]:
    """All there are of protocol and drive."""
    return ((protocol, drive) for protocol in PLAYED for drive in list_profiles())


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
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{BEGIN}{table(rows)}{END}{after}", encoding="utf-8")


def table(rows: list[Row]) -> str:
    """A summary and the rows."""
    judged = [row for row in rows if row.holds is not None]
    held = sum(row.holds is True for row in judged)
    left = set(pairs()) - {(row.protocol, row.drive) for row in rows}
    text = f"{held} of {len(judged)} figures with a goal hold it."
    text += f" {len(left)} pairs of protocol and drive were not played yet." if left else ""
    text += (
        "\n\n| protocol | drive | figure | `model:` | `lab:` | difference | within the goal |\n" + "| --- " * 7 + "|\n"
    )
    return text + "".join(f"| {' | '.join(row.cells())} |\n" for row in rows)


def main() -> None:
    """Play what is stale, or what is named."""
    wanted = set(sys.argv[1:])
    protocols, drives = wanted & set(PLAYED), wanted & set(list_profiles())
    named = [pair for pair in pairs() if pair[0] in (protocols or PLAYED) and pair[1] in (drives or list_profiles())]
    again = "--model" in wanted
    there = {(row.protocol, row.drive) for row in kept()} - set(stale())
    chosen = [pair for pair in named if pair in there] if again else named if wanted else stale()
    failed = 0
    for pair in chosen:
        try:
            found = model_again(*pair) if again else compare(*pair)
        except EnvironmentFailure as error:
            failed += 1
            print(*pair, f"failed: {error}", file=sys.stderr, flush=True)
            continue
        keep(found)
        for row in found:
            print(" | ".join(row.cells()), file=sys.stderr, flush=True)
    if failed:
        sys.exit(f"{failed} of {len(chosen)} pairs failed: the next `make conformance` plays them")


if __name__ == "__main__":
    main()
