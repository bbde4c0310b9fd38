"""The text of a fio job: sections and options, as fio itself reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from shakedown import _core
from shakedown.errors import UsageError
from shakedown.sample import Direction

_DIRECTIONS: Final[dict[str, tuple[Direction, ...]]] = {
    "read": ("read",),
    "randread": ("read",),
    "write": ("write",),
    "randwrite": ("write",),
    "trim": ("trim",),
    "randtrim": ("trim",),
    "rw": ("read", "write"),
    "readwrite": ("read", "write"),
    "randrw": ("read", "write"),
    "trimwrite": ("write", "trim"),
    "randtrimwrite": ("write", "trim"),
}
# fio reads `4KiB` as 4000 and `4kB` as 4096 bytes, the other way round than the standard.
_SWAPPED_SIZE: Final = re.compile(r"(?<![0-9a-z])\d+[kmgtp]i?b(?![0-9a-z])", re.IGNORECASE)


class OptionError(UsageError):
    """An option of a job cannot be: which of which section, and why, in the words that the core uses as well."""

    def __init__(self, section: str, option: str, value: str, reason: str, *, hint: str = "") -> None:
        """Name the option with its value (may be empty)."""
        super().__init__(f"[{section}] {option}{'=' if value else ''}{value[:60]}: {reason}", hint=hint)
        self.option = option


@dataclass(frozen=True)
class Option:
    """One line of a job; ``value`` is None for a bare flag such as ``time_based``."""

    name: str
    value: str | None

    def __str__(self) -> str:
        """The line as fio reads it."""
        return self.name if self.value is None else f"{self.name}={self.value}"


@dataclass(frozen=True)
class Section:
    """One job of a job file, the options of the [global] sections above it included."""

    name: str
    options: tuple[Option, ...]

    def last(self, name: str, default: str = "") -> str:
        """The value that counts of an option that may be given several times."""
        return next((each.value or "" for each in reversed(self.options) if each.name == name), default)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """A boolean option, which is true when it is given bare."""
        return self.last(name, str(int(default))) != "0" if any(each.name == name for each in self.options) else default

    def count(self, name: str, default: int, direction: Direction | None = None) -> int:
        """A whole number, perhaps of the one of several that is a direction's. Raises OptionError."""
        given = self.last(name)
        text = given if direction is None else of_direction(given, direction)
        try:
            return parse_fio_count(text) if text else default
        except UsageError as error:
            raise OptionError(self.name, name, given, str(error), hint=error.hint) from error

    @property
    def directions(self) -> tuple[Direction, ...]:
        """What the section does to its target, reading back for a verification included. Raises UsageError."""
        pattern = self.last("rw", "read").split(":")[0].lower()
        if pattern not in _DIRECTIONS:
            hint = f"one of {', '.join(_DIRECTIONS)}"
            raise OptionError(self.name, "rw", self.last("rw"), "that is no pattern", hint=hint)
        moves = set(_DIRECTIONS[pattern])
        if self.last("verify") not in ("", "0") and self.flag("do_verify", default=True):
            moves.add("read")
        return in_order(moves)


def in_order(directions: Iterable[Direction]) -> tuple[Direction, ...]:
    """Without repetitions, in the order in which rows are written: read, write, trim."""
    wanted = set(directions)
    return tuple(each for each in ("read", "write", "trim") if each in wanted)


def of_direction(value: str, direction: Direction) -> str:
    """One of the values between commas: one is for all, of two the second is for writes and trims."""
    values = value.split(",")
    return values[min(("read", "write", "trim").index(direction), len(values) - 1)].strip()


def parse_job(text: str, name: str) -> tuple[Section, ...]:
    """Split a job into its sections; without a section header it is one job called ``name``. Raises UsageError."""
    shared: list[Option] = []
    sections: list[tuple[str, list[Option]]] = []
    current = shared
    for number, line in job_lines(text):
        if line.startswith("["):
            header = _header(line, number)
            current = shared if header == "global" else list(shared)
            if header != "global":
                sections.append((header, current))
        else:
            current.append(parse_option(line))
    if not sections:
        sections.append((name, shared))
    if not any(options for _, options in sections):
        raise UsageError("the job has no options", hint="give at least `rw=` and `bs=`")
    return tuple(Section(header, tuple(options)) for header, options in sections)


def swapped_size(option: str, value: str) -> tuple[str, str] | None:
    """Why a value's size would not mean what it says, and what to write instead; None of others."""
    size = None if option == "description" else _SWAPPED_SIZE.search(value)
    if size is None:
        return None
    return (
        "fio swaps the meanings of `KiB` (1000 to it) and `kB` (1024)",
        f"write `{size[0].rstrip('bBiI')}`: a bare letter is a power of 1024",
    )


def refuse_swapped_sizes(job: str) -> None:
    """Raise OptionError for a size that would not mean what it says. What else is wrong is not looked at."""
    section = "job"
    for _, line in job_lines(job):
        if line.startswith("["):
            section = line.strip("[]")
            continue
        option = parse_option(line)
        value = option.value or ""
        if (swapped := swapped_size(option.name, value)) is not None:
            reason, hint = swapped
            raise OptionError(section, option.name, value, reason, hint=hint)


def parse_fio_bytes(text: str, whole_bytes: int) -> int:
    """A size as fio and the model read it: ``4k`` and ``4KB`` 4096, ``4KiB`` 4000, ``50%`` of the whole.

    The swapped meaning of ``Ki`` is fio's default (``kb_base=1024``), kept by fio for the sake of old jobs. Raises
    UsageError, also for what fio would misread without a word: to it ``1.5g`` is one byte.
    """
    return _read(lambda: _core.fio_bytes(text, whole_bytes), "write it like `4k`, `1g` or `50%`")


def parse_fio_time_ns(text: str, bare_ns: int) -> int:
    """A time as fio and the model read it: ``90s``, ``15m``, ``2h``, ``500ms``; ``bare_ns`` is a number's own unit.

    Raises UsageError, also for what fio would misread without a word: to it ``15min`` is 15 us.
    """
    return _read(lambda: _core.fio_time_ns(text, bare_ns), "write it like `90s`, `15m`, `2h` or `500ms`")


def parse_fio_count(text: str) -> int:
    """A whole number as fio and the model read it: ``16``, ``0x10``, ``1k``. Raises UsageError."""
    return _read(lambda: _core.fio_count(text), "write it like `16`")


def _read(read: Callable[[], int], hint: str) -> int:
    try:
        return read()
    except ValueError as error:
        raise UsageError(str(error), hint=hint) from error


def job_lines(job: str) -> Iterator[tuple[int, str]]:
    """Those that say something, without comments, and their numbers."""
    for number, raw in enumerate(job.splitlines(), start=1):
        if line := re.split("[#;]", raw, maxsplit=1)[0].strip():
            yield number, line


def _header(line: str, number: int) -> str:
    match = re.fullmatch(r"\[([A-Za-z0-9 _.+-]{1,100})\]", line)
    if match is None:
        raise UsageError(
            f"line {number} of the job: `{line[:60]}` is not a section header",
            hint="write `[name]`, the name in letters, digits, `_`, `-`, `.`",
        )
    return match[1]


def parse_option(line: str) -> Option:
    """One of a job's lines, with the option's own name where fio has several."""
    name, equals, value = (part.strip() for part in line.partition("="))
    return Option(_core.fio_option(name.lower()), value if equals else None)
