"""Findings of steps whose truth is known."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.synthetic import REQUEST_BYTES, Rate, S, frame, late_statuses, load, probes, sample, watch
from shakedown.analysis import Cliff, Finding, FindingSpec, Recovered, findings, make_watcher
from shakedown.analysis.finding import WantedKind
from shakedown.analysis.series import Loads
from shakedown.sample import Sample

MIB_REQUEST = 1 << 20
KINDS: tuple[WantedKind, ...] = ("throughput", "latency", "worst-latency", "cliff", "recovery")


def one(kind: WantedKind, rows: list[Sample], step: str = "step", /, **conditions: Cliff | Recovered) -> Finding:
    specs = [FindingSpec(kind=kind, step=step)]
    return findings(specs, Loads(frame(rows)), None, conditions)[0]


def collapsing(cliff_s: float, before: float = 120.0, after: float = 1.5) -> Rate:
    return lambda t: np.where(t < 8, 20 * before, np.where(t < cliff_s, before, after))


def figure(found: Finding, name: str) -> float:
    """Of the evidence, and it is a number."""
    value = found.evidence[name]
    assert isinstance(value, int | float)
    return value


def test_throughput_speaks_the_unit_of_the_load() -> None:
    small = one("throughput", load(lambda t: np.full(len(t), 120.0), 300, seed=1))
    large = one("throughput", load(lambda t: np.full(len(t), 150.0), 300, seed=1, request_bytes=MIB_REQUEST))
    assert (small.unit, large.unit) == ("IOPS", "MiB/s")
    assert small.value == pytest.approx(120, rel=0.03)
    assert large.value == pytest.approx(150, rel=0.03)
    assert small.low is not None
    assert small.high is not None
    assert small.low < 120 < small.high
    assert "95 % interval" in small.text


def test_throughput_of_a_step_that_collapsed_within_shows_both_rates() -> None:
    """As a shingled drive under 32 KiB sequential writes: fast into the cache, then a fifteenth."""
    rows = load(lambda t: np.where(t < 400, 6400.0, 420.0), 1200, request_bytes=32 * 1024)
    found = one("throughput", rows)
    assert found.evidence["rate_before"] == pytest.approx(200, rel=0.05)
    assert found.evidence["rate_after"] == pytest.approx(13.1, rel=0.05)
    assert found.evidence["cliff_s"] == pytest.approx(400, abs=2)
    assert "collapsed" in found.text


def test_throughput_counts_what_stalled() -> None:
    rows = [sample(float(i), 1.0, 0 if i % 10 == 0 else 100) for i in range(100)]
    found = one("throughput", rows)
    assert found.evidence["stalled_s"] == 10
    assert found.value == 90


def test_directions_of_a_mixed_load_are_added_up() -> None:
    rows = [sample(float(i // 2), 1.0, 50, 4.0 + 8 * (i % 2), direction=("read", "write")[i % 2]) for i in range(200)]
    assert one("throughput", rows).value == pytest.approx(100)
    assert one("latency", rows).value == pytest.approx(8)


def test_latency_weighs_by_requests() -> None:
    rows = [sample(0.0, 1.0, 99, 1.0), sample(1.0, 1.0, 1, 101.0)]
    assert one("latency", rows).value == pytest.approx(2.0)
    assert one("worst-latency", rows).value == pytest.approx(101.0)
    assert one("worst-latency", rows).evidence["at_s"] == 1.0


def test_ratios_follow_each_finding() -> None:
    specs = [FindingSpec(kind=kind, step="step") for kind in KINDS]
    candidate = load(lambda t: np.full(len(t), 13.2), 600, request_bytes=MIB_REQUEST, seed=1)
    baseline = load(lambda t: np.full(len(t), 209.3), 600, request_bytes=MIB_REQUEST, seed=2)
    slow = [row._replace(latency_max_ns=1_300_000_000) for row in candidate]
    found = findings(specs, Loads(frame(slow)), Loads(frame(baseline)))
    assert [f.kind for f in found] == [
        "throughput",
        "throughput-ratio",
        "latency",
        "latency-ratio",
        "worst-latency",
        "worst-latency-ratio",
        "cliff",
        "recovery",
    ]
    rate = found[1]
    assert rate.value is not None
    assert rate.low is not None
    assert rate.high is not None
    assert rate.low < 13.2 / 209.3 < rate.high
    assert rate.evidence["slowdown"] == pytest.approx(1 / rate.value)
    assert found[5].value == pytest.approx(1300 / 8)


def test_the_ratio_after_a_collapse_stands_beside_that_of_the_whole_step() -> None:
    spec = [FindingSpec(kind="throughput", step="step")]
    candidate = load(lambda t: np.where(t < 400, 6400.0, 420.0), 1200, request_bytes=32 * 1024)
    baseline = load(lambda t: np.full(len(t), 6400.0), 1200, request_bytes=32 * 1024, seed=1)
    found = findings(spec, Loads(frame(candidate)), Loads(frame(baseline)))[1]
    assert found.value == pytest.approx((400 * 6400 + 800 * 420) / (1200 * 6400), rel=0.05)
    assert found.evidence["sustained_ratio"] == pytest.approx(420 / 6400, rel=0.05)
    assert figure(found, "sustained_ratio_low") < 420 / 6400 < figure(found, "sustained_ratio_high")


def test_a_rate_that_collapsed_has_no_interval_however_evenly_its_batches_scatter() -> None:
    """One batch of ten before the collapse: neighbours differ no less than all do."""
    spec = [FindingSpec(kind="throughput", step="step")]
    fallen = load(lambda t: np.where(t < 120, 6400.0, 420.0), 1200)
    level = load(lambda t: np.full(len(t), 6400.0), 1200, seed=1)
    for candidate, baseline in ((fallen, level), (level, fallen)):
        alone, share = findings(spec, Loads(frame(candidate)), Loads(frame(baseline)))
        assert (share.low, share.high) == (None, None)
        assert figure(share, "value_low") < figure(share, "value_high")
        assert "(no interval: the level changed within the step): " in share.text
        assert (alone.low is None) == (candidate is fallen)


def test_a_share_says_after_how_much_the_rate_had_collapsed_also_in_a_step_before() -> None:
    specs = [FindingSpec(kind="throughput", step=name) for name in ("new", "used")]
    new = load(lambda t: np.where(t < 400, 80.0, 1.0), 1200, request_bytes=2**20, step="new")
    used = load(lambda t: np.full(len(t), 1.0), 1200, request_bytes=2**20, step="used", start_s=1200.0)
    steady = [load(lambda t: np.full(len(t), 64.0), 1200, request_bytes=2**20, step=name) for name in ("new", "used")]
    found = findings(specs, Loads(frame(new + used)), Loads(frame(steady[0] + steady[1])))
    told = [each.evidence.get("fell_after_bytes") for each in found if each.kind == "throughput-ratio"]
    assert told == [pytest.approx(400 * 80 * 2**20, rel=0.1)] * 2
    again = findings(specs, Loads(frame(steady[0] + steady[1])), Loads(frame(new + used)))
    assert not any("fell_after_bytes" in each.evidence for each in again)


@pytest.mark.parametrize("seed", range(40))
def test_cliff_is_placed_to_the_sample(seed: int) -> None:
    """Loads: the exact second in 40 of 40."""
    cliff_s = float(np.random.default_rng(seed).integers(300, 5600))
    condition = Cliff(hold_ns=60 * S)
    rows = load(collapsing(cliff_s), 5800, seed=seed)
    ended = watch(make_watcher(condition), rows)
    assert ended is not None
    found = one("cliff", rows[: int(ended[0])], step=condition)
    assert found.value == pytest.approx(cliff_s, abs=2)
    before = rows[: int(cliff_s)]
    assert found.evidence["requests_before"] == pytest.approx(sum(row.count for row in before), rel=0.01)
    assert found.evidence["bytes_before"] == pytest.approx(sum(row.bytes for row in before), rel=0.01)
    assert found.evidence["rate_before"] == pytest.approx(120, rel=0.1)
    assert found.evidence["rate_after"] == pytest.approx(1.5, rel=0.5)


def test_cliff_with_bursts_after_it() -> None:
    rows = load(lambda t: np.where((t < 1000) | (t.astype(int) % 30 < 8), 400.0, 4.0), 1151)
    assert one("cliff", rows, step=Cliff(hold_ns=60 * S)).value == pytest.approx(1000, abs=10)


def test_a_rate_that_falls_and_rises_again_and_again_is_told_as_that() -> None:
    """31 and 15 MiB/s in turn, three minutes each: "15 after it collapsed" was all that was told."""
    rows = load(lambda t: np.where((t < 600) | (t // 180 % 2 == 0), 310.0, 100.0), 6000, noise=0.1)
    found = one("cliff", rows, step=Cliff(hold_ns=60 * S))
    assert found.value == pytest.approx(720, abs=190)
    assert found.evidence["rate_after"] == pytest.approx(100, rel=0.1)
    assert found.evidence["rate_until_end"] == pytest.approx(205, rel=0.1)
    assert "It did not stay so: until the step ended it came to 20" in found.text
    rate = one("throughput", rows, step=Cliff(hold_ns=60 * S))
    assert re.search(r"IOPS after it collapsed at 1[02] min.*, but 20\d IOPS from there to its end\.$", rate.text)
    lasting = one("cliff", load(lambda t: np.where(t < 600, 310.0, 100.0), 6000, noise=0.1), step=Cliff(hold_ns=60 * S))
    assert "rate_until_end" not in lasting.evidence


@pytest.mark.parametrize("seed", range(10))
def test_cliff_with_late_statuses(seed: int) -> None:
    rows = late_statuses(load(collapsing(2000.0), 2100, seed=seed), seed)
    found = one("cliff", rows, step=Cliff(hold_ns=60 * S))
    assert found.value == pytest.approx(2000, abs=20)


def watched(condition: Cliff | Recovered, rows: list[Sample]) -> bool:
    ended = watch(make_watcher(condition), rows)
    return ended is not None and "no lasting change" not in ended[1]


@given(
    levels=st.lists(st.tuples(st.floats(0.0, 3000.0), st.integers(1, 120)), min_size=1, max_size=6),
    noise=st.floats(0.0, 0.9),
    late=st.floats(0.0, 0.3),
    hold_s=st.sampled_from([5, 17, 60]),
    drop=st.sampled_from([0.2, 0.5, 0.8]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=150, deadline=None)
def test_a_cliff_is_a_fall_and_the_watcher_saw_it(
    levels: list[tuple[float, int]], noise: float, late: float, hold_s: int, drop: float, seed: int
) -> None:
    rates = np.concatenate([np.full(seconds, rate) for rate, seconds in levels])
    rows = late_statuses(load(lambda t: rates[t.astype(int)], len(rates), noise=noise, seed=seed), seed, late)
    condition = Cliff(drop=drop, hold_ns=hold_s * S)
    found = one("cliff", rows, step=condition)
    assert (found.value is not None) == watched(condition, rows)
    if found.value is not None:
        assert figure(found, "rate_after") <= drop * figure(found, "rate_before") * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_a_rise_after_a_stall_is_no_cliff(seed: int) -> None:
    """As over a slow link: a collapse early, stalls of seconds, then the status of the last moment at full rate."""
    rows = load(lambda t: np.where(t < 15, 90.0, 1.5), 48, seed=seed)
    rows += [sample(48.0, 0.25, 500)]
    found = one("cliff", rows, step=Cliff(hold_ns=5 * S))
    assert found.value == pytest.approx(15, abs=2)
    assert figure(found, "rate_ratio") < 0.5


@pytest.mark.parametrize("fall_s", [3, 20, 45])
def test_a_fall_in_the_first_moments_is_told(fall_s: int) -> None:
    rows = load(collapsing(fall_s, before=1700.0, after=4.0), 1200)
    found = one("cliff", rows, step=Cliff(hold_ns=120 * S))
    assert found.value is None
    assert "before a rate could be established" in found.text
    assert found.evidence["early_fall_s"] == pytest.approx(fall_s, abs=8)
    assert found.evidence["early_fall_iops"] == pytest.approx(4, rel=0.2)
    assert str(found.evidence["shorter"]) in found.text


@pytest.mark.parametrize(("interval_s", "advice"), [(0.2, "--set confirm=1s --set interval=100ms"), (0.1, None)])
def test_what_would_look_closer_is_not_advised_where_it_is_set_so(interval_s: float, advice: str | None) -> None:
    rows = [sample(i * interval_s, interval_s, 500 if i * interval_s < 0.4 else 1) for i in range(200)]
    found = one("cliff", rows, step=Cliff(hold_ns=S))
    assert "early_fall_s" in found.evidence
    assert found.evidence.get("shorter") == advice
    assert ("looks closer" in found.text) == (advice is not None)


@pytest.mark.parametrize(
    ("levels", "first"),
    [
        ((1300.0, 4.4, 1.0), "The rate fell from"),  # nearly all of it was lost before a rate could be established
        ((1300.0, 120.0, 1.5), "The rate collapsed"),  # a burst into the DRAM cache, and then the cliff
    ],
)
@pytest.mark.parametrize("cliff_s", [36, 90, 400])
def test_a_fall_in_the_first_moments_is_told_beside_a_later_cliff(
    levels: tuple[float, float, float], first: str, cliff_s: int
) -> None:
    burst, established, low = levels
    rows = load(lambda t: np.where(t < 3, burst, np.where(t < cliff_s, established, low)), cliff_s + 60, noise=0.1)
    found = one("cliff", rows, step=Cliff(hold_ns=20 * S))
    assert found.value == pytest.approx(cliff_s, abs=5)
    assert found.text.startswith(first)
    assert "The rate fell from" in found.text
    assert "The rate collapsed" in found.text
    assert found.evidence["early_fall_s"] == pytest.approx(3, abs=1)
    assert found.evidence["early_fall_iops"] == pytest.approx(established, rel=0.3)
    assert found.evidence["iops_after"] == pytest.approx(low, rel=0.5)


@pytest.mark.parametrize("cliff_s", [36, 90, 400])
def test_a_cliff_from_a_level_rate_is_told_alone(cliff_s: int) -> None:
    rows = load(lambda t: np.where(t < cliff_s, 300.0, 4.0), cliff_s + 60, noise=0.1)
    found = one("cliff", rows, step=Cliff(hold_ns=20 * S))
    assert found.value == pytest.approx(cliff_s, abs=5)
    assert "early_fall_s" not in found.evidence


def passing_fall(levels: tuple[float, float], later: float, *, stall_ms: float = 8.0) -> Finding:
    """A fall that ends its step, and the step that goes on with the same load."""
    rows = load(lambda t: np.where(t < 400, *levels), 460, noise=0.1)
    rows += load(lambda t: np.full(len(t), later), 1200, noise=0.1, start_s=460.0, step="hold")
    rows[-1] = rows[-1]._replace(latency_max_ns=round(stall_ms * 1e6))
    spec = FindingSpec(kind="cliff", step="step", goes_on="hold")
    return findings([spec], Loads(frame(rows)), None, {"step": Cliff(hold_ns=30 * S)})[0]


@pytest.mark.parametrize(("stall_ms", "is_advised"), [(8.0, False), (46_000.0, True)])
def test_a_fall_that_did_not_last_while_the_load_went_on_is_no_cliff(stall_ms: float, is_advised: bool) -> None:
    found = passing_fall((120.0, 1.5), 118.0, stall_ms=stall_ms)
    assert found.value is None
    assert found.evidence["passing_fall_s"] == pytest.approx(400, abs=2)
    assert found.evidence["iops_after"] == pytest.approx((60 * 1.5 + 1200 * 118) / 1260, rel=0.05)
    assert "but not for good: over 21 min, step hold with the same load included, it came to" in found.text
    assert ("the 30 s for which a cliff has to last (`confirm` in" in found.text) == is_advised


STALLED_S = 1.25
AFTER_STALLS = FindingSpec(kind="cliff", step="step", goes_on="hold")


def stalls_after_a_cliff(held_s: float) -> Loads:
    """Every second and a quarter twenty requests at once, which is 16 IOPS: a stall is longer than a cliff's second."""
    tenths = [sample(tenth / 10, 0.1, 12, 0.8) for tenth in range(400)]
    tenths += [sample(40 + tenth / 10, 0.1, 0) for tenth in range(12)]
    stalls = [
        sample(41.2 + STALLED_S * stall, STALLED_S, 20, 1000 * STALLED_S, step="hold")
        for stall in range(round(held_s / STALLED_S))
    ]
    return Loads(frame(tenths + stalls))


