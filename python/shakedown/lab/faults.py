"""Faults as people order them, ``DRIVE=WHAT``, and as the drives take them: TOML (``docs/faults.md``)."""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import tomlkit

from shakedown import _core
from shakedown.errors import UsageError
from shakedown.named_file import read_named_text
from shakedown.toml import FAULTS_HINT, TomlError, parse_toml

_HINT: Final = "like `--fault sda='kind=\"stall\", from_s=3600, for_s=30'`, or a file: `--fault sda=faults.toml`"
_FORMAT_VERSION: Final = 1


def faults_by_drive(texts: Sequence[str], drives: int) -> dict[int, str]:
    """The faults of each drive that has any, by its number. Raises UsageError.

    Where there is just one drive it need not be named.
    """
    found: dict[int, list[Any]] = {}
    for text in texts:
        name, equals, what = text.partition("=")
        if equals and _is_disk(name):
            number = disk_number(name)
        elif drives == 1:
            number, what = 0, text
        else:
            raise UsageError(f"`--fault {text}` does not name a drive", hint=_HINT)
        if number >= drives:
            raise UsageError(f"`--fault {text}`: there is no drive {name}", hint=f"there are {drives}, from sda on")
        found.setdefault(number, []).extend(_faults(what, text))
    return {
        number: tomlkit.dumps({"format_version": _FORMAT_VERSION, "faults": faults}) for number, faults in found.items()
    }


def _is_disk(name: str) -> bool:
    letters = name.removeprefix("/dev/")
    return letters[:2] in ("sd", "vd") and 0 < len(letters[2:]) <= 2 and set(letters[2:]) <= set(string.ascii_lowercase)


def disk_number(name: str) -> int:
    """0 for ``sda`` (or ``vda``), 26 for ``sdaa``."""
    number = 0
    for letter in name.removeprefix("/dev/")[2:]:
        number = number * 26 + string.ascii_lowercase.index(letter) + 1
    return number - 1


def _faults(what: str, text: str) -> list[Any]:
    """A list of faults from a file, or one fault from the inside of an inline table, each checked as it was written."""
    is_file = what.endswith(".toml")
    try:
        written = read_named_text(Path(what), hint=_HINT) if is_file else _as_list(what)
        content = parse_toml(written)
    except (UsageError, TomlError) as error:
        raise UsageError(f"`--fault {text}` cannot be read: {error}", hint=_HINT) from error
    try:
        _core.check_faults(written)
    except ValueError as error:
        # The lines of one fault from the command line are not those that were typed.
        wrong = str(error) if is_file else str(error).rpartition(" (line ")[0] or str(error)
        raise UsageError(f"`--fault {text}` cannot be: {wrong}", hint=FAULTS_HINT) from error
    return list(content["faults"])


def _as_list(fault: str) -> str:
    return f"format_version = {_FORMAT_VERSION}\nfaults = [{{ {fault} }}]\n"
