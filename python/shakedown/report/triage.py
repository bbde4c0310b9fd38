"""A diagnosis of a kernel log, for people and as JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

from shakedown.analysis.triage.diagnosis import Diagnosis, Judged
from shakedown.analysis.triage.episode import Episode
from shakedown.analysis.triage.judge import TITLES, consequence_text
from shakedown.report.plain_text import wrap
from shakedown.result.timeline import Timeline
from shakedown.units import NS_PER_S, format_duration

_SUMMARY: Final = {
    None: "Nothing in it speaks of a drive in trouble.",
    "harmless": "Nothing bad: what happened is harmless.",
    "unclear": "Inconclusive: something happened whose cause the log does not tell.",
    "unsafe": "Unsafe: something here harms data or an array, though it need not be the drive.",
    "dying": "A drive is dying.",
}
_NOT_A_LOG: Final = "Inconclusive: this does not look like a log of the kernel."
_SMARTCTL: Final = (
    "Not read: what smartctl printed. triage reads logs, among them what smartd said there; look yourself for "
    "`FAILED` and for sectors pending, offline uncorrectable or reallocated. Whether the drive is shingled says "
    "`shakedown identify --recorded FILE`, of what `smartctl --json -i DEVICE` printed."
)
_OFF_THE_RUN: Final = (
    "Not put on the run's time: episodes without the time of day, which the run's journal has. "
    "`dmesg --time-format iso` and journalctl print it."
)
_EMPTY: Final = "Inconclusive: the log is empty; the kernel's may need root to be read."


def triage_text(diagnosis: Diagnosis, zone: tzinfo, timeline: Timeline | None, not_met: Collection[str] = ()) -> str:
    """The diagnosis for a terminal: a paragraph an episode, each advice once for a drive.

    ``not_met`` are drives that were told to be shingled, and of which no episode is.
    """
    lines = [f"{_number(diagnosis.lines, 'line')}, {_number(len(diagnosis.episodes), 'episode')}"]
    told: set[tuple[str, str]] = set()
    for judged in diagnosis.episodes:
        lines += ["", *_paragraph(judged, zone, timeline, told)]
    if diagnosis.dropped:
        lines += ["", f"{_number(diagnosis.dropped, 'further episode')} not kept: see to these first."]
    if diagnosis.holds_smartctl:
        lines += ["", wrap(_SMARTCTL)]
    if timeline and any(judged.episode.clock != "wall" for judged in diagnosis.episodes):
        lines += ["", wrap(_OFF_THE_RUN)]
    if not_met:
        lines += ["", wrap(f"Without effect: no episode is of {' or '.join(not_met)}, which `--shingled` names.")]
    no_log = _NOT_A_LOG if diagnosis.lines else _EMPTY
    summary = _SUMMARY[diagnosis.worst] if diagnosis.worst or diagnosis.is_log else no_log
    return "\n".join([*lines, "", wrap(summary + _of_whom(diagnosis))]) + "\n"


def _of_whom(diagnosis: Diagnosis) -> str:
    """The drives of the worst episodes: between them and the end there may be pages."""
    if diagnosis.worst not in ("dying", "unsafe"):
        return ""
    worst = (each.episode.drive for each in diagnosis.episodes if each.judgement.grade == diagnosis.worst)
    drives = dict.fromkeys(drive.title for drive in worst if drive.title)
    return f" See {' and '.join(drives)}." if drives else ""


def triage_document(diagnosis: Diagnosis, timeline: Timeline | None, not_met: Collection[str] = ()) -> dict[str, Any]:
    """The diagnosis as JSON."""
    return {
        "exit_status": diagnosis.exit_status,
        "worst": diagnosis.worst,
        "is_log": diagnosis.is_log,
        "holds_smartctl": diagnosis.holds_smartctl,
        "lines": diagnosis.lines,
        "dropped": diagnosis.dropped,
        "shingled_not_met": list(not_met),
        "episodes": [_entry(judged, timeline) for judged in diagnosis.episodes],
    }


def _paragraph(judged: Judged, zone: tzinfo, timeline: Timeline | None, told: set[tuple[str, str]]) -> Iterator[str]:
    episode, judgement = judged.episode, judged.judgement
    drive = " ".join(part for part in (episode.drive.title, episode.drive.model) if part) or "no drive named"
    yield f"{_when(episode, zone, timeline)}  {drive}"
    yield f"  {judgement.grade}: {TITLES[judgement.kind]}" + ("  (field notes C)" if judgement.is_sign_of_c else "")
    yield wrap(judgement.text, "  ")
    for what in judgement.consequences:
        yield wrap(f"{consequence_text(what)} ({episode.counts[what]})", "  ", "    ")
    yield wrap(f"lines {episode.first_line} to {episode.last_line}: {_counts(episode)}", "  ", "    ")
    for advice in judged.advice:
        if (drive, advice.command) in told:
            continue
        told.add((drive, advice.command))
        yield wrap(advice.text, "  - ", "    ")
        yield f"      do:   {advice.command}"
        yield f"      undo: {advice.undo}"


def _when(episode: Episode, zone: tzinfo, timeline: Timeline | None) -> str:
    if episode.begin_s is None or episode.end_s is None:
        return f"line {episode.first_line}"
    lasted_s = episode.end_s - episode.begin_s
    lasted = f", for {format_duration(lasted_s * NS_PER_S)}" if lasted_s >= 1 else ""
    if episode.clock == "boot":
        return f"{format_duration(episode.begin_s * NS_PER_S)} after boot{lasted}"
    # As the log has it, so that whoever looks for it there finds it.
    stamp = datetime.fromtimestamp(episode.begin_s, episode.zone or zone).replace(tzinfo=episode.zone)
    told = stamp.isoformat(" ", "seconds")
    moment = timeline.at(episode.begin_s) if timeline else None
    run = f" ({format_duration(moment.run_ns)} into the run, step {moment.step})" if moment else ""
    outside = " (not during the run)" if timeline and not moment else ""
    return f"{told}{lasted}{run}{outside}"


def _counts(episode: Episode) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(episode.counts.items(), key=lambda each: -each[1]))


def _entry(judged: Judged, timeline: Timeline | None) -> dict[str, Any]:
    episode, judgement = judged.episode, judged.judgement
    is_wall = episode.clock == "wall" and episode.begin_s is not None
    moment = timeline.at(episode.begin_s) if timeline and is_wall and episode.begin_s is not None else None
    return {
        "drive": {
            "names": [name for name in episode.drive.names if name],
            "former_name": episode.drive.passed_on or None,
            "model": episode.drive.model or None,
        },
        "shingled": judged.shingled,
        "kind": judgement.kind,
        "grade": judgement.grade,
        "is_sign_of_c": judgement.is_sign_of_c,
        "text": judgement.text,
        "clock": episode.clock,
        "begin_s": episode.begin_s,
        "end_s": episode.end_s,
        "begin": datetime.fromtimestamp(episode.begin_s, UTC).isoformat() if is_wall and episode.begin_s else None,
        "boot": episode.boot,
        "run": None if moment is None else {"run_ns": moment.run_ns, "step": moment.step},
        "first_line": episode.first_line,
        "last_line": episode.last_line,
        "absence_s": episode.longest_absence_s if episode.was_gone else None,
        "signs": dict(sorted(episode.counts.items())),
        "commands": dict(sorted(episode.commands.items())),
        "sectors": sorted(episode.sectors),
        "consequences": list(judgement.consequences),
        "advice": [{"text": each.text, "command": each.command, "undo": each.undo} for each in judged.advice],
    }


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
