"""What a command costs, and a byte: through a bridge that cuts requests into commands, too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shakedown.fit.drive import dram
from shakedown.fit.trace import Log

_OVERHEAD_MS, _RATE_MB_S = 0.265, 410.0


def _log(commands: np.ndarray, sizes: np.ndarray, late_ms: float, seed: int) -> Log:
    """Answers from memory to requests of so many commands each, one after the other."""
    late = np.random.default_rng(seed).exponential(late_ms, len(sizes)) if late_ms else 0.0
    latency_ms = _OVERHEAD_MS * commands + sizes / _RATE_MB_S / 1e3 + late
    began = (np.arange(len(sizes)) * 50e6).astype(np.int64)
    ended = began + (latency_ms * 1e6).astype(np.int64)
    return Log(began, ended, sizes * 0, sizes, sizes * 0, int(ended[-1]))


_SIZES = np.tile(dram._SIZES, 12)


@pytest.mark.parametrize("late_ms", [0.0, 0.01])
@pytest.mark.parametrize("most_bytes", [81_920, 122_880, 245_760, 524_288, 1 << 30])
def test_commands_of_a_bridge_that_cuts_requests_are_told(most_bytes: int, late_ms: float) -> None:
    """209 to 211 us for 265, and 221.3 to 221.4 MB/s for 410, were told of commands of 120 KiB."""
    link = dram.estimate_link(_log(np.ceil(_SIZES / most_bytes), _SIZES, late_ms, 1))
    assert link.cuts is (most_bytes < 1 << 20)
    assert link.overhead_us.low <= 1e3 * (_OVERHEAD_MS + late_ms) + 2
    assert link.overhead_us.high >= 1e3 * _OVERHEAD_MS
    assert link.rate_mb_s.low <= _RATE_MB_S <= link.rate_mb_s.high * 1.01
    # Of two commands little shows that an answer late by a hundredth of a ms does not hide.
    assert (link.command_bytes is not None) is (link.cuts and (not late_ms or most_bytes < 1 << 19))
    if link.command_bytes:
        assert link.command_bytes.low <= most_bytes <= link.command_bytes.high


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_commands_of_half_the_size_are_allowed_where_the_host_costs_as_much_as_one(seed: int) -> None:
    """Over a socket 213 to 258 KB were told for 123: with that these take the very same times."""
    log = _log(np.ceil(_SIZES / 122_880) + 1, _SIZES, 0.01, seed)
    link = dram.estimate_link(log)
    assert link.command_bytes
    assert link.command_bytes.low <= 122_880
    assert link.command_bytes.high >= 245_760
    assert {122_880, 245_760} <= {*link.commands}


def test_times_that_neither_a_line_nor_commands_explain_make_overhead_and_rate_vague() -> None:
    """Nor does it take twice the overhead."""
    link = dram.estimate_link(_log(1 + 0.7 * (_SIZES / (1 << 20)) ** 2, _SIZES, 0.0, 1))
    assert link.cuts
    assert link.command_bytes is None
    assert link.overhead_us.low <= 1e3 * _OVERHEAD_MS <= link.overhead_us.high
    assert link.rate_mb_s.low <= _RATE_MB_S <= link.rate_mb_s.high * 1.01


def test_what_memory_keeps_in_part_tells_nothing_of_the_link() -> None:
    """Of a bridge's 190 us and 291 MB/s 143 to 191 and 121 to 291 were told: of 1 MiB a part came from the platters."""
    log = _log(np.ceil(_SIZES / 245_760), _SIZES, 0.0, 1)
    rest_ns = np.where(_SIZES == 1 << 20, np.where(np.arange(len(_SIZES)) % 8 < 4, 2_400_000, 3_900_000), 0)
    link = dram.estimate_link(replace(log, completed_ns=log.completed_ns + rest_ns))
    assert link.overhead_us.low <= 1e3 * _OVERHEAD_MS <= link.overhead_us.high
    assert link.rate_mb_s.low <= _RATE_MB_S <= link.rate_mb_s.high * 1.01
    # Of what three sizes do not tell apart what hosts give such bridges is likelier than a power of two.
    assert link.commands[0] == 245_760
    assert link.command_bytes
    assert link.command_bytes.value == 245_760