def test_what_a_cliff_leaves_is_told_over_more_than_one_stall() -> None:
    found = findings([AFTER_STALLS], stalls_after_a_cliff(100.0), None, {"step": Cliff(hold_ns=S)})[0]
    assert found.value == pytest.approx(40, abs=0.2)
    assert found.evidence["iops_after"] == pytest.approx(80 * 20 / 101.2, rel=0.01)
    assert found.evidence["rate_ratio"] == pytest.approx(80 * 20 / 101.2 / 120, rel=0.01)
    assert "from 120 IOPS to 15.8 IOPS over 1 min 41 s, step hold included" in found.text


def test_what_a_cliff_leaves_is_told_to_be_unknown_where_there_was_one_stall() -> None:
    rows = [Sample(*row) for row in stalls_after_a_cliff(0.0).samples.rows()]
    rows[-1] = rows[-1]._replace(latency_max_ns=round(STALLED_S * S))
    found = findings([AFTER_STALLS], Loads(frame(rows)), None, {"step": Cliff(hold_ns=S)})[0]
    assert found.text.endswith("What is left is not known from 1.2 s: a single request took 1.25 s.")


@pytest.mark.parametrize("later", [1.5, 40.0])
def test_a_fall_that_lasts_while_the_load_goes_on_is_told_as_without_that_step(later: float) -> None:
    lasting = passing_fall((120.0, 1.5), later)
    alone = one("cliff", load(lambda t: np.where(t < 400, 120.0, 1.5), 460, noise=0.1), step=Cliff(hold_ns=30 * S))
    loaded_on_s = 1200.0 + float(alone.evidence["loaded_after_s"])
    held = {name: value for name, value in lasting.evidence.items() if name.startswith("held_iops")}
    assert held["held_iops"] == pytest.approx(later, rel=0.1)
    assert lasting == alone.model_copy(update={"evidence": alone.evidence | {"loaded_after_s": loaded_on_s} | held})


