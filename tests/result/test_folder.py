from __future__ import annotations

import errno
import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shakedown.errors import UsageError
from shakedown.result.atomic import failed_write, replace_file, unfinished
from shakedown.result.folder import RunFolder, free_folder, read_run
from shakedown.result.identity import Identity
from shakedown.result.run_record import ProtocolRecord, RunRecord
from shakedown.sample import SAMPLE_SCHEMA, Sample


def record() -> RunRecord:
    return RunRecord(
        shakedown_version="0.0.0",
        protocol=ProtocolRecord(
            name="mine", title="Mine", question="Is it?", source="here", uses=("zfs",), text="", sha256="0" * 64
        ),
        parameters={"hold": "30s"},
        target=Identity(
            kind="model", text="model:x", name="x", model="X 1", capacity_bytes=1 << 30, shingled=True, details={}
        ),
        arena="model",
        environment={"python": "3"},
        seed=7,
        scale_divisor=1,
        status="complete",
    )


def sample(step: str, second: int) -> Sample:
    return Sample(step, "write", second * 10**9, 10**9, 0, 0, None, None, None, None, None)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    folder = RunFolder.create(tmp_path / "run")
    folder.append([sample("a", 0), sample("a", 1)])
    folder.write(record())
    return folder


def test_what_is_written_is_read(folder: RunFolder) -> None:
    run = read_run(folder.path)
    assert run.record == record()
    assert run.samples.schema == SAMPLE_SCHEMA
    assert run.samples["start_ns"].to_list() == [0, 10**9]
    assert run.baseline is None


def test_a_killed_run_keeps_what_was_not_folded_in(folder: RunFolder) -> None:
    folder.append([sample("b", 2), sample("b", 3)])
    spool = folder.path / "samples.spool"
    with spool.open("a") as file:
        file.write('["b", "wri')  # the line that the kill cut off
    assert read_run(folder.path).samples.height == 4
    folder.close()  # it has no one's claim any more
    reopened = RunFolder.reopen(folder.path)
    reopened.append([sample("b", 4)])
    assert read_run(folder.path).samples["start_ns"].to_list() == [second * 10**9 for second in range(5)]


def test_a_kill_between_folding_and_removing_the_spool_counts_nothing_twice(folder: RunFolder) -> None:
    folder.append([sample("b", 2)])
    spool = (folder.path / "samples.spool").read_bytes()
    folder.write(record())
    (folder.path / "samples.spool").write_bytes(spool)
    assert read_run(folder.path).samples.height == 3


def test_samples_that_are_in_the_file_are_not_written_again(folder: RunFolder) -> None:
    file = folder.path / "samples.parquet"
    written = file.stat().st_ino
    folder.write(record())
    assert file.stat().st_ino == written
    folder.append([sample("b", 2)])
    folder.write(record())
    assert read_run(folder.path).samples.height == 3


def test_a_run_that_goes_on_is_not_resumed_beside_itself(folder: RunFolder) -> None:
    folder.append([sample("b", 2)])
    with pytest.raises(UsageError, match="is going on") as refused:
        RunFolder.reopen(folder.path)
    assert "wait" in refused.value.hint
    assert (folder.path / "samples.spool").exists()
    folder.close()
    for _ in range(2):
        RunFolder.reopen(folder.path).close()


def test_what_cannot_be_resumed_is_claimed_by_nobody(folder: RunFolder) -> None:
    folder.close()
    whole = (folder.path / "run.json").read_bytes()
    (folder.path / "run.json").write_bytes(whole[:100])
    with pytest.raises(UsageError, match="is not the record"):
        RunFolder.reopen(folder.path)
    (folder.path / "run.json").write_bytes(whole)
    RunFolder.reopen(folder.path)


def test_a_run_that_began_and_ended_after_the_look_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"

    def other(_: Path) -> None:
        monkeypatch.undo()
        ended = RunFolder.create(path)
        ended.append([sample("a", 0)])
        ended.write(record())
        ended.close()

    monkeypatch.setattr("shakedown.result.folder.sync", other)
    with pytest.raises(UsageError, match="is not an empty folder"):
        RunFolder.create(path)
    assert read_run(path).samples.height == 1


def test_steps_that_are_played_again_leave_nothing_behind(folder: RunFolder) -> None:
    folder.append([sample("b", 2)])
    folder.keep_steps({"a"})
    assert read_run(folder.path).samples["step"].unique().to_list() == ["a"]


