"""Which kernel fits, and what a build asks for."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from shakedown.errors import EnvironmentFailure
from shakedown.lab import cache, kernel, program
from shakedown.lab.build import build
from shakedown.lab.room import require_room


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def lay(recipe: str, digest: str, version: str) -> Path:
    folder = cache.cache_folder() / f"kernel-{recipe}-{digest}"
    folder.mkdir(parents=True)
    (folder / "linux").write_text("")
    (folder / "linux").chmod(0o755)
    (folder / "built.json").write_text(json.dumps({"source": f"linux-source-6.1 {version}", "compiler": "gcc"}))
    return folder


def test_a_kernel_fits_whatever_its_debian_release() -> None:
    assert kernel.find_kernel() is None
    made = lay(kernel._recipe("6.1"), "0", "6.1.1-1")
    found = kernel.find_kernel()
    assert found == kernel.Kernel(made / "linux", "linux-source-6.1 6.1.1-1", "gcc")


def test_another_recipe_does_not_fit() -> None:
    lay("0" * 12, "0", "6.1.1-1")
    assert kernel.find_kernel() is None


def test_one_that_fits_is_not_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made = lay(kernel._recipe("6.1"), "0", "6.1.1-1")
    monkeypatch.setenv("PATH", "")
    assert kernel.build_kernel(pytest.fail).path == made / "linux"


def test_missing_programs_are_named_with_the_line_for_apt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(program, "_HEADERS", cache.cache_folder())
    with pytest.raises(EnvironmentFailure, match=r"missing to build the lab: .*flex") as refused:
        build(pytest.fail, with_zfs=True)
    assert refused.value.hint.startswith("apt install ")
    # Of the kernel, of its headers, of OpenZFS and of the image: all at once, before anything is built.
    assert {"flex", "libc6-dev", "libblkid-dev", "erofs-utils"} <= set(refused.value.hint.split())


class Disk(NamedTuple):
    free: int


def leave(monkeypatch: pytest.MonkeyPatch, free_bytes: int) -> None:
    monkeypatch.setattr("shakedown.lab.room.shutil.disk_usage", lambda _: Disk(free_bytes))


def test_too_little_room_is_told_before_anything_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shakedown.lab.build.require", lambda _: None)
    leave(monkeypatch, 300 << 20)
    with pytest.raises(
        EnvironmentFailure, match=r"needs 1.5 GiB at .*shakedown/lab .*, and 300.0 MiB are free"
    ) as told:
        build(pytest.fail, with_zfs=True)
    assert "XDG_CACHE_HOME" in told.value.hint


def test_a_cache_that_may_not_be_looked_into_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(**_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "lab")

    monkeypatch.setattr("shakedown.lab.build.find_kernel", forbidden)
    with pytest.raises(EnvironmentFailure, match="the lab's cache cannot be read") as told:
        build(lambda _: None)
    assert "XDG_CACHE_HOME" in told.value.hint
    assert not cache.cache_folder().exists()


def test_what_a_killed_build_has_left_is_not_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "a.o").write_bytes(bytes(3 << 20))
    leave(monkeypatch, 2 << 20)
    require_room(tmp_path / "not" / "yet", 5 << 20, reused=tmp_path / "kernel")
    with pytest.raises(EnvironmentFailure, match=r"needs 3\.0 MiB"):
        require_room(tmp_path, 6 << 20, reused=tmp_path / "kernel")


@pytest.mark.parametrize(
    ("free_bytes", "says"),
    [
        (0, "E: Failed to fetch"),
        (1 << 30, "E: You don't have enough free space in /x"),
        (1 << 30, "No space left on device"),
    ],
)
def test_a_program_that_fails_on_a_full_disk_is_not_blamed_on_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_bytes: int, says: str
) -> None:
    leave(monkeypatch, free_bytes)
    with pytest.raises(EnvironmentFailure) as told:
        program.run(["sh", "-c", 'echo "$0" >&2; exit 1', says], cwd=tmp_path, hint=program.HINT_GET)
    assert told.value.hint.startswith("a disk is full")
    leave(monkeypatch, 1 << 30)
    with pytest.raises(EnvironmentFailure) as told:
        program.run(["sh", "-c", "exit 1"], cwd=tmp_path, hint=program.HINT_GET)
    assert told.value.hint == program.HINT_GET


@pytest.mark.parametrize(
    ("compiled", "used_s", "said"),
    [
        (120, 40.0, "10 %, about 6 min left"),
        (1100, 400.0, "95 %, about 18 s left"),
        (1200, 500.0, "99 %, about 0 s left"),
    ],
)
def test_how_long_it_compiles_yet_follows_from_what_was_compiled(compiled: int, used_s: float, said: str) -> None:
    assert kernel._progress(0, compiled, 1150, used_s) == f"kernel: compiling, {said}"
    # What an earlier build has compiled took no time of this one.
    assert kernel._progress(compiled - 1, compiled, compiled + 10, 6.0).endswith("about 1 min left")


def test_what_is_there_already_needs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    lay(kernel._recipe("6.1"), "0", "6.1.1-1")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EnvironmentFailure, match=r"missing to build the lab: apt-get, dpkg-deb, mkfs.erofs$"):
        build(pytest.fail)


def test_debian_13_has_no_source_of_debian_12(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To apt the dot stands for any letter of a name that it does not know: it answers with what fits."""
    policies = {
        "linux-source-6.1": "linux-source-6.12:\n  Installed: (none)\n  Candidate: 6.12.107-1\n",
        "linux-source-6.12": "linux-source-6.12:\n  Installed: (none)\n  Candidate: 6.12.107-1\n",
    }
    monkeypatch.setattr(kernel, "run", lambda command, **_: policies[command[-1]])
    assert kernel._offered(tmp_path) == ("linux-source-6.12", "6.12.107-1")


def test_a_program_ends_with_us_even_if_we_are_killed(tmp_path: Path) -> None:
    """A build that nobody waits for any more is not gone on with."""
    us = (
        "from pathlib import Path; from shakedown.lab.program import follow;"
        f"follow(['sh', '-c', 'echo $$; exec sleep 600'], cwd=Path({str(tmp_path)!r}), on_line=lambda line:"
        " print(line, end='', flush=True))"
    )
    with subprocess.Popen([sys.executable, "-c", us], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = process.stdout.readline().strip()
        process.kill()
    until_s = time.monotonic() + 30
    while Path("/proc", pid).exists() and "Z" not in Path("/proc", pid, "stat").read_text().split()[2]:
        assert time.monotonic() < until_s, "it still runs"
        time.sleep(0.05)


def test_two_builds_at_once_are_one_too_many() -> None:
    with cache.locked(), pytest.raises(EnvironmentFailure, match="being built already"), cache.locked():
        pytest.fail("the second one got in")
    with cache.locked():
        pass


def test_a_program_that_fails_says_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match=r"status 3\):\nthe disk is full"):
        program.run(["sh", "-c", "echo the disk is full >&2; exit 3"], cwd=tmp_path)


def test_no_more_than_its_last_words_are_told(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure) as told:
        program.run(["sh", "-c", "seq 1000 >&2; exit 1"], cwd=tmp_path)
    assert str(told.value).splitlines()[1:] == [str(number) for number in range(981, 1001)]


def test_what_is_followed_is_told_line_by_line(tmp_path: Path) -> None:
    lines: list[str] = []
    program.follow(["sh", "-c", "echo a; echo b >&2"], cwd=tmp_path, on_line=lines.append)
    assert lines == ["a\n", "b\n"]
