"""Where a log comes from: a file, a pipe, a compressed file, the system's journal. Line by line, never as a whole."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from shakedown.analysis.triage.line import LONGEST_LINE_BYTES
from shakedown.errors import EnvironmentFailure, UsageError

_GZIP: Final = b"\x1f\x8b"
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
_PACKED: Final = {b"\xfd7zX": "xzcat", b"BZh": "bzcat", b"\x28\xb5\x2f\xfd": "zstdcat"}
_WHAT_TO_GIVE: Final = "give a log file, `-` or `--journal`"
_SPEAKERS: Final = ("zed", "smartd", "mdadm")


@contextmanager
def open_log(path: Path) -> Iterator[Iterator[bytes]]:
    """The lines of a log, ``-`` for standard input. Over-long lines are cut. Raises UsageError.

    What else goes wrong while the lines are used, such as a full disk, is not the log's.
    """
    with open_input(path, hint=_WHAT_TO_GIVE) as file:
        try:
            lines = _unpacked(file, path)
        except OSError as error:
            raise unreadable(path, error, hint=_WHAT_TO_GIVE) from error
        yield _checked(lines, path)


@contextmanager
def open_input(path: Path, *, hint: str = "") -> Iterator[IO[bytes]]:
    """A file to be read, or for ``-`` standard input, which stays open. Raises UsageError if it cannot be opened."""
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise unreadable(path, error, hint=hint) from error
    with file:
        yield file


def unreadable(path: Path, error: OSError, *, hint: str = "") -> UsageError:
    """The error for what cannot be opened or read."""
    return UsageError(f"`{path}` cannot be read: {error.strerror or error}", hint=hint)


@contextmanager
def open_journal() -> Iterator[Iterator[bytes]]:
    """What kernel, ZFS, smartd and md said in the system's journal, as JSON lines. Raises EnvironmentFailure."""
    program = shutil.which("journalctl")
    hint = "`dmesg --time-format iso | shakedown triage -` needs no journal"
    if program is None:
        raise EnvironmentFailure("`journalctl` is not installed", hint=hint)
    wanted = [word for name in _SPEAKERS for word in ("+", f"SYSLOG_IDENTIFIER={name}")]
    # A pipe would fill up while nobody reads it: of each file that it cannot use, journalctl says so.
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(
            [program, "--no-pager", "--output=json", "_TRANSPORT=kernel", *wanted],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
        ) as child,
    ):
        assert child.stdout is not None
        try:
            yield _lines(child.stdout)
        except BaseException:
            child.kill()
            raise
        if child.wait() != 0:
            complaints.seek(0)
            complaint = complaints.read(400).decode(errors="replace").strip()
            raise EnvironmentFailure(f"journalctl failed: {complaint or child.returncode}", hint=hint)


def _unpacked(file: IO[bytes], path: Path) -> Iterator[bytes]:
    """The lines of a file, whatever it is wrapped in."""
    head = file.peek(4)[:4] if isinstance(file, io.BufferedReader) else b""
    packer = next((tool for magic, tool in _PACKED.items() if head.startswith(magic)), None)
    if packer:
        raise UsageError(f"`{path}` is compressed", hint=f"{packer} {path} | shakedown triage -")
    if head.startswith(_GZIP):
        return _lines(gzip.GzipFile(fileobj=file))
    if head.startswith(_UTF_16):
        text = io.TextIOWrapper(file, encoding="utf-16", errors="replace")
        return (line.encode(errors="replace") for line in iter(lambda: text.readline(LONGEST_LINE_BYTES), ""))
    return _lines(file)


def _lines(file: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    while line := file.readline(LONGEST_LINE_BYTES):
        yield line
        while line and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE_BYTES)


def _checked(lines: Iterator[bytes], path: Path) -> Iterator[bytes]:
    try:
        yield from lines
    except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeError) as error:
        raise UsageError(
            f"`{path}` is damaged: {error}", hint=f"zcat {path} | shakedown triage -  # reads what is left of it"
        ) from error
    except OSError as error:
        raise unreadable(path, error, hint=_WHAT_TO_GIVE) from error
