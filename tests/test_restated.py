"""What the core knows and Python says once more, since nothing may be imported there, is the same."""

from __future__ import annotations

import re
from pathlib import Path

from shakedown.analysis.kick import _FLUSH_TIMEOUT_MULTIPLIER
from shakedown.analysis.rules import LINUX_COMMAND_TIMEOUT_MS
from shakedown.api.drive import HOST_TIMEOUT
from shakedown.layouts import DRAID, LAYOUTS, RAIDZ
from shakedown.target.md_options import LINUX_HOST, SPEED_MAX_BYTES_PER_S
from shakedown.units import parse_duration_ns

CRATES = Path(__file__).resolve().parent.parent / "crates"


def numbers(path: str) -> dict[str, int]:
    """The constants and the defaults of a source."""
    text = (CRATES / path).read_text()
    found = re.findall(r"(?:const )?(\w+): (?:u\d+ = )?([\d_]+)(?: << (\d+))?[,;]\n", text)
    return {name: int(number) << int(shift or 0) for name, number, shift in found}


def test_for_how_long_linux_waits() -> None:
    core = numbers("drive/src/faults/linux.rs")
    assert LINUX_COMMAND_TIMEOUT_MS * 1_000_000 == parse_duration_ns(HOST_TIMEOUT) == core["SD_TIMEOUT_NS"]
    assert core["SD_FLUSH_TIMES"] == _FLUSH_TIMEOUT_MULTIPLIER


def test_what_md_runs_on() -> None:
    core = numbers("array/src/md/options.rs")
    assert core["speed_max_bytes_per_s"] == SPEED_MAX_BYTES_PER_S
    assert {name: core[name] for name in LINUX_HOST._fields} == LINUX_HOST._asdict()


def test_which_layouts_there_are_and_of_how_many_drives() -> None:
    text = (CRATES / "array/src/layout.rs").read_text()
    (names,) = re.findall(r"NAMES: [^=]*= \[([^]]*)\]", text)
    assert re.findall(r"\"(\w+)\"", names) == list(LAYOUTS)
    (arms,) = re.findall(r"fn least_width.*?\n    }\n", text, re.DOTALL)
    least = {
        name.lower(): int(count)
        for members, count in re.findall(r"(Self::[\w:| ]+) => (\d+),", arms)
        for name in re.findall(r"Self::(\w+)", members)
    }
    assert "Self::Raidz(parity) | Self::Draid(parity) => usize::from(parity) + 1" in arms
    least |= {name: kind.parity + 1 for name, kind in (RAIDZ | DRAID).items()}
    assert least == {name: kind.least_width for name, kind in LAYOUTS.items()}