def test_the_record_is_sorted_and_stable(folder: RunFolder) -> None:
    content = (folder.path / "run.json").read_bytes()
    assert list(json.loads(content)) == sorted(json.loads(content))
    folder.write(read_run(folder.path).record)
    assert (folder.path / "run.json").read_bytes() == content


def test_the_journal_has_a_line_for_each_event(folder: RunFolder) -> None:
    folder.note("step-began", step="a")
    folder.note("step-ended", step="a", because="job-ended")
    lines = [json.loads(line) for line in (folder.path / "journal").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["step-began", "step-ended"]
    assert all(line["time"].endswith("+00:00") for line in lines)


def test_an_event_after_one_that_was_cut_off_is_told(folder: RunFolder) -> None:
    folder.note("step-began", step="a")
    with (folder.path / "journal").open("ab") as journal:
        journal.write(b'{"time": "2026-01-01T00:00:00.000+00:00", "event": "step-e')
    folder.note("step-began", step="b")
    assert [folder.has_begun(step) for step in "abc"] == [True, True, False]


def test_a_free_folder_is_counted_up(tmp_path: Path) -> None:
    assert free_folder(tmp_path / "a") == tmp_path / "a"
    (tmp_path / "a").mkdir()
    (tmp_path / "a-2").mkdir()
    assert free_folder(tmp_path / "a") == tmp_path / "a-3"


def test_a_run_that_was_killed_before_it_wrote_anything_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "a" / "raw").mkdir(parents=True)
    RunFolder.create(tmp_path / "a").close()
    (tmp_path / "b" / "raw" / "x").mkdir(parents=True)
    for begun in ("b", "b/raw"):
        with pytest.raises(UsageError, match="is not an empty folder"):
            RunFolder.create(tmp_path / begun)


KILLED = """
import os, signal, sys
from shakedown.cli import main
syncs, sync = int(sys.argv[1]), os.fsync
def counted(handle):
    global syncs
    syncs -= 1
    if syncs == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    sync(handle)
os.fsync = counted
main(sys.argv[2:])
"""


@pytest.mark.parametrize("baseline", [(), ("--baseline", "model:wd40efrx")])
def test_wherever_a_run_is_killed_before_its_record_stands_the_same_command_begins_again(
    baseline: tuple[str, ...], tmp_path: Path
) -> None:
    """Killed in each of what it makes durable, again and again in one folder, the baseline's record with it."""
    out = tmp_path / "run"
    words = ("run", "random-1m", "model:wd40efax", *baseline, "--scale", "1/1000", "--out", str(out), "--quiet")
    left = set()
    for kill_at in itertools.count(1):
        ran = subprocess.run([sys.executable, "-c", KILLED, str(kill_at), *words], capture_output=True, check=False)
        assert ran.returncode == -signal.SIGKILL, ran.stderr
        if (out / "run.json").exists():
            break
        left |= {each.relative_to(out).as_posix() for each in out.rglob("*")}
        with pytest.raises(UsageError, match=r"nothing was measured in .*: the run ended before its first") as refused:
            read_run(out)
        assert f"--out {out}" in refused.value.hint
    assert left >= {"raw", "journal", ".samples.parquet.new", "samples.parquet", "samples.sha256", ".run.json.new"}
    assert ("baseline/run.json" in left) == bool(baseline)
    with pytest.raises(UsageError, match="is not an empty folder"):
        RunFolder.create(out)
    resumed = [sys.executable, "-c", KILLED, "0", "run", "--resume", str(out), "--quiet"]
    assert subprocess.run(resumed, capture_output=True, check=False).returncode in (0, 1, 3)
    assert read_run(out).record.status == "complete"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("notes", b""),
        ("samples.spool", b""),
        ("journal", b"Monday: bought a drive"),
        ("journal", b'{"time": "2026-01-01", "event": "run-began"}\n{"time": "2026-01-01", "event": "step-began"}\n'),
        ("journal", b'{"time": "2026-01-01", "event": "array"}\n'),
        ("samples.parquet", b""),
        ("samples.sha256", b""),
        ("raw/fio.json", b""),
        ("baseline/notes", b""),
    ],
)
def test_a_folder_that_holds_anything_else_is_never_taken(tmp_path: Path, name: str, content: bytes) -> None:
    RunFolder.create(tmp_path).close()
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    with pytest.raises(UsageError, match="is not an empty folder"):
        RunFolder.create(tmp_path)
    assert file.read_bytes() == content


