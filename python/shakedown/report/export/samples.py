"""Samples as CSV."""

from __future__ import annotations

from typing import Final

from shakedown.result.folder import Run
from shakedown.sample import SAMPLE_SCHEMA

HEAD: Final = ",".join(SAMPLE_SCHEMA.names())
"""The first line: the columns of ``samples.parquet``, units in their names."""


def samples_csv(run: Run) -> bytes:
    """All samples in the order measured; a field that is null in ``samples.parquet`` is empty."""
    return run.samples.write_csv().encode()
