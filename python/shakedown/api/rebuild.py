"""Rebuilds of modelled arrays, one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from shakedown.array.order import RebuildOrder, members_of
from shakedown.array.rebuild import Rebuild, simulate
from shakedown.errors import UsageError
from shakedown.target.md_options import MdOptions


def rebuild(
    layout: str,
    members: str | Sequence[str],
    *,
    width: int | None = None,
    replace_with: str | None = None,
    **options: Any,
) -> Rebuild:
    """Replace the last of the drives of an array, and say what came of it.

    ``members`` are targets (``model:wd40efrx``): all of them, or one and ``width``. ``options`` are the other fields of
    ``RebuildOrder`` (``member_bytes``, ``fill`` from 0 to 1, ``state``, ``load``: the text of a fio job, ``seed``,
    ``scale_divisor``, ``whole``, ``faults`` by place) and those of ``MdOptions`` (``chunk_bytes``, ...).
    Raises UsageError for what cannot be.
    """
    targets = members_of([members] if isinstance(members, str) else members, width)
    names = {each.name for each in fields(MdOptions)}
    md = MdOptions(**{name: value for name, value in options.items() if name in names})
    rest = {name: value for name, value in options.items() if name not in names}
    known = {each.name for each in fields(RebuildOrder)} - {"layout", "members", "replacement", "options"}
    if unknown := sorted(rest.keys() - known):
        raise UsageError(f"a rebuild has no option `{unknown[0]}`", hint="docs/rebuild.md lists them")
    return simulate(RebuildOrder(layout, targets, replace_with or targets[-1], options=md, **rest))
