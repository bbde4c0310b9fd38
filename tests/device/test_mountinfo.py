"""What is mounted where, as the kernel writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.device import filesystem
from shakedown.device.filesystem import filesystem_type
from shakedown.device.mountinfo import Mount, mount_of, parse_mounts
from shakedown.errors import EnvironmentFailure

TEXT = r"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /mnt rw - tmpfs  rw
31 30 8:17 / /mnt/a\040b rw shared:2 master:3 - xfs /dev/disk/by-label/a\040b rw
32 30 0:41 / /mnt rw - nfs4 box:/export rw
"""


def test_every_line_is_a_mount() -> None:
    mounts = parse_mounts(TEXT)
    assert mounts[1:3] == [
        Mount("0:40", "/mnt", "", "tmpfs"),
        Mount("8:17", "/mnt/a b", "/dev/disk/by-label/a b", "xfs"),
    ]
    assert parse_mounts("22 1 8:1 / /a\fb rw - ext4 /dev/sda1 rw\n")[0].point == "/a\fb"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/mnt2/x", "ext4"),
        ("/mnt", "nfs4"),
        ("/mnt/a", "nfs4"),
        ("/mnt/a b/c", "xfs"),
        ("/mnt/a b", "xfs"),
    ],
)
def test_a_path_lies_on_the_longest_and_of_these_on_the_last(path: str, kind: str) -> None:
    mount = mount_of(parse_mounts(TEXT), path)
    assert mount is not None
    assert mount.kind == kind


def test_what_makes_no_sense_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mountinfo").write_text(TEXT + "33 30 odd\n")
    monkeypatch.setattr(filesystem, "_MOUNTINFO", tmp_path / "mountinfo")
    with pytest.raises(EnvironmentFailure, match="makes no sense"):
        filesystem_type(tmp_path)
    (tmp_path / "mountinfo").write_text("")
    assert filesystem_type(tmp_path) == ""
