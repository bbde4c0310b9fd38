"""For which use a drive is good: findings against the rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import inf
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from shakedown.analysis.find.throughput import FELL_AFTER
from shakedown.analysis.finding import Finding
from shakedown.analysis.rate import figure
from shakedown.analysis.rules import (
    PART_BYTES,
    RULES,
    SHINGLED_BASELINE,
    USES,
    USES_OF_ARRAYS,
    Enough,
    Limit,
    Rule,
    Use,
)
from shakedown.units import TIME_UNITS_NS, format_duration, format_interval, format_size

Status = Literal["pass", "inconclusive", "fail"]

_FROZEN: Final = ConfigDict(frozen=True, extra="forbid")


class Failure(NamedTuple):
    """What a target did wrong in a step, in words: an I/O error, or that it was gone for a while."""

    protocol: str
    step: str
    words: str


class Reason(BaseModel):
    """What one rule says: ``headline`` what it means for the use, ``facts`` the figures, ``why`` the threshold.

    All three are phrases without a full stop; ``facts`` may be empty. ``findings`` names the evidence as
    ``protocol/step/kind``. A caution decides nothing.
    """

    model_config = _FROZEN

    status: Literal["pass", "inconclusive", "fail", "caution"]
    findings: tuple[str, ...]
    headline: str
    facts: str
    why: str


class UseVerdict(BaseModel):
    """Whether a drive is good for one use, and the reasons, the gravest first."""

    model_config = _FROZEN

    use: Use
    status: Status
    reasons: tuple[Reason, ...]


class Verdict(BaseModel):
    """All uses and the overall status: fail if any fails, else inconclusive if any is, else pass."""

    model_config = _FROZEN

    status: Status
    uses: tuple[UseVerdict, ...]


_Evidence = Mapping[str, Sequence[Finding]]
_ORDER: Final = ("fail", "caution", "inconclusive", "pass")
_CONVENTIONAL: Final = "model:st12000vn0007"
"""The baseline that is proposed: the conventional drive of field notes A."""


def judge(
    findings_by_protocol: _Evidence,
    uses: Iterable[Use] = USES,
    *,
    scale_divisor: int = 1,
    of_twin: bool = False,
    failures: Sequence[Failure] = (),
    unfinished: Collection[str] = (),
    of_array: bool = False,
) -> Verdict:
    """Judge one target from the findings of all its runs, by protocol name, and from what it failed to do.

    ``unfinished`` are the protocols of which no run came to its end: to let one do so tells more.
    Of an array no rule is asked that is of single drives.
    Of a drive ``scale_divisor`` times smaller than the one it stands for nothing is concluded but that it failed;
    ``of_twin`` if it is so small because it is the twin of a part of a drive.
    """
    rules = [rule for rule in RULES if rule.of_arrays or not of_array]
    asked = [use for use in uses if use in USES_OF_ARRAYS or not of_array]
    judged = tuple(_judge_use(use, rules, findings_by_protocol, unfinished) for use in asked)
    if scale_divisor > 1:
        judged = tuple(_in_doubt(use, scale_divisor, of_twin=of_twin) for use in judged)
    if failures:
        judged = tuple(_failed(use, failures) for use in judged)
    return Verdict(status=_overall([use.status for use in judged]), uses=judged)


def _failed(judged: UseVerdict, failures: Sequence[Failure]) -> UseVerdict:
    reason = Reason(
        status="fail",
        findings=tuple(f"{failure.protocol}/{failure.step}/error" for failure in failures),
        headline="it failed requests: find out whether it is the drive, its cable, its power or the controller",
        facts="; ".join(f"{failure.words} in {failure.protocol}, step {failure.step}" for failure in failures),
        why="what answers with errors, or vanishes, loses files, and an array throws it out; `shakedown triage` "
        "tells the causes apart",
    )
    return UseVerdict(use=judged.use, status="fail", reasons=(reason, *judged.reasons))


def _in_doubt(judged: UseVerdict, scale_divisor: int, *, of_twin: bool) -> UseVerdict:
    twin = "this is the twin of a part of it: run it on the drive itself, or on the twin of a whole one"
    doubt = Reason(
        status="inconclusive",
        findings=(),
        headline=f"measured on 1/{scale_divisor} of the drive",
        facts=twin if of_twin else "run it on the whole one, without `--scale`",
        why="with the drive its cache, its backlog and its recovery shrink, but the limits are those of whole drives",
    )
    return UseVerdict(use=judged.use, status="inconclusive", reasons=(doubt, *judged.reasons))


def _judge_use(use: Use, rules: Sequence[Rule], evidence: _Evidence, unfinished: Collection[str]) -> UseVerdict:
    reasons = [reason for rule in rules if rule.use == use and (reason := _apply(rule, evidence, unfinished))]
    failing = {name for reason in reasons if reason.status == "fail" for name in reason.findings}
    # A caution about what already fails the use would only say it again, more mildly.
    reasons = [reason for reason in reasons if reason.status != "caution" or not failing.issuperset(reason.findings)]
    reasons.sort(key=lambda reason: _ORDER.index(reason.status))
    return UseVerdict(use=use, status=_overall([reason.status for reason in reasons]), reasons=tuple(reasons))


def _overall(statuses: Sequence[str]) -> Status:
    if "fail" in statuses:
        return "fail"
    return "inconclusive" if "inconclusive" in statuses or not statuses else "pass"


def _apply(rule: Rule, evidence: _Evidence, unfinished: Collection[str]) -> Reason | None:
    """One rule as a reason; None when it has nothing to say."""
    judged = [_judge_limit(limit, evidence) for limit in rule.limits]
    broken = _all_of([outcome for outcome, _ in judged])
    # One limit that is kept settles the matter: the others are then beside the point.
    told = [named for outcome, named in judged if named and (broken is not False or outcome is False)]
    names = tuple(dict.fromkeys(name for name, _ in told))
    facts = "; ".join(dict.fromkeys(fact for _, fact in told))

    def reason(status: Literal["pass", "inconclusive", "fail", "caution"], headline: str, facts: str) -> Reason:
        return Reason(status=status, findings=names, headline=headline, facts=facts, why=rule.why)

    if broken and rule.gravity == "inconclusive":
        settings = rule.settings or _settings(evidence)
        closer = f"; run {_command(rule, settings)}" if settings else ""
        return reason("inconclusive", rule.bad, facts + closer)
    if broken is None and rule.question:
        doubt = "not certain" if facts else "not measured"
        to_run = f"run {_telling_more(rule, evidence, unfinished) if facts else _command(rule)}"
        return reason("inconclusive", f"{doubt}: {rule.question}", "; ".join(filter(None, (facts, to_run))))
    if broken:
        return reason(rule.gravity, rule.bad, facts)
    if broken is None or rule.gravity != "fail":
        return None
    kept = [limit for limit, (outcome, _) in zip(rule.limits, judged, strict=True) if outcome is False]
    return reason("pass", _good(rule, kept, evidence), facts)


def _good(rule: Rule, kept: Sequence[Limit], evidence: _Evidence) -> str:
    """What it means that a rule is kept, and no more than the limits that are kept show."""
    if rule.good_if is None or _judge_limit(rule.good_if, evidence)[0] is False:
        return rule.good
    return "; ".join(limit.good for limit in kept)


def _settings(evidence: _Evidence) -> str:
    """What a finding says that would look closer."""
    named = (finding.evidence.get("shorter") for found in evidence.values() for finding in found)
    return next((str(settings) for settings in named if settings), "")


def _command(rule: Rule, settings: str = "") -> str:
    with_baseline = any(limit.kind.endswith("-ratio") for limit in rule.limits)
    words = ("shakedown run", rule.run, "TARGET", f"--baseline {_CONVENTIONAL}" if with_baseline else "", settings)
    return f"`{' '.join(filter(None, words))}`"


def _telling_more(rule: Rule, evidence: _Evidence, unfinished: Collection[str]) -> str:
    """The command whose run tells more than those that leave a doubt; one that went to its end would leave it again."""
    if any(SHINGLED_BASELINE in found.evidence for found in evidence.get(rule.run, ())):
        return f"`shakedown run {rule.run} TARGET --baseline {_CONVENTIONAL}`"
    if any(_is_small_part(limit, each) for limit in rule.limits for each in _of_kind(limit, evidence)):
        return f"{_command(rule)} on the whole of a drive"
    if rule.run in unfinished or rule.run not in evidence:
        return _command(rule) + (" to its end" if rule.run in unfinished else "")
    if any(_has_fallen(limit, found) for limit in rule.limits for found in evidence.get(rule.run, ())):
        return f"{_command(rule)} with a `duration` in which it does not collapse"
    found = evidence[rule.run]
    if settings := _settings({rule.run: found}):
        return _command(rule, settings)
    is_small = any(_too_little(limit, each) for limit in rule.limits for each in found if each.kind == limit.kind)
    return f"{_command(rule)} for longer" + (", on a target that holds as much" if is_small else "")


def _of_kind(limit: Limit, evidence: _Evidence) -> list[Finding]:
    return [each for found in evidence.values() for each in found if each.kind == limit.kind]


def _all_of(outcomes: Sequence[bool | None]) -> bool | None:
    """Three-valued *and*: one that is surely false settles it."""
    if any(outcome is False for outcome in outcomes):
        return False
    return None if any(outcome is None for outcome in outcomes) else True


def _any_of(outcomes: Sequence[bool | None]) -> bool | None:
    if any(outcomes):
        return True
    return None if not outcomes or any(outcome is None for outcome in outcomes) else False


def _judge_limit(limit: Limit, evidence: _Evidence) -> tuple[bool | None, tuple[str, str] | None]:
    """Whether any step is beyond a limit (None: not known), with the name and figure of the worst that decides it."""
    outcomes = [
        (_is_beyond(each, finding), each, protocol, finding)
        for each in (limit, *limit.or_else)
        for protocol, found in evidence.items()
        for finding in found
        if finding.kind == each.kind and each.protocol in (None, protocol) and each.step in (None, finding.step)
    ]
    outcomes = [outcome for outcome in outcomes if outcome[0] is not None or outcome[1] is limit]
    beyond = _any_of([outcome for outcome, _, _, _ in outcomes])
    deciding = [(by, protocol, finding) for outcome, by, protocol, finding in outcomes if outcome is beyond]
    if not deciding:
        return beyond, None
    by, protocol, worst = max(deciding, key=lambda named: _badness(named[0], named[2]))
    return beyond, (f"{protocol}/{worst.step}/{worst.kind}", _fact(by, protocol, worst))


def _badness(limit: Limit, finding: Finding) -> float:
    """By the figure itself: the scatter of another step does not make it the worst."""
    bounds = _bounds(limit, finding)
    if bounds is None:
        return float("-inf")
    value = _value(limit, finding, bounds[0])
    return -value if limit.at_most is not None else value


def _value(limit: Limit, finding: Finding, otherwise: float) -> float:
    if limit.figure == "value":
        return otherwise if finding.value is None else finding.value
    return float(finding.evidence.get(limit.figure, otherwise))


def _is_beyond(limit: Limit, finding: Finding) -> bool | None:
    """Whether it is for sure; None when the figure is not known, or may not last."""
    beyond = _side(limit, finding)
    if beyond is None or _lacks(limit, finding, bad=beyond):
        return None
    doubts_of_good = SHINGLED_BASELINE in finding.evidence or _is_small_part(limit, finding)
    return None if (_has_fallen(limit, finding) if beyond else doubts_of_good) else beyond


def _has_fallen(limit: Limit, finding: Finding) -> bool:
    """Whether the figure is of a drive whose cache was full by then, and the limit is of what it does before."""
    return limit.before_fall and FELL_AFTER in finding.evidence


def _is_small_part(limit: Limit, finding: Finding) -> bool:
    """Whether the figure is of a part of a drive that is too small to tell of the whole."""
    return float(finding.evidence.get(PART_BYTES, inf)) < limit.part_from_bytes


def _side(limit: Limit, finding: Finding) -> bool | None:
    """Compare the whole interval; None when the threshold lies within it or the figure is not known."""
    bounds = _bounds(limit, finding)
    if bounds is None:
        return None
    low, high = bounds
    first, last = (low <= limit.threshold, high <= limit.threshold)
    if limit.at_least is not None:
        first, last = (low >= limit.threshold, high >= limit.threshold)
    return first if first == last else None


def _lacks(limit: Limit, finding: Finding, *, bad: bool) -> Enough | None:
    """What must have been written for a figure to be known to last, and was not."""
    if limit.kind == "cliff" and finding.value is not None:
        return None
    enough = limit.bad_after if bad else limit.good_after
    return None if enough is None or enough.met(finding.evidence) else enough


def _bounds(limit: Limit, finding: Finding) -> tuple[float, float] | None:
    if finding.value is None and limit.figure not in finding.evidence:
        bound = finding.evidence.get(limit.unseen) if limit.unseen else None
        return (float(bound), float("inf")) if bound is not None else None
    if limit.figure != "value":
        value = finding.evidence.get(limit.figure)
        ends = (finding.evidence.get(limit.figure + end, value) for end in ("_low", "_high"))
        low, high = (None if end is None else float(end) for end in ends)
        return None if low is None or high is None else (low, high)
    if finding.value is None:
        return None
    # A level that is not steady has no confidence interval, but its scatter is kept as evidence.
    if finding.low is None or finding.high is None:
        scatter = [finding.evidence.get(end, finding.value) for end in ("value_low", "value_high")]
        least, most = (None if end is None else float(end) for end in scatter)
        return None if least is None or most is None else (least, most)
    return finding.low, finding.high


def _fact(limit: Limit, protocol: str, finding: Finding) -> str:
    """``recovery 9 h in cliff, step drain (8 h or more is too long)``, which reads right of a good one, too."""
    is_time = limit.unit in ("ms", "s")
    if limit.at_most is not None:
        side, fault = "less", "short" if is_time else "little"
    else:
        side, fault = "more", "long" if is_time else "much"
    bad = f"{_in_unit(limit, limit.threshold)} or {side} is too {fault}"
    doubts = "".join(told(limit, finding) for told in (_too_little, _no_yardstick, _fallen, _of_a_part))
    return f"{_measured(limit, finding)} in {protocol}, step {finding.step} ({bad}{doubts})"


def _no_yardstick(limit: Limit, finding: Finding) -> str:
    """That the baseline clears nobody, where the share would."""
    if SHINGLED_BASELINE not in finding.evidence or _side(limit, finding) is not False:
        return ""
    return "; the baseline is shingled itself, so a good share of its rate clears nobody: take a conventional one"


def _of_a_part(limit: Limit, finding: Finding) -> str:
    """That a part of a drive clears nobody, where the figure would."""
    if _side(limit, finding) is not False or not _is_small_part(limit, finding):
        return ""
    return f"; that is of {format_size(float(finding.evidence[PART_BYTES]))} of a drive, and a whole one does worse"


def _fallen(limit: Limit, finding: Finding) -> str:
    """What a bad share of a drive that had collapsed says, and what not."""
    if not (_side(limit, finding) and _has_fallen(limit, finding)):
        return ""
    written = format_size(float(finding.evidence[FELL_AFTER]))
    return f"; its rate collapsed after {written} at random places, which says nothing of large files or one stream"


def _too_little(limit: Limit, finding: Finding) -> str:
    """How little was written where that alone leaves a doubt of a ratio; of a cliff another limit tells."""
    if limit.kind == "cliff" or (bad := _side(limit, finding)) is None:
        return ""
    if (lacking := _lacks(limit, finding, bad=bad)) is None:
        return ""
    written = format_size(float(finding.evidence.get(lacking.figure, 0)))
    return f"; {lacking.whose} wrote {written}, which tells nothing before {format_size(lacking.at_least)}"


def _measured(limit: Limit, finding: Finding) -> str:
    bounds = _bounds(limit, finding)
    if bounds is None:
        return f"{limit.name} not seen"
    low, high = bounds
    if finding.value is None and limit.figure not in finding.evidence:
        return f"{limit.name} more than {_in_unit(limit, low)}"
    value = _value(limit, finding, low)
    spread = "" if low == high else f", between {' and '.join(_both_in_unit(limit, low, high))},"
    return f"{limit.name} {_in_unit(limit, value)}{spread}"


def _both_in_unit(limit: Limit, low: float, high: float) -> tuple[str, str]:
    if limit.unit not in TIME_UNITS_NS:
        return _in_unit(limit, low), _in_unit(limit, high)
    return format_interval(low * TIME_UNITS_NS[limit.unit], high * TIME_UNITS_NS[limit.unit])


def _in_unit(limit: Limit, value: float) -> str:
    match limit.unit:
        case "ms" | "s":
            return format_duration(value * TIME_UNITS_NS[limit.unit])
        case "bytes":
            return format_size(value)
        case "IOPS":
            return f"{figure(value)} IOPS"
        case "share":
            return f"{figure(value * 100)} %"
