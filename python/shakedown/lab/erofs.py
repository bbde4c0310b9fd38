"""A folder as a read-only filesystem in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from shakedown.lab.program import run

_UUID: Final = "5b9d4c3e-0000-4000-8000-000000000000"
_SAME_EVERYWHERE: Final = ("-T0", "--all-root", f"-U{_UUID}", "-Eforce-inode-compact")


def write_erofs(root: Path, file: Path) -> None:
    """Write all of ``root``, not compressed, all of it the guest's root's and without times."""
    run(["mkfs.erofs", *_SAME_EVERYWHERE, file, root], cwd=root.parent, hint="is the disk full?")
