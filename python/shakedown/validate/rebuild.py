"""Every rebuild that the asked rows need, over all cores."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from shakedown.array.order import RebuildOrder
from shakedown.array.rebuild import simulate
from shakedown.array.settings import parse_options
from shakedown.parallel import on_every_core
from shakedown.reference import Row
from shakedown.units import parse_size_bytes
from shakedown.validate.answer import Answer, answer_rebuild
from shakedown.validate.question import Questions, Rebuild, RebuildQuestion
from shakedown.validate.waiting import as_ended


def rebuild_answers(
    asked: Sequence[RebuildQuestion], questions: Questions, published: dict[str, Row], told: Callable[[str], None]
) -> list[Answer]:
    """The answers, each rebuild made once; ``told`` hears of the progress."""
    names = list(dict.fromkeys(name for each in asked for name in each.rebuilds))
    seconds = _durations([questions.rebuild(name) for name in names], told)
    return [answer_rebuild(each, questions.rebuild(each.rebuild), published[each.row], seconds) for each in asked]


def _durations(rebuilds: Sequence[Rebuild], told: Callable[[str], None]) -> dict[str, float]:
    """By name, how many seconds each takes in the model."""
    if not rebuilds:
        return {}
    found = {}
    with on_every_core(_duration, [(each,) for each in rebuilds], ends_all=KeyboardInterrupt) as pending:
        names = {each: rebuild.name for each, rebuild in zip(pending, rebuilds, strict=True)}
        shown = {each: f"{name} (a rebuild)" for each, name in names.items()}
        for number, done in enumerate(as_ended(shown, told), start=1):
            found[names[done]], computed_s = done.result()
            told(f"{number} of {len(pending)} rebuilds: {names[done]}, {computed_s:.1f} s")
    return found


def _duration(rebuild: Rebuild) -> tuple[float, float]:
    """How long it takes, and how long it took to find out."""
    began_s = time.monotonic()
    return simulate(rebuild_order(rebuild)).duration_s, time.monotonic() - began_s


def rebuild_order(rebuild: Rebuild) -> RebuildOrder:
    """As ``simulate`` takes it. Raises UsageError."""
    return RebuildOrder(
        layout=rebuild.layout,
        members=(f"model:{rebuild.drive}",) * rebuild.width,
        replacement=f"model:{rebuild.replace_with or rebuild.drive}",
        member_bytes=None if rebuild.member_size is None else parse_size_bytes(rebuild.member_size),
        fill=rebuild.fill,
        state=rebuild.state,
        options=parse_options(rebuild.layout, rebuild.settings),
    )
