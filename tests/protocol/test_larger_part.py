"""A cliff that comes too soon on a part of a drive is looked for on a larger one."""

from __future__ import annotations

import pytest

from shakedown.analysis.condition import Cliff
from shakedown.analysis.finding import Finding
from shakedown.protocol.larger_part import hold_of, told_of_larger_part


def told(early_s: float, divisor: int, value: float | None = None) -> str:
    evidence: dict[str, float | int | str] = {"early_fall_s": early_s} if early_s else {}
    cliff = Finding(kind="cliff", step="collapse", value=value, unit="s", text="It fell.", evidence=evidence)
    conditions = {"collapse": Cliff(hold_ns=60 * 10**9), "fill": None}
    (found,) = told_of_larger_part([cliff], hold_of(conditions), divisor)
    return found.text.removeprefix("It fell.")


@pytest.mark.parametrize(
    ("early_s", "divisor", "which"),
    [
        (10, 100, "`--scale 1/10`"),
        (1, 1000, "`--scale 1/10`"),
        (45, 100, "`--scale 1/50`"),
        (1, 50, "without `--scale`"),
    ],
)
def test_a_scale_at_which_it_is_seen_is_told(early_s: float, divisor: int, which: str) -> None:
    assert told(early_s, divisor).endswith(f"on a larger part of the drive: {which}.")


@pytest.mark.parametrize(("early_s", "divisor", "value"), [(10, 1, None), (0, 100, None), (10, 100, 90.0)])
def test_nothing_is_told_of_whole_drives_and_of_what_was_seen(
    early_s: float, divisor: int, value: float | None
) -> None:
    assert told(early_s, divisor, value) == ""
