"""The guest's first root: BusyBox and ``init``, as a cpio archive that is the same wherever it is made."""

from __future__ import annotations

from typing import Final

_FOLDERS: Final = ("bin", "dev", "image", "lower", "new", "proc", "share", "sys", "upper")
_REGULAR_FILE: Final = 0o100755
_FOLDER: Final = 0o040755
_DEVICE: Final = 0o020600


def initramfs(busybox: bytes, init: bytes) -> bytes:
    """The archive (newc), all times zero, all of it root's."""
    entries = [_entry(number, name, _FOLDER) for number, name in enumerate(_FOLDERS, start=1)]
    entries += [
        _entry(20, "bin/busybox", _REGULAR_FILE, busybox),
        _entry(21, "init", _REGULAR_FILE, init),
        _entry(22, "dev/console", _DEVICE, device=(5, 1)),
        _entry(23, "dev/null", _DEVICE, device=(1, 3)),
        _entry(0, "TRAILER!!!", 0),
    ]
    return b"".join(entries)


def _entry(inode: int, name: str, mode: int, content: bytes = b"", device: tuple[int, int] = (0, 0)) -> bytes:
    fields = (inode, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
    return _padded(head) + _padded(content)


def _padded(part: bytes) -> bytes:
    return part + b"\0" * (-len(part) % 4)