@pytest.mark.parametrize("pressed", [24.0, 48.0])
def test_a_drive_that_falls_while_the_load_goes_on_is_held_at_what_is_left(pressed: float) -> None:
    """Cleaning under pressure takes half the rate; what is left once the cache is full shows only later."""
    rows = load(lambda t: np.where(t < 400, 120.0, pressed), 460, noise=0.1)
    rows += load(lambda t: np.where(t < 300, pressed, 1.5), 1200, noise=0.1, start_s=460.0, step="hold")
    found = findings([AFTER_STALLS], Loads(frame(rows)), None, {"step": Cliff(hold_ns=30 * S)})[0]
    assert found.value == pytest.approx(400, abs=2)
    assert found.evidence["iops_after"] == pytest.approx(pressed, rel=0.1)
    assert found.evidence["fell_later_s"] == pytest.approx(300, abs=2)
    assert found.evidence["fell_later_requests"] == pytest.approx(300 * pressed, rel=0.05)
    assert found.evidence["held_iops"] == pytest.approx(1.5, rel=0.1)
    assert re.search(r"It fell again 5 min .* from [\d.]+ IOPS to 1\.[45]\d? IOPS\.$", found.text)


def test_a_drive_that_falls_only_while_the_load_goes_on_is_held_at_what_is_left() -> None:
    rows = load(lambda t: np.full(len(t), 120.0), 460, noise=0.1)
    rows += load(lambda t: np.where(t < 300, 120.0, 1.5), 1200, noise=0.1, start_s=460.0, step="hold")
    found = findings([AFTER_STALLS], Loads(frame(rows)), None, {"step": Cliff(hold_ns=30 * S)})[0]
    assert found.value is None
    assert found.evidence["held_iops"] == pytest.approx(1.5, rel=0.1)
    assert "No cliff in step step" in found.text and " It fell 5 min" in found.text


