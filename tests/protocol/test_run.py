"""The runner on arenas of a few lines: what is played, kept, skipped, resumed and judged."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from shakedown.device.disk.facts import Consent
from shakedown.errors import EnvironmentFailure, Interrupted, UsageError
from shakedown.protocol import cooling
from shakedown.protocol import play as player
from shakedown.protocol import run as runner
from shakedown.protocol.load import LoadedProtocol, parse_protocol
from shakedown.protocol.play import Listener
from shakedown.protocol.run import Order, resume, run
from shakedown.result.folder import RunFolder, read_record, read_run
from shakedown.result.run_record import RunRecord, StepRecord
from shakedown.sample import Sample

from .fake_arena import FIO_CRASHED, FakeArena

STEPS = """
format_version = 1
name = "mine"
title = "Mine"
question = "Is it?"
[[steps]]
name = "first"
job = "rw=write"
[[steps]]
name = "pause"
idle = "1min"
[[steps]]
name = "second"
job = "rw=write"
until = { condition = "bytes", bytes = "10MB" }
required = true
[[steps]]
name = "third"
job = "rw=write"
[[findings]]
kind = "throughput"
step = "third"
"""

Opened = Callable[..., None]


def loaded(text: str = STEPS) -> LoadedProtocol:
    return parse_protocol(text.encode(), "mine.toml")


@pytest.fixture
def opens(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Make the runner open these arenas, one after the other."""

    def prepare(*arenas: FakeArena) -> None:
        waiting = list(arenas)
        monkeypatch.setattr(runner, "open_target", lambda text, **options: waiting.pop(0))

    return prepare


def ended(path: Path) -> dict[str, str]:
    return {step.name: step.ended_because for step in read_run(path).record.steps}