def test_samples_without_their_record_are_not_taken(folder: RunFolder) -> None:
    (folder.path / "run.json").unlink()
    folder.close()
    with pytest.raises(UsageError, match="is not an empty folder"):
        RunFolder.create(folder.path)


def broken(folder: RunFolder, name: str, content: bytes | None) -> UsageError:
    path = folder.path / name
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        assert read_run(folder.path).samples is not None
    assert caught.value.hint
    return caught.value


def test_what_is_no_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        read_run(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="is not a run: it has no `run"):
        read_run(tmp_path)


def test_a_damaged_record_is_told(folder: RunFolder) -> None:
    whole = (folder.path / "run.json").read_bytes()
    assert "is not the record of a run: Invalid JSON" in str(broken(folder, "run.json", whole[:100]))
    assert "has no `format_version`" in str(broken(folder, "run.json", b"{}"))
    assert "is damaged: `seed`" in str(broken(folder, "run.json", whole.replace(b'"seed": 7', b'"seed": "x"')))
    assert "is not a run" in str(broken(folder, "run.json", None))


def test_a_newer_version_is_told_and_what_to_do(folder: RunFolder) -> None:
    whole = (folder.path / "run.json").read_bytes()
    error = broken(folder, "run.json", whole.replace(b'"format_version": 1', b'"format_version": 2'))
    assert "has format version 2; this Shakedown reads up to 1" in str(error)
    assert "upgrade" in error.hint


