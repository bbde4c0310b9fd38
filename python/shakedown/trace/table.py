"""Comma-separated text of millions of lines: read at once, and searched for the line only when one is wrong."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl
from polars.exceptions import NoDataError, PolarsError

from shakedown.errors import UsageError
from shakedown.requests import VERBS
from shakedown.trace.frame import (
    MOST,
    ONE_LINE_A_REQUEST,
    OTHER_READERS,
    malformed,
    numbered_lines,
    unaskable,
    warn_of_the_last,
)
from shakedown.trace.packed import CUT_OFF, ZSTD, cannot_be_unpacked, unpacked
from shakedown.units import SECTOR_BYTES

LINE: Final = "line"
"""The column of a table that holds the number of each row's line."""


def read_table(path: Path, *, names: Sequence[str] | None = None, last_matters: Container[str] = ()) -> pl.DataFrame:
    """All cells as text; the columns are named by ``names`` or else by the first line. Raises UsageError.

    Warns of a last line without an end if its last column is among those of ``last_matters``.
    """
    data = unpacked(path)
    try:
        table = pl.read_csv(data, has_header=names is None, infer_schema=False)
    except NoDataError:
        raise UsageError(f"`{path}` is empty", hint=ONE_LINE_A_REQUEST) from None
    except OSError as error:
        # What zstd packed ends too soon, or is damaged.
        raise cannot_be_unpacked(path, str(error), hint=CUT_OFF) from error
    except PolarsError as error:
        raise _uneven(path) or UsageError(f"`{path}` is no table: {_first_line(error)}", hint=OTHER_READERS) from error
    if names is not None:
        if table.width != len(names):
            raise malformed(path, 1, f"{table.width} fields where {len(names)} are expected: {', '.join(names)}")
        table.columns = list(names)
    if table.columns[-1] in last_matters and not data.startswith(ZSTD) and not data.endswith((b"\n", b"\r")):
        warn_of_the_last(path)
    blank = pl.all_horizontal(pl.exclude(LINE).is_null())
    return table.with_row_index(LINE, offset=2 if names is None else 1).filter(~blank)


def whole_numbers(path: Path, table: pl.DataFrame, name: str) -> pl.Series:
    """A column of whole numbers from 0. Raises UsageError."""
    numbers = table[name].str.strip_chars().cast(pl.Int64, strict=False)
    _refuse(path, table, name, numbers.is_null() | (numbers < 0), f"a whole number from 0 to {MOST}")
    return numbers


def check_requests(path: Path, table: pl.DataFrame, columns: Mapping[str, pl.Series]) -> None:
    """Refuses the first request that no drive can be asked for. Raises UsageError."""
    offset, length, is_flush = pl.col("offset_bytes"), pl.col("bytes"), pl.col("verb") == "flush"
    in_sectors = (offset % SECTOR_BYTES == 0) & (length % SECTOR_BYTES == 0)
    possible = in_sectors & ((length == 0) == is_flush) & ~(is_flush & (offset != 0)) & (offset <= MOST - length)
    requests = pl.DataFrame({LINE: table[LINE], **columns}).filter(~possible)
    for line, *request in requests.select(LINE, "verb", "offset_bytes", "bytes").head(1).iter_rows():
        raise malformed(path, line, unaskable(*request))


def words(path: Path, table: pl.DataFrame, name: str, verbs: Mapping[str, str]) -> pl.Series:
    """A column of verbs, by the words that stand for them. Raises UsageError."""
    found = table[name].str.strip_chars().replace_strict(verbs, default=None, return_dtype=VERBS)
    _refuse(path, table, name, found.is_null(), f"one of {', '.join(verbs)}")
    return found


def _refuse(path: Path, table: pl.DataFrame, name: str, wrong: pl.Series, expected: str) -> None:
    for line, text in table.filter(wrong).select(LINE, name).head(1).iter_rows():
        raise malformed(path, line, f"{name} `{text or ''}` is not {expected}")


def _uneven(path: Path) -> UsageError | None:
    """The error for the first line with more fields than the first of all."""
    lines = numbered_lines(path)
    expected = next(lines)[1].count(",")
    for line, text in lines:
        if text.count(",") > expected:
            return malformed(path, line, f"{text.count(',') + 1} fields where {expected + 1} are expected")
    return None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["unknown reason"])[0]
