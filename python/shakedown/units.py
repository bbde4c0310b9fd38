"""Sizes, durations and shares as people write them, in both directions.

Sizes follow the standards, not fio: ``4KiB`` is 4096, ``4kB`` is 4000 (a fio job keeps fio's own rules).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

from shakedown.errors import UsageError

NS_PER_S: Final = 1_000_000_000
# What Linux counts in, whatever the sectors of a drive are.
SECTOR_BYTES: Final = 512

_SIZE_UNITS: Final = {"": 1, "b": 1} | {
    f"{letter}{infix}b": base**power
    for power, letter in enumerate("kmgtp", start=1)
    for infix, base in (("", 1000), ("i", 1024))
}
_DURATION_UNITS_NS: Final = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": NS_PER_S,
    "min": 60 * NS_PER_S,
    "m": 60 * NS_PER_S,  # as fio has it
    "h": 3600 * NS_PER_S,
    "d": 86_400 * NS_PER_S,
}
TIME_UNITS_NS: Final = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9, "days": 86_400e9}
"""The units of findings and limits that are times."""

# What the core counts in.
_TOO_LARGE: Final = 2**63


def _quantity(text: str, units: dict[str, int], kind: str, example: str) -> int:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    unit = match[2].lower() if match else ""
    if match is not None and f"{unit}ib" in units:  # fio, mdadm and shops each mean something else by it
        binary, decimal = (f"{match[1]}{unit.upper()}{end}" for end in ("iB", "B"))
        hint = f"did you mean `{binary}` or, by thousands, `{decimal}`?"
        raise UsageError(f"`{text}` is not a {kind}", hint=hint)
    if match is None or unit not in units:
        raise UsageError(f"`{text}` is not a {kind}", hint=f"write it like {example}")
    value = round(Fraction(match[1]) * units[unit])
    if value >= _TOO_LARGE:
        raise UsageError(f"`{text}` is too large a {kind}", hint=f"write it like {example}")
    return value


def parse_size_bytes(text: str) -> int:
    """``"10GiB"`` to bytes. Raises UsageError."""
    return _quantity(text, _SIZE_UNITS, "size", "`10GiB`, `500MB` or `4096`")


def _in(unit: str, bare_from: int) -> Callable[[str], int]:
    """What reads a size of something that is never as small as ``bare_from`` bytes.

    A number without a unit is bytes. Below that nobody means them, but the unit in which such things are usually told.
    """

    def parse(text: str) -> int:
        size_bytes = parse_size_bytes(text)
        number = text.strip()
        if 0 < size_bytes < bare_from and number[-1].isdigit():
            raise UsageError(
                f"`{number}` has no unit, which means bytes: too few",
                hint=f"did you mean `{number}{unit}`? bytes are written `{number}B`",
            )
        return size_bytes

    return parse


parse_drive_bytes: Final = _in("GiB", 1 << 20)
"""Like ``parse_size_bytes``, of a drive, a file that stands for one, or what is used of it."""

parse_rated_bytes: Final = _in("TB", 1 << 30)
"""Like ``parse_size_bytes``, of a drive as it is sold."""

parse_memory_bytes: Final = _in("MiB", 1 << 20)
"""Like ``parse_size_bytes``, of a machine's memory or a cache in it."""

parse_request_bytes: Final = _in("KiB", 512)
"""Like ``parse_size_bytes``, of a request, a record or a chunk; Linux tells of these in KiB."""

parse_bytes_of_a_second: Final = _in("KiB", 1 << 20)
"""Like ``parse_size_bytes``, of what moves in a second; Linux tells of that in KiB, too."""


def parse_duration_ns(text: str) -> int:
    """``"30min"`` to nanoseconds; the unit is required. Raises UsageError."""
    return _quantity(text, _DURATION_UNITS_NS, "duration", "`30min`, `90s`, `250ms` or `9h`")


def parse_bytes_per_s(text: str) -> int:
    """What a link carries, like ``1Gb/s`` or ``100Mb/s``, in bytes a second. Raises UsageError."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([MG])b(?:it)?/s\s*", text)
    if found is None or not float(found[1]):
        raise UsageError(f"`{text}` is no speed of a link", hint=_meant_of_a_link(text))
    return round(float(found[1]) * {"M": 1e6, "G": 1e9}[found[2]] / 8)


_OF_BITS: Final = ("", "b", "b/s", "bps", "bit", "bits", "bit/s", "bits/s", "be")
_OF_BYTES: Final = ("B", "B/s", "Bps")


def _meant_of_a_link(text: str) -> str:
    """What is often written: ``10GbE``, the standard's name; bytes, as of a drive."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([MGmg])(\S*)\s*", text)
    if found is not None and float(found[1]):
        number, letter, behind = found[1], found[2].upper(), found[3]
        if behind in _OF_BYTES:
            bytes_are = f"{number} {letter}B/s would be `{8 * float(number):.12g}{letter}b/s`"
            return f"did you mean `{number}{letter}b/s`? links are sold in bits; {bytes_are}"
        if behind.lower() in _OF_BITS:
            return f"did you mean `{number}{letter}b/s`?"
    return "write it like `1Gb/s`, `2.5Gb/s` or `100Mb/s`"


def parse_data_rate(text: str) -> int:
    """What was measured of data, like ``55MB/s`` or ``9.5MiB/s``, in bytes a second. Raises UsageError, as of bits."""
    example = "`55MB/s` or `52MiB/s`"
    size, slash, second = text.strip().partition("/")
    if not slash or second != "s":
        raise UsageError(f"`{text}` is not a rate of data", hint=f"write it like {example}")
    if bits := re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGTkmgt]?)(i?)b(?:its?)?", size):
        number, letter, binary = bits[1], bits[2].upper(), bits[3]
        would_be = f"{number}{letter}{binary}B/s", f"{float(number) / 8:.12g}{letter}{binary}B/s"
        raise UsageError(
            f"`{text}` is a rate of bits: data is told in bytes",
            hint="did you mean `{}`? as bits it would be `{}`".format(*would_be),
        )
    return _quantity(size, _SIZE_UNITS, "rate of data", example)


