"""A rebuild of modelled drives that is ended in between: what was done is kept, and what is missing is computed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from arrays.test_rebuild import JOB
from cli.test_contract import needs_core
from result.test_folder import KILLED
from shakedown.array import parts, run
from shakedown.array.order import RebuildOrder, model_path
from shakedown.array.rebuild import FRAMES, Rebuild, Share, simulate
from shakedown.cli.rebuild import RebuildOptions
from shakedown.cli.rebuild import rebuild as verb
from shakedown.cli.runs import runs_of
from shakedown.cli.status import EXIT_OF
from shakedown.errors import EnvironmentFailure, Interrupted, UsageError
from shakedown.result.folder import RunFolder, read_run
from shakedown.target.profile import read_profile

pytestmark = needs_core

RED = "model:wd40efrx"
BASELINE = RebuildOrder("raid1", (RED, RED), RED, scale_divisor=4000, load=JOB, fill=0.5)
CANDIDATE = replace(BASELINE, replacement="model:wd40efax")
SEEDS = 2
ALL = ["baseline-1.part", "baseline-2.part", "candidate-1.part", "candidate-2.part"]


def silent(_: str) -> None:
    """Tell nobody."""


def content(out: Path) -> dict[str, bytes]:
    """All that is not of the clock on the wall."""
    files = (path for path in out.rglob("*") if path.is_file() and path.name != "journal")
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    run.run_rebuild(CANDIDATE, BASELINE, SEEDS, out, silent)
    return content(out)


class Ended:
    """Computes one after the other, and is ended as Ctrl-C does in place of the rebuild that is the last of ``lives``.

    ``computed`` are those that it was asked for, by drive and seed.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, lives: int = 100) -> None:
        self.lives = lives
        self.computed: list[tuple[str, int]] = []
        monkeypatch.setattr(run, "cores", lambda: 1)
        monkeypatch.setattr(run, "simulate", self)

    def __call__(self, order: RebuildOrder, share: Share, seed: int) -> Rebuild:
        self.lives -= 1
        # A thread may come for one more before it hears of the end: it is ended, too.
        if self.lives <= 0:
            raise KeyboardInterrupt
        self.computed.append((order.replacement, seed))
        return simulate(order, share, seed)


def interrupted(monkeypatch: pytest.MonkeyPatch, out: Path, lives: int) -> Interrupted:
    Ended(monkeypatch, lives)
    with pytest.raises(Interrupted) as told:
        run.run_rebuild(CANDIDATE, BASELINE, SEEDS, out, silent)
    return told.value


