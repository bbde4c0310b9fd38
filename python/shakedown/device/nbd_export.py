"""An NBD export as a target."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from shakedown.device.claim import Claim
from shakedown.device.medium import Lease
from shakedown.device.nbd import NbdExport, ask_export, parse_nbd_uri
from shakedown.errors import RefusedError, UsageError
from shakedown.result.identity import Identity
from shakedown.tools.fio.job import Option
from shakedown.tools.fio.locate import Fio

# What `shakedown serve` calls its exports: they hold nobody's data.
MODELLED_PREFIX: Final = "shakedown modelled drive: "
_SCALE_AND_SEED: Final = re.compile(r", scale 1/(\d+), seed \d+$")


def modelled_description(title: str, scale_divisor: int, seed: int) -> str:
    """What `shakedown serve` says of its export. By that ``NbdMedium`` knows it, and its scale."""
    return f"{MODELLED_PREFIX}{title}, scale 1/{scale_divisor}, seed {seed}"


class NbdMedium:
    """Implements ``Medium``. An export counts as somebody's disk unless it says that it is a modelled drive."""

    # Who serves it keeps it: of a server that was started anew with the same export nothing tells that.
    remembers = True

    device = None

    def __init__(self, text: str, *, consent: Sequence[str] = ()) -> None:
        """Ask the server at the address ``text``, and claim it.

        Raises UsageError, EnvironmentFailure, and RefusedError if another run is using it.
        """
        self._text = text
        self._address = parse_nbd_uri(text)
        self._consent = consent
        self._export = ask_export(self._address)
        if self._export.size_bytes == 0:
            raise UsageError(f"{text}: the export is empty (0 bytes)")
        self._claim = Claim(self._address.socket_path)
        self.identity = Identity(
            kind="nbd",
            text=text,
            name=text,
            model=self._export.description.removeprefix(MODELLED_PREFIX) or "NBD export",
            capacity_bytes=self._export.size_bytes,
            details={
                "uri": self._address.uri,
                "description": self._export.description,
                "modelled": "yes" if self._modelled(self._export) else "unknown",
                **self._scale(self._export),
            },
        )

    def require(self, fio: Fio) -> None:
        """Raise EnvironmentFailure unless fio speaks NBD."""
        fio.require_engine("nbd", "install a fio built with libnbd: Debian's and Ubuntu's `fio` package is")

    def admit_writing(self) -> None:
        """Raise RefusedError if the export may be anybody's disk, UsageError if it is for reading only."""
        if self._export.read_only:
            raise UsageError(f"{self._text} is exported for reading only")
        if not self._modelled(self._export) and not {self._text, self._address.uri} & set(self._consent):
            raise RefusedError(
                f"{self._text} is not a modelled drive of `shakedown serve`, so it may hold data",
                hint=f"if its data may be destroyed: `--destroy-data-on '{self._text}'`",
            )

    def missing(self, *, failed: bool) -> None:
        """Whether it is there is seen when it is lent."""

    @contextmanager
    def lend(self, *, write: bool) -> Iterator[Lease]:
        """Ask once more who is served there, since a socket's path outlives its server. Raises RefusedError."""
        if write:
            self.admit_writing()
        if ask_export(self._address) != self._export:
            raise RefusedError(f"{self._text} serves another export than the one examined", hint="start again")
        yield Lease((Option("ioengine", "nbd"), Option("uri", self._address.uri)), ())
        # An I/O error is the drive's own answer, and a result, only while there is somebody to give it.
        ask_export(self._address)

    def close(self, *, finished: bool = True) -> None:  # noqa: ARG002
        """Let another run have the server; nothing was made."""
        self._claim.release()

    @classmethod
    def _scale(cls, export: NbdExport) -> dict[str, str]:
        """The scale that `shakedown serve` tells of, since verdicts depend on it."""
        told = _SCALE_AND_SEED.search(export.description) if cls._modelled(export) else None
        return {"scale_divisor": told[1]} if told else {}

    @staticmethod
    def _modelled(export: NbdExport) -> bool:
        return export.description.startswith(MODELLED_PREFIX)
