"""A rebuild of drives that is interrupted on request: all is taken down, and what was rebuilt is not rebuilt again.

The drives and the array are fakes; the real ones are tried in a guest.
"""

from __future__ import annotations

import csv
import errno
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from shakedown.array import real
from shakedown.array.keep import keep
from shakedown.array.order import RebuildOrder
from shakedown.array.real import resume_real, run_real
from shakedown.array.state import State
from shakedown.device.array.array import Look, Span
from shakedown.device.array.drive import Traffic
from shakedown.device.disk.facts import NO_CONSENT
from shakedown.errors import EnvironmentFailure, Interrupted
from shakedown.result.folder import RunFolder, read_run
from shakedown.result.identity import Identity
from shakedown.sample import Sample

ORDER = RebuildOrder("raid1", ("/dev/a", "/dev/b"), "/dev/c", fill=0.0, state="used")


class FakeDrive:
    """Counts nothing, and remembers what happened to it."""

    guarded = None

    def __init__(self, text: str) -> None:
        self.identity = Identity(kind="disk", text=text, name=text, model="fake", capacity_bytes=1 << 20)
        self.happened: list[str] = []
        self.is_gone = False

    def take(self) -> None:
        self.happened = ["taken"]

    def wipe(self) -> None:
        self.happened.append("wiped")
        if self.is_gone:
            raise OSError(errno.ENXIO, "No such device or address")

    def is_blank(self) -> bool:
        return True

    def is_ours_but_for_array(self) -> bool:
        return True

    def traffic(self) -> Traffic:
        return Traffic(0, 0, 0, 0, 0)


class FakeArray:
    """Rebuilds within three polls; ``interrupts`` are the rebuilds, counted from 1, at whose end Ctrl-C is pressed."""

    identity = "fake"
    allocated_bytes = 0

    def __init__(self, interrupts: set[int]) -> None:
        self.interrupts = interrupts
        self.drives: list[FakeDrive] = []
        self.created: list[list[str]] = []
        self.replaced: list[tuple[str, str]] = []
        self.stands = False
        self._polls_left = 0
        self.interrupts_reading_back = False
        self.is_busy = False

    def create(self, drives: Sequence[FakeDrive], *, are_blank: bool) -> None:
        assert not self.stands
        self.stands = True
        self.created.append([drive.identity.name for drive in drives])

    def find(self, drives: Sequence[FakeDrive]) -> bool:
        return self.stands

    def mount(self, folder: Path) -> None: ...

    def unmount(self, folder: Path) -> None:
        if self.interrupts_reading_back and len(self.replaced) == len(("baseline", "new", "used")):
            self.interrupts_reading_back = False
            raise KeyboardInterrupt

    def lose(self, drive: FakeDrive) -> None: ...

    def replace(self, lost: FakeDrive, new: FakeDrive) -> None:
        self.replaced.append((lost.identity.name, new.identity.name))
        self._polls_left = 3

    def seems_over(self) -> bool:
        self._polls_left -= 1
        return self._polls_left < 0

    def look(self) -> Look:
        if len(self.replaced) in self.interrupts:
            self.interrupts.remove(len(self.replaced))
            raise KeyboardInterrupt
        return Look(100, 100, None, None, is_over=True)

    def span(self) -> Span:
        return Span()

    def destroy(self) -> None:
        if self.is_busy:
            raise EnvironmentFailure("`mdadm --stop ...` failed: Device or resource busy")
        self.stands = False


@pytest.fixture
def array(monkeypatch: pytest.MonkeyPatch) -> FakeArray:
    fake = FakeArray(set())
    drives = fake.drives = [FakeDrive(text) for text in (*ORDER.members, ORDER.replacement)]
    monkeypatch.setattr(real, "_drives", lambda *_: drives)
    monkeypatch.setattr(real, "_array", lambda *_: fake)
    return fake


def silent(_: str) -> None:
    """Tell nobody."""


def test_what_was_rebuilt_is_not_rebuilt_again(array: FakeArray, tmp_path: Path) -> None:
    out = tmp_path / "r"
    array.interrupts = {2, 4}
    with pytest.raises(Interrupted, match="taken down") as stopped:
        run_real(ORDER, out, NO_CONSENT, silent, with_baseline=True)
    assert str(out) in stopped.value.hint
    assert "rebuild 2 of 3" in stopped.value.hint
    assert not array.stands
    assert State.read(out).stage == "planned"
    with pytest.raises(Interrupted):
        resume_real(out, NO_CONSENT, silent)
    run = resume_real(out, NO_CONSENT, silent)
    # The baseline once, the new drive twice, and likewise the used one: then it stands in the array from the first.
    b, c = "/dev/b", "/dev/c"
    assert array.replaced == [(b, b), (b, c), (b, c), (c, c), (c, c)]
    assert array.created == [["/dev/a", b], ["/dev/a", b], ["/dev/a", c]]
    assert not State.is_in(out)
    assert any("Begun again once" in note for note in run.record.notes)
    assert run.baseline is not None
    assert not any("Begun again" in note for note in run.baseline.record.notes)