def test_killed_again_and_again_it_comes_to_the_same_bytes(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    """In what it makes durable, later each time, its record and that of the baseline with it."""
    load, out = tmp_path / "users.fio", tmp_path / "run"
    load.write_text(JOB)
    given = ["rebuild", "raid1", RED, "--width", "2", "--replace-with", CANDIDATE.replacement, "--scale", "1/4000"]
    given += ["--fill", "50%", "--load", str(load), "--seeds", str(SEEDS), "--out", str(out)]
    resume = ["rebuild", "--resume", str(out)]
    left = set()
    for number, kill_at in enumerate((1, 5, 6, 4, 6, 12, 16, 22, 27, 28, 0)):
        words = resume if number % 2 and (out / "parts" / "order.json").exists() else given
        ran = subprocess.run([sys.executable, "-c", KILLED, str(kill_at), *words], capture_output=True, check=False)
        left |= set(content(out))
        if ran.returncode != -signal.SIGKILL:
            break
    assert ran.returncode == 3, ran.stderr
    assert left >= {f"parts/{name}" for name in ALL} | {"baseline/run.json", "run.json", "samples.spool"}
    assert b"4 of 4 rebuilds are there: going on" in ran.stderr
    assert content(out) == undisturbed


@pytest.mark.parametrize("kept", [1, 3])
def test_what_is_done_when_it_is_interrupted_is_not_computed_again(
    kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: dict[str, bytes]
) -> None:
    out = tmp_path / "a run"
    told = interrupted(monkeypatch, out, kept + 1)
    assert str(told) == f"interrupted; {kept} of 4 rebuilds are done and kept"
    assert told.hint.startswith(f"`shakedown rebuild --resume '{out}'` goes on with the others")
    assert sorted(path.name for path in (out / "parts").iterdir()) == [*ALL[:kept], "order.json"]
    with pytest.raises(UsageError, match="holds no run yet: it was interrupted") as asked_for:
        runs_of([out])
    assert f"`shakedown rebuild --resume '{out}'`" in asked_for.value.hint
    going_on = Ended(monkeypatch)
    lines: list[str] = []
    run.resume_rebuild(out, lines.append)
    asked = [(each.replacement, seed) for each in (BASELINE, CANDIDATE) for seed in (1, 2)]
    assert going_on.computed == asked[kept:]
    assert lines[0] == f"{kept} of 4 rebuilds are there: going on"
    assert content(out) == undisturbed
    assert verb(options=RebuildOptions(resume=out, json=True)) == EXIT_OF["inconclusive"], "it is told once more"
    assert content(out) == undisturbed


def test_before_anything_is_done_no_folder_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = interrupted(monkeypatch, tmp_path / "deep" / "out", 1)
    assert str(told) == "interrupted before the first of 4 rebuilds was done: nothing is kept"
    assert list(tmp_path.iterdir()) == []


def test_what_was_come_back_for_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a kill leaves it before anything is done: who is interrupted in going on may go on again."""
    out = tmp_path / "out"
    parts.Parts(parts.Ordered(CANDIDATE, BASELINE, SEEDS), out, silent).begin()
    assert str(interrupted(monkeypatch, out, 1)) == "interrupted; 0 of 4 rebuilds are done and kept"
    Ended(monkeypatch)
    assert run.resume_rebuild(out, silent).record.status == "complete"


@pytest.mark.parametrize("damage", ["cut off", "empty", "other bytes", "of another order"])
def test_a_part_that_is_not_as_it_was_written_is_computed_anew(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: dict[str, bytes]
) -> None:
    out = tmp_path / "out"
    interrupted(monkeypatch, out, 4)
    part = out / "parts" / "baseline-2.part"
    whole = part.read_bytes()
    seal, _, told = whole.partition(b"\n")
    seed = whole.replace(b'"duration_ns": ', b'"duration_ns": 1')
    of_another = parts.Parts(parts.Ordered(CANDIDATE, None, SEEDS), tmp_path / "other", silent)._seal(told)
    assert len(seal) == len(of_another) == 64
    broken = {"cut off": whole[:-100], "empty": b"", "other bytes": seed, "of another order": of_another + b"\n" + told}
    part.write_bytes(broken[damage])
    going_on = Ended(monkeypatch)
    lines: list[str] = []
    run.resume_rebuild(out, lines.append)
    assert going_on.computed == [(RED, 2), (CANDIDATE.replacement, 2)]
    assert f"`{part}` is damaged: this rebuild is computed anew" in lines
    assert content(out) == undisturbed


@pytest.mark.parametrize(
    ("changes", "baseline", "seeds"),
    [({"fill": 0.4}, BASELINE, SEEDS), ({}, None, SEEDS), ({}, BASELINE, 3), ({"load": None}, None, SEEDS)],
)
def test_another_order_is_refused(
    changes: dict[str, object],
    baseline: RebuildOrder | None,
    seeds: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "out"
    interrupted(monkeypatch, out, 2)
    before = content(out)
    with pytest.raises(UsageError, match="was interrupted, and another one than is ordered") as refused:
        run.run_rebuild(replace(CANDIDATE, **changes), baseline, seeds, out, silent)  # type: ignore[arg-type]
    assert refused.value.hint == f"go on with that one, `shakedown rebuild --resume {out}`, or choose another --out"
    assert content(out) == before


def test_parts_of_another_model_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    interrupted(monkeypatch, out, 2)
    monkeypatch.setattr(parts, "model_digest", lambda: "another")
    with pytest.raises(UsageError, match="another version of the model began it"):
        run.resume_rebuild(out, silent)


def test_parts_of_another_profile_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, out = tmp_path / "own.toml", tmp_path / "out"
    own.write_text(read_profile(model_path(RED)))
    ordered = replace(CANDIDATE, replacement=f"model:{own}")
    Ended(monkeypatch, 2)
    with pytest.raises(Interrupted):
        run.run_rebuild(ordered, None, SEEDS, out, silent)
    own.write_text(own.read_text().replace("rpm = { value = 5400", "rpm = { value = 5300"))
    with pytest.raises(UsageError, match="a drive's profile was another then"):
        run.resume_rebuild(out, silent)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"order": {}, "baseline": null, "seeds": 1}'])
def test_a_damaged_order_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "order.json").write_text(text)
    with pytest.raises(UsageError, match=r"order\.json` is damaged: "):
        run.resume_rebuild(tmp_path, silent)
    with pytest.raises(UsageError, match=r"order\.json` is damaged: "):
        run.run_rebuild(CANDIDATE, None, 1, tmp_path, silent)


def test_the_same_command_finds_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where none is named: another order, and one that is done, have folders of their own."""
    monkeypatch.chdir(tmp_path)
    given = RebuildOptions(width=2, scale="1/4000", seeds=3, quiet=True)
    other = replace(given, fill="40%", seeds=2)
    for number, options in enumerate((given, other)):
        Ended(monkeypatch, 2)
        with pytest.raises(Interrupted, match=f"1 of {3 - number} "):
            verb("raid1", RED, options=options)
    names = ["rebuild-raid1-wd40efrx-new", "rebuild-raid1-wd40efrx-new-2"]
    for options in (other, given):
        going_on = Ended(monkeypatch)
        assert verb("raid1", RED, options=options) == 3
        assert len(going_on.computed) == options.seeds - 1
        assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == names
    assert [
        len(json.loads((Path("runs") / name / "raw" / "rebuild.json").read_text())["rebuilds"]) for name in names
    ] == [3, 2]
    assert verb("raid1", RED, options=given) == 3
    assert (tmp_path / "runs" / f"{names[0]}-3").exists()


def test_two_at_once_do_not_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, seen = tmp_path / "out", []

    def beside(order: RebuildOrder, share: Share, seed: int) -> Rebuild:
        with pytest.raises(UsageError, match="another run has just begun in") as refused:
            run.resume_rebuild(out, silent)
        seen.append(refused.value)
        return simulate(order, share, seed)

    monkeypatch.setattr(run, "simulate", beside)
    run.run_rebuild(CANDIDATE, None, 1, out, silent)
    assert len(seen) == 1
    assert read_run(out).record.status == "complete"


def test_a_part_is_all_of_its_rebuild() -> None:
    rebuild = simulate(replace(CANDIDATE, faults={1: 'format_version = 1\n[[faults]]\nkind = "gone"\nfrom_s = 1\n'}))
    again = Rebuild.from_part(json.loads(json.dumps(rebuild.to_part())))
    assert rebuild.ended == "failed"
    assert again.to_json() == rebuild.to_json()
    for name in FRAMES:
        one, other = getattr(rebuild, name), getattr(again, name)
        assert isinstance(one, pl.DataFrame)
        assert one.equals(other)
        assert one.schema == other.schema
    assert {name for name, value in vars(rebuild).items() if isinstance(value, pl.DataFrame)} == FRAMES.keys()


def test_a_baseline_whose_folder_cannot_be_made_leaves_the_run_s_to_others(tmp_path: Path) -> None:
    out = tmp_path / "r"
    out.mkdir()
    create = RunFolder.create

    def of_run(path: Path, *words: Any, **named: Any) -> RunFolder:
        if path.name == "baseline":
            raise EnvironmentFailure("no room")
        return create(path, *words, **named)

    with pytest.MonkeyPatch.context() as full, pytest.raises(EnvironmentFailure, match="no room"):
        full.setattr(RunFolder, "create", of_run)
        run._folders(out, are_ours=False, with_baseline=True)
    RunFolder.create(out).close()
