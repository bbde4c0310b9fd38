"""The verdict: the accounts' own conclusions, missing evidence, and that worse is never better."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.analysis import Finding, Verdict, judge
from shakedown.analysis.finding import FindingKind
from shakedown.analysis.rules import RULES, USES, Use
from shakedown.analysis.verdict import Failure

RANK = {"fail": 0, "inconclusive": 1, "pass": 2}


def finding(
    kind: FindingKind, value: float | None, step: str = "new", spread: float = 1.0, **evidence: float | int | str
) -> Finding:
    low, high = (None, None) if value is None or spread == 1.0 else (value / spread, value * spread)
    if kind == "throughput-ratio" and value is not None:
        evidence |= {
            "sustained_ratio": value,
            "sustained_ratio_low": value / spread,
            "sustained_ratio_high": value * spread,
        }
        evidence = {"candidate_bytes": 2**37, "baseline_bytes": 2**37, **evidence}
    text = f"{kind} {value}."
    return Finding(kind=kind, step=step, value=value, unit="", low=low, high=high, evidence=evidence, text=text)


def efax() -> dict[str, list[Finding]]:
    """Field notes A: 16.7 % less at 1 MiB random, 1.3 s at worst, 1/15.9 at 32 KiB sequential."""
    return {
        "random-1m": [finding("throughput-ratio", 0.833, spread=1.05), finding("worst-latency", 1300.0)],
        "sequential-32k": [finding("throughput-ratio", 1 / 15.9, spread=1.3), finding("worst-latency", 900.0)],
    }


def canvio() -> dict[str, list[Finding]]:
    """Field notes B: 120 to 1.5 IOPS after 662,000 writes, nine hours; large files lose 15 %."""
    return {
        "random-1m": [finding("throughput-ratio", 0.85, spread=1.1), finding("worst-latency", 2000.0)],
        "cliff": [
            finding("cliff", 5520.0, iops_after=1.5, rate_ratio=1.5 / 120, bytes_before=662_000 * 4096),
            finding("worst-latency", 8000.0),
            finding("recovery", 9 * 3600.0, step="probe"),
        ],
    }


def status(verdict: Verdict, use: str) -> str:
    return next(judged.status for judged in verdict.uses if judged.use == use)


def test_account_a_fine_in_mdraid_not_under_zfs() -> None:
    verdict = judge(efax())
    assert status(verdict, "mdraid") == "pass"
    assert status(verdict, "archive") == "pass"
    assert status(verdict, "zfs") == "fail"
    assert verdict.status == "fail"
    zfs = next(judged for judged in verdict.uses if judged.use == "zfs")
    assert zfs.reasons[0].findings == ("sequential-32k/new/throughput-ratio",)
    assert "25 %" in zfs.reasons[0].facts
    assert "days" in zfs.reasons[0].headline


def test_account_b_fine_as_an_archive_painful_as_a_desktop() -> None:
    verdict = judge(canvio())
    assert status(verdict, "archive") == "pass"
    desktop = next(judged for judged in verdict.uses if judged.use == "desktop")
    assert desktop.status == "fail"
    assert "caution" not in [reason.status for reason in desktop.reasons]
    mdraid = next(judged for judged in verdict.uses if judged.use == "mdraid")
    assert mdraid.reasons[0].status == "caution"
    assert mdraid.status == "pass"


def test_a_collapse_that_is_no_failure_is_a_caution() -> None:
    """From 429 to 28 IOPS after 7.6 GiB, and 20 hours to recover: nobody should be told to trust it just so."""
    cliff = finding("cliff", 4620.0, iops_after=28.1, rate_ratio=28.1 / 429, bytes_before=7.6 * 2**30)
    desktop = judge({"cliff": [cliff, finding("recovery", 72_000.0, step="drain")]}, ["desktop"]).uses[0]
    assert desktop.status == "pass"
    assert [reason.status for reason in desktop.reasons] == ["caution", "caution", "pass"]
    assert "6.55 %" in desktop.reasons[0].facts


def test_a_kept_rule_tells_only_what_decided_it() -> None:
    cliff = finding("cliff", 4620.0, iops_after=28.1, rate_ratio=28.1 / 429, bytes_before=2**30)
    kept = judge({"cliff": [cliff, finding("recovery", 72_000.0, step="drain")]}, ["desktop"]).uses[0].reasons[-1]
    assert kept.findings == ("cliff/new/cliff",)
    assert "20 h" not in kept.facts


def test_an_unsteady_figure_is_judged_by_its_scatter() -> None:
    unsteady = finding("throughput-ratio", 0.6, value_low=0.3, value_high=1.2)
    evidence = {"random-1m": [unsteady, finding("worst-latency", 100.0)]}
    assert judge(evidence, ["archive"]).status == "inconclusive"


def test_a_conventional_drive_passes_everything() -> None:
    evidence = {
        "random-1m": [finding("throughput-ratio", 1.0, spread=1.1), finding("worst-latency", 108.0)],
        "sequential-32k": [finding("throughput-ratio", 1.0, spread=1.1), finding("worst-latency", 50.0)],
        "cliff": [finding("cliff", None, bytes_total=30 * 1024**3), finding("recovery", None)],
    }
    assert judge(evidence).status == "pass"


@pytest.mark.parametrize("use", USES)
def test_without_evidence_it_says_what_to_run(use: Use) -> None:
    judged = judge({}, [use]).uses[0]
    assert judged.status == "inconclusive"
    assert "shakedown run" in judged.reasons[0].facts
    assert "not measured: whether" in judged.reasons[0].headline


def test_a_threshold_within_the_interval_is_inconclusive() -> None:
    evidence = efax() | {
        "sequential-32k": [finding("throughput-ratio", 0.25, spread=1.2), finding("worst-latency", 9.0)]
    }
    assert judge(evidence, ["zfs"]).status == "inconclusive"


@pytest.mark.parametrize(("step_ms", "expected"), [(29_999.0, "pass"), (30_000.0, "fail")])
def test_a_figure_at_its_least_limit_is_beyond(step_ms: float, expected: str) -> None:
    evidence = {"random-1m": [finding("throughput-ratio", 1.0), finding("worst-latency", step_ms)]}
    assert status(judge(evidence, ["mdraid"]), "mdraid") == expected


@pytest.mark.parametrize(("share", "expected"), [(0.501, "pass"), (0.5, "fail")])
def test_a_figure_at_its_most_limit_is_beyond(share: float, expected: str) -> None:
    evidence = {"random-1m": [finding("throughput-ratio", share), finding("worst-latency", 9.0)]}
    assert status(judge(evidence, ["mdraid"]), "mdraid") == expected


def test_what_fails_requests_fails_every_use_and_says_so_first() -> None:
    failure = Failure(protocol="cliff", step="hold", words="EIO")
    for divisor in (1, 100):
        verdict = judge(efax(), scale_divisor=divisor, failures=[failure])
        assert {use.status for use in verdict.uses} == {verdict.status} == {"fail"}
        for use in verdict.uses:
            assert use.reasons[0].findings == ("cliff/hold/error",)
            assert use.reasons[0].facts == "EIO in cliff, step hold"


def test_of_a_rebuild_that_was_not_played_nothing_is_asserted() -> None:
    """What an array would do was not seen: the reason says what was, and what to run to know."""
    [use] = judge(efax(), ["mdraid"]).uses
    told = next(reason.headline for reason in use.reasons if "random-1m/new/worst-latency" in reason.findings)
    assert told.startswith("no request took as long as Linux waits for a drive, 30 s; ")
    assert told.endswith("`shakedown rebuild` shows")


def test_the_worst_step_counts() -> None:
    evidence = efax()
    evidence["sequential-32k"].insert(0, finding("throughput-ratio", 1.0, step="used"))
    assert judge(evidence, ["zfs"]).status == "fail"


@pytest.mark.parametrize("iops", [4.0, 13.3, 120.0, 564.0])
@pytest.mark.parametrize(("bytes_total", "judged"), [(42 * 2**20, False), (2**32 - 1, False), (2**32 + 1, True)])
def test_no_cliff_after_too_little_writing_is_inconclusive(iops: float, bytes_total: int, judged: bool) -> None:
    """However quick it was until then: a shingled drive whose cache is not yet full is quick too."""
    evidence = {"cliff": [finding("cliff", None, bytes_total=bytes_total, iops_after=iops), finding("recovery", None)]}
    [use] = judge(evidence, ["desktop"]).uses
    assert use.status == ("pass" if judged else "inconclusive")
    assert [reason.status for reason in use.reasons] == [use.status]
    evidence["cliff"].append(finding("worst-latency", 31_000.0))
    assert judge(evidence, ["desktop"]).status == "fail"


@pytest.mark.parametrize(
    ("protocol", "use", "candidate", "baseline", "share", "expected"),
    [
        # A good share: the candidate must have left its burst behind, and for a resilver its persistent cache.
        ("random-1m", "mdraid", 4 * 2**30, 1, 0.9, "pass"),
        ("random-1m", "mdraid", 4 * 2**30 - 1, 2**40, 0.9, "inconclusive"),
        ("random-1m", "archive", 270 * 2**20, 2**40, 0.9, "inconclusive"),
        ("sequential-32k", "zfs", 40 * 10**9, 1, 0.9, "pass"),
        ("sequential-32k", "zfs", 40 * 10**9 - 1, 2**40, 0.9, "inconclusive"),
        # A bad one: the baseline its burst. However little the candidate managed beside it.
        ("random-1m", "mdraid", 2**20, 4 * 2**30, 0.1, "fail"),
        ("random-1m", "mdraid", 2**20, 190 * 2**20, 0.1, "inconclusive"),
        ("sequential-32k", "zfs", 2**20, 4 * 2**30, 0.1, "fail"),
        ("sequential-32k", "zfs", 2**40, 200 * 2**20, 0.1, "inconclusive"),
    ],
)
def test_a_share_after_too_little_writing_is_inconclusive(
    protocol: str, use: Use, candidate: int, baseline: int, share: float, expected: str
) -> None:
    measured = finding("throughput-ratio", share, candidate_bytes=candidate, baseline_bytes=baseline)
    [judged] = judge({protocol: [measured, finding("worst-latency", 9.0)]}, [use]).uses
    assert judged.status == expected
    [doubt] = [reason.facts for reason in judged.reasons if reason.status == "inconclusive"] or [""]
    assert ("which tells nothing before" in doubt) == (expected == "inconclusive")
    assert (f"`shakedown run {protocol} TARGET --baseline model:st12000vn0007` for longer" in doubt) == (
        expected == "inconclusive"
    )


@pytest.mark.parametrize(("share", "expected"), [(0.9, "inconclusive"), (0.1, "fail")])
def test_a_shingled_baseline_clears_nobody(share: float, expected: str) -> None:
    measured = finding("throughput-ratio", share, baseline_is_shingled=1)
    [judged] = judge({"sequential-32k": [measured, finding("worst-latency", 9.0)]}, ["zfs"]).uses
    assert judged.status == expected
    facts = " ".join(reason.facts for reason in judged.reasons)
    assert ("the baseline is shingled itself" in facts) == (expected == "inconclusive")
    closer = "run `shakedown run sequential-32k TARGET --baseline model:st12000vn0007`"
    assert (closer in facts) == (expected == "inconclusive")


def test_a_cliff_whose_recovery_was_not_seen_is_inconclusive() -> None:
    evidence = {"cliff": [*canvio()["cliff"][:2], finding("recovery", None, step="probe")]}
    judged = judge(evidence, ["desktop"]).uses[0]
    assert judged.status == "inconclusive"


def test_a_command_timeout_fails_all_but_the_archive() -> None:
    evidence = efax()
    evidence["random-1m"][1] = finding("worst-latency", 31_000.0)
    verdict = judge(evidence)
    assert [status(verdict, use) for use in ("mdraid", "zfs", "desktop")] == ["fail"] * 3
    assert status(verdict, "archive") == "pass"


@given(
    shares=st.tuples(st.floats(0.01, 2), st.floats(0.01, 2)),
    spread=st.floats(1.0, 1.5),
    times=st.tuples(st.floats(1, 1e5), st.floats(100, 1e5)),
    cliff=st.tuples(st.floats(0.1, 100), st.integers(2**20, 2**36)),
    worse=st.floats(1, 20),
)
def test_a_worse_figure_never_improves_the_verdict(
    shares: tuple[float, float],
    spread: float,
    times: tuple[float, float],
    cliff: tuple[float, int],
    worse: float,
) -> None:
    def evidence(factor: float) -> dict[str, list[Finding]]:
        return {
            "random-1m": [
                finding("throughput-ratio", shares[0] / factor, spread=spread),
                finding("worst-latency", times[0] * factor),
            ],
            "sequential-32k": [finding("throughput-ratio", shares[1] / factor, spread=spread)],
            "cliff": [
                finding(
                    "cliff", 60.0, iops_after=cliff[0] / factor, rate_ratio=0.2 / factor, bytes_before=cliff[1] / factor
                ),
                finding("recovery", times[1] * factor, spread=spread),
            ],
        }

    better, bad = judge(evidence(1.0)), judge(evidence(worse))
    for first, second in zip(better.uses, bad.uses, strict=True):
        assert RANK[second.status] <= RANK[first.status]
    assert RANK[bad.status] <= RANK[better.status]


def test_it_survives_a_file() -> None:
    verdict = judge(efax())
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


def test_every_rule_has_one_side_a_meaning_and_a_reason() -> None:
    for rule in RULES:
        assert all((rule.bad, rule.good, rule.why))
        assert all((limit.at_most is None) != (limit.at_least is None) for limit in rule.limits)
        assert rule.good_if is None or all(limit.good for limit in rule.limits)
    assert {rule.use for rule in RULES if rule.run} == set(USES)


def test_the_worst_step_is_cited_by_its_figure_not_by_its_scatter() -> None:
    evidence = {
        "sequential-32k": [
            finding("throughput-ratio", 1 / 28, step="new", spread=2.0),
            finding("throughput-ratio", 1 / 33, step="used", spread=1.1),
        ]
    }
    reason = judge(evidence, ["zfs"]).uses[0].reasons[0]
    assert reason.findings == ("sequential-32k/used/throughput-ratio",)


def test_an_early_fall_to_a_low_rate_is_inconclusive_with_a_hint_that_helps() -> None:
    early = {"early_fall_s": 2.4, "early_fall_iops": 28.0, "bytes_total": 2**34, "iops_after": 28.0}
    cliff = Finding(
        kind="cliff", step="new", value=None, unit="s", evidence={**early, "shorter": "--set confirm=1s"}, text="."
    )
    judged = judge({"cliff": [cliff]}, ["desktop"])
    assert judged.status == "inconclusive"
    assert "`shakedown run cliff TARGET --set confirm=1s`" in judged.uses[0].reasons[0].facts
    as_close_as_can_be = judge({"cliff": [cliff.model_copy(update={"evidence": early})]}, ["desktop"])
    assert as_close_as_can_be.status == "inconclusive"
    assert "shakedown run" not in as_close_as_can_be.uses[0].reasons[0].facts
    little = cliff.model_copy(update={"evidence": cliff.evidence | {"iops_after": 4.0, "bytes_total": 2**30}})
    doubt = judge({"cliff": [little]}, ["desktop"]).uses[0].reasons[0].facts
    assert doubt.endswith("; run `shakedown run cliff TARGET --set confirm=1s`"), "to its end it was run"
    burst = cliff.model_copy(update={"evidence": cliff.evidence | {"early_fall_iops": 120.0, "iops_after": 120.0}})
    assert judge({"cliff": [burst]}, ["desktop"]).status == "pass"


def test_a_run_is_to_come_to_its_end_only_where_it_did_not() -> None:
    cliff = finding("cliff", None, bytes_total=2**30, iops_after=4.0)
    for unfinished, how in (((), "for longer"), (("cliff",), "to its end"), (("random-1m",), "for longer")):
        [use] = judge({"cliff": [cliff]}, ["desktop"], unfinished=unfinished).uses
        assert use.reasons[0].facts.endswith(f"; run `shakedown run cliff TARGET` {how}")


@pytest.mark.parametrize(
    ("iops", "bytes_total", "said"),
    [
        (120.0, 2**34, "everyday work stays possible under random writing"),
        (
            13.3,
            2**34,
            "it goes on under long random writing, though slower than a plain disk; "
            "what a desktop writes in days does not make it fall",
        ),
        (4.0, 2**34, "what a desktop writes in days does not make it fall"),
    ],
)
def test_everyday_work_is_called_possible_only_where_the_rate_shows_it(
    iops: float, bytes_total: int, said: str
) -> None:
    cliff = finding("cliff", None, bytes_total=bytes_total, iops_after=iops)
    filled = finding("throughput", 30.0, step="fill", iops=30.0)
    judged = judge({"cliff": [filled, cliff]}, ["desktop"])
    assert (judged.status, judged.uses[0].reasons[-1].headline) == ("pass", said)


def test_a_night_that_cures_is_all_that_is_said_of_a_drive_that_crawls() -> None:
    cliff = finding("cliff", 600.0, iops_after=4.0, rate_ratio=0.4, bytes_before=2**27)
    judged = judge({"cliff": [cliff, finding("recovery", 3600.0, step="drain")]}, ["desktop"])
    assert judged.uses[0].reasons[-1].headline == "a night of rest cures what it has put off"


def test_a_drive_that_crawls_without_a_cliff_is_not_trusted() -> None:
    crawling = finding("cliff", None, bytes_total=2**27, iops_after=4.0)
    assert judge({"cliff": [crawling, finding("recovery", None)]}, ["desktop"]).status == "inconclusive"


def test_a_held_load_that_crawls_is_not_trusted_whatever_the_cliff_says() -> None:
    cliff = finding("cliff", 48.0, iops_after=1938.0, rate_ratio=0.4, bytes_before=2**22, held_iops=6.8)
    for protocol in ("cliff", "of-my-own"):
        judged = judge({protocol: [cliff, finding("recovery", None)]}, ["desktop"])
        assert judged.status == "inconclusive"
        assert judge({protocol: [cliff, finding("recovery", 9 * 3600.0)]}, ["desktop"]).status == "fail"


def test_what_fails_on_a_part_of_a_drive_fails_and_what_holds_there_clears_nobody() -> None:
    part: dict[str, Any] = {"part_bytes": 10**9}
    fallen = finding("cliff", 48.0, iops_after=7.0, rate_ratio=0.1, bytes_before=2**30, bytes_total=10**9, **part)
    for recovery_s, status in ((9 * 3600.0, "fail"), (60.0, "inconclusive")):
        recovery = finding("recovery", recovery_s, step="drain", **part)
        judged = judge({"cliff": [fallen, recovery]}, ["desktop"])
        assert judged.status == status
    doubt = next(reason for reason in judged.uses[0].reasons if reason.status == "inconclusive")
    assert "that is of 953.7 MiB of a drive, and a whole one does worse" in doubt.facts
    assert "`shakedown run cliff TARGET` on the whole of a drive" in doubt.facts


@pytest.mark.parametrize(("part_bytes", "status"), [(10**9, "inconclusive"), (50 * 10**9, "pass")])
def test_a_part_without_a_cliff_tells_of_the_whole_if_it_is_larger_than_any_cache(part_bytes: int, status: str) -> None:
    none = finding("cliff", None, bytes_total=min(part_bytes, 10 * 2**30), iops_after=100.0, part_bytes=part_bytes)
    assert judge({"cliff": [none, finding("recovery", None)]}, ["desktop"]).status == status


@pytest.mark.parametrize(("loaded_after_s", "outcome"), [(17.0, "inconclusive"), (1860.0, "pass"), (None, "pass")])
def test_a_load_that_was_held_too_briefly_after_the_cliff_clears_nobody(
    loaded_after_s: float | None, outcome: str
) -> None:
    """Three of the kernel's 30 s must have had the time to be seen; old runs do not say how long it was."""
    cliff = finding("cliff", 930.0, iops_after=14.0, rate_ratio=0.03, bytes_before=2**31)
    if loaded_after_s is not None:
        cliff.evidence["loaded_after_s"] = loaded_after_s
    found = [cliff, finding("worst-latency", 4490.0, step="hold"), finding("recovery", 3600.0)]
    judged = judge({"cliff": found}, ["desktop"])
    assert judged.status == outcome
    briefly = [reason for reason in judged.uses[0].reasons if "so briefly" in reason.headline]
    assert [reason.facts for reason in briefly] == (
        [
            "load after it had fallen 17 s in cliff, step new (90 s or less is too short); "
            "run `shakedown run cliff TARGET --set hold=30min`"
        ]
        if outcome == "inconclusive"
        else []
    )


