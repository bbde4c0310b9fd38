"""A file is either the old one or the whole new one, whatever happens in between."""

from __future__ import annotations

import errno
import json
import os
from contextlib import suppress
from pathlib import Path

from shakedown.errors import EnvironmentFailure, UsageError


def sync(path: Path) -> None:
    """Make what a file holds, or the names in a folder, outlive a loss of power."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def unfinished(path: Path) -> Path:
    """Where the new content of ``path`` is written, and left by a kill."""
    return path.with_name(f".{path.name}.new")


def replace_file(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Write ``content`` beside ``path``, make it durable, rename it into place. Raises EnvironmentFailure.

    What is not ``durable`` outlives every kill, but for a loss of power somebody has to ``sync`` it.
    """
    beside = unfinished(path)
    try:
        # Whatever has that name, a link say, is taken away and not written through.
        beside.unlink(missing_ok=True)
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), "wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        beside.replace(path)
        if durable:
            sync(path.parent)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise failed_write(path, error) from error


def replace_json(path: Path, document: object) -> None:
    """The same with a document for programs that people may read, too. Raises EnvironmentFailure."""
    replace_file(path, json.dumps(document, indent=1).encode() + b"\n")


def make_folder(path: Path) -> None:
    """Make a folder and those above it, where there are none. Raises UsageError for a file, EnvironmentFailure else."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"`{path}` cannot be a folder: a file is there", hint="choose another folder") from error
    except OSError as error:
        raise failed_write(path, error) from error


def failed_write(path: Path, error: OSError) -> EnvironmentFailure:
    """What to tell of a file that could not be written, or a folder that could not be made: the hint fits the cause."""
    # Of folders that were to be made, too, the first that is there is what forbids it.
    shown = next((folder for folder in path.parents if os.access(folder, os.F_OK)), path.parent)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "free some space, then try again"
    elif error.errno in (errno.EPERM, errno.EACCES, errno.EROFS):
        hint = f"make it writable (`ls -ld '{shown}'` and `lsattr -d '{shown}'` show what forbids it)"
    else:
        hint = f"look at `{shown}` and its file system, then try again"
    return EnvironmentFailure(f"`{path}` could not be written: {error.strerror or error}", hint=hint)
