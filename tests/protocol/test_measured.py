"""What is handed to those who explain: rates of runs, and what their folders say of the array."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from report import synthetic
from shakedown.analysis.explain.layout import Layout
from shakedown.errors import UsageError
from shakedown.protocol.measured import load_of, measured_loads, of_another_array, of_its_steps
from shakedown.result.folder import Run, read_run
from shakedown.tools.fio.job import parse_job


@pytest.fixture
def run(tmp_path: Path) -> Run:
    step = synthetic.Step("load", "A load", synthetic.noisy(3, 60, 44.0), 16384, depth=4)
    return read_run(synthetic.write(tmp_path / "run", synthetic.Recipe("day", *synthetic.EFAX, [step])))


def test_rows_that_share_their_beginning_came_one_after_the_other(run: Run) -> None:
    """So a sampled rebuild tells of its load: five rows of five seconds, all where their stretch stands."""
    (told,) = measured_loads(run)
    (step,) = run.record.steps
    stretches = run.samples.with_columns(start_ns=run.samples["start_ns"] // (5 * synthetic.S) * 400 * synthetic.S)
    stretches.write_parquet(run.path / "samples.parquet")
    (sampled,) = measured_loads(read_run(run.path))
    assert sampled.iops == pytest.approx(told.iops)
    assert sampled.iops == pytest.approx(44, rel=0.05)
    assert step.end_ns == 60 * synthetic.S


def test_a_load_is_read_as_the_model_reads_it() -> None:
    (section,) = parse_job("rw=randrw\nbs=0x1000\niodepth=0x20\nnumjobs=0x2\nrwmixwrite=0x19", "load")
    load = load_of(section)
    assert load is not None
    assert (load.block_bytes, load.read_share, load.outstanding) == (4096, 0.75, 64)


def test_both_directions_at_once_take_no_longer(run: Run) -> None:
    """Reads beside writes double the rate."""
    (one,) = measured_loads(run)
    both = run.samples.vstack(run.samples.with_columns(direction=run.samples["direction"].str.replace("write", "read")))
    both.write_parquet(run.path / "samples.parquet")
    (two,) = measured_loads(read_run(run.path))
    assert two.iops == pytest.approx(2 * one.iops)


def test_the_wait_after_a_load_is_no_time_under_load(run: Run) -> None:
    (told,), (waited,) = measured_loads(run), measured_loads(synthetic.with_a_wait(run))
    assert waited.iops == told.iops
    assert (waited.mean_s or 0) > (told.mean_s or 0) > 0


@pytest.mark.parametrize(("stated", "share"), [("60", 0.6), ("74,86", 0.65 * 0.74 + 0.35 * 0.86)])
def test_what_goes_anywhere_is_a_share_of_both_directions(run: Run, stated: str, share: float) -> None:
    job = f"rw=randrw\nbs=8k\nrwmixread=65\npercentage_random={stated}\n"
    steps = [each.model_copy(update={"job": job}) for each in run.record.steps]
    (told,) = measured_loads(replace(run, record=run.record.model_copy(update={"steps": steps})))
    assert told.load.random_share == pytest.approx(share)


@pytest.mark.parametrize(
    ("target", "stated"),
    [
        ({"details": {"drives": "a, b", "chunk": "64KiB", "write-cache": "1GiB"}}, ("write-cache=1GiB",)),
        ({"details": {}}, ()),
        ({"kind": "device"}, None),
    ],
)
def test_what_a_modelled_box_states_is_handed_on(
    run: Run, target: dict[str, object], stated: tuple[str, ...] | None
) -> None:
    identity = run.record.target.model_copy(update=target)
    (told,) = measured_loads(replace(run, record=run.record.model_copy(update={"target": identity})))
    assert told.stated == stated


@pytest.mark.parametrize(
    ("target", "layout", "says"),
    [
        ({"details": {"layout": "raid6", "width": "8"}}, Layout("raid5", 4), "raid6 of 8, and is explained as RAID5"),
        ({"details": {"layout": "raid6", "width": "8"}}, Layout("raid6", 8), ""),
        ({"details": {"drives": "a, a, a, missing"}, "model": "raid5 of 4"}, Layout("raid5", 4), "a drive missing"),
        ({"details": {"drives": "a, a, a, a"}, "model": "raid5 of 4"}, Layout("raid10", 4), "measured on raid5 of 4"),
        ({"details": {"layout": "mirror", "width": "4"}}, Layout("mirror", 4), "measured on one mirror of 4"),
        ({"details": {"layout": "mirror", "width": "4"}}, Layout("mirror", 4, together=4), ""),
        ({"details": {"drives": "a, a", "chunk": "64KiB"}, "model": "raid0 of 2"}, Layout("raid0", 2), "chunk=64KiB`"),
        (
            {"details": {"drives": "a, a"}, "model": "raid0 of 2"},
            Layout("raid0", 2, chunk_bytes=65536),
            "chunk=512KiB`",
        ),
        ({"details": {"drives": "a, a", "chunk": "512KiB"}, "model": "raid0 of 2"}, Layout("raid0", 2), ""),
        ({"details": {"drives": "a, a"}, "model": "raid1 of 2"}, Layout("raid1", 2), ""),
        ({}, Layout("raid5", 4), "measured on one drive"),
        ({}, Layout("single", 1), ""),
        ({"kind": "device"}, Layout("raid5", 4), ""),
    ],
)
def test_another_array_than_the_one_explained_is_told(
    run: Run, target: dict[str, object], layout: Layout, says: str
) -> None:
    identity = run.record.target.model_copy(update=target)
    other = replace(run, record=run.record.model_copy(update={"target": identity}))
    said = " ".join(of_another_array(other, layout))
    assert says in said
    assert bool(said) == bool(says)


def test_that_a_run_was_scaled_is_told(run: Run) -> None:
    layout = Layout("single", 1)
    assert not list(of_another_array(run, layout))
    (said,) = of_another_array(replace(run, record=run.record.model_copy(update={"scale_divisor": 50})), layout)
    assert "at a scale of 1/50" in said


@pytest.mark.parametrize("pace", ["thinktime=50ms", "rate_iops=10", "rate=1m"])
def test_a_load_that_sets_its_own_pace_is_no_limit_of_the_box(run: Run, pace: str) -> None:
    paced, unpaced = (
        replace(
            run,
            record=run.record.model_copy(
                update={
                    "steps": [
                        each.model_copy(update={"job": f"rw=randread\nbs=4k\n{option}\n"}) for each in run.record.steps
                    ]
                }
            ),
        )
        for option in (pace, pace.partition("=")[0] + "=0")
    )
    with pytest.raises(UsageError, match="no step that can be explained"):
        measured_loads(paced)
    (said,) = of_its_steps(paced)
    assert f"`{pace.partition('=')[0]}` sets its pace" in said
    assert measured_loads(unpaced)
    assert not list(of_its_steps(unpaced))