def test_a_held_rate_whose_interval_spans_the_limit_decides_nothing() -> None:
    """Ten seconds with two stalls: 10.7 IOPS, between 3 and 38.5."""
    cliff = finding("cliff", 930.0, iops_after=14.0, iops_after_low=5.0, iops_after_high=30.0, bytes_before=2**31)
    held = finding("throughput", 10.7, step="hold", iops=10.7, iops_low=3.0, iops_high=38.5)
    judged = judge({"cliff": [cliff, held, finding("recovery", 9 * 3600.0)]}, ["desktop"])
    assert judged.uses[0].reasons[0].status == "inconclusive"
    assert judged.uses[0].reasons[0].headline.startswith("not certain")


def test_a_share_after_the_cache_is_full_of_random_pieces_tells_nothing_of_large_files() -> None:
    """The modelled wd40efax in half an hour of random-1m: 0.54 % after 37.3 GiB, where large files lose a sixth."""
    share = finding("throughput-ratio", 0.0054, spread=1.05, fell_after_bytes=40 * 10**9, fell_ratio=0.0054)
    found = [share, finding("worst-latency", 7560.0)]
    for use in judge({"random-1m": found}, ["archive", "mdraid"]).uses:
        assert use.status == "inconclusive"
        assert use.reasons[0].status == "caution"
        assert use.reasons[0].headline.startswith("keep long random writing away")
        doubt = next(reason for reason in use.reasons if reason.status == "inconclusive")
        assert "after 37.3 GiB at random places, which says nothing of large files or one stream" in doubt.facts
        assert "with a `duration` in which it does not collapse" in doubt.facts
    slow_from_the_first = [finding("throughput-ratio", 0.3, spread=1.05), finding("worst-latency", 900.0)]
    assert judge({"random-1m": slow_from_the_first}, ["archive"]).status == "fail"


