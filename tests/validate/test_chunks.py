"""Chunk after chunk: what is asked of the drive, and what cannot be asked of the answer."""

from __future__ import annotations

import pytest

from shakedown.fit.trace import FLUSH, READ, WRITE
from shakedown.validate.chunks import requests, seconds
from shakedown.validate.question import Chunks, Question

WRITTEN_BACK = Chunks(chunk="128KiB", amount="256KiB", verbs=("read", "write", "flush"))


def test_each_chunk_is_read_written_back_and_made_durable_before_the_next() -> None:
    trace = requests(WRITTEN_BACK)
    asked = list(zip(trace.verbs.tolist(), trace.offsets.tolist(), trace.lengths.tolist(), strict=True))
    size = 128 << 10
    assert asked[:3] == [(READ, 0, size), (WRITE, 0, size), (FLUSH, 0, 0)]
    assert asked[3:] == [(READ, size, size), (WRITE, size, size), (FLUSH, 0, 0)]
    assert trace.depth == 1


def test_what_was_read_comes_round_a_turn_later_and_so_does_the_next() -> None:
    many = WRITTEN_BACK.model_copy(update={"amount": "64MiB"})
    turn_s, transfer_s = 60 / 7200, (128 << 10) / 253e6
    # But for what a track's end takes.
    assert seconds(many, "hdwg21c") / 512 == pytest.approx(2 * turn_s + transfer_s, rel=0.01)


@pytest.mark.parametrize(
    "other", [{"measure": "throughput"}, {"step": "read"}, {"over": "baseline"}, {"inverse": True}]
)
def test_of_chunks_nothing_but_the_duration_is_told(other: dict[str, object]) -> None:
    asked = {"row": "R532", "experiment": "chunks", "step": "chunks", "measure": "duration"} | other
    with pytest.raises(ValueError, match="R532: of chunks only the duration"):
        Question.model_validate(asked).check_asks_duration()
