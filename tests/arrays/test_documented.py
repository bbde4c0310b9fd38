"""What docs/rebuild.md shows of a known case is what the program prints."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from shakedown.array import run
from shakedown.array.order import RebuildOrder
from shakedown.array.unsure import OFF_BY
from shakedown.report.rebuild import render_rebuild

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "rebuild.md"
IRONWOLF = "model:st12000vn0007"
RIG = RebuildOrder("raid6", (IRONWOLF,) * 8, IRONWOLF, member_bytes=3500 << 30, fill=0.75)
USERS = "[users]\nrw=randrw\nrwmixread=70\nbs=16k\niodepth=4\n"
ONE_SEED = re.compile(r"Of one seed: there is no interval, .*? tells\. ")


def shown() -> list[list[str]]:
    """The examples, each in its paragraphs."""
    text = DOCUMENT.read_text(encoding="utf-8")
    blocks = re.findall(r"(?:^(?: {4}.*)?\n)+", text, re.MULTILINE)
    return [
        dedent(block).strip("\n").split("\n\n") for block in blocks if block.lstrip("\n").startswith("    REBUILD:")
    ]


def figures(paragraph: str) -> tuple[list[str], float, list[str]]:
    """What stands in the first column of a table of figures, hours to rebuild, and the cautions behind it."""
    rows = [re.split(r" {2,}", line) for line in paragraph.splitlines() if re.search(r"^[a-z]\S.* {2,}\S", line)]
    hours = re.fullmatch(r"(\d+) h (\d+) min", next(row[1] for row in rows if row[0] == "time to rebuild"))
    assert hours
    _, *cautions = " ".join(paragraph.split()).split(" CAUTION: ")
    return [row[0] for row in rows], int(hours[1]) + int(hours[2]) / 60, cautions


@pytest.mark.parametrize(
    ("number", "order", "baseline"),
    [(0, replace(RIG, replacement="model:wd40efax"), RIG), (1, replace(RIG, load=USERS), None)],
)
def test_the_known_case_is_what_the_program_prints(
    number: int, order: RebuildOrder, baseline: RebuildOrder | None, tmp_path: Path
) -> None:
    """Pictures, looks and what is said are those of the first seed; the figures, which are means of three, about."""
    printed = render_rebuild(run.run_rebuild(order, baseline, 1, tmp_path / "run", lambda _: None))
    [heading, first, *between, kicked, notes], documented = printed.strip("\n").split("\n\n"), shown()[number]
    assert [heading, *between] == [documented[0], *documented[2:-2]]
    rows, hours, cautions = figures(first)
    told_rows, told_hours, told_cautions = figures(documented[1])
    assert (rows, cautions) == (told_rows, told_cautions)
    assert hours == pytest.approx(told_hours, rel=0.02)
    waiting = [[line.rsplit("  ", 1)[0] for line in each.splitlines()[1:]] for each in (kicked, documented[-2])]
    assert waiting[0] == waiting[1]
    assert ONE_SEED.sub("", " ".join(notes.split())) == " ".join(documented[-1].split())


def test_the_list_of_cautions_has_the_programs_figures() -> None:
    copies, parity = OFF_BY[("raid1", "raid10")], OFF_BY[("raid5", "raid6")]
    told = f"was up to {parity * 100:.0f} % off ({copies * 100:.0f} % of raid1 and raid10) beside the real thing"
    assert told in " ".join(DOCUMENT.read_text(encoding="utf-8").split())
