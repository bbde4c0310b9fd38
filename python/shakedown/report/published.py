"""Published figures beside ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shakedown.analysis.finding import Finding
from shakedown.data import reference_path
from shakedown.reference import Row, read_rows
from shakedown.report.words import number, quantity, time_ns, times
from shakedown.result.run_record import RunRecord
from shakedown.toml import parse_toml

_SAME: Final = 0.005
_MANIFOLD: Final = 2.0
_MEGABYTE_MIB: Final = 1e6 / 2**20


@dataclass(frozen=True)
class Comparison:
    """A published figure beside ours: ``error`` is ours / published - 1, None where that has no meaning.

    Of ratios it is that of the ratios as they are shown: 18.9× slower is 19 % more than 15.9× slower.

    ``note`` is the protocol's own remark on the row, ``differs`` how ours is another procedure or another drive.
    """

    row: Row
    text: str
    error: float | None
    words: tuple[str, str]
    note: str = ""
    differs: str = ""

    @property
    def remark(self) -> str:
        """All that is to be known when the two are compared."""
        return f"{self.differs} {self.note}".strip()

    @property
    def error_text(self) -> str:
        """How ours differs, in words that say the direction: ``53 % lower``, ``2.09× slower``; empty where unknown."""
        if self.error is None:
            return ""
        more, less = self.words
        factor = 1 + self.error
        if abs(self.error) < _SAME:
            return "the same within 0.5 %"
        word = more if factor > 1 else less
        if not 1 / _MANIFOLD < factor < _MANIFOLD:
            return f"{number(max(factor, 1 / factor))}× {word}"
        return f"{number(abs(self.error) * 100)} % {word}"


_WORDS: Final = {"throughput": ("higher", "lower")} | {
    f"{kind}-ratio": ("more", "less") for kind in ("throughput", "latency", "worst-latency")
}
"""How more and less of a kind of finding are called; the others are times."""


def beside(record: RunRecord, finding: Finding, baseline: str | None = None) -> Comparison | None:
    """The published figure that the run's protocol names for a finding on this target, if there is one.

    ``baseline`` is the name of the run's baseline: a share of the figure of another than the published one is no
    such share.
    """
    for published in record.protocol.published:
        same = (published.finding, published.step) == (finding.kind, finding.step)
        is_of_them = published.subject == record.target.name and published.beside in ("", baseline)
        if same and is_of_them:
            row = read_rows(reference_path("published.csv")).get(published.row)
            return _compare(row, finding, record, published.note) if row else None
    return None


def _compare(row: Row, finding: Finding, record: RunRecord, note: str) -> Comparison:
    """A scaled-down drive is sooner full and sooner recovered: such times say nothing about a published one.

    The rest may: that it is of a part of a drive is said beside it. With other settings it is another procedure.
    """
    text, error = _compare_full_size(row, finding)
    scale_divisor = record.target.scale_divisor
    differs = []
    if scale_divisor > 1:
        whole = "Published of a whole drive, ours is of"
        differs.append(f"{whole} 1/{scale_divisor} of one: what hangs on its size differs.")
    if others := _other_settings(record):
        error = None
        differs.append(f"Ours is with {', '.join(others)}: not what was published.")
    if scale_divisor > 1 and finding.kind in ("cliff", "recovery"):
        error = None
    return Comparison(row, text, error, _WORDS.get(finding.kind, ("longer", "shorter")), note, " ".join(differs))


def _other_settings(record: RunRecord) -> list[str]:
    """What the order changed of the protocol's own parameters."""
    own = parse_toml(record.protocol.text).get("parameters", {})
    return [f"{name}={value}" for name, value in record.parameters.items() if name in own and str(own[name]) != value]


def _compare_full_size(row: Row, finding: Finding) -> tuple[str, float | None]:
    try:
        value = float(row.value)
    except ValueError:
        return (f"{row.value} {row.unit}".strip(), None)
    if finding.kind.endswith("-ratio"):
        ratio = _as_ratio(row, value)
        text = times(finding.kind, ratio) if ratio else f"{row.value} {row.unit}"
        if ratio and finding.value and ratio < 1:  # shown the other way round, so compared the other way round
            return (text, _error(1 / finding.value, 1 / ratio))
        return (text, _error(finding.value, ratio))
    if row.unit == "MB/s" and finding.unit == "MiB/s":
        return (f"{row.value} MB/s", _error(finding.value, value * _MEGABYTE_MIB))
    published_ns = time_ns(value, row.unit)
    ours_ns = None if finding.value is None else time_ns(finding.value, finding.unit)
    if published_ns is not None and ours_ns is not None:
        return (quantity(value, row.unit), _error(ours_ns, published_ns))
    return (f"{row.value} {row.unit}", _error(finding.value, value) if row.unit == finding.unit else None)


def _as_ratio(row: Row, value: float) -> float | None:
    """Candidate / baseline. Accounts also write a change in percent, or a slowdown: baseline / candidate."""
    if row.unit == "percent":
        return 1 + value / 100
    if row.unit == "ratio" and value > 0:
        return 1 / value if "slowdown" in row.quantity else value
    return None


def _error(ours: float | None, published: float | None) -> float | None:
    return ours / published - 1 if ours is not None and published else None