def test_who_runs_out_of_disk_hears_how_to_go_on(
    tmp_path: Path, opens: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    opens(FakeArena(), FakeArena())

    write = RunFolder.write

    def full(folder: RunFolder, record: RunRecord) -> None:
        if record.steps:
            raise EnvironmentFailure("`run.json` could not be written", hint="free some space, then try again")
        write(folder, record)

    with monkeypatch.context() as disk, pytest.raises(EnvironmentFailure) as told:
        disk.setattr(RunFolder, "write", full)
        run(loaded(), Order("fake"), tmp_path / "run", Listener())
    way = f"`shakedown run --resume {tmp_path}/run`"
    assert told.value.hint == f"free some space, then try again; what was measured is kept, go on with {way}"
    assert resume(tmp_path / "run", Consent(), Listener()).record.status == "complete"


def test_steps_are_played_in_turn_and_end_for_their_own_reasons(tmp_path: Path, opens: Opened) -> None:
    arena = FakeArena()
    opens(arena)
    done = run(loaded(), Order("fake"), tmp_path / "run", Listener())
    because = {"first": "job-ended", "pause": "idle-over", "second": "condition", "third": "job-ended"}
    assert ended(done.path) == because
    seconds = {step.name: (step.start_ns // 10**9, step.end_ns // 10**9) for step in done.record.steps}
    assert seconds == {"first": (0, 10), "pause": (10, 70), "second": (70, 73), "third": (73, 83)}
    assert done.samples["step"].value_counts(sort=True).rows() == [("first", 10), ("third", 10), ("second", 3)]
    assert done.record.findings[0].value == pytest.approx(1000)
    assert done.record.verdict is not None
    assert arena.closed


def test_a_condition_that_was_required_and_missed_skips_the_rest(tmp_path: Path, opens: Opened) -> None:
    opens(FakeArena())
    done = run(loaded(STEPS.replace("10MB", "10GB")), Order("fake"), tmp_path / "run", Listener())
    assert ended(done.path)["third"] == "skipped"
    assert done.record.steps[-1].detail == "because step second ended without what the rest depends on"
    assert done.record.status == "complete"


def test_of_a_step_that_was_skipped_no_longest_request_is_missed(tmp_path: Path, opens: Opened) -> None:
    opens(FakeArena())
    asks = STEPS.replace("10MB", "10GB") + '[[findings]]\nkind = "worst-latency"\nstep = "third"\n'
    done = run(loaded(asks), Order("fake"), tmp_path / "run", Listener())
    assert ended(done.path)["third"] == "skipped"
    assert ("worst-latency", "third") not in [(each.kind, each.step) for each in done.record.findings]
    assert ("throughput", "third") in [(each.kind, each.step) for each in done.record.findings]


def test_what_is_in_flight_when_a_condition_ends_a_step_is_waited_for_and_judged(tmp_path: Path, opens: Opened) -> None:
    arena = FakeArena()
    arena.in_flight_ns = 40 * 10**9
    opens(arena)
    asks = STEPS + "".join(f'[[findings]]\nkind = "{kind}"\nstep = "second"\n' for kind in ("throughput", "latency"))
    done = run(loaded(asks), Order("fake"), tmp_path / "run", Listener())
    seconds = {step.name: (step.start_ns // 10**9, step.end_ns // 10**9) for step in done.record.steps}
    assert seconds == {"first": (0, 10), "pause": (10, 70), "second": (70, 73), "third": (113, 123)}
    assert done.samples.filter(step="second")["count"].to_list() == [1000, 1000, 1000, 1]
    rate, latency = done.record.findings[1:3]
    assert rate.value == pytest.approx(1000)  # in three seconds of load
    assert latency.value == pytest.approx((3000 * 1 + 41_000) / 3001)
    worst = next(each for each in done.record.findings if each.kind == "worst-latency" and each.step == "second")
    assert worst.value == 41_000
    assert done.record.verdict is not None
    assert done.record.verdict.status == "fail"
    failing = [reason for use in done.record.verdict.uses for reason in use.reasons if reason.status == "fail"]
    assert {reason.findings for reason in failing} == {("mine/second/worst-latency",)}


def test_a_resumed_run_goes_on_after_what_was_waited_for(tmp_path: Path, opens: Opened) -> None:
    broken, mended = FakeArena(), FakeArena()
    broken.in_flight_ns = 40 * 10**9
    broken.faults["third"] = FIO_CRASHED
    opens(broken, mended)
    with pytest.raises(EnvironmentFailure):
        run(loaded(), Order("fake"), tmp_path / "run", Listener())
    done = resume(tmp_path / "run", Consent(), Listener())
    assert mended.started == ["third"]
    assert (done.record.steps[2].end_ns, done.record.steps[3].start_ns) == (73 * 10**9, 113 * 10**9)
    assert done.samples.filter(step="second")["count"].to_list() == [1000, 1000, 1000, 1]


class DiesAfter(Listener):
    """As if killed when a step's end is told, before it is on record."""

    def __init__(self, step: str) -> None:
        self.step = step

    def step_ended(self, record: StepRecord) -> None:
        if record.name == self.step:
            raise SystemExit


def test_the_rest_is_skipped_after_a_resumption_too(tmp_path: Path, opens: Opened) -> None:
    again = FakeArena()
    opens(FakeArena(), again)
    with pytest.raises(SystemExit):
        run(loaded(STEPS.replace("10MB", "10GB")), Order("fake"), tmp_path / "run", DiesAfter("third"))
    done = resume(tmp_path / "run", Consent(), Listener())
    assert again.started == []
    assert ended(done.path)["third"] == "skipped"


def test_a_failure_keeps_what_was_measured_and_can_be_resumed(tmp_path: Path, opens: Opened) -> None:
    broken, mended = FakeArena(), FakeArena()
    broken.faults["second"] = FIO_CRASHED
    opens(broken, mended)
    with pytest.raises(EnvironmentFailure, match="step second on model:fake failed: fio died of signal 9") as caught:
        run(loaded(STEPS.replace("10MB", "1GB")), Order("fake"), tmp_path / "run", Listener())
    assert f"--resume {tmp_path / 'run'}" in caught.value.hint
    kept = read_run(tmp_path / "run")
    assert ended(kept.path) == {"first": "job-ended", "pause": "idle-over", "second": "failed", "third": "skipped"}
    assert kept.record.status == "failed"
    assert kept.record.verdict is None
    assert kept.samples.filter(step="second").height == 3

    done = resume(kept.path, Consent(), Listener())
    assert mended.started == ["second"]
    assert done.samples["start_ns"].is_sorted()
    assert done.samples.filter(step="second")["start_ns"].min() == 70 * 10**9
    assert done.samples.height == 20


def test_what_the_target_did_wrong_is_a_result_and_the_run_goes_on(tmp_path: Path, opens: Opened) -> None:
    arena = FakeArena()
    arena.target_errors["first"] = "input/output error at 4096"
    opens(arena)
    done = run(loaded(), Order("fake"), tmp_path / "run", Listener())
    assert done.record.status == "complete"
    assert done.record.steps[0].error == "input/output error at 4096"


def test_one_ctrl_c_ends_cleanly_and_the_step_is_played_again(tmp_path: Path, opens: Opened) -> None:
    arena, again = FakeArena(), FakeArena()

    def press(step: str, number: int) -> None:
        if (step, number) == ("third", 4):
            os.kill(os.getpid(), signal.SIGINT)

    arena.when_measured = press
    opens(arena, again)
    with pytest.raises(Interrupted) as caught:
        run(loaded(), Order("fake"), tmp_path / "run", Listener())
    assert caught.value.exit_status == 130
    assert "--resume" in caught.value.hint
    kept = read_run(tmp_path / "run")
    assert (kept.record.status, ended(kept.path)["third"]) == ("interrupted", "interrupted")
    assert kept.samples.filter(step="third").height == 5

    done = resume(kept.path, Consent(), Listener())
    assert again.started == ["third"]
    assert done.samples.filter(step="third").height == 10
    assert done.record.status == "complete"


def test_a_ctrl_c_while_the_baseline_runs_interrupts_the_candidate_too(tmp_path: Path, opens: Opened) -> None:
    candidate, baseline = FakeArena(), FakeArena()
    baseline.when_measured = lambda step, number: os.kill(os.getpid(), signal.SIGINT) if number == 2 else None
    opens(candidate, baseline, FakeArena(), FakeArena())
    with pytest.raises(Interrupted):
        run(loaded(), Order("fake", "other"), tmp_path / "run", Listener())
    assert [read_record(tmp_path / each).status for each in ("run", "run/baseline")] == ["interrupted"] * 2
    assert resume(tmp_path / "run", Consent(), Listener()).record.status == "complete"


def test_two_ctrl_c_end_at_once_and_lose_nothing(tmp_path: Path, opens: Opened) -> None:
    arena = FakeArena()

    def press(step: str, number: int) -> None:
        if number == 4:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    arena.when_measured = press
    opens(arena)
    with pytest.raises(KeyboardInterrupt):
        run(loaded(), Order("fake"), tmp_path / "run", Listener())
    kept = read_run(tmp_path / "run")
    assert kept.record.status == "running"
    assert kept.samples.height == 5
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_in_the_model_arena_a_resumed_run_begins_anew(tmp_path: Path, opens: Opened) -> None:
    arena, again, straight = FakeArena("model"), FakeArena("model"), FakeArena("model")
    arena.when_measured = lambda step, number: os.kill(os.getpid(), signal.SIGINT) if step == "third" else None
    opens(arena, again, straight)
    with pytest.raises(Interrupted):
        run(loaded(), Order("fake"), tmp_path / "broken", Listener())
    resume(tmp_path / "broken", Consent(), Listener())
    run(loaded(), Order("fake"), tmp_path / "straight", Listener())
    assert again.started == ["first", "second", "third"]
    for name in ("run.json", "samples.parquet"):
        assert (tmp_path / "broken" / name).read_bytes() == (tmp_path / "straight" / name).read_bytes()


def test_a_finished_run_is_not_played_again(tmp_path: Path, opens: Opened) -> None:
    opens(FakeArena())
    done = run(loaded(), Order("fake"), tmp_path / "run", Listener())
    assert resume(done.path, Consent(), Listener()).record == done.record


def test_another_target_is_not_what_the_run_began_on(tmp_path: Path, opens: Opened) -> None:
    arena, other = FakeArena(), FakeArena(capacity_bytes=2 << 30)
    arena.faults["third"] = FIO_CRASHED
    opens(arena, other)
    with pytest.raises(EnvironmentFailure):
        run(loaded(), Order("fake"), tmp_path / "run", Listener())
    with pytest.raises(UsageError, match="is no longer what it was"):
        resume(tmp_path / "run", Consent(), Listener())


def test_the_baseline_is_run_first_and_compared(tmp_path: Path, opens: Opened) -> None:
    candidate, baseline = FakeArena(), FakeArena()
    opens(candidate, baseline)
    order: list[str] = []
    candidate.when_measured = lambda step, number: order.append("candidate")
    baseline.when_measured = lambda step, number: order.append("baseline")
    done = run(loaded(), Order("fake", "other"), tmp_path / "run", Listener())
    assert order[0] == "baseline"
    assert order[-1] == "candidate"
    assert done.baseline is not None
    assert done.baseline.path == tmp_path / "run" / "baseline"
    assert [finding.kind for finding in done.record.findings] == [
        "throughput",
        "throughput-ratio",
        *3 * ["worst-latency", "worst-latency-ratio"],
    ]
    assert [finding.kind for finding in done.baseline.record.findings] == ["throughput", *3 * ["worst-latency"]]


def test_a_job_that_cannot_run_is_refused_before_anything_is_touched(tmp_path: Path, opens: Opened) -> None:
    arena = FakeArena()
    arena.refused.add("[third]")
    opens(arena)
    with pytest.raises(UsageError, match=r"`mine.toml`: `steps\[3\].job`: the arena does not know this option"):
        run(loaded(), Order("fake"), tmp_path / "run", Listener())
    assert arena.started == []
    assert not (tmp_path / "run").exists()


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(UsageError, match="exists and is not an empty folder") as refusal:
        run(loaded(), Order("fake"), tmp_path, Listener())
    assert "shakedown run --resume DIR" in refusal.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]


def test_a_listener_sees_every_sample(tmp_path: Path, opens: Opened) -> None:
    seen: list[Sample] = []

    class Collector(Listener):
        def measured(self, samples: Sequence[Sample]) -> None:
            seen.extend(samples)

    opens(FakeArena())
    done = run(loaded(), Order("fake"), tmp_path / "run", Collector())
    assert [tuple(sample) for sample in seen] == done.samples.rows()


def test_a_target_that_is_gone_after_an_error_is_waited_for(tmp_path: Path, opens: Opened) -> None:
    arena = FakeArena()
    arena.target_errors["second"] = "Input/output error"
    # Before the steps it is there; after the error it is not, for two looks.
    arena.absences = [None, None, *["it is gone"] * 3]
    opens(arena)
    done = run(loaded(), Order("fake"), tmp_path / "run", Listener())
    error = {step.name: step.error for step in done.record.steps}
    assert re.fullmatch(r"Input/output error; it was gone for .*, and is back", error["second"] or "")
    assert arena.started == ["first", "second", "third"]
    assert done.record.verdict is not None
    assert done.record.verdict.status == "fail"
    events = [json.loads(line)["event"] for line in (tmp_path / "run" / "journal").read_text().splitlines()]
    assert events[events.index("target-missing") + 1] == "target-back"


def test_a_target_that_stays_away_fails_the_step(
    tmp_path: Path, opens: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(player, "_ABSENCE_NS", 0)
    arena = FakeArena()
    arena.target_errors["first"] = "Input/output error"
    arena.absences = [None, *["it is gone"] * 1000]
    opens(arena)
    with pytest.raises(EnvironmentFailure, match="Input/output error; it is gone, and was not back in time"):
        run(loaded(), Order("fake"), tmp_path / "run", Listener())
    record = read_run(tmp_path / "run").record
    assert (record.status, ended(tmp_path / "run")["third"]) == ("failed", "skipped")


CHAINED = STEPS.replace('name = "second"', 'name = "second"\nrestart = "first"')


@pytest.mark.parametrize(
    ("dies_in", "again"),
    [
        # What has not begun spoils nothing: time may pass before it only if that is what it directly follows.
        ("pause", ["second", "third"]),
        ("second", ["first", "second", "third"]),
        ("third", ["third"]),
    ],
)
def test_a_step_that_must_follow_another_takes_it_along(
    tmp_path: Path, opens: Opened, dies_in: str, again: list[str]
) -> None:
    resumed = FakeArena()
    opens(FakeArena(), resumed)
    text = CHAINED.replace('restart = "first"', 'restart = "pause"') if dies_in == "pause" else CHAINED
    with pytest.raises(SystemExit):
        run(loaded(text), Order("fake"), tmp_path / "run", DiesAfter(dies_in))
    done = resume(tmp_path / "run", Consent(), Listener())
    assert resumed.started == again
    assert done.samples["step"].value_counts(sort=True).rows() == [("first", 10), ("third", 10), ("second", 3)]


def test_a_limit_that_cannot_be_kept_is_told_before_anything_begins(tmp_path: Path, opens: Opened) -> None:
    opens(FakeArena())
    with pytest.raises(UsageError, match="has no temperature of its own"):
        run(loaded(), Order("fake", temperature_limit_celsius=55), tmp_path / "run", Listener())
    assert not (tmp_path / "run").exists()


class Warmth:
    """A thermometer that reads what it is given, the last for ever."""

    def __init__(self, *readings: int | str) -> None:
        self.readings = list(readings)

    def ask(self) -> None:
        pass

    def read(self) -> int | str:
        return self.readings[0]

    answer = read

    def close(self) -> None:
        if len(self.readings) > 1:
            del self.readings[0]


def test_a_load_rests_from_the_limit_until_it_is_cooler_by_the_hysteresis(
    tmp_path: Path, opens: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cooling, "_ASK_EVERY_S", 0.0)
    arena, warmth = FakeArena(), Warmth(40)
    warmth.answer = lambda: warmth.readings.pop(0) if len(warmth.readings) > 1 else warmth.readings[0]  # type: ignore[method-assign]
    warmth.readings = [54, 55, 54, "smartctl did not answer", 51, 50, 54]
    arena.warmth = warmth  # type: ignore[assignment]
    opens(arena)
    monkeypatch.setattr(runner, "_check_temperature", lambda arena: None)
    done = run(loaded(), Order("fake", temperature_limit_celsius=55), tmp_path / "run", Listener())
    assert arena.started == ["first", "first paused", "first goes on", "second", "third"]
    assert len(done.record.notes) == 2
    assert "Step first was paused once" in done.record.notes[1]
    journal = (tmp_path / "run" / "journal").read_text()
    assert journal.index("paused at 55") < journal.index("cannot be read any more") < journal.index("goes on at 50")
