"""Plays every protocol on every profile twice, in the model arena and in the lab, and writes docs/conformance.md:
``make conformance``. With arguments, only what they name (``cliff``, ``wd40efax``), to standard output.

The document keeps the digest of what its table was made from, and tests/lab/test_conformance.py says when that has
changed.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from shakedown.data import list_profiles
from shakedown.protocol.load import load_protocol
from shakedown.protocol.play import Silence
from shakedown.protocol.run import Order, run
from shakedown.result.folder import Run

ROOT: Final = Path(__file__).resolve().parent.parent
DOCUMENT: Final = ROOT / "docs" / "conformance.md"
BEGIN, END = "<!-- made by make conformance from data ", "<!-- end of what is made -->"
# Seconds to a minute each, and no more data than a guest's writing takes seconds for.
SCALE: Final = 100
PLAYED: Final = {
    "random-1m": {"span": "2G", "duration": "20s"},
    "sequential-32k": {"span": "2G", "amount": "256M", "limit": "60s"},
    "cliff": {
        **{"span": "512M", "limit": "60s", "confirm": "2500ms", "hold": "20s", "window": "8s", "patience": "60s"},
        **{"tail": "1s", "probes": "5", "pause": "2500ms", "interval": "100ms", "long_interval": "500ms"},
    },
}
GOALS: Final = {"throughput": 0.05, "latency": 0.05, "cliff": 0.03, "recovery": 0.05}
# When a backlog went is known to one row of probes.
PROBES_APART_S: Final = 2.6


@dataclass(frozen=True)
class Row:
    """One figure of one protocol on one drive, in both arenas; None where there is nothing to state."""

    protocol: str
    profile: str
    kind: str
    step: str
    unit: str
    model: float | None
    lab: float | None

    @property
    def error(self) -> float | None:
        """Lab / model - 1; what two figures differ that are both not there is nothing."""
        if self.model is None or self.lab is None:
            return 0.0 if self.model is self.lab else None
        return self.lab / self.model - 1 if self.model else 0.0

    @property
    def holds(self) -> bool | None:
        """Whether the goal is held; None where there is none."""
        goal = GOALS.get(self.kind)
        if goal is None:
            return None
        if self.error is None or self.model is None or self.lab is None:
            return self.error == 0.0
        return abs(self.error) <= goal or (self.kind == "recovery" and abs(self.lab - self.model) <= PROBES_APART_S)

    def cells(self) -> list[str]:
        """As the table has it."""
        error = "differs" if self.error is None else f"{self.error:+.1%}"
        held = {None: "", True: "yes", False: "**no**"}[self.holds]
        where = f"{self.kind} ({self.step})"
        return [
            self.protocol,
            self.profile,
            where,
            _figure(self.model, self.unit),
            _figure(self.lab, self.unit),
            error,
            held,
        ]


def _figure(value: float | None, unit: str) -> str:
    return "none" if value is None else f"{value:.4g} {unit}"


def play(protocol: str, profile: str, arena: str, out: Path) -> Run:
    """One protocol on one drive in one arena."""
    loaded = load_protocol(protocol, PLAYED[protocol])
    return run(
        loaded, Order(target=f"{arena}:{profile}", scale_divisor=SCALE, like_lab=arena == "model"), out, Silence()
    )


def compare(protocol: str, profile: str) -> list[Row]:
    """Every figure that the protocol finds on that drive."""
    with tempfile.TemporaryDirectory() as folder:
        model, lab = (play(protocol, profile, arena, Path(folder) / arena) for arena in ("model", "lab"))
    found = zip(model.record.findings, lab.record.findings, strict=True)
    return [Row(protocol, profile, m.kind, m.step, m.unit, m.value, lab.value) for m, lab in found]


def digest() -> str:
    """Of all that the table depends on but the code: drives, protocols and what the lab is made from."""
    found = sha256()
    for folder in ("drives", "protocols", "lab"):
        for path in sorted(path for path in (ROOT / folder).rglob("*") if path.is_file()):
            found.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    found.update(repr((SCALE, PLAYED)).encode())
    return found.hexdigest()[:16]


def rows(wanted: set[str]) -> Iterator[Row]:
    """Of all that is wanted, which is everything if nothing is named."""
    for protocol in PLAYED:
        for profile in list_profiles():
            if all(
                {protocol, profile} & wanted & set(names) for names in (PLAYED, list_profiles()) if wanted & set(names)
            ):
                yield from compare(protocol, profile)


def table(found: list[Row]) -> str:
    """A summary and the rows, worst first within each protocol."""
    judged = [row for row in found if row.holds is not None]
    missed = [row for row in judged if not row.holds]
    head = f"{len(judged) - len(missed)} of {len(judged)} figures with a goal hold it.\n\n"
    head += "| protocol | drive | figure | `model:` | `lab:` | difference | within the goal |\n" + "| --- " * 7 + "|\n"
    return head + "".join(f"| {' | '.join(row.cells())} |\n" for row in found)


def main() -> None:
    """Replace what stands between the marks, or print a part."""
    wanted = set(sys.argv[1:])
    found = []
    for row in rows(wanted):
        found.append(row)
        print(" | ".join(row.cells()), file=sys.stderr, flush=True)
    if wanted:
        return
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{BEGIN}{digest()} -->\n{table(found)}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
