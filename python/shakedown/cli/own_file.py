"""What a file of ours may replace: nothing but an earlier one of its kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from shakedown.errors import EnvironmentFailure, UsageError

_HEAD_BYTES: Final = 4096


def refuse_other_file(path: Path, is_ours: Callable[[bytes], bool], what: str, hint: str) -> None:
    """Raise UsageError unless there is nothing at ``path``, or a file whose first bytes are ours: ``what`` it is.

    So too if there is no folder for it.
    """
    refuse_no_folder(path)
    if not (path.exists() or path.is_symlink()):
        return
    try:
        is_replaced = path.is_file() and is_ours(_head(path))
    except OSError as error:
        raise EnvironmentFailure(f"`{path}` cannot be examined: {error.strerror}") from error
    if not is_replaced:
        raise UsageError(f"`{path}` exists and is not {what}", hint=hint)


def refuse_no_folder(path: Path) -> None:
    """Raise UsageError if the folder that a file is to be written into is not there: it may be a slip."""
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder `{path.parent}` for `{path}`", hint="make it first, or choose another")


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES)