def test_what_is_written_over_and_over_counts_once() -> None:
    rows = load(lambda t: np.full_like(t, 120.0), 460)
    spec = FindingSpec(kind="cliff", step="step")
    condition = {"step": Cliff(hold_ns=30 * S)}
    whole = findings([spec], Loads(frame(rows)), None, condition)[0]
    part = findings([spec], Loads(frame(rows)), None, condition, ({"step": 1 << 20}, {}))[0]
    assert int(whole.evidence["bytes_total"]) > 1 << 20
    assert part.evidence["bytes_total"] == 1 << 20


def test_what_a_cliff_leaves_is_known_no_better_than_its_stalls_allow() -> None:
    """Of ten seconds with two stalls, two requests in three: what the next ten would bring nobody knows."""
    rows = load(lambda t: np.where(t < 400, 120.0, 1.5), 460, noise=0.1)
    rows += [sample(460.0 + second, 1.0, 36 if second in (0, 5) else 0, 4_400.0, step="hold") for second in range(10)]
    held = findings([FindingSpec(kind="throughput", step="hold")], Loads(frame(rows)))[0].evidence
    assert held["iops"] == pytest.approx(7.2)
    assert float(held["iops_low"]) < 4 and float(held["iops_high"]) > 10
    cliff = findings([AFTER_STALLS], Loads(frame(rows)), None, {"step": Cliff(hold_ns=30 * S)})[0]
    assert cliff.evidence["loaded_after_s"] == pytest.approx(70, abs=2)
    assert float(cliff.evidence["iops_after_low"]) < float(cliff.evidence["iops_after"])


