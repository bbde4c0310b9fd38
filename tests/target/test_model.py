from __future__ import annotations

from typing import Any

import pytest

from shakedown.target.model import ModelArena, ModelLoad


class FailingCore:
    """A load of the core whose drive fails a request after one row."""

    def __init__(self) -> None:
        self.calls = 0

    def advance(self, intervals: int) -> list[Any]:
        self.calls += 1
        if self.calls > 1:
            raise OSError("write of 4096 bytes at 8192 failed")
        return [("write", 0, 1_000_000_000, 10, 40960, 1.0, 1, 1, 1, 1)]

    def stop(self) -> None: ...


def test_a_request_that_the_drive_fails_is_a_result_after_all_that_was_measured() -> None:
    load = ModelLoad(FailingCore(), "step", intervals=1)  # type: ignore[arg-type]
    assert [sample.count for batch in load for sample in batch] == [10]
    assert load.error == "write of 4096 bytes at 8192 failed"


def test_a_host_like_the_labs_begins_a_job_so_many_sleeps_of_fios_after_it_saw_the_end_of_the_one_before() -> None:
    def begins(*, like_lab: bool) -> tuple[int, int]:
        """Of the second of two jobs, after the first one's beginning and after its end."""
        arena = ModelArena("model:wd40efrx", seed=1, scale_divisor=1000, like_lab=like_lab)
        job = "[job]\nrw=randread\nsize=1M\nnumber_ios=20\nrandseed=1\n"
        one, other = ([row for batch in arena.start(step, job, 10**9) for row in batch] for step in "ab")
        return other[0].start_ns - one[0].start_ns, other[0].start_ns - one[-1].start_ns - one[-1].duration_ns

    sleep_ns, off_ns = 10_051_030, 121_000
    starts_ns = 17 * sleep_ns + 9_927_000
    start_to_start_ns, pause_ns = begins(like_lab=True)
    assert (start_to_start_ns - starts_ns + off_ns) % sleep_ns <= 2 * off_ns
    assert starts_ns - off_ns <= pause_ns < starts_ns + sleep_ns + off_ns
    assert begins(like_lab=False)[1] == 0


def test_a_job_that_ends_with_a_row_makes_no_request_after_it() -> None:
    arena = ModelArena("model:wd40efrx", seed=1, scale_divisor=1000, like_lab=True)
    with arena.start("a", "[job]\nrw=randread\ntime_based\nruntime=1d\n", 100_000_000) as load:
        row = next(batch[0] for batch in load if batch)
    [last, *_] = (row for batch in arena.start("b", "[job]\nrw=read\nnumber_ios=1\n", 10**9) for row in batch)
    sleep_ns, off_ns = 10_051_030, 121_000
    pause_ns = last.start_ns - row.start_ns - row.duration_ns
    assert -off_ns <= pause_ns - 17 * sleep_ns - 9_927_000 < sleep_ns + off_ns


@pytest.mark.parametrize("like_lab", [False, True])
def test_what_is_in_flight_when_a_load_is_stopped_counts(like_lab: bool) -> None:
    arena = ModelArena("model:wd40efrx", seed=1, scale_divisor=1000, like_lab=like_lab)
    before = arena.truth()["completed"]
    job = "[job]\nrw=randread\niodepth=200\nrandseed=1\ntime_based\nruntime=1d\n"
    with arena.start("a", job, 100_000_000) as load:
        batches = iter(load)
        rows = next(batches)
        while len(rows) < 5:
            rows += next(batches)
        load.stop()
        late = [row for batch in batches for row in batch]
    assert arena.truth()["completed"] - before == sum(row.count for row in rows + late)
    # Those that waited in the host for room in the drive among them, which takes longer than an interval.
    assert sum(row.count for row in late) == 200 - like_lab
    assert max(row.latency_max_ns or 0 for row in late) > 1e9


@pytest.mark.parametrize(
    ("drive", "scale_divisor", "read_ns"),
    [
        ("skylight-2", 50, 5_550_968),
        ("skylight-3", 50, 6_906_912),
        ("wd40efax", 100, 261_493_654),
        ("wd40efax", 1000, 258_160_340),
        ("canvio-3tb", 100, 1_061_908_107),
    ],
)
def test_the_read_with_which_a_guest_finds_its_drive_ends_in_the_labs_nanosecond(
    drive: str, scale_divisor: int, read_ns: int
) -> None:
    arena = ModelArena(f"model:{drive}", seed=1, scale_divisor=scale_divisor, like_lab=True)
    assert arena._machine.now_ns == read_ns


@pytest.mark.parametrize(
    ("drive", "scale_divisor", "jobs", "first_ns"),
    [
        ("backup-plus-slim-2tb", 1000, 1, 931_681_244),
        ("canvio-3tb", 1000, 1, 1_376_484_322),
        ("skylight-2", 1000, 1, 325_533_412),
        ("skylight-3", 1000, 1, 329_965_046),
        ("st5000as0011", 1000, 1, 626_479_262),
        ("wd40efax", 1000, 1, 578_251_526),
        ("wd40efax", 1000, 2, 718_938_240),
        ("wd40efrx", 100, 2, 721_359_794),
        ("wd40efrx", 100, 24, 3_816_485_992),
        ("st8000as0002", 1000, 24, 3_864_806_713),
        # Their first read is done before the guest has started.
        ("cmr-16tb", 1000, 1, 325_125_982),
        ("hd103uj", 1000, 1, 325_125_982),
    ],
)
def test_a_host_like_the_labs_meets_the_platters_at_the_labs_angle(
    drive: str, scale_divisor: int, jobs: int, first_ns: int
) -> None:
    """The figures are of the lab's traces; the lab's own are up to 0.12 ms off, and the model draws as much."""
    arena = ModelArena(f"model:{drive}", seed=1, scale_divisor=scale_divisor, like_lab=True)
    job = "[job]\nrw=write\nbs=4k\nsize=1M\n"
    for _ in range(jobs):
        arena.check(job)
    rows = [row for batch in arena.start("step", job, 10**9) for row in batch]
    assert rows[0].start_ns == pytest.approx(first_ns, abs=250_000)
