"""What cannot be is refused in words of Python's callers, with the whole of what they gave."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shakedown
from shakedown.data import profile_path
from shakedown.errors import UsageError

RED = "model:wd40efrx"
ENTRIES = "translation.cache.entries"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2**63, f"`{ENTRIES}` is {2**63}: TOML holds no whole number beyond"),
        (-(2**70), f"`{ENTRIES}` is -{2**70}: TOML holds no whole number beyond"),
        (1000.0, f"`{ENTRIES}` is 1000.0: a whole number is expected"),
    ],
)
def test_a_number_that_is_no_whole_one_names_its_key(value: float, message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        shakedown.Drive.build("wd40efax", {ENTRIES: value}, seed=1)
    assert message in str(refusal.value)
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("layout", "members", "options", "message"),
    [
        ("raidz1", None, {}, "`members` is None: it must be a drive, or a list of them"),
        ("raidz1", [RED, 2], {}, f"`members` is ['{RED}', 2]: it must be a drive, or a list of them"),
        (
            "raidz1",
            RED,
            {"second_failure": (0, -1)},
            "`second_failure` is (0, -1): its numbers must be whole ones from 0",
        ),
        ("draid1", RED, {"draid": (0, 1)}, "`draid` is 0d:1s: a group holds at least one data drive"),
        ("draid1", RED, {"draid": (9, 1)}, "`draid` is 9d:1s: a group of 9 data and 1 parity does not fit"),
    ],
)
def test_what_no_array_can_be_is_named_as_it_was_given(
    layout: str, members: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as refusal:
        shakedown.rebuild(layout, members, width=4, fill=0.1, scale_divisor=4000, **options)
    assert message in str(refusal.value)
    assert refusal.value.hint


@pytest.mark.parametrize("merges_on_disk", [False, True])
def test_bands_that_move_are_told_whether_the_others_merge_on_disk(merges_on_disk: bool) -> None:
    changes = {"translation.mapping": "dynamic", "translation.spare_bands": 4}
    key = "translation.cleaning.merge_on_disk"
    shakedown.Drive.build("st8000as0002", {**changes, key: merges_on_disk}, seed=1, scale_divisor=100)
    with pytest.raises(UsageError, match=f"`{key}` is missing"):
        shakedown.Drive.build("st8000as0002", {**changes, key: None}, seed=1, scale_divisor=100)


def test_a_job_s_longest_requests_are_no_trace() -> None:
    drive = shakedown.Drive.load("wd40efax", seed=1, scale_divisor=100)
    with pytest.raises(UsageError, match="row 0 of the trace moves 67108864 bytes at once"):
        drive.replay(drive.run("rw=write\nbs=64m\nnumber_ios=3"))
    assert drive.replay(drive.run("rw=write\nbs=32m\nnumber_ios=3")).height == 3


def test_a_key_in_the_wrong_place_is_told_with_its_table() -> None:
    with pytest.raises(UsageError, match=r"did you mean `geometry\.rpm`\?"):
        shakedown.Drive.build("wd40efax", {"rpm": 5400}, seed=1)


def test_a_drive_says_itself_that_it_cannot_be_copied() -> None:
    drive = shakedown.Drive.load(RED, seed=1, scale_divisor=1000)
    with pytest.raises(TypeError, match=r"a Drive cannot be copied: .*second one.*Drive\.from_toml"):
        copy.deepcopy([drive])
    assert copy.copy(drive).capacity_bytes == drive.capacity_bytes


@pytest.mark.parametrize("job", ["bs=10G", "bs=10G\noffset=1G"])
def test_a_block_larger_than_the_drive_is_no_matter_of_the_offset(job: str) -> None:
    drive = shakedown.Drive.load(RED, seed=1, scale_divisor=1000)
    with pytest.raises(UsageError) as refusal:
        drive.run(f"rw=write\n{job}\nnumber_ios=1")
    assert "bs: a block of 10737418240 bytes is larger than the target, which has" in str(refusal.value)
    assert "offset" not in str(refusal.value)
    with pytest.raises(UsageError, match=r"offset=100%: it leaves no room for one block of 4096 bytes"):
        drive.run("rw=write\nbs=4k\noffset=100%")


@pytest.mark.parametrize("job", ["", "; nothing", "[global]\nrw=write"])
def test_an_empty_job_is_called_that(job: str) -> None:
    drive = shakedown.Drive.load(RED, seed=1, scale_divisor=1000)
    with pytest.raises(UsageError, match=r"^the job is empty: .*\[global\]") as refusal:
        drive.run(job)
    assert "`rw=randread`" in str(refusal.value.hint)


@pytest.mark.parametrize("size", ["512kiB", "10MiB", "4KB", "1gb"])
def test_sizes_that_fio_would_misread_are_refused_as_in_protocols(size: str) -> None:
    drive = shakedown.Drive.load("wd40efax", seed=1, scale_divisor=1000)
    job = f"description=of 4KiB\n# 4KiB\nrw=write\nbs={size}\nnumber_ios=1"
    with pytest.raises(UsageError, match=rf"\[job\] bs={size}: fio swaps the meanings") as refusal:
        drive.run(job)
    bare = size.rstrip("iB").rstrip("b")
    assert f"write `{bare}`" in refusal.value.hint
    with pytest.raises(UsageError, match=rf"\[users\] size={size}: fio swaps the meanings"):
        shakedown.rebuild("raid1", RED, width=2, scale_divisor=4000, load=f"[users]\nrw=read\nsize={size}")


def test_whole_numbers_may_be_numpy_s() -> None:
    one, hundred, second_ns = np.int64(1), np.int32(100), np.int64(10**9)
    drive = shakedown.Drive.load("wd40efrx", seed=one, scale_divisor=hundred, host_timeout=second_ns)
    same = shakedown.Drive.load("wd40efrx", seed=1, scale_divisor=100, host_timeout="1s")
    drive.idle(second_ns)
    same.idle(10**9)
    job = "rw=randread\nnumber_ios=3"
    frame = drive.run(job)
    assert frame.equals(same.run(job))
    assert drive.run(job, interval=second_ns).height == same.run(job, interval="1s").height
    assert drive.replay(frame, depth=np.uint8(2)).height == 3


@pytest.mark.parametrize("seed", [True, np.True_, 1.0, np.float64(1.0), "1", None, np.int64(-1)])
def test_what_is_no_whole_number_is_still_refused(seed: Any) -> None:
    with pytest.raises(UsageError, match=r"seed is .*: it must be a whole number from 0"):
        shakedown.Drive.load("wd40efrx", seed=seed)
    if isinstance(seed, bool):
        with pytest.raises(UsageError, match="seed is True: it must be a whole number from 0"):
            shakedown.rebuild("raid1", RED, width=2, seed=seed, scale_divisor=4000)


@pytest.mark.parametrize("width", ["2", 2.0, True])
def test_a_width_that_is_no_whole_number_is_refused(width: Any) -> None:
    with pytest.raises(UsageError, match=r"width is .*: it must be a whole number"):
        shakedown.rebuild("raid1", RED, width=width, scale_divisor=4000)
    numpy_s: Any = np.int64(2)
    assert shakedown.rebuild("raid1", RED, width=numpy_s, scale_divisor=np.int32(4000)).ended == "complete"


def test_a_least_speed_above_the_greatest_is_refused_of_python_s_callers_too() -> None:
    speeds: dict[str, Any] = {"speed_min_bytes_per_s": 3 * 10**8, "speed_max_bytes_per_s": 5 * 10**7}
    with pytest.raises(UsageError, match=r"`speed-min`, .* is more than `speed-max`"):
        shakedown.rebuild("raid6", RED, width=4, scale_divisor=4000, **speeds)


def test_members_may_be_paths_and_are_no_drives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_text(profile_path("wd40efrx").read_text())
    monkeypatch.chdir(tmp_path)
    options: dict[str, Any] = {"width": 2, "scale_divisor": 4000}
    by_name = shakedown.rebuild("raid1", RED, **options)
    for mine in (Path("mine.toml"), tmp_path / "mine.toml"):
        assert shakedown.rebuild("raid1", mine, replace_with=mine, **options).duration_ns == by_name.duration_ns
    drive: Any = shakedown.Drive.load(RED, seed=1, scale_divisor=4000)
    for name, given in (("members", [drive, drive]), ("members", drive), ("replace_with", drive)):
        with pytest.raises(UsageError, match=rf"`{name}` is .*an array makes its drives itself") as refusal:
            shakedown.rebuild("raid1", **{"members": RED, **options, name: given})
        assert '`"model:wd40efrx"`' in refusal.value.hint


def test_a_speed_that_is_text_is_told_as_text() -> None:
    drive = shakedown.Drive.load("wd40efrx", seed=1)
    trace = drive.run("rw=write\nbs=4k\nnumber_ios=2")
    with pytest.raises(UsageError, match="speed is the text '2': it must be a number above 0"):
        drive.replay(trace, speed="2")  # type: ignore[arg-type]