def test_a_step_that_was_not_run_shows_nothing_of_a_fall() -> None:
    rows = load(lambda t: np.where(t < 400, 120.0, 1.5), 460, noise=0.1)
    spec = FindingSpec(kind="cliff", step="step", goes_on="hold")
    found = findings([spec], Loads(frame(rows)), None, {"step": Cliff(hold_ns=30 * S)})[0]
    assert found == one("cliff", rows, step=Cliff(hold_ns=30 * S))


def test_what_completes_after_the_end_of_a_load_counts_for_latency_and_for_no_rate() -> None:
    rows = load(lambda t: np.where(t < 400, 120.0, 1.5), 460)
    waited = [sample(460.0, 20.0, 0), sample(480.0, 5.0, 2, 25_000.0)]
    condition = {"step": Cliff(hold_ns=30 * S)}
    for kind in KINDS:
        specs = [FindingSpec(kind=kind, step="step")]
        ended = findings(specs, Loads(frame(rows + waited), {"step": 460 * S}), None, condition)[0]
        alone, untold = one(kind, rows, **condition), one(kind, rows + waited, **condition)
        if kind in ("latency", "worst-latency"):
            assert ended == untold != alone
            continue
        told = {"worst_after_ms": 25_000.0} if kind == "cliff" else {}
        assert (ended.value, ended.evidence) == (alone.value, alone.evidence | told)
        assert kind == "recovery" or ended != untold