def test_every_run_has_its_progress(array: FakeArray, tmp_path: Path) -> None:
    out = tmp_path / "r"
    run_real(ORDER, out, NO_CONSENT, silent, with_baseline=True)
    for folder in (out, out / "baseline", out / "new"):
        rows: list[dict[str, Any]] = list(csv.DictReader((folder / "progress.csv").open()))
        assert list(rows[0]) == [
            *("seed", "time_s", "done_bytes", "share", "shown_bytes_per_s", "shown_left_s", "left_s")
        ]
        assert (rows[0]["time_s"], rows[0]["share"], rows[0]["shown_left_s"]) == ("0.000000", "0.000000", "")
        assert (rows[-1]["done_bytes"], rows[-1]["share"], rows[-1]["left_s"]) == ("100", "1.000000", "0.000000")
        for row in rows:
            assert float(row["time_s"]) + float(row["left_s"]) == pytest.approx(float(rows[-1]["time_s"]), abs=1e-5)


def test_a_cut_before_the_first_look_begins_the_rebuild_again(array: FakeArray, tmp_path: Path) -> None:
    out = tmp_path / "r"
    array.interrupts = {2}
    with pytest.raises(Interrupted):
        run_real(ORDER, out, NO_CONSENT, silent, with_baseline=True)
    # As a reboot leaves it: the array stands, the drive is out, nobody has looked yet.
    state = State.read(out)
    state.stage, state.restarts, array.stands = "rebuilding", 0, True
    state.write(out)
    run = resume_real(out, NO_CONSENT, silent)
    assert len(array.created) == 1
    new = (out / "new" / "run.json").read_text()
    assert "Begun again once" in new
    assert not any("Begun again" in note for note in run.record.notes)


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_what_is_over_is_kept_though_keeping_it_was_killed(
    array: FakeArray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    """The array is taken down by then, so a reboot finds nothing of it; what was half kept is kept anew."""

    class Killed(BaseException):
        pass

    calls: list[Path] = []

    def killed(folder: RunFolder, order: RebuildOrder, *words: Any, **named: Any) -> None:
        calls.append(folder.path)
        if len(calls) > kept:
            folder.append([Sample("rebuild", "write", 0, 1, 1, 1, *[None] * 5)])
            folder.close()
            raise Killed
        keep(folder, order, *words, **named)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(real, "keep", killed)
        run_real(ORDER, tmp_path / "r", NO_CONSENT, silent, with_baseline=True)
    assert not array.stands
    resume_real(tmp_path / "r", NO_CONSENT, silent)
    run_real(ORDER, tmp_path / "other", NO_CONSENT, silent, with_baseline=True)
    assert not State.is_in(tmp_path / "r")
    for name in ("", "baseline", "new"):
        one, two = (read_run(tmp_path / run / name) for run in ("r", "other"))
        assert one.record.status == "complete"
        assert len(one.samples) == len(two.samples) > 0
        assert one.record.notes == two.record.notes


def test_interrupted_while_it_is_read_back_all_that_was_measured_is_kept(array: FakeArray, tmp_path: Path) -> None:
    array.interrupts_reading_back = True
    with pytest.raises(Interrupted) as stopped:
        run_real(ORDER, tmp_path / "r", NO_CONSENT, silent, with_baseline=True)
    assert "keeps what was measured" in stopped.value.hint
    run = resume_real(tmp_path / "r", NO_CONSENT, silent)
    assert len(array.replaced) == 3
    assert len(array.created) == 1
    assert any("they were not read back" in note for note in run.record.notes)
    assert not State.is_in(tmp_path / "r")


def test_no_drive_of_an_array_that_still_stands_is_wiped(array: FakeArray, tmp_path: Path) -> None:
    """And what was measured is kept as soon as it can be taken down."""
    out = tmp_path / "r"
    array.is_busy = True
    with pytest.raises(EnvironmentFailure, match=r"not all could be taken down: .* busy; no drive was wiped") as failed:
        run_real(ORDER, out, NO_CONSENT, silent, with_baseline=True)
    assert f"--resume {out}" in failed.value.hint
    # Each lost drive is wiped, to be a new one; none was wiped after the last.
    assert [drive.happened.count("wiped") for drive in array.drives] == [0, 2, 1]
    told = [json.loads(line) for line in (out / "journal").read_text().splitlines()]
    assert "busy" in told[-1]["left"]
    array.is_busy = False
    resume_real(out, NO_CONSENT, silent)
    assert [drive.happened.count("wiped") for drive in array.drives] == [1, 3, 2]
    assert len(array.replaced) == 3
    assert not array.stands
    assert not State.is_in(out)


def test_a_drive_that_is_gone_leaves_no_other_unwiped(array: FakeArray, tmp_path: Path) -> None:
    array.drives[0].is_gone = True
    with pytest.raises(EnvironmentFailure, match=r"not all could be taken down: /dev/a: .*No such device"):
        run_real(ORDER, tmp_path / "r", NO_CONSENT, silent, with_baseline=False)
    assert all(drive.happened[-1] == "wiped" for drive in array.drives)
