"""The folder of a lab run: what goes in, what comes out, and what a killed run has left."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest

from shakedown.errors import EnvironmentFailure, UsageError
from shakedown.lab.folder import brought_out, fill, run_folder


def pack(folder: Path, *members: tarfile.TarInfo) -> None:
    with tarfile.open(folder / "share" / "out.tar", "w") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size))


def file(name: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size = 3
    return entry


def link(name: str, to: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, to
    return entry


def pipe(name: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type = tarfile.FIFOTYPE
    return entry


def test_what_is_brought_out_lies_in_its_own_place(tmp_path: Path) -> None:
    with run_folder() as folder:
        pack(folder, file("lab/run/a/b"), file("lab/run.json"), file("lab/runs"))
        brought_out(folder, {"/lab/run": tmp_path / "mine", "/lab/run.json": tmp_path / "run.json"})
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()) == [
        "mine/a/b",
        "run.json",
    ]


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with run_folder() as folder:
        pack(folder, file("lab/a"))
        with pytest.raises(EnvironmentFailure, match="not in the guest: /lab/b"):
            brought_out(folder, {f"/lab/{name}": tmp_path / name for name in "ab"})
    assert (tmp_path / "a").exists()


def test_all_that_is_missing_and_all_links_are_named_at_once(tmp_path: Path) -> None:
    with run_folder() as folder:
        pack(folder, file("lab/a"), link("lab/b", "a"), link("lab/c", "a"))
        with pytest.raises(EnvironmentFailure) as told:
            brought_out(folder, {f"/lab/{name}": tmp_path / name for name in "abcde"})
    missing, links = str(told.value).split("; ")
    assert missing == "not in the guest: /lab/d, /lab/e"
    assert links == "neither files nor folders, and left in the guest: /lab/b, /lab/c"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_guest_cannot_reach_out_of_the_folder(tmp_path: Path) -> None:
    with run_folder() as folder:
        pack(folder, file("lab/run/../../z"))
        with pytest.raises(EnvironmentFailure, match="would lie elsewhere"):
            brought_out(folder, {"/lab/run": tmp_path / "out" / "run"})
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    [kept] = (tmp_path / "out").iterdir()
    assert kept.name.startswith("brought-out-") and tarfile.is_tarfile(kept)


@pytest.mark.parametrize("member", [link("lab/run/x", "/etc/shadow"), link("lab/run/x", "../../y"), pipe("lab/run/x")])
def test_what_is_neither_file_nor_folder_stays_in_the_guest(tmp_path: Path, member: tarfile.TarInfo) -> None:
    with run_folder() as folder:
        pack(folder, file("lab/run/a"), member, file("lab/run/z"))
        with pytest.raises(EnvironmentFailure, match="left in the guest: /lab/run/x"):
            brought_out(folder, {"/lab/run": tmp_path / "run"})
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["a", "z"]


@pytest.mark.parametrize("path", ["relative", "/", "/lab/../etc", "/proc/mdstat", "/sys/block/sda/size"])
def test_only_plain_absolute_paths_are_brought_out(path: str) -> None:
    with run_folder() as folder, pytest.raises(UsageError):
        fill(folder, ["true"], 1, [], [path])


def test_what_is_brought_in_is_the_same_whoever_owns_it(tmp_path: Path) -> None:
    (tmp_path / "job").write_text("x")
    packed = []
    for mode in (0o600, 0o600):
        (tmp_path / "job").touch(mode)
        with run_folder() as folder:
            fill(folder, ["true"], 1, [tmp_path / "job"], [])
            packed.append((folder / "share" / "in.tar").read_bytes())
    assert packed[0] == packed[1]


def test_files_of_one_name_are_not_laid_over_each_other(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for path in (paths := [tmp_path / "job", tmp_path / "sub" / "job"]):
        path.write_text(str(path))
    with run_folder() as folder, pytest.raises(UsageError, match="2 of what is to be brought in are called `job`"):
        fill(folder, ["true"], 1, paths, [])


def test_what_lies_in_the_way_leaves_all_in_one_file(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("of somebody else")
    with run_folder() as folder:
        pack(folder, file("lab/run/a"))
        with pytest.raises(EnvironmentFailure, match="cannot be brought out") as told:
            brought_out(folder, {"/lab/run": tmp_path / "run"})
    [kept] = tmp_path.glob("brought-out-*.tar")
    assert str(kept) in told.value.hint
    assert (tmp_path / "run").read_text() == "of somebody else"


def test_a_missing_file_to_bring_in_is_told(tmp_path: Path) -> None:
    with run_folder() as folder, pytest.raises(UsageError, match="No such file"):
        fill(folder, ["true"], 1, [tmp_path / "none"], [])


def test_the_folder_of_a_killed_run_is_removed_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    # pytest's own folders have paths too long for a socket.
    with tempfile.TemporaryDirectory() as place:
        monkeypatch.setattr("tempfile.tempdir", place)
        removes_what_was_killed(Path(place))


def removes_what_was_killed(place: Path) -> None:
    script = """
import os
from shakedown.lab.folder import run_folder
with run_folder() as folder:
    print(folder, flush=True)
    os.kill(os.getpid(), 9)
"""
    environment = os.environ | {"TMPDIR": str(place)}
    program = [sys.executable, "-c", script]
    killed = subprocess.run(program, stdout=subprocess.PIPE, text=True, env=environment, check=False)
    left = Path(killed.stdout.strip())
    assert left.parent == place and left.is_dir()
    with run_folder() as first, run_folder() as second:
        assert not left.exists()
        assert first.is_dir() and second.is_dir()
    assert not list(place.iterdir())
