"""Durations as people read them, sizes as they write them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shakedown.errors import UsageError
from shakedown.units import (
    floor_size,
    format_around,
    format_duration,
    format_interval,
    format_left,
    format_two_sizes,
    parse_bytes_of_a_second,
    parse_bytes_per_s,
    parse_data_rate,
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
    ("low_s", "high_s", "text"),
    [
        (0.9, 1.2, "0.9 s to 1.2 s"),
        (41.2, 44, "41.2 s to 44 s"),
        (54, 130, "54 s to 130 s"),
        (80, 130, "1 min 20 s to 2 min 10 s"),
        (54, 3000, "0.9 min to 50 min"),
        (3230, 3990, "54 min to 66 min"),
        (3240, 6240, "54 min to 104 min"),
        (5880, 6180, "1 h 38 min to 1 h 43 min"),
        (27_600, 28_440, "7 h 40 min to 7 h 54 min"),
        (20 * 3600, 60 * 3600, "20 h to 60 h"),
        (40 * 3600, 50 * 3600, "1 d 16 h to 2 d 2 h"),
        (1, 7200, "1 s to 2 h 0 min"),
    ],
)
def test_both_ends_of_an_interval_have_the_same_units_unless_they_are_far_apart(
    low_s: float, high_s: float, text: str
) -> None:
    assert " to ".join(format_interval(low_s * 1e9, high_s * 1e9)) == text


@pytest.mark.parametrize(
    ("value_s", "low_s", "high_s", "text"),
    [
        (0.95, 0.9, 1.2, "900 ms to 1200 ms"),
        (1.1, 0.9, 1.2, "0.9 s to 1.2 s"),
        (66, 54, 130, "54 s to 130 s"),
        (3000, 1800, 6250, "30 min to 104 min 10 s"),
        (3660, 3230, 3990, "54 min to 66 min"),
        (13_620, 7020, 25_260, "1 h 57 min to 7 h 1 min"),
        (77_700, 23_800, 252_700, "6 h 37 min to 70 h 12 min"),
        (3 * 86_400, 20 * 3600, 12 * 86_400, "0 d 20 h to 12 d 0 h"),
        (7200, 1, 14_400, "1 s to 4 h 0 min"),
    ],
)
def test_the_ends_of_an_interval_have_the_units_of_the_value_between_them_unless_they_would_be_nothing(
    value_s: float, low_s: float, high_s: float, text: str
) -> None:
    assert " to ".join(format_around(value_s * 1e9, low_s * 1e9, high_s * 1e9)) == text


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


@pytest.mark.parametrize(
    ("text", "meant"),
    [("64k", "`64KiB` or, by thousands, `64KB`"), ("4T", "`4TiB` or, by thousands, `4TB`"), ("1.5 G", "`1.5GiB` or")],
)
def test_a_size_with_half_a_unit_is_told_what_it_may_mean(text: str, meant: str) -> None:
    with pytest.raises(UsageError, match="is not a size") as refused:
        parse_size_bytes(text)
    assert f"did you mean {meant}" in str(refused.value.hint)
    with pytest.raises(UsageError, match="is not a size") as refused:
        parse_size_bytes("64q")
    assert str(refused.value.hint).startswith("write it like")


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


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("10GbE", "did you mean `10Gb/s`?"),
        ("2.5gbe", "did you mean `2.5Gb/s`?"),
        ("1Gbps", "did you mean `1Gb/s`?"),
        ("100mbit/s", "did you mean `100Mb/s`?"),
        ("10G", "did you mean `10Gb/s`?"),
        ("1GB/s", "did you mean `1Gb/s`? links are sold in bits; 1 GB/s would be `8Gb/s`"),
        ("125 MB/s", "did you mean `125Mb/s`? links are sold in bits; 125 MB/s would be `1000Mb/s`"),
        ("0GbE", "write it like `1Gb/s`, `2.5Gb/s` or `100Mb/s`"),
        ("1000", "write it like `1Gb/s`, `2.5Gb/s` or `100Mb/s`"),
        ("10Gallons", "write it like `1Gb/s`, `2.5Gb/s` or `100Mb/s`"),
    ],
)
def test_the_speed_of_a_link_as_shops_write_it_gets_that_as_a_hint(text: str, hint: str) -> None:
    with pytest.raises(UsageError, match="is no speed of a link") as refused:
        parse_bytes_per_s(text)
    assert refused.value.hint == hint
    for meant in refused.value.hint.split("`")[1::2]:
        assert parse_bytes_per_s(meant) > 0


@pytest.mark.parametrize(
    ("text", "as_bytes", "as_bits"),
    [
        ("210Mb/s", "210MB/s", "26.25MB/s"),
        ("210 mbit/s", "210MB/s", "26.25MB/s"),
        ("9.6Mib/s", "9.6MiB/s", "1.2MiB/s"),
        ("800b/s", "800B/s", "100B/s"),
    ],
)
def test_bits_are_not_taken_for_bytes_of_data(text: str, as_bytes: str, as_bits: str) -> None:
    with pytest.raises(UsageError, match=f"`{text}` is a rate of bits") as refused:
        parse_data_rate(text)
    assert refused.value.hint == f"did you mean `{as_bytes}`? as bits it would be `{as_bits}`"
    assert parse_data_rate(as_bits) * 8 == pytest.approx(parse_data_rate(as_bytes), abs=8)


def test_of_less_than_a_second_no_time_is_told_to_be_left() -> None:
    assert format_left(41.23e9, "about") == "about 41.2 s left"
    assert format_left(1e9) == "1 s left"
    assert [format_left(left_ns, "at least") for left_ns in (0.784e9, 0.0, -5e9)] == ["nearly done"] * 3
