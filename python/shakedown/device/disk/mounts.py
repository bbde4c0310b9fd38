"""Mounts, swap, and what the system and the run themselves stand on, in every mount namespace that can be seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from shakedown.device.disk.facts import Use
from shakedown.device.disk.machine import Machine, Unread
from shakedown.device.disk.stack import below
from shakedown.device.mountinfo import Mount, mount_of, parse_mounts, unescaped

# Whoever asks such a file system for a file may wait for ever.
_REMOTE: Final = re.compile(r"nfs|cifs|smb|9p|ceph|afs|fuse|gluster|lustre|ncp|autofs")


def mounts_of(machine: Machine, process: str) -> list[Mount]:
    """What a process sees mounted, nothing where it has ended. Raises Unread."""
    try:
        text = machine.text(f"/proc/{process}/mountinfo") or ""
    except Unread as failure:
        if "Invalid argument" in str(failure):  # a zombie has no mounts any more
            return []
        raise
    try:
        return parse_mounts(text)
    except ValueError as error:
        raise Unread(f"what /proc/{process}/mountinfo says: {error}") from error


def is_remote(kind: str) -> bool:
    """Whether looking at a file on such a file system may hang."""
    return _REMOTE.match(kind) is not None


def processes(machine: Machine) -> list[str]:
    """The processes that can be seen. Raises Unread where others are hidden."""
    # PROC_PID_INIT_INO in linux/proc_ns.h: who sees another number is in a container; a kernel may not know of any.
    if machine.link("/proc/self/ns/pid") not in (None, "pid:[4026531836]"):
        raise Unread("who else uses it: from within a container not all processes are seen")
    return [name for name in machine.names("/proc") if name.isdecimal()]


def all_mounts(machine: Machine) -> set[Mount]:
    """Every mount that any process sees. Raises Unread."""
    own = mounts_of(machine, "self")
    if not own:
        raise Unread("what is mounted: /proc/self/mountinfo is not there")
    return {*own, *(mount for process in processes(machine) for mount in mounts_of(machine, process))}


def uses_by_file_systems(machine: Machine, numbers: dict[str, str], run: str) -> Iterator[Use]:
    """Mounts, swap, root and the run's folder on the devices ``numbers``, through whatever lies between.

    Raises Unread.
    """
    pools = _btrfs(machine)
    points: dict[str, list[str]] = {}
    for mount in sorted(all_mounts(machine), key=lambda mount: (len(mount.point), mount)):
        on = _under(machine, mount, pools) & numbers.keys()
        if on:
            points.setdefault(_told(on, numbers), []).append(mount.point)
    for name, places in points.items():
        more = f" and {len(places) - 1} more places" if len(places) > 1 else ""
        yield Use("mounted", f"{name} is mounted on {places[0]}{more}")
    for name, members in pools.items():
        on = set().union(*(below(machine, each) for each in members)) & numbers.keys()
        if on:
            yield Use("mounted", f"{_told(on, numbers)} is a member of the mounted btrfs {name}")
    yield from _swap(machine, numbers)
    own = mounts_of(machine, "self")
    for kind, path, words in (("root", "/", "the system's root"), ("run", run, "the run's folder")):
        on = _under(machine, place_of(own, path), pools) & numbers.keys()
        if on:
            yield Use("root" if kind == "root" else "run", f"{words} lies on {_told(on, numbers)}")


def place_of(mounts: list[Mount], path: str) -> Mount:
    """The mount on which a path without links lies. Raises Unread."""
    mount = mount_of(mounts, path)
    if mount is None:
        raise Unread(f"where {path} lies: no mount holds it")
    return mount


def _under(machine: Machine, mount: Mount, pools: dict[str, set[str]]) -> set[str]:
    """All that a mount stands on. The number of btrfs is nobody's, so its source counts as well."""
    numbers = {mount.number} if not mount.number.startswith("0:") else set()
    source = machine.number(mount.source) if mount.source.startswith("/") else None
    if source is not None and (mount.kind == "btrfs" or not mount.number.startswith("0:")):
        numbers |= {source}.union(*(members for members in pools.values() if source in members))
    return set().union(*(below(machine, number) for number in numbers))


def _btrfs(machine: Machine) -> dict[str, set[str]]:
    """The members of each btrfs that is mounted."""
    top = "/sys/fs/btrfs"
    return {
        name: {(machine.text(f"{top}/{name}/devices/{each}/dev") or "").strip() for each in members}
        for name in machine.names(top)
        if (members := machine.names(f"{top}/{name}/devices"))
    }


def _swap(machine: Machine, numbers: dict[str, str]) -> Iterator[Use]:
    lines = (machine.text("/proc/swaps") or "").splitlines()[1:]  # a kernel without swap has no such file
    for line in lines:
        path = unescaped(line.split()[0]).removesuffix(" (deleted)")
        file = machine.file(path)
        number = machine.number(path) or (file[0] if file else None)
        if number is None:
            raise Unread(f"where the system swaps to: {path} is not there")
        on = below(machine, number) & numbers.keys()
        if on:
            yield Use("swap", f"the system swaps to {path}, which is on {_told(on, numbers)}")


def _told(on: set[str], numbers: dict[str, str]) -> str:
    """The narrowest of the devices: a partition rather than the disk that it is a part of."""
    return ", ".join(sorted(name for name in (numbers[each] for each in on) if not _is_whole(name, on, numbers)))


def _is_whole(name: str, on: set[str], numbers: dict[str, str]) -> bool:
    return any(numbers[each] != name and numbers[each].startswith(name) for each in on)
