"""Durations as people read them, sizes as they write them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shakedown.errors import UsageError
from shakedown.units import (
    floor_size,
    format_duration,
    format_two_sizes,
    parse_bytes_of_a_second,
    parse_drive_bytes,
    parse_memory_bytes,
    parse_request_bytes,
    parse_size_bytes,
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0001, "0.1 ms"),
        (0.812, "812 ms"),
        (0.9997, "1 s"),
        (41.23, "41.2 s"),
        (99.4, "99.4 s"),
        (100, "1 min 40 s"),
        (300, "5 min"),
        (312.4, "5 min 12 s"),
        (3599.2, "59 min 59 s"),
        (3599.7, "60 min"),
        (5100, "85 min"),
        (6000, "1 h 40 min"),
        (9 * 86_400 + 4 * 3600, "9 d 4 h"),
    ],
)
def test_a_duration_has_two_units_at_the_most(seconds: float, text: str) -> None:
    assert format_duration(seconds * 1e9) == text


@pytest.mark.parametrize(
    ("parse", "text", "meant"),
    [
        (parse_drive_bytes, "3500", "3500GiB"),
        (parse_drive_bytes, " 2.5 ", "2.5GiB"),
        (parse_memory_bytes, "512", "512MiB"),
        (parse_request_bytes, "64", "64KiB"),
        (parse_bytes_of_a_second, "200000", "200000KiB"),
    ],
)
def test_bytes_that_nobody_means_are_refused_with_what_was_meant(
    parse: Callable[[str], int], text: str, meant: str
) -> None:
    with pytest.raises(UsageError, match=f"`{text.strip()}` has no unit, which means bytes") as refused:
        parse(text)
    assert f"did you mean `{meant}`?" in refused.value.hint
    assert parse(f"{text.strip()}B") == float(text) // 1
    assert parse(meant) > 2**15


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_drive_bytes, "10737418240"),
        (parse_memory_bytes, "0"),
        (parse_request_bytes, "512"),
        (parse_request_bytes, "131072"),
    ],
)
def test_bytes_that_may_be_meant_need_no_unit(parse: Callable[[str], int], text: str) -> None:
    assert parse(text) == int(text)


def test_two_sizes_read_differently() -> None:
    assert format_two_sizes(4_000_787_030_016, 12_000_138_625_024) == ("3.6 TiB", "10.9 TiB")
    assert format_two_sizes(4_000_787_030_016, 4_000_787_034_112) == (
        "3.6 TiB (4000787030016 bytes)",
        "3.6 TiB (4000787034112 bytes)",
    )


@pytest.mark.parametrize("size_bytes", [17, 100 << 10, (100 << 20) - 1, 3_999_999_999, 1_000_204_886_016, 2**60])
def test_a_size_to_be_typed_in_is_the_largest_of_its_unit_that_fits(size_bytes: int) -> None:
    text = floor_size(size_bytes)
    unit_bytes = parse_size_bytes("1" + text.lstrip("0123456789"))
    assert 0 <= size_bytes - parse_size_bytes(text) < unit_bytes