@pytest.mark.parametrize("rate", [1.5, 300.0])
def test_a_level_rate_has_no_early_fall(rate: float) -> None:
    found = one("cliff", load(lambda t: np.full(len(t), rate), 1200), step=Cliff(hold_ns=120 * S))
    assert "early_fall_s" not in found.evidence
    assert found.evidence["iops_after"] == pytest.approx(rate, rel=0.2)


@given(
    levels=st.lists(st.tuples(st.floats(1.0, 300.0), st.integers(5, 60)), min_size=1, max_size=4),
    patience_s=st.integers(10, 120),
    late=st.floats(0.0, 0.3),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_a_recovery_is_what_the_watcher_saw(
    levels: list[tuple[float, int]], patience_s: int, late: float, seed: int
) -> None:
    """With short windows, and with samples that came after the watcher had lost its patience."""
    times = np.concatenate([np.full(seconds, level) for level, seconds in levels])
    rows = late_statuses(probes(lambda t: times[int(t)], len(times), seed=seed, every_s=1), seed, late)
    condition = Recovered(window_ns=8 * S, patience_ns=patience_s * S)
    assert (one("recovery", rows, "probe", probe=condition).value is not None) == watched(condition, rows)


def test_cliff_at_the_end_of_a_day() -> None:
    """A minute of collapse after a day: the search does not coarsen with the length of the step."""
    rows = [sample(10.0 * i, 10.0, 1200 if i < 8600 else 15) for i in range(8608)]
    assert one("cliff", rows, step=Cliff(hold_ns=60 * S)).value == pytest.approx(86_000, abs=10)


def test_drifting_and_pausing_fills_have_no_cliff() -> None:
    """Loads: 0 of 40."""
    for seed in range(40):
        rows = load(lambda t: 120 * (1 - 0.55 * t / 7200) * np.where(t.astype(int) % 97 < 2, 0, 1), 7200, seed=seed)
        found = one("cliff", rows, step=Cliff(hold_ns=60 * S))
        assert found.value is None, seed
        assert found.evidence["bytes_total"] == sum(row.bytes for row in rows)
    assert "No cliff" in found.text


@given(cliff_s=st.integers(300, 900), scale=st.integers(2, 7), shift_s=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_cliff_depends_neither_on_the_unit_nor_on_the_hour(cliff_s: int, scale: int, shift_s: int) -> None:
    rows = load(collapsing(float(cliff_s)), 1000, seed=cliff_s)
    changed = [row._replace(bytes=row.bytes * scale, start_ns=row.start_ns + shift_s * S) for row in rows]
    condition = Cliff(hold_ns=60 * S)
    assert one("cliff", changed, step=condition).value == one("cliff", rows, step=condition).value


@pytest.mark.parametrize(("before_ms", "after_ms", "direction"), [(20.0, 80.0, "rose"), (80.0, 20.0, "fell")])
@pytest.mark.parametrize("seed", range(8))
def test_recovery_counts_from_the_last_write(before_ms: float, after_ms: float, direction: str, seed: int) -> None:
    rows = load(lambda t: np.full(len(t), 1.5), 300, step="hold")
    rows += probes(lambda t: before_ms if t < 9000 else after_ms, 10_500, start_s=420.0, seed=seed)
    found = one("recovery", rows, "probe", probe=Recovered(window_ns=600 * S))
    written_s = max(row.start_ns + row.duration_ns for row in rows if row.direction == "write" and row.count) / S
    assert found.value == pytest.approx(420 + 9000 - written_s, abs=60)
    assert found.evidence["direction"] == direction
    assert found.evidence["level_ratio"] == pytest.approx(after_ms / before_ms, rel=0.25)


def test_recovery_takes_the_last_change() -> None:
    rows = probes(lambda t: 300.0 if t < 3000 else 60.0 if t < 9000 else 12.0, 12_000)
    assert one("recovery", rows, "probe", probe=Recovered(window_ns=600 * S)).value == pytest.approx(9000, abs=30)


def test_no_recovery_without_a_change() -> None:
    """Loads over 60 seeds: none in flat series of six hours, a third of the probes slow in every other one."""
    for seed in range(20):
        rows = probes(lambda _: 12.0, 21_600, seed=seed, slow_share=(lambda _: 0.3, lambda _: 0.0)[seed % 2])
        found = one("recovery", rows, "probe", probe=Recovered(window_ns=600 * S))
        assert found.value is None, seed
    assert found.evidence["probes"] == 7200


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "rows", [[], [sample(0.0, 1.0, 0)], [sample(0.0, 1.0, 7)], [sample(float(i), 1.0, 0) for i in range(500)]]
)
def test_nothing_little_and_zero_are_findings_too(kind: WantedKind, rows: list[Sample]) -> None:
    spec = FindingSpec(kind=kind, step="step")
    found = findings([spec], Loads(frame(rows)), Loads(frame(rows)))
    assert found[0].text
    for finding in found:
        figures = [finding.value, finding.low, finding.high, *finding.evidence.values()]
        assert not any(isinstance(figure, float) and not math.isfinite(figure) for figure in figures)
        assert Finding.model_validate_json(finding.model_dump_json()) == finding


def test_a_request_size_just_below_and_at_the_limit() -> None:
    assert one("throughput", [sample(0.0, 1.0, 7, request_bytes=8 * REQUEST_BYTES - 512)]).unit == "IOPS"
    assert one("throughput", [sample(0.0, 1.0, 7, request_bytes=8 * REQUEST_BYTES)]).unit == "MiB/s"
