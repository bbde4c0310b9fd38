"""Faults that made no difference are told, each with why."""

from shakedown.analysis.in_vain import in_vain
from shakedown.units import NS_PER_S

FAULTS = """format_version = 1
faults = [
  { kind = "latent-sectors", sectors = [[2048, 8]], retry_s = 1 },
  { kind = "stall", from_s = 2, for_s = 1 },
  { kind = "gone", from_s = 60, for_s = 1 },
  { kind = "gone", from_s = 5, for_s = 1, unplugged = true },
]
"""


def test_each_says_why() -> None:
    assert list(in_vain(FAULTS, [False] * 4, "sdb", 60 * NS_PER_S, "all was over after a minute")) == [
        "WITHOUT EFFECT: the fault `latent-sectors` of sdb: nobody read one of its sectors.",
        "WITHOUT EFFECT: the fault `stall` of sdb, from 2 s on: no command of that drive came then.",
        "WITHOUT EFFECT: the fault `gone` of sdb, from 60 s on: all was over after a minute.",
    ]


def test_what_was_met_is_not_told() -> None:
    assert not list(in_vain(FAULTS, [True] * 4, "sdb", 60 * NS_PER_S, "over"))
    [told] = in_vain(FAULTS, [True, False, True, True], "sdb", 60 * NS_PER_S, "over")
    assert "`stall`" in told


def test_an_unplugging_that_never_came_is_told() -> None:
    [told] = in_vain(FAULTS, [True, True, True, False], "sdb", 5 * NS_PER_S, "over")
    assert told.endswith("`gone` of sdb, from 5 s on: over.")
