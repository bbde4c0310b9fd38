"""What is found of users: what they got of what they ordered, beside a rebuild and alone."""

from __future__ import annotations

import polars as pl
import pytest

from shakedown.array import run
from shakedown.array.felt import ALONE, LOAD, users_findings
from shakedown.array.order import RebuildOrder
from shakedown.array.ordered_rate import OrderedRate, ordered_rate
from shakedown.array.rebuild import simulate
from shakedown.array.zfs import ZfsOptions
from shakedown.report.compare import compare
from shakedown.report.html import render_page
from shakedown.report.rebuild import render_rebuild
from shakedown.report.summary import render
from shakedown.result.folder import Run
from shakedown.target.md_options import MdOptions

RED = "model:wd40efrx"


def order(layout: str, load: str, members: int = 2, divisor: int = 400) -> RebuildOrder:
    options = ZfsOptions() if layout == "mirror" else MdOptions()
    return RebuildOrder(layout, (RED,) * members, RED, fill=0.5, load=load, scale_divisor=divisor, options=options)


def job(rate_iops: int, rw: str = "randread") -> str:
    return f"[users]\nrw={rw}\nbs=4k\nrate_iops={rate_iops}\n"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Rebuilds of a raid6 beside jobs that order little and much: both get less, and nearly as much as each other."""
    folder = tmp_path_factory.mktemp("runs")
    orders = {per_s: order("raid6", job(per_s), members=5) for per_s in (1, 5, 40)}
    return [run.run_rebuild(each, None, 1, folder / str(per_s), lambda _: None) for per_s, each in orders.items()]


def _rates(each: Run) -> dict[str, float]:
    return {found.step: float(found.value or 0) for found in each.record.findings if found.unit == "IOPS"}


def test_two_loads_that_order_much_and_get_as_little_are_told_apart_from_one_that_gets_all(runs: list[Run]) -> None:
    least, little, much = map(_rates, runs)
    assert least[LOAD] == pytest.approx(1, rel=0.05)
    assert (least[ALONE], little[ALONE], much[ALONE]) == pytest.approx((1, 5, 40), rel=0.01)
    assert little[LOAD] < 0.8 * 5
    assert much[LOAD] < 0.2 * 40
    counts = [sum(each.samples.filter(step=LOAD)["count"].to_list()) for each in runs]
    took_s = [next(step for step in each.record.steps if step.name == LOAD).end_ns / 1e9 for each in runs]
    assert [rates[LOAD] for rates in (least, little, much)] == pytest.approx(
        [count / seconds for count, seconds in zip(counts, took_s, strict=True)], rel=0.01
    )


def test_what_users_got_is_told_everywhere(runs: list[Run]) -> None:
    least, _, much = runs
    got = f"{_rates(much)[LOAD]:#.3g} IOPS"
    text = render_rebuild(much)
    assert f"users get                 {got}\n" in text
    assert "they get alone            40.0 IOPS\n" in text
    less = "less than the 40 that their job orders."
    for shown in (text, render([much]), render_page([much]), compare([least, much]).to_text()):
        assert less in " ".join(shown.split())
        assert got in shown.replace('<abbr title="requests completed in a second">IOPS</abbr>', "IOPS")
    for shown in (render_rebuild(least), render([least])):
        assert "their job orders" not in " ".join(shown.split())
    shown = compare([least, much]).to_json()["protocols"][0]["findings"]
    row = next(line["values"] for line in shown if (line["step"], line["kind"]) == (LOAD, "throughput"))
    assert [cell["value"] for cell in row] == [_rates(least)[LOAD], _rates(much)[LOAD]]


@pytest.mark.parametrize("layout", ["raid1", "mirror"])
def test_reads_and_writes_are_counted_together(layout: str) -> None:
    done = simulate(order(layout, job(5, "randrw"), divisor=2000))
    rates = {each.step: each for each in users_findings([done], ordered_rate(job(5, "randrw"))) if each.unit == "IOPS"}
    assert rates[ALONE].value == pytest.approx(10, rel=0.03)
    assert rates[ALONE].evidence["ordered_per_s"] == 10
    assert rates[ALONE].evidence["read_per_s"] == pytest.approx(5, rel=0.03)
    assert rates[ALONE].evidence["less_than_ordered"] == 0


def test_a_rate_in_bytes_is_held_against_bytes() -> None:
    load = "[users]\nrw=randread\nbssplit=4k/50:64k/50\nrate=100m\n"
    done = simulate(order("raid1", load, divisor=4000))
    [alone] = [each for each in users_findings([done], ordered_rate(load)) if (each.step, each.unit) == (ALONE, "IOPS")]
    assert alone.evidence["less_than_ordered"] == 1
    bytes_per_s = sum(done.alone["bytes"].to_list()) / (sum(done.alone["duration_ns"].to_list()) / 1e9)
    assert f"{bytes_per_s / 2**20:.1f} MiB, a second on the healthy array, less than the 100.0 MiB that" in alone.text


def test_users_who_got_nothing_are_told_of_with_nothing() -> None:
    """A drive that keeps silent: there is no latency to tell of, and the rate is the finding."""
    done = simulate(order("raid1", job(5), divisor=4000))
    silent = done.during.with_columns(count=pl.lit(0, pl.Int64), bytes=pl.lit(0, pl.Int64))
    none = done.felt_during.clear()
    object.__setattr__(done, "during", silent)
    object.__setattr__(done, "felt_during", none)
    found = [each for each in users_findings([done], ordered_rate(job(5))) if each.step == LOAD]
    assert [(each.kind, each.value) for each in found] == [("throughput", 0.0)]
    assert found[0].text == "Users get 0 requests a second beside the rebuild, less than the 5 that their job orders."


@pytest.mark.parametrize(
    ("load", "ordered"),
    [
        (None, None),
        ("[a]\nrw=randread\n", None),
        ("[a]\nrw=randread\nrate_iops=40\n", OrderedRate(40, "requests")),
        ("[a]\nrw=randread\nrate_iops=40\nnumjobs=3\n", OrderedRate(120, "requests")),
        ("[a]\nrw=randrw\nrate_iops=40\n", OrderedRate(80, "requests")),
        ("[a]\nrw=randrw\nrate_iops=40,20\n", OrderedRate(60, "requests")),
        ("[a]\nrw=randrw\nrate_iops=40,\n", None),
        ("[a]\nrw=randread\nrate_iops=40,\n", OrderedRate(40, "requests")),
        ("[a]\nrw=randwrite\nrate_iops=,2k\n", OrderedRate(2048, "requests")),
        ("[a]\nrw=randread\nrate=1m\n[b]\nrw=write\nrate=1m\n", OrderedRate(2 << 20, "bytes")),
        ("[a]\nrw=randread\nrate=1m\n[b]\nrw=write\nrate_iops=4\n", None),
        ("[a]\nrw=randread\nrate_iops=4\n[b]\nrw=write\n", None),
        ("[a]\nrw=randread\nrate_iops=0\n", None),
        ("[a]\nrw=randread\nrate_iops=4x\n", None),
        ("[a]\nrw=randwrite\nrate_iops=4\nverify=crc32c\n", None),
    ],
)
def test_the_rate_that_a_job_orders(load: str | None, ordered: OrderedRate | None) -> None:
    assert ordered_rate(load) == ordered
