"""ZFS through zpool: OpenZFS, or zfs-fuse where that is what there is."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from shakedown.device.array.array import Look, Shape, Span
from shakedown.device.array.drive import Drive
from shakedown.device.array.programs import attempt, call, require
from shakedown.errors import EnvironmentFailure
from shakedown.tools.zpool_status import (
    Scan,
    parse_zfs_size_bytes,
    parse_zpool_status,
    parse_zpool_status_json,
    span_by_events_ns,
)

_PROGRAMS: Final = {"zpool": "zfsutils-linux", "zfs": "zfsutils-linux", "wipefs": "util-linux"}
_NODES: Final = "/dev"
# In text a line of the configuration, of old without a number; in a document a key.
_REPLACING: Final = re.compile(r"^\s*\"?replacing(-\d+)?\"?[\s:]", re.MULTILINE)


class ZfsArray:
    """Implements ``RealArray`` as a pool of one vdev."""

    def __init__(self, shape: Shape, identity: str) -> None:
        """``identity`` is the pool's name. Raises EnvironmentFailure where there is no ZFS."""
        require(_PROGRAMS)
        attempt("modprobe", "zfs")
        if attempt("zpool", "list").returncode != 0:
            raise _no_zfs()
        self._shape = shape
        self.identity = identity
        self._seen = Scan()
        # The document of 2.3 has nothing of a sequential rebuild.
        self._speaks_json = shape.options.order != "sequential" and not shape.layout.startswith("draid")

    @staticmethod
    def check() -> None:
        """Raise EnvironmentFailure where there is no ZFS. It loads nothing."""
        require(_PROGRAMS)
        is_here = attempt("zpool", "list").returncode == 0
        if not is_here and attempt("modprobe", "--dry-run", "zfs").returncode != 0:
            raise _no_zfs()

    def create(self, drives: Sequence[Drive], *, are_blank: bool) -> None:  # noqa: ARG002 - ZFS trusts no drive
        """``zpool create``. Nothing is compressed: that would make the data less."""
        options = self._shape.options
        command = ["zpool", "create", *self._force(drives), "-m", "none"]
        for name in ("compression=off", "atime=off", f"recordsize={options.record_bytes}"):
            command += ["-O", name]
        vdev = _vdev(self._shape.layout, options.draid, len(drives))
        for drive in drives:
            self._prepare(drive)
        where = (self.identity, vdev, *(self._part(drive) for drive in drives))
        done = attempt(*command, "-o", f"ashift={options.ashift}", *where)
        if done.returncode != 0:
            # Old ones know none. Whatever else was wrong is so again, and is told.
            call(*command, *(() if "ashift" in done.stderr else ("-o", f"ashift={options.ashift}")), *where)

    def _force(self, drives: Sequence[Drive]) -> tuple[str, ...]:
        """``-f`` for drives of several sizes, of which zpool makes no vdev otherwise; it uses the smallest's of each.

        It also lets pass what only looks as if it were in use. That was the guard's to judge, and drives in use it has
        refused; those that are mounted, or in a pool that is imported, zpool and the kernel refuse even then.
        """
        is_mixed = len({drive.identity.capacity_bytes for drive in drives}) > 1
        return ("-f",) if is_mixed and self._shape.member_bytes is None else ()

    def _part(self, drive: Drive) -> str:
        """What the pool has of a drive: all of it, or a partition that is as large as it may be."""
        return drive.path if self._shape.member_bytes is None else drive.first_partition

    def _prepare(self, drive: Drive) -> None:
        """Make its partition, where the pool gets but one."""
        if self._shape.member_bytes is not None:
            drive.partition(self._shape.member_bytes)

    def find(self, drives: Sequence[Drive]) -> bool:
        """Import it by its name: from these drives' nodes, or, where that finds nothing, from all in ``/dev``."""
        if attempt("zpool", "list", self.identity).returncode != 0:
            paths = [word for drive in drives for word in ("-d", drive.path)]
            ways = ((*paths, "-N"), ("-d", _NODES, "-N"), ("-d", _NODES))  # zfs-fuse has only the last
            if all(attempt("zpool", "import", *way, "-f", self.identity).returncode != 0 for way in ways):
                return False
        return True

    def mount(self, folder: Path) -> None:
        """The pool's own filesystem."""
        call("zfs", "set", f"mountpoint={folder}", self.identity)
        attempt("zfs", "mount", self.identity)

    def unmount(self, folder: Path) -> None:  # noqa: ARG002 - ZFS knows where
        """Exported and imported, so that nothing of it is in memory."""
        call("zpool", "export", self.identity)
        if attempt("zpool", "import", "-d", _NODES, "-N", self.identity).returncode != 0:
            call("zpool", "import", "-d", _NODES, self.identity)  # zfs-fuse knows no `-N`: it mounts at once

    def lose(self, drive: Drive) -> None:
        """``zpool offline``."""
        os.sync()
        attempt("zpool", "sync", self.identity)  # zfs-fuse has none
        call("zpool", "offline", self.identity, self._part(drive))

    def replace(self, lost: Drive, new: Drive) -> None:
        """``zpool replace``, sequentially if that was ordered, by a distributed spare if one was named."""
        self._seen = self._status()[0]
        options = self._shape.options
        way = ["-s"] if options.order == "sequential" else []
        place = self._part(lost)
        if options.spare is not None:
            call("zpool", "replace", *way, self.identity, place, f"{self._shape.layout}-0-{options.spare}")
            return
        self._prepare(new)
        if lost.path == new.path:
            call("zpool", "replace", "-f", *way, self.identity, place)
        else:
            call("zpool", "replace", *way, self.identity, place, self._part(new))

    def look(self) -> Look:
        """``zpool status``. Until the new drive's scan has begun it tells of the last one."""
        scan, is_replacing = self._status()
        is_old = scan.is_same(self._seen)
        done, total = scan.issued_bytes, scan.total_bytes
        if done is None and scan.share is not None:
            total = self.allocated_bytes  # zfs-fuse tells the share alone
            done = round(scan.share * total)
        return Look(
            None if is_old else done,
            None if is_old else total,
            None,
            None if is_old else scan.finish_s,
            is_over=scan.state in ("done", "canceled") and not is_old and not is_replacing,
            failed=scan.state == "canceled" and not is_old,
            errors=0 if is_old else scan.errors or 0,
        )

    def seems_over(self) -> bool:
        """Nothing cheap tells."""
        return False

    def _status(self) -> tuple[Scan, bool]:
        """The last scan, and whether a drive is being replaced; from JSON where ``zpool`` speaks that."""
        if self._speaks_json:
            done = attempt("zpool", "status", "--json", "--json-int", self.identity)
            if done.returncode == 0:
                scan = parse_zpool_status_json(done.stdout, self.identity, int(time.time()))
                return scan, _REPLACING.search(done.stdout) is not None
            self._speaks_json = False
        text = call("zpool", "status", self.identity)
        return parse_zpool_status(text, self.identity), _REPLACING.search(text) is not None

    def span(self) -> Span:
        """By ZFS's own events; zfs-fuse keeps none."""
        done = attempt("zpool", "events", "-H")
        return Span(*span_by_events_ns(done.stdout)) if done.returncode == 0 else Span()

    @property
    def allocated_bytes(self) -> int:
        """Of the pool."""
        exact = attempt("zpool", "list", "-Hp", "-o", "allocated", self.identity)
        if exact.returncode == 0:
            return int(exact.stdout.strip() or 0)
        # zfs-fuse has no `-p`.
        return parse_zfs_size_bytes(call("zpool", "list", "-H", "-o", "allocated", self.identity)) or 0

    def destroy(self) -> None:
        """``zpool destroy``."""
        if attempt("zpool", "list", self.identity).returncode == 0:
            call("zpool", "destroy", "-f", self.identity)


def _vdev(layout: str, draid: tuple[int, int] | None, width: int) -> str:
    if not layout.startswith("draid"):
        return layout
    data, spares = draid or (0, 0)
    return f"{layout}:{data}d:{width}c:{spares}s" if draid else layout


def _no_zfs() -> EnvironmentFailure:
    return EnvironmentFailure(
        "there is no ZFS in this kernel, and no zfs-fuse runs",
        hint="in the lab there is: `lab:NAME` in place of a device",
    )
