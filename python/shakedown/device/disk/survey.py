"""Gathers all that the rules ask about one block device."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, TypeVar

from shakedown.device.disk.facts import Kind, Name, Signature, Situation, Twin, Use
from shakedown.device.disk.machine import Machine, Unread
from shakedown.device.disk.mounts import uses_by_file_systems
from shakedown.device.disk.naming import folder_of, links_of, name_of, twins_of
from shakedown.device.disk.openers import openers
from shakedown.device.disk.signatures import signatures_of
from shakedown.device.disk.stack import family, partitions, uses_by_kernel
from shakedown.device.holders import holders
from shakedown.errors import UsageError

_Fact = TypeVar("_Fact")
# The peripheral device types of CD-ROM and optical memory in SCSI.
_OPTICAL: Final = ("5", "7")
_KINDS: Final[tuple[tuple[str, Kind], ...]] = (
    (r"mmcblk\d+(?:boot\d+|rpmb)", "boot area"),
    (r"sd[a-z]+|vd[a-z]+|xvd[a-z]+|nvme\d+n\d+|mmcblk\d+", "disk"),
    (r"loop\d+", "loop"),
    (r"sr\d+|scd\d+|pktcdvd\d+", "optical"),
    (r"md[\d_].*|dm-\d+|bcache\d+|zd\d+", "stacked"),
    (r"nbd\d+|rbd\d+|drbd\d+|etherd!.*", "network"),
    (r"zram\d+|ram\d+|pmem\d+.*|mtdblock\d+|brd\d+", "memory"),
)


def survey(text: str, run: Path, machine: Machine | None = None, *, claimed: bool = False) -> Situation:
    """The device at the path ``text`` as it stands. Raises UsageError if no block device is there.

    ``run`` is the folder of the run, ``claimed`` that we hold the device for ourselves already.
    """
    machine = machine or Machine()
    number = machine.number(text)
    folder = None if number is None else folder_of(machine, number)
    if number is None or folder is None:
        raise UsageError(f"there is no block device {text}", hint="`ls -l /dev/disk/by-id` shows those that are there")
    return _Surveyor(machine, number, folder).survey(text, os.path.realpath(run), claimed=claimed)


class _Surveyor:
    """Asks one question after the other, and remembers what stayed without an answer."""

    def __init__(self, machine: Machine, number: str, folder: str) -> None:
        self._machine = machine
        self._number = number
        self._folder = folder
        self._name = folder.rpartition("/")[2]
        self._unread: list[str] = []

    def survey(self, text: str, run: str, *, claimed: bool) -> Situation:
        machine, folder = self._machine, self._folder
        name = self._learn(lambda: name_of(machine, folder), Name())
        uses, signatures = self._uses(run, claimed=claimed), self._signatures()
        return Situation(
            text=text,
            kernel_name=self._name,
            number=self._number,
            kind=self._learn(self._kind, "other"),
            name=name,
            read_only=self._learn(lambda: self._text("ro") != "0", False),
            zones=self._learn(lambda: self._text("queue/zoned"), "unknown"),
            by_id=self._learn(lambda: links_of(machine, self._number), ()),
            backing_file=self._learn(self._backing_file, None),
            partitions=tuple(
                self._learn(lambda: [each.rpartition("/")[2] for each in partitions(machine, folder)], [])
            ),
            twins=self._learn(lambda: self._twins(name), ()),
            uses=uses,
            signatures=signatures,
            unread=tuple(dict.fromkeys(self._unread)),
        )

    def _learn(self, ask: Callable[[], _Fact], otherwise: _Fact) -> _Fact:
        try:
            return ask()
        except Unread as failure:
            self._unread.append(str(failure))
            return otherwise

    def _learn_all(self, ask: Callable[[], Iterable[_Fact]]) -> list[_Fact]:
        nothing: list[_Fact] = []
        return self._learn(lambda: list(ask()), nothing)

    def _text(self, place: str) -> str:
        text = self._machine.text(f"{self._folder}/{place}")
        if text is None:
            raise Unread(f"what {self._folder}/{place} says: it is not there")
        return text.strip()

    def _kind(self) -> Kind:
        machine, folder = self._machine, self._folder
        if machine.text(f"{folder}/partition") is not None:
            return "partition"
        if (machine.text(f"{folder}/hidden") or "0").strip() != "0":
            return "other"
        if (machine.text(f"{folder}/device/type") or "").strip() in _OPTICAL:
            return "optical"
        return next((kind for pattern, kind in _KINDS if re.fullmatch(pattern, self._name)), "other")

    def _uses(self, run: str, *, claimed: bool) -> tuple[Use, ...]:
        machine, folder = self._machine, self._folder
        numbers = self._learn(lambda: family(machine, folder), {self._number: self._name})
        asked: list[Callable[[], Iterable[Use]]] = [
            lambda: uses_by_file_systems(machine, numbers, run),
            lambda: uses_by_kernel(machine, folder),
            # A loop device is as safe as the file behind it, whose users are looked for among those who may be seen.
            lambda: openers(machine, numbers, all_of_them=not self._name.startswith("loop")),
            self._file_users,
        ]
        if not claimed:
            asked.append(self._exclusive_users)
        return tuple(use for ask in asked for use in self._learn_all(ask))

    def _signatures(self) -> tuple[Signature, ...]:
        return self._learn(lambda: signatures_of(self._machine, self._folder), ())

    def _exclusive_users(self) -> Iterator[Use]:
        if not self._machine.is_exclusive(f"/dev/{self._name}"):
            yield Use("exclusive", f"{self._name} cannot be opened exclusively: it is in use")

    def _backing_file(self) -> str | None:
        """The regular file behind a loop device, if it is where the kernel says that it is."""
        if not self._name.startswith("loop"):
            return None
        path = (self._machine.text(f"{self._folder}/loop/backing_file") or "").removesuffix("\n")
        return path if path and self._machine.file(path) == self._machine.behind_loop(self._name) else None

    def _file_users(self) -> Iterator[Use]:
        path = self._backing_file()
        if path is not None:
            for words in holders(self._machine.at(path).stat()):
                if not words.startswith("loop device "):  # this one; any other is a twin
                    yield Use("open", f"{path}, behind {self._name}: {words}")

    def _twins(self, name: Name) -> tuple[Twin, ...]:
        machine = self._machine
        if not self._name.startswith("loop"):
            return twins_of(machine, self._folder, name)
        behind = machine.behind_loop(self._name)
        others = [each for each in machine.names("/sys/block") if each.startswith("loop") and each != self._name]
        return tuple(Twin(each, Name()) for each in others if behind and machine.behind_loop(each) == behind)
