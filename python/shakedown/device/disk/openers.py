"""Who has a device open: the kernel for itself alone, or a process, a virtual machine's among them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Final

from shakedown.device.disk.facts import Use
from shakedown.device.disk.machine import Machine, Unread
from shakedown.device.disk.mounts import is_remote, mounts_of, place_of, processes
from shakedown.device.mountinfo import Mount

_NO_FILES: Final = ("socket:", "pipe:", "anon_inode:", "/memfd:")
_GLANCE_S: Final = 0.1


def openers(machine: Machine, numbers: dict[str, str], *, all_of_them: bool) -> list[Use]:
    """The other processes that have one of the devices ``numbers`` open, for whatever.

    Raises Unread where ``all_of_them`` are asked for and some may not be looked at.
    """
    found = list(_openers_now(machine, numbers, all_of_them=all_of_them))
    if found:
        # Many open a device at a glance only, such as udev, or our own look for twins in a survey of another device.
        # They are no users; who has it open a moment later is one.
        time.sleep(_GLANCE_S)
        found = list(_openers_now(machine, numbers, all_of_them=all_of_them))
    return found


def _openers_now(machine: Machine, numbers: dict[str, str], *, all_of_them: bool) -> Iterator[Use]:
    for process in processes(machine):
        if process == str(os.getpid()):
            continue
        try:
            on = {numbers[number] for number in _open_devices(machine, process) if number in numbers}
        except Unread as failure:
            if all_of_them:
                raise Unread(
                    f"what process {process} has open ({failure}): this takes root, outside of a container"
                ) from failure
            continue
        if on:
            name = (machine.text(f"/proc/{process}/comm") or "").strip()
            yield Use("open", f"process {process} ({name}) has {', '.join(sorted(on))} open")


def _open_devices(machine: Machine, process: str) -> Iterator[str]:
    folder = f"/proc/{process}/fd"
    mounts: list[Mount] = []
    for descriptor in machine.names(folder):
        path = machine.link(f"{folder}/{descriptor}")
        if path is None or path.startswith(_NO_FILES):
            continue
        mounts = mounts or mounts_of(machine, process)
        if _may_hang(mounts, path):
            continue
        number = machine.number(f"{folder}/{descriptor}")
        if number is not None:
            yield number


def _may_hang(mounts: list[Mount], path: str) -> bool:
    """Whether a file lies where looking at it may wait for a server: no block device of ours does."""
    if not any(is_remote(mount.kind) for mount in mounts):
        return False
    try:
        return is_remote(place_of(mounts, path).kind)
    except Unread:
        return False
