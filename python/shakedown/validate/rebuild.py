"""Every rebuild that the asked rows need, over all cores."""

from __future__ import annotations

import time
from collections.abc import Sequence

from shakedown.array.order import RebuildOrder
from shakedown.array.rebuild import simulate
from shakedown.array.settings import parse_options
from shakedown.parallel import on_every_core
from shakedown.reference import Row
from shakedown.units import parse_size_bytes
from shakedown.validate.answer import Answer, answer_rebuild
from shakedown.validate.question import Questions, Rebuild, RebuildQuestion
from shakedown.validate.waiting import Piece, Waiting, effort


def rebuild_answers(
    asked: Sequence[RebuildQuestion], questions: Questions, published: dict[str, Row], waiting: Waiting
) -> list[Answer]:
    """The answers, each rebuild made once."""
    seconds = _durations([questions.rebuild(name) for name in rebuilds_of(asked)], waiting)
    return [answer_rebuild(each, questions.rebuild(each.rebuild), published[each.row], seconds) for each in asked]


def rebuilds_of(asked: Sequence[RebuildQuestion]) -> list[str]:
    """Each once, those that take longest first."""
    return sorted(dict.fromkeys(name for each in asked for name in each.rebuilds), key=effort, reverse=True)


def _durations(rebuilds: Sequence[Rebuild], waiting: Waiting) -> dict[str, float]:
    """By name, how many seconds each takes in the model."""
    if not rebuilds:
        return {}
    with on_every_core(_duration, [(each,) for each in rebuilds]) as pending:
        named = zip(rebuilds, pending, strict=True)
        pieces = [Piece(rebuild.name, f"{rebuild.name} (a rebuild)", each) for rebuild, each in named]
        return dict(waiting.as_ended(pieces))


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
