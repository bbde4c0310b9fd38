"""Chunk after chunk from the start of a modelled drive, as a program without a queue asks for them."""

from __future__ import annotations

from typing import Final

import numpy as np

from shakedown.fit.trace import FLUSH, READ, WRITE, Trace
from shakedown.target.model import ModelArena
from shakedown.units import NS_PER_S, parse_size_bytes
from shakedown.validate.question import Chunks

_VERBS: Final = {"read": READ, "write": WRITE, "flush": FLUSH}


def seconds(chunks: Chunks, profile: str) -> float:
    """How long all of them take. Raises UsageError for an unknown profile."""
    drive = ModelArena(f"model:{profile}", seed=1)
    return drive.replay("chunks", requests(chunks)).ended_ns / NS_PER_S


def requests(chunks: Chunks) -> Trace:
    """All requests in their order, one at a time."""
    verbs = np.array([_VERBS[verb] for verb in chunks.verbs])
    chunk_bytes = parse_size_bytes(chunks.chunk)
    starts = np.arange(0, parse_size_bytes(chunks.amount), chunk_bytes)
    is_flush = np.tile(verbs == FLUSH, len(starts))
    return Trace(
        verbs=np.tile(verbs, len(starts)),
        offsets=np.where(is_flush, 0, np.repeat(starts, len(verbs))),
        lengths=np.where(is_flush, 0, chunk_bytes),
    )
