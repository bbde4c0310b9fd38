"""How a rebuild ended under each of its seeds, where it did not end well under all of them."""

from __future__ import annotations

from itertools import compress
from typing import Any, Final

from shakedown.report.told_table import ToldTable
from shakedown.result.answers import failed_place, read_answers
from shakedown.result.folder import Run
from shakedown.units import format_duration, format_share

_ENDED: Final = {"complete": "complete", "with-losses": "with losses", "failed": "failed"}


def seeds_table(run: Run) -> ToldTable | None:
    """A row a seed: what is said of all of them does not tell under which, when and by whom it was ended.

    None of a single one, which has its sentence, where nothing went wrong, and of folders that keep less of each seed.
    Raises UsageError where it is no rebuild.
    """
    rebuilds = read_answers(run.path)["rebuilds"]
    if len(rebuilds) < 2 or any("members" not in each or "done" not in each for each in rebuilds):
        return None
    if not any(each["ended"] != "complete" or _lost_drives(each) or _given_up(each) for each in rebuilds):
        return None
    head = ("seed", "ended", "after", "done", "longest command", "drives that fail", "given up")
    rows = [_row(run.record.seed + number, each) for number, each in enumerate(rebuilds)]
    shown = [column not in _IF_ANY or any(row[place] for row in rows) for place, column in enumerate(head)]
    told = [tuple(compress(row, shown)) for row in (head, *rows)]
    return ToldTable(told[0], tuple(told[1:]))


_IF_ANY: Final = ("drives that fail", "given up")


def _row(seed: int, one: dict[str, Any]) -> tuple[str, ...]:
    longest_ns, place = max((each["longest_command_ns"], place) for place, each in enumerate(one["members"]))
    return (
        str(seed),
        _ENDED.get(one["ended"], one["ended"]),
        format_duration(one["duration_ns"]),
        format_share(one["done"]),
        f"{format_duration(longest_ns)}, drive {place}",
        ", then ".join(_lost_drives(one)),
        ", ".join(_given_up(one)),
    )


def _given_up(one: dict[str, Any]) -> list[str]:
    """Commands that Linux gave up on, of drives that stayed."""
    lost = _lost_places(one)
    late = {place: each["timeouts"] for place, each in enumerate(one["members"]) if place not in lost}
    return [f"{count} of drive {place}" for place, count in late.items() if count]


def _lost_drives(one: dict[str, Any]) -> list[str]:
    """Those that the array left out, each with what the host saw of it."""
    return [f"{place}{_cause(one['members'][place])}" for place in _lost_places(one)]


def _lost_places(one: dict[str, Any]) -> list[int]:
    """In the order in which the array left them out."""
    members = one["members"]
    times = {place: each["failed_at_ns"] for place, each in enumerate(members) if each["failed_at_ns"] is not None}
    if one["ended"] == "failed":
        times.setdefault(failed_place(one["failed_member"], one["replacement"]), one["duration_ns"])
    return sorted(times, key=times.__getitem__)


def _cause(member: dict[str, Any]) -> str:
    """Nothing of one that just was not there any more."""
    if timeouts := member["timeouts"]:
        return f" ({timeouts} {'timeout' if timeouts == 1 else 'timeouts'})"
    if not member["is_faulted"]:
        return ""
    places = member.get("bad_places", 0)
    return f" ({places} bad {'place' if places == 1 else 'places'})" if places else " (failed commands)"