def test_of_an_array_only_the_rules_are_asked_that_make_sense_of_one() -> None:
    """Whether it is a member of an array, and what one command of a drive takes, is no question of an array."""
    slow = [finding("worst-latency", 60_000.0), finding("throughput-ratio", 0.1)]
    verdict = judge({"random-1m": slow, **canvio()}, of_array=True)
    assert [use.use for use in verdict.uses] == ["desktop"]
    assert verdict.status == "fail"
    assert not any("worst-latency" in name for reason in verdict.uses[0].reasons for name in reason.findings)
    assert judge({"random-1m": slow}, ["archive", "mdraid"], of_array=True).uses == ()


@pytest.mark.parametrize("evidence", [efax(), canvio(), {}])
def test_nothing_is_concluded_from_a_smaller_drive(evidence: dict[str, list[Finding]]) -> None:
    verdict = judge(evidence, scale_divisor=100)
    assert {use.status for use in verdict.uses} == {verdict.status} == {"inconclusive"}
    for scaled, whole in zip(verdict.uses, judge(evidence).uses, strict=True):
        assert scaled.reasons[0].headline == "measured on 1/100 of the drive"
        assert scaled.reasons[0].facts == "run it on the whole one, without `--scale`"
        assert scaled.reasons[1:] == whole.reasons
    for twin in judge(evidence, scale_divisor=100, of_twin=True).uses:
        assert "--scale" not in twin.reasons[0].facts
        assert "this is the twin of a part of it" in twin.reasons[0].facts