def test_damaged_samples_are_told(folder: RunFolder) -> None:
    whole = (folder.path / "samples.parquet").read_bytes()
    assert "cannot be read" in str(broken(folder, "samples.parquet", whole[: len(whole) // 2]))
    assert "cannot be read" in str(broken(folder, "samples.parquet", b"PAR1garbagePAR1"))
    pl.DataFrame({"step": ["a"]}).write_parquet(folder.path / "samples.parquet")
    assert "has no column `direction`" in str(broken(folder, "journal", b""))
    frame = pl.DataFrame({name: ["x"] for name in SAMPLE_SCHEMA})
    frame.write_parquet(folder.path / "samples.parquet")
    assert "column `start_ns` is String: must be Int64" in str(broken(folder, "journal", b""))
    assert "is missing" in str(broken(folder, "samples.parquet", None))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("duration_ns", -1),
        ("start_ns", None),
        ("count", -5),
        ("direction", "sideways"),
        ("latency_mean_ns", float("nan")),
        ("latency_mean_ns", float("inf")),
        ("latency_p99_ns", -1),
    ],
)
def test_what_no_drive_can_do_is_no_sample(folder: RunFolder, column: str, value: object) -> None:
    path = folder.path / "samples.parquet"
    frame = pl.read_parquet(path)
    frame.with_columns(pl.lit(value, SAMPLE_SCHEMA[column]).alias(column)).write_parquet(path)
    error = broken(folder, "journal", b"")
    assert f"column `{column}` holds {value!r}, which cannot be" in str(error)


@pytest.mark.parametrize("name", ["run.json", "samples.parquet", "samples.spool"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_regular_file_is_not_waited_for(folder: RunFolder, name: str, make: Callable[[Path], None]) -> None:
    (folder.path / name).unlink(missing_ok=True)
    make(folder.path / name)
    assert f"{name}` is not a file" in str(broken(folder, "journal", b""))


def test_what_is_no_folder_is_told_with_a_hint(folder: RunFolder) -> None:
    loop = folder.path.with_name("loop")
    loop.symlink_to("loop")
    for path, message in ((folder.path / "run.json", "is not a folder"), (loop, "Too many levels of symbolic links")):
        with pytest.raises(UsageError, match=message) as caught:
            read_run(path)
        assert caught.value.hint


def test_the_hint_to_a_damaged_record_does_not_lead_in_a_circle(folder: RunFolder) -> None:
    whole = (folder.path / "run.json").read_bytes()
    assert "--resume" not in broken(folder, "run.json", whole[:100]).hint
    error = broken(folder, "run.json", whole.replace(b'"format_version": 1', b'"format_version": "1"'))
    assert "its `format_version` is '1', not a whole number" in str(error)
    assert "it is no JSON object" in str(broken(folder, "run.json", b"[]"))


@pytest.mark.parametrize(
    ("number", "hint"), [(errno.ENOSPC, "free some space"), (errno.EPERM, "lsattr"), (errno.ENOENT, "look at `/` and")]
)
def test_a_failed_write_is_hinted_at_by_its_cause(number: int, hint: str) -> None:
    error = failed_write(Path("/a/run.json"), OSError(number, os.strerror(number)))
    assert str(error) == f"`/a/run.json` could not be written: {os.strerror(number)}"
    assert hint in error.hint
    assert "--out" not in error.hint


@pytest.mark.parametrize("plant", [os.mkfifo, lambda path: path.symlink_to(path.with_name("thesis"))])
def test_nothing_is_written_through_what_has_the_name_of_what_is_unfinished(
    tmp_path: Path, plant: Callable[[Path], None]
) -> None:
    (tmp_path / "thesis").write_bytes(b"mine")
    plant(unfinished(tmp_path / "run.json"))
    replace_file(tmp_path / "run.json", b"new")
    assert (tmp_path / "thesis").read_bytes() == b"mine"
    assert (tmp_path / "run.json").read_bytes() == b"new"
    assert not (tmp_path / "run.json").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.json", "thesis"]


@pytest.mark.parametrize("number", [errno.EPERM, errno.EROFS, errno.ENOENT])
def test_the_hint_of_a_failed_write_names_a_folder_that_is_there(number: int, tmp_path: Path) -> None:
    """Of those that were to be made the first one above."""
    for path in (tmp_path / "x" / "raw", tmp_path / "x", tmp_path / "file"):
        hint = failed_write(path, OSError(number, os.strerror(number))).hint
        assert f"`{tmp_path}`" in hint or f"'{tmp_path}'" in hint


def test_a_file_that_ends_its_reader_is_refused(folder: RunFolder) -> None:
    """One byte of it is another: polars is told of 2^61 bytes, asks for them, and ends the process."""
    damaged = Path(__file__).with_name("ends-its-reader.parquet").read_bytes()
    (folder.path / "samples.parquet").write_bytes(damaged)
    read = "import pathlib, sys, shakedown.result.samples as s; s.read_samples(pathlib.Path(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", read, folder.path], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "UsageError" in done.stderr
    assert "samples.parquet` cannot be read" in done.stderr


def test_what_is_as_it_was_written_is_read_at_once(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[bytes] = []

    def harmless(content: bytes) -> bool:
        tried.append(content)
        return False

    monkeypatch.setattr("shakedown.result.samples._ends_its_reader", harmless)
    assert len(read_run(folder.path).samples) == 2
    assert tried == []
    (folder.path / "samples.sha256").unlink()
    assert len(read_run(folder.path).samples) == 2
    assert tried == [(folder.path / "samples.parquet").read_bytes()]


def test_the_digest_is_one_that_sha256sum_checks(folder: RunFolder) -> None:
    check = ["sha256sum", "--check", "samples.sha256"]
    assert subprocess.run(check, cwd=folder.path, capture_output=True, check=False).returncode == 0
    (folder.path / "samples.parquet").write_bytes(b"PAR1")
    assert subprocess.run(check, cwd=folder.path, capture_output=True, check=False).returncode == 1


DAMAGE = {"position": st.integers(min_value=0), "content": st.binary(max_size=30)}
ONE_FOLDER = [HealthCheck.function_scoped_fixture]


def read_damaged(folder: RunFolder, name: str, position: int, content: bytes) -> None:
    path = folder.path / name
    whole = path.read_bytes()
    start = position % len(whole)
    try:
        path.write_bytes(whole[:start] + content + whole[start + len(content) :])
        try:
            assert read_run(folder.path).samples.schema == SAMPLE_SCHEMA
        except UsageError as error:
            assert name in str(error)
    finally:
        path.write_bytes(whole)


@settings(max_examples=200, deadline=None, suppress_health_check=ONE_FOLDER)
@given(**DAMAGE)
def test_no_damage_of_the_record_ends_in_a_traceback(folder: RunFolder, position: int, content: bytes) -> None:
    read_damaged(folder, "run.json", position, content)


# Fewer: each is first read by a process of its own.
@settings(max_examples=30, deadline=None, suppress_health_check=ONE_FOLDER)
@given(**DAMAGE)
def test_no_damage_of_the_samples_ends_in_a_traceback(folder: RunFolder, position: int, content: bytes) -> None:
    read_damaged(folder, "samples.parquet", position, content)