def format_size(size_bytes: float) -> str:
    """Bytes in the largest binary unit that keeps at least one digit before the point: ``1.5 GiB``."""
    value = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def floor_size(size_bytes: int) -> str:
    """The largest size not above, in whole units, to be typed in: ``931GiB``, ``3814MiB``."""
    for unit, base in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size_bytes >= 100 * base:
            return f"{size_bytes // base}{unit}"
    return f"{size_bytes}B"


def format_two_sizes(one_bytes: int, other_bytes: int) -> tuple[str, str]:
    """Two sizes of which one is the larger; where they would read the same, with their bytes."""
    texts = format_size(one_bytes), format_size(other_bytes)
    if texts[0] != texts[1]:
        return texts
    return f"{texts[0]} ({one_bytes} bytes)", f"{texts[1]} ({other_bytes} bytes)"


_LEADING_NS: Final = {unit: _DURATION_UNITS_NS[unit] for unit in ("ms", "s", "min", "h", "d")}
"""The units that a duration for people may begin with."""

_BELOW: Final = {"s": "ms", "min": "s", "h": "min", "d": "h"}


def format_duration(duration_ns: float) -> str:
    """Nanoseconds for people, in two units: ``812 ms``, ``41.2 s``, ``5 min 12 s``, ``1 h 32 min``, ``9 d 4 h``."""
    unit = _leading(duration_ns)
    if unit == "min" and duration_ns >= 3600 * NS_PER_S:
        return f"{round(duration_ns / _LEADING_NS['min'])} min"
    text = _beginning_with(unit, duration_ns)
    return text.removesuffix(" 0 s") if unit == "min" else text


def format_interval(low_ns: float, high_ns: float) -> tuple[str, str]:
    """Both ends in the same units: ``0.9 s`` and ``1.2 s``, ``54 min`` and ``103 min``, ``98 min`` as ``1 h 38 min``.

    Ends that are further apart than neighbouring units, as a second and an hour, have each its own: in that of the
    other it would say nothing.
    """
    low, high = _leading(low_ns), _leading(high_ns)
    if low == high == "min" and low_ns < 3600 * NS_PER_S <= high_ns:
        return f"{low_ns / _LEADING_NS['min']:.0f} min", format_duration(high_ns)
    if _BELOW.get(high) != low:
        return format_duration(low_ns), format_duration(high_ns)
    if high == "s" or low_ns >= _LEADING_NS[high]:
        return _beginning_with(high, low_ns), format_duration(high_ns)
    unit = low if high_ns < 1000 * _LEADING_NS[low] else high
    one, other = (f"{_three_digits(end_ns / _LEADING_NS[unit])} {unit}" for end_ns in (low_ns, high_ns))
    return one, other


def often(times: int) -> str:
    """``once``, ``3 times``."""
    return "once" if times == 1 else f"{times} times"


def format_around(duration_ns: float, low_ns: float, high_ns: float) -> tuple[str, str]:
    """Both ends of an interval in the units in which the duration between them is told, beside which they stand.

    What would be nothing in these, as a second of days, has its own.
    """
    unit = _leading(duration_ns)
    ends = (low_ns, high_ns)
    if any(end_ns < _LEADING_NS[_BELOW.get(unit, unit)] for end_ns in ends):
        return format_interval(low_ns, high_ns)
    if unit == "min" and duration_ns >= 3600 * NS_PER_S:
        low, high = (f"{end_ns / _LEADING_NS[unit]:.0f} min" for end_ns in ends)
    elif unit in ("ms", "s"):
        low, high = (f"{_three_digits(end_ns / _LEADING_NS[unit])} {unit}" for end_ns in ends)
    else:
        low, high = (_beginning_with(unit, end_ns) for end_ns in ends)
        if unit == "min":
            low, high = low.removesuffix(" 0 s"), high.removesuffix(" 0 s")
    return low, high


def _leading(duration_ns: float) -> str:
    """The unit that a duration begins with; of less than 100 s, 100 minutes or two days that is the smaller one."""
    if round(duration_ns / 1e6) < 1000:
        return "ms"
    if duration_ns < 100 * NS_PER_S:
        return "s"
    if round(duration_ns / _LEADING_NS["min"]) < 100:
        return "min"
    return "h" if round(duration_ns / _LEADING_NS["min"]) < 48 * 60 else "d"


def _beginning_with(unit: str, duration_ns: float) -> str:
    if unit in ("ms", "s"):
        return f"{duration_ns / _LEADING_NS[unit]:.3g} {unit}"
    smaller = _BELOW[unit]
    whole, rest = divmod(round(duration_ns / _LEADING_NS[smaller]), _LEADING_NS[unit] // _LEADING_NS[smaller])
    return f"{whole} {unit} {rest} {smaller}"


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def format_left(left_ns: float, about: str = "") -> str:
    """``about 41.2 s left``; of less than a second nobody can say how much, nor wants to know."""
    return f"{about} {format_duration(left_ns)} left".lstrip() if left_ns >= NS_PER_S else "nearly done"


def format_share(share: float) -> str:
    """Two digits of a small one: ``1.5%``, ``57%``."""
    return f"{share:.0%}" if share >= 0.1 else f"{share * 100:.2g}%"


def format_counts(names: Sequence[str]) -> str:
    """``3 x sda, 1 x sdb``: each name once, in the order in which they come."""
    return ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names))
