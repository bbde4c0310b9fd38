"""Files of traces as they lie there: packed by gzip, or not."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Final, TextIO, cast

from shakedown.errors import UsageError

GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
CUT_OFF: Final = "a file cut off ends so: fetch it again"
"""The hint where what is packed ends too soon."""


def unpacked(path: Path) -> bytes:
    """What is in a file, unpacked if gzip packed it. Raises UsageError."""
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data.startswith(GZIP) else data
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from error


def open_text(path: Path) -> TextIO:
    """A text to be read, unpacked on the way if gzip packed it. What goes wrong is for ``unreadable``."""
    with path.open("rb") as file:
        beginning = file.read(len(ZSTD))
    if beginning == ZSTD:
        raise UsageError(f"`{path}` is packed by zstd", hint="unpack it with `zstd -d`: of texts only CSV may be so")
    if beginning.startswith(GZIP):
        return cast(TextIO, gzip.open(path, "rt", encoding="utf-8"))
    return path.open(encoding="utf-8")


def unreadable(path: Path, error: OSError | EOFError | zlib.error) -> UsageError:
    """The error for a file that cannot be opened, read or unpacked."""
    if isinstance(error, EOFError):
        return cannot_be_unpacked(path, "it ends too soon", hint=CUT_OFF)
    if isinstance(error, zlib.error):
        return cannot_be_unpacked(path, "it is damaged", hint="fetch it again")
    if not isinstance(error, gzip.BadGzipFile):
        return UsageError(
            f"`{path}` cannot be read: {error.strerror}", hint="give the path of a file that you may read"
        )
    if "Not a gzipped file" not in str(error):
        return cannot_be_unpacked(path, "its checksum is another's", hint="fetch it again")
    hint = "was something appended to it? unpack it with `gzip -dc`, which leaves that out, and look at the end"
    return cannot_be_unpacked(path, "behind what gzip packed there is something else", hint=hint)


def cannot_be_unpacked(path: Path, reason: str, *, hint: str) -> UsageError:
    """The error for a packed file that is not whole."""
    return UsageError(f"`{path}` cannot be unpacked: {reason}", hint=hint)
