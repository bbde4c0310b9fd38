"""What of a trace is refused before anything of it is played."""

from __future__ import annotations

import polars as pl
import pytest

from shakedown import Drive, UsageError
from shakedown.trace import TRACE_SCHEMA


def a_trace(count: int, verb: str, length_bytes: int) -> pl.DataFrame:
    rows = [(at, verb, 0, length_bytes) for at in range(count)]
    return pl.DataFrame(rows, TRACE_SCHEMA, orient="row")


def test_a_trace_with_more_rows_than_fit_is_refused_before_it_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    one, trace = Drive.load("wd40efrx", seed=1), a_trace(101, "read", 4096)
    monkeypatch.setattr("shakedown.api.drive._MOST_REQUESTS", 100)
    with pytest.raises(UsageError, match="more than 100 requests do not fit"):
        one.replay(trace)
    assert one.now_ns == 0
    assert one.replay(trace, interval="1s")["count"].sum() == 101


@pytest.mark.parametrize("verb", ["read", "write"])
def test_no_request_moves_more_than_a_command_can_name(verb: str) -> None:
    one = Drive.load("wd40efrx", seed=1)
    with pytest.raises(UsageError, match="row 0 of the trace moves 33554944 bytes at once"):
        one.replay(a_trace(1, verb, 32 * 2**20 + 512))
    assert one.now_ns == 0
    assert one.replay(a_trace(1, verb, 32 * 2**20)).height == 1
    assert one.replay(a_trace(1, "trim", 32 * 2**20 + 512)).height == 1
