"""Modelled drives from Python: jobs, traces, profiles with changes, and threads."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shakedown
from shakedown import INTERVAL_SCHEMA, REQUEST_SCHEMA, Drive, UsageError, _core, rebuild
from shakedown.data import profile_path
from shakedown.target.model import ModelArena

MINUTE_NS = 60_000_000_000
JOB = "rw=randrw\nbs=4k\niodepth=8\ntime_based\nruntime=20"


def drive(seed: int = 1) -> Drive:
    return Drive.load("wd40efax", seed=seed, scale_divisor=100)


def test_a_job_is_a_row_a_request_or_a_row_an_interval() -> None:
    requests, intervals = drive().run(JOB), drive().run(JOB, interval="500ms")
    assert (requests.schema, intervals.schema) == (REQUEST_SCHEMA, INTERVAL_SCHEMA)
    assert set(intervals["duration_ns"].head(20)) == {500_000_000}
    counted = intervals.group_by("direction").agg(pl.sum("count", "bytes"), pl.max("latency_max_ns")).sort("direction")
    logged = requests.group_by(direction=pl.col("verb").cast(pl.String)).agg(
        pl.len().alias("count"), pl.sum("bytes"), pl.max("latency_ns").alias("latency_max_ns")
    )
    assert counted.rows() == logged.sort("direction").rows()
    assert counted["direction"].to_list() == ["read", "write"]


def test_the_same_calls_give_the_same_bytes_and_another_seed_others() -> None:
    def play(seed: int) -> pl.DataFrame:
        one = drive(seed)
        first = one.run(JOB)
        one.idle("1min")
        return pl.concat([first, one.run(JOB)])

    assert play(7).equals(play(7))
    assert not play(7).equals(play(8))


def test_it_is_the_drive_that_protocols_run_on() -> None:
    arena = ModelArena("model:wd40efax", seed=3, scale_divisor=100)
    with arena.start("step", JOB, 1_000_000_000) as load:
        rows = [sample[1:] for batch in load for sample in batch]
    assert drive(3).run(JOB, interval=1_000_000_000).rows() == rows


def test_time_passes_in_loads_and_idling_only() -> None:
    one = drive()
    assert one.now_ns == 0
    one.idle("10min")
    assert one.now_ns == 10 * MINUTE_NS
    assert repr(one) == "<Drive WD40EFAX-68JH4N0, 37.3 GiB, at 10 min>"
    assert one.run("rw=read\nnumber_ios=1")["submitted_ns"][0] == 10 * MINUTE_NS
    assert one.truth()["completed"] == 1


def test_a_persistent_cache_fills_and_drains() -> None:
    one = drive()
    one.run("rw=randwrite\nbs=4k\nnumber_ios=2000")
    one.idle("1s")
    filled = one.truth()["cached_bytes"]
    one.idle("1h")
    assert filled > 1_000_000
    assert one.truth()["cached_bytes"] < filled / 2


def test_one_drives_requests_are_another_ones_trace() -> None:
    asked = drive().run(JOB)
    other = Drive.load("st12000vn0007", seed=1, scale_divisor=100)
    answered = other.replay(asked)
    columns = ["submitted_ns", "verb", "offset_bytes", "bytes"]
    assert answered.select(columns).sort(columns).equals(asked.select(columns).sort(columns))
    assert not answered["latency_ns"].equals(asked["latency_ns"])
    assert other.replay(asked.head(100), interval="1s")["count"].sum() == 100


def trace(**changed: list[object]) -> dict[str, list[object]]:
    good: dict[str, list[object]] = {
        "submitted_ns": [5, 1_000_005],
        "verb": ["read", "write"],
        "offset_bytes": [0, 4096],
        "bytes": [512, 4096],
    }
    return good | changed


def test_speed_and_depth() -> None:
    gaps = {
        speed: drive().replay(trace(), speed=speed).sort("offset_bytes")["submitted_ns"].to_list() for speed in (1, 4)
    }
    assert gaps == {1: [0, 1_000_000], 4: [0, 250_000]}
    closed = drive().replay(trace(submitted_ns=[0, 10**15]), depth=1)
    assert closed["submitted_ns"][1] == closed["completed_ns"][0]


def test_rows_of_a_trace_may_be_in_any_order_and_of_any_source() -> None:
    backwards = pl.DataFrame(trace()).reverse()
    assert drive().replay(backwards).equals(drive().replay(trace()))
    assert drive().replay(backwards.rows(named=True)).equals(drive().replay(trace()))
    assert drive().replay(pl.DataFrame(trace()).clear()).height == 0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"bytes": [512, 100]}, "request 1 of the trace: 100 bytes at 4096 are not whole sectors"),
        ({"offset_bytes": [10**15, 0]}, "request 0 of the trace: 512 bytes at 1000000000000000 reach past the end"),
        ({"verb": ["read", "flush"]}, "request 1 of the trace: a flush has neither an offset nor a length"),
        ({"verb": ["read", "Write"]}, "this is no trace: "),
        ({"offset_bytes": [0.5, 4096.0]}, "this is no trace: `offset_bytes` is of type Float64"),
        ({"submitted_ns": ["0", "1"]}, "this is no trace: `submitted_ns` is of type String"),
        ({"bytes": [512, None]}, "row 1 of the trace has a value missing or below 0"),
        ({"offset_bytes": [-512, 0]}, "row 0 of the trace has a value missing or below 0"),
    ],
)
def test_a_trace_that_cannot_be_asked_is_refused(changed: dict[str, list[object]], message: str) -> None:
    one = drive()
    with pytest.raises(UsageError) as error:
        one.replay(trace(**changed))
    assert message in str(error.value)
    assert one.now_ns == 0
    assert one.replay(trace()).height == 2


@pytest.mark.parametrize(
    "call",
    [
        lambda one: one.replay({"submitted_ns": [1]}),
        lambda one: one.replay(5),
        lambda one: one.replay(trace(), speed=0),
        lambda one: one.replay(trace(), speed=float("nan")),
        lambda one: one.replay(trace(), speed=1e-18),
        lambda one: one.replay(trace(), depth=0),
        lambda one: one.replay(trace(), speed=2, depth=1),
        lambda one: one.replay(pl.LazyFrame(trace())),
        lambda one: one.run("rw=chew"),
        lambda one: one.run("rw=read", interval="0s"),
        lambda one: one.run("rw=read", interval="soon"),
        lambda one: one.run("rw=read", interval=1.0),
        lambda one: one.idle("-1s"),
        lambda one: one.idle(-1),
        lambda one: one.idle(2**64),
        lambda one: one.run(b"rw=read"),
        lambda one: one.run(None),
        lambda one: one.replay(trace(), speed="fast"),
        lambda one: one.replay(trace(bytes=[512, None])),
        lambda one: Drive.load("nowhere", seed=1),
        lambda one: Drive.load(Path("nowhere.toml"), seed=1),
        lambda one: Drive.load(None, seed=1),  # type: ignore[arg-type]
        lambda one: Drive.load(5, seed=1),  # type: ignore[arg-type]
        lambda one: Drive.from_toml(b"format_version = 1", seed=1),  # type: ignore[arg-type]
        lambda one: Drive.from_toml("a = [", seed=1),
        lambda one: Drive.build("wd40efax", [1], seed=1),  # type: ignore[arg-type]
        lambda one: Drive.build("wd40efax", {5: 1}, seed=1),  # type: ignore[dict-item]
        lambda one: Drive.build("wd40efax", {"geometry.rpm.value.x": 1}, seed=1),
        lambda one: shakedown.rebuild("raid5", 5, width=3),  # type: ignore[arg-type]
        lambda one: shakedown.rebuild("raid5", "model:wd40efrx", width="three"),  # type: ignore[arg-type]
        lambda one: shakedown.rebuild(5, "model:wd40efrx", width=3),  # type: ignore[arg-type]
        lambda one: shakedown.rebuild("raid5", "model:wd40efrx", width=3, faults={"a": "x"}),
        lambda one: shakedown.rebuild("raid5", "model:wd40efrx", width=3, faults=["x"]),
        lambda one: shakedown.rebuild("raid5", "model:wd40efrx", width=3, faults={1: 5}),
        lambda one: shakedown.rebuild("raid5", "model:wd40efrx", width=3, fill="half"),
        lambda one: shakedown.rebuild("raid5", "model:wd40efrx", width=3, scale_divisor=2**32),
        lambda one: shakedown.rebuild("raid5", "model:wd40efrx", width=3, member_bytes=2**64),
        lambda one: shakedown.rebuild("raidz1", "model:wd40efrx", width=3, second_failure=(0, -1)),
        lambda one: shakedown.rebuild("draid1", "model:wd40efrx", width=4, draid=(2**70, 1)),
        lambda one: shakedown.rebuild("raid5", "model:wd40efrx", width=3, chunk_bytes="big"),
        lambda one: Drive.load("wd40efax", seed=-1),
        lambda one: Drive.load("wd40efax", seed=True),
        lambda one: Drive.load("wd40efax", seed=1, scale_divisor=0),
        lambda one: Drive.load("wd40efax", seed=1, scale_divisor=10**8),
        lambda one: Drive.from_toml("geometry = ", seed=1),
        lambda one: Drive.from_toml("", seed=1),
        lambda one: Drive.from_toml('name = "\ud800"', seed=1),
        lambda one: Drive.from_toml(Path("nowhere"), seed=1),
    ],
)
def test_what_cannot_be_is_an_error_for_people(call: Callable[[Drive], object]) -> None:
    with pytest.raises(UsageError) as error:
        call(drive())
    assert error.value.hint


def test_a_file_may_be_a_path_and_who_takes_one_for_text_is_told() -> None:
    path = profile_path("wd40efax")
    assert Drive.load(path, seed=1).toml == Drive.build(path, {}, seed=1).toml == path.read_text()
    with pytest.raises(UsageError) as error:
        Drive.from_toml("./mine.toml", seed=1)
    assert 'pathlib.Path("./mine.toml")' in error.value.hint


def test_a_changed_profile_says_so_and_keeps_the_rest() -> None:
    base = drive()
    changed = Drive.build("wd40efax", {"translation.cache.entries": 100_000, "name": "small"}, seed=1)
    expected = base.profile
    expected["name"] = "small"
    expected["translation"]["cache"]["entries"] = {"value": 100_000, "origin": "assumed: set through the API"}
    assert changed.profile == expected
    assert changed.toml.splitlines()[0] == base.toml.splitlines()[0]
    assert Drive.from_toml(changed.toml, seed=1).profile == expected


def test_a_changed_part_changes_what_the_drive_does(tmp_path: Path) -> None:
    job = "rw=randwrite\nbs=4k\niodepth=4\ntime_based\nruntime=2m"

    def entries(most: int) -> int:
        one = Drive.build("wd40efax", {"translation.cache.entries": most}, seed=1)
        return max(one.run(job).height, 1) and one.truth()["forced_passes"]

    assert entries(500_000) == 0
    assert entries(20_000) > 0


def test_changes_in_every_form() -> None:
    changes = {
        "geometry.rpm": {"value": 5405.5, "origin": "data sheet X"},
        "geometry.heads": np.int64(4),
        "mechanics.seek_table": [[0, 1.0], [1, 20.5]],
        "mechanics.seek_single_track_ms": None,
        "mechanics.seek_average_ms": None,
        "mechanics.seek_full_stroke_ms": None,
    }
    profile = Drive.build("wd40efax", changes, seed=1).profile
    assert profile["geometry"]["rpm"] == {"value": 5405.5, "origin": "data sheet X"}
    assert profile["geometry"]["heads"]["value"] == 4
    assert profile["mechanics"]["seek_table"]["value"] == [[0, 1.0], [1, 20.5]]
    assert "seek_average_ms" not in profile["mechanics"]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("geometry.rpm", 10, "`geometry.rpm` is 10: a drive must turn"),
        ("geometry.rpn", 7200, "`geometry.rpn` is not a known key"),
        ("geometry.rpm", None, "`geometry.rpm` is missing"),
        ("geometry.rpm", object(), "has no form in TOML"),
        ("geometry.rpm", {"value": 7200}, "is no value"),
        ("geometry", 1, "`geometry` is a table"),
        ("geometry.rpm.value", 1, "`rpm` is a value, not a table"),
        ("format_version", 2, "this version reads format 1"),
    ],
)
def test_changes_that_cannot_be_name_their_key(key: str, value: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Drive.build("wd40efax", {key: value}, seed=1)


def test_while_the_core_runs_others_do_too() -> None:
    """One long call of the core in a thread, many calls of another drive inside of it."""
    profile = drive().toml
    long = _core.Machine(profile, seed=1).start("rw=randread\nbs=4k\niodepth=32\ntime_based\nruntime=2h", 10**15, 1)
    begun, spans = threading.Event(), []

    def play() -> None:
        begun.set()
        start = time.monotonic()
        long.advance(1)
        spans.append((start, time.monotonic()))

    thread = threading.Thread(target=play)
    thread.start()
    begun.wait()
    ends = []
    while thread.is_alive():
        start = time.monotonic()
        _core.Machine(profile, seed=2).start("rw=read\nnumber_ios=10", 10**9, 1).advance(1)
        ends.append((start, time.monotonic()))
    within = [end for start, end in ends if spans[0][0] < start and end < spans[0][1]]
    assert len(within) > 10


def interrupt_after(delay_s: float, call: Callable[[], object]) -> float:
    """How long after a signal the call ends with what its handler raises."""

    def handler(*_: object) -> None:
        raise KeyboardInterrupt

    def send() -> None:
        time.sleep(delay_s)
        sent.append(time.monotonic())
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    sent: list[float] = []
    before = signal.signal(signal.SIGUSR1, handler)
    thread = threading.Thread(target=send)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            call()
        return time.monotonic() - sent[0]
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("interval", ["30d", None])
def test_a_signal_is_seen_within_a_second_however_long_an_interval_is(interval: str | None) -> None:
    one = Drive.load("wd40efax", seed=1)
    job = "rw=randwrite\nbs=4k\niodepth=32\nnumber_ios=300000000"
    assert interrupt_after(0.3, lambda: one.run(job, interval=interval)) < 1
    assert one.now_ns > 0
    assert one.run("rw=read\nnumber_ios=10").height == 10


SECOND_NS = 1_000_000_000


def faults(kind: str, **keys: object) -> str:
    lines = [f"{key} = {value}" for key, value in keys.items()]
    return "\n".join(["format_version = 1", "[[faults]]", f'kind = "{kind}"', *lines])


def befallen(text: str, job: str = "rw=read\nbs=4k\nnumber_ios=4", **options: Any) -> tuple[Drive, pl.DataFrame]:
    one = Drive.load("wd40efrx", seed=1, scale_divisor=100, faults=text, **options)
    return one, one.run(job)


def test_a_bad_sector_is_tried_and_told_until_it_is_written() -> None:
    one, rows = befallen(faults("latent-sectors", sectors=[[16, 1]], retry_s=7))
    assert rows["status"].to_list() == ["good", "good", "medium-error"]
    assert rows["latency_ns"][2] > 7 * SECOND_NS
    assert re.fullmatch(r"the job ended after 7\.\d+ s: byte 8192 could not be read or written", one.failure or "")
    one.run("[mine]\nrw=read\nbs=4k\nnumber_ios=4")
    assert (one.failure or "").startswith("job `mine` ended after 14.")
    one.run("rw=write\nbs=4k\nnumber_ios=4")
    assert one.run("rw=read\nbs=4k\nnumber_ios=4")["status"].unique().to_list() == ["good"]
    assert one.failure is None


def test_a_stall_is_waited_for_however_long() -> None:
    _, rows = befallen(faults("stall", from_s=0, for_s=100))
    assert rows["status"].unique().to_list() == ["good"]
    assert rows["latency_ns"][0] > 100 * SECOND_NS


@pytest.mark.parametrize(("host_timeout", "waited_s"), [(None, 30), ("45s", 45), (7 * SECOND_NS, 7)])
def test_who_is_never_answered_is_given_up(host_timeout: str | int | None, waited_s: int) -> None:
    options: dict[str, Any] = {} if host_timeout is None else {"host_timeout": host_timeout}
    one, rows = befallen(faults("timeout", from_s=0, for_s=1, one_in=2), **options)
    assert rows.select("status", "latency_ns").rows() == [("aborted", waited_s * SECOND_NS)]
    assert "the host had reset the link" in (one.failure or "")
    assert one.run("rw=read\nbs=4k\nnumber_ios=4")["status"].unique().to_list() == ["good"]


@pytest.mark.parametrize(("depth", "per_s"), [(1, 1), (4, 4)])
def test_commands_in_flight_wait_out_the_overhead_side_by_side(depth: int, per_s: int) -> None:
    slow = Drive.build("wd40efrx", {"interface.overhead_us": 1_000_000}, seed=1)
    done = slow.run(f"rw=read\nbs=4k\nioengine=libaio\niodepth={depth}\nnumber_ios=100")
    ends_s = done["completed_ns"].sort() / 1e9
    # From the first on that heads need not move for.
    assert (100 - depth) / (ends_s[-1] - ends_s[depth - 1]) == pytest.approx(per_s, rel=0.01)


def test_a_flush_is_waited_for_twice_as_long_and_a_late_answer_is_one() -> None:
    text = faults("timeout", from_s=0, for_s=1)
    flush = {"submitted_ns": [0], "verb": ["flush"], "offset_bytes": [0], "bytes": [0]}
    answered = Drive.load("wd40efrx", seed=1, faults=text).replay(flush)
    assert answered.select("status", "latency_ns").rows() == [("aborted", 60 * SECOND_NS)]
    _, late = befallen(faults("timeout", from_s=0, for_s=1, answer_after_s=29))
    assert (late["status"][0], late["latency_ns"][0] > 29 * SECOND_NS) == ("good", True)


def test_a_drive_goes_and_comes_back() -> None:
    one, rows = befallen(faults("gone", from_s=1, for_s=5), "rw=read\nbs=4k\ntime_based\nruntime=3")
    assert (rows["status"][-1], rows["status"][:-1].unique().to_list()) == ("gone", ["good"])
    assert one.now_ns == pytest.approx(SECOND_NS, rel=0.05)
    one.idle("5s")
    assert one.run("rw=read\nbs=4k\nnumber_ios=4")["status"].unique().to_list() == ["good"]


def test_what_a_loss_of_power_took_is_told_and_what_is_inside_counts_on() -> None:
    text = faults("power-loss", from_s=1, for_s=5)
    one, rows = befallen(text, "rw=write\nbs=64k\niodepth=8\ntime_based\nruntime=3")
    lost, failed = one.losses(), rows.filter(pl.col("status") == "gone")
    assert lost.schema == shakedown.LOSS_SCHEMA
    assert lost["at_ns"].unique().to_list() == [SECOND_NS]
    acknowledged = rows.filter(pl.col("status") == "good")
    assert 0 < sum(lost["bytes"]) <= sum(acknowledged["bytes"]) + sum(failed["bytes"])
    assert one.truth()["completed"] >= acknowledged.height
    one.idle("1min")
    assert one.run("rw=read\nbs=4k\nnumber_ios=4")["status"].unique().to_list() == ["good"]
    healthy = drive()
    healthy.run("rw=write\nnumber_ios=9")
    assert healthy.losses().is_empty()


def test_faults_stack_may_be_a_file_and_their_windows_that_have_no_part_change_nothing(tmp_path: Path) -> None:
    later = faults("stall", from_s=3600, for_s=1) + '\n[[faults]]\nkind = "gone"\nfrom_s = 7200\nfor_s = 1\n'
    path = tmp_path / "faults.toml"
    path.write_text(later)
    one, rows = befallen(path, JOB)  # type: ignore[arg-type]
    assert rows.equals(befallen(str(path), JOB)[1])
    assert rows.equals(Drive.load("wd40efrx", seed=1, scale_divisor=100).run(JOB))
    one.idle("1h")
    assert one.run("rw=read\nbs=4k\nnumber_ios=4")["status"].unique().to_list() == ["good"]
    both = faults("stall", from_s=0, for_s=10) + '\n[[faults]]\nkind = "gone"\nfrom_s = 5\nfor_s = 1\n'
    assert befallen(both)[1].select("status", "latency_ns").rows() == [("gone", 5 * SECOND_NS)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (faults("stall", from_s=0), r"`faults\[0\].for_s` is missing"),
        (faults("latent-sectors", sectors=[[10**12, 1]], retry_s=1), r"faults\[0\].sectors"),
        (7, "must be text"),
        (Path("nowhere.toml"), "`nowhere.toml` cannot be read"),
        ("nowhere.toml", "`nowhere.toml` cannot be read"),
        ("a\0b.toml", "cannot be read"),
        ("", "`format_version` is missing"),
    ],
)
def test_faults_that_cannot_be_are_refused(text: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as refusal:
        Drive.load("wd40efrx", seed=1, faults=text)
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("rpm = {", "rpn = {", "write `rpm` for `geometry.rpn`"),
        ("[geometry]", '[geometry]\ncolour = { value = 1, origin = "assumed: x" }', "leave `geometry.colour` out"),
        ("rpm = { value = 5400", "rpm = { value = 12", "give `geometry.rpm` a value that can be"),
        ("[geometry]", "[geometry", "a text stands in quotes"),
        ('[translation]\nkind = { value = "shingled"', '[translation]\nkind = { value = "identity"', "leave `"),
        (
            "\nidle_ms =",
            '\ndriven = { value = "pressure", origin = "assumed: x" }\nidle_ms =',
            "leave `translation.cleaning.idle_ms`",
        ),
    ],
)
def test_what_is_to_be_done_about_a_profile_is_told(old: str, new: str, hint: str) -> None:
    text = profile_path("wd40efax").read_text()
    assert old in text
    with pytest.raises(_core.ProfileError) as refusal:
        _core.Machine(text.replace(old, new, 1), seed=1)
    assert refusal.value.hint.startswith(hint)


def test_a_drive_divided_too_often_is_told_how_small_it_can_be() -> None:
    with pytest.raises(UsageError, match="`scale_divisor` 100000000 leaves too little") as refusal:
        Drive.load("wd40efax", seed=1, scale_divisor=10**8)
    assert str(refusal.value).endswith("to be a drive: 39.1 KiB of 3.6 TiB")
    assert refusal.value.hint
    largest = int(refusal.value.hint.removeprefix("it can be ").removesuffix(" at most"))
    assert Drive.load("wd40efax", seed=1, scale_divisor=largest)
    with pytest.raises(UsageError):
        Drive.load("wd40efax", seed=1, scale_divisor=largest + 1)


@pytest.mark.parametrize("key", ["geometry.rpm", "identity.model"])
def test_what_is_missing_of_a_profile_is_to_be_written(key: str) -> None:
    with pytest.raises(UsageError, match=f"`{key}` is missing") as refusal:
        Drive.build("wd40efax", {key: None}, seed=1)
    assert refusal.value.hint.startswith(f"write `{key}`")


@pytest.mark.parametrize("host_timeout", [0, -1, 1.5, "soon", "999us", 999_999])
def test_a_host_waits_for_some_time(host_timeout: Any) -> None:
    with pytest.raises(UsageError) as refusal:
        Drive.load("wd40efrx", seed=1, faults=faults("stall", from_s=0, for_s=1), host_timeout=host_timeout)
    assert refusal.value.hint


def test_the_shortest_time_that_a_host_waits_is_told() -> None:
    text = faults("timeout", from_s=0, for_s=1)
    with pytest.raises(UsageError, match="host_timeout is '1ns': the shortest is 1 ms"):
        Drive.load("wd40efrx", seed=1, faults=text, host_timeout="1ns")
    _, rows = befallen(text, host_timeout="1ms")
    assert rows.select("status", "latency_ns").rows() == [("aborted", 1_000_000)]


def test_a_signal_ends_idling_where_it_is() -> None:
    one, other = (Drive.load("canvio-3tb", seed=1) for _ in range(2))
    for each in (one, other):
        each.run("rw=randwrite\nbs=4k\nnumber_ios=200000", interval="1h")
    before_ns = one.now_ns
    assert interrupt_after(0.1, lambda: one.idle("50000d")) < 0.5
    assert before_ns < one.now_ns < before_ns + 50_000 * 24 * 60 * MINUTE_NS
    other.idle(one.now_ns - before_ns)
    assert one.truth() == other.truth()


@pytest.mark.parametrize(
    ("layout", "options"),
    [
        ("raid5", {"state": "used", "replace_with": "model:wd40efax"}),
        ("raid6", {}),
        ("raid5", {"load": "rw=randread\nbs=16k\niodepth=4"}),
        ("raidz1", {"whole": True}),
        ("mirror", {"load": "rw=randread\nbs=16k\niodepth=4", "whole": True}),
    ],
)
def test_a_signal_ends_a_rebuild_at_once(layout: str, options: dict[str, Any]) -> None:
    threads = threading.active_count()
    assert interrupt_after(0.3, lambda: rebuild(layout, "model:wd40efrx", width=4, **options)) < 1
    assert threading.active_count() <= threads + 1


@pytest.mark.parametrize(
    "call",
    [
        'shakedown.rebuild("raid6", "model:st4000vn008", width=8, replace_with="model:wd40efax", whole=True)',
        'shakedown.rebuild("raidz2", "model:st4000vn008", width=8, whole=True)',
        'shakedown.Drive.load("wd40efax", seed=1).run("rw=randwrite\\nbs=4k\\ntime_based\\nruntime=8d", interval="1h")',
    ],
)
def test_ctrl_c_ends_a_program_of_its_own(call: str) -> None:
    """Whose SIGINT has the handler that polars leaves."""
    heeded = "signal.signal(signal.SIGINT, signal.default_int_handler)"  # where whoever started this ignores it
    program = f"import signal, shakedown\n{heeded}\nshakedown.Drive\nprint(flush=True)\n{call}"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        began_s = time.monotonic()
        _, said = child.communicate(timeout=60)
    assert time.monotonic() - began_s < 2
    assert b"KeyboardInterrupt" in said


def test_a_call_that_a_signal_has_ended_loses_nothing() -> None:
    job = "rw=randrw\nbs=4k\niodepth=8\ntime_based\nruntime=8h"
    alone = _core.Machine(drive().toml, seed=1).start(job, 1_000_000_000, 1)
    expected = [row for batch in iter(lambda: alone.advance(1000), []) for row in batch]
    load = _core.Machine(drive().toml, seed=1).start(job, 1_000_000_000, 1)
    interrupt_after(0.05, lambda: load.advance(10**9))
    assert [row for batch in iter(lambda: load.advance(1000), []) for row in batch] == expected


def test_more_rows_than_fit_are_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    one, job = drive(), "rw=randread\nbs=4k\niodepth=8\ntime_based\nruntime=1h"
    monkeypatch.setattr("shakedown.api.drive._MOST_REQUESTS", 20_000)
    with pytest.raises(UsageError, match="more than 20,000 requests do not fit") as error:
        one.run(job)
    assert "interval=" in error.value.hint
    assert one.run("rw=read\nnumber_ios=20000").height == 20_000
    assert one.run(job, interval="1s").height in (3600, 3601)
    monkeypatch.setattr("shakedown.api.drive._MOST_INTERVALS", 3000)
    with pytest.raises(UsageError, match="more than 3,000 rows of intervals do not fit") as error:
        one.run(job, interval="1s")
    assert "interval=" in error.value.hint


@pytest.mark.parametrize("interval", ["1us", "9.99ms", 9_999_999, 0])
def test_the_shortest_interval_is_that_of_protocols(interval: str | int) -> None:
    with pytest.raises(UsageError, match="the shortest is 10 ms"):
        drive().run(JOB, interval=interval)
    assert drive().run(JOB, interval="10ms")["duration_ns"][0] == 10_000_000


def test_drives_in_threads_do_what_they_do_alone() -> None:
    alone = [drive(seed).run(JOB) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda seed: drive(seed).run(JOB), range(4)))
    assert all(one.equals(other) for one, other in zip(alone, together, strict=True))


def test_one_drive_is_for_one_thread_at_a_time() -> None:
    one = drive()
    elsewhere = one._machine.start(JOB, 1_000_000_000, 1)
    for call in (lambda: one.run(JOB), lambda: one.replay(trace()), lambda: one.idle("1s")):
        with pytest.raises(UsageError, match="at work in another thread"):
            call()
    elsewhere.stop()
    assert one.run(JOB).height > 0


def test_the_front_door_opens_when_asked_and_not_before() -> None:
    code = (
        "import sys, shakedown; early = 'polars' in sys.modules; shakedown.Drive; print(early, 'polars' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.split() == ["False", "True"]
    for name in shakedown.__all__:
        assert getattr(shakedown, name) is not None
        assert name in dir(shakedown)
    with pytest.raises(AttributeError, match="nothing_of_ours"):
        shakedown.nothing_of_ours  # noqa: B018
