"""Rebuilds of modelled arrays, one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from shakedown.api.drive import Drive, faults_text, whole_number
from shakedown.array.order import RebuildOrder, failed_of, members_of
from shakedown.array.rebuild import Rebuild, Share, check_faults, simulate
from shakedown.array.zfs import ZfsOptions
from shakedown.data import profile_name
from shakedown.errors import UsageError
from shakedown.layouts import ZFS_LAYOUTS
from shakedown.target.md_options import MdOptions

_LOOK_S = 0.1


def rebuild(
    layout: str,
    members: str | Path | Sequence[str | Path],
    *,
    width: int | None = None,
    replace_with: str | Path | None = None,
    **options: Any,
) -> Rebuild:
    """Replace a drive of an array, the last or the one in the place ``failed``, and say what came of it.

    ``members`` are targets (``model:wd40efrx``, or ``wd40efrx`` for short) or paths of profiles: all of them, or one
    and ``width``.
    ``options`` are the other fields of ``RebuildOrder`` (``member_bytes``, ``fill`` from 0 to 1, ``state``, ``load``:
    the text of a fio job, ``seed``, ``scale_divisor``, ``whole``, ``faults`` by place, each as text or as a file's
    path) and those of the layout's own: of ``MdOptions`` (``chunk_bytes``, ...), for ZFS of ``ZfsOptions``
    (``record_bytes``, ...). Ctrl-C ends it at once.
    Raises UsageError for what cannot be.
    """
    members = (members,) if isinstance(members, str | Path) else members
    if not isinstance(members, Sequence) or not all(isinstance(each, str | Path) for each in members):
        raise _no_target("members", members)
    targets = members_of(tuple(map(_target, members)), _checked("width", int | None, width))
    if not isinstance(replace_with, str | Path | None):
        raise _no_target("replace_with", replace_with)
    replace_with = None if replace_with is None else _target(replace_with)
    layout = _checked("layout", str, layout).lower()  # as the command line takes it
    kind, other = (ZfsOptions, MdOptions) if layout in ZFS_LAYOUTS else (MdOptions, ZfsOptions)
    own = {name: options.pop(name) for name in _names(kind) & options.keys()}
    if strange := sorted(_names(other) & options.keys()):
        raise UsageError(
            f"{layout} takes no `{strange[0]}`: it is of {'md' if kind is ZfsOptions else 'ZFS'}",
            hint=f"its own are {', '.join(each.name for each in fields(kind))}",
        )
    known = _names(RebuildOrder) - {"layout", "members", "replacement", "options"}
    if unknown := sorted(options.keys() - known):
        raise UsageError(f"a rebuild has no option `{unknown[0]}`", hint="docs/python.md tells which there are")
    failed = _checked("failed", int | None, options.get("failed"))
    options |= {"layout": layout, "members": targets, "replacement": replace_with or failed_of(targets, failed)}
    if isinstance(faults := options.get("faults"), Mapping):
        options["faults"] = {place: faults_text(each) for place, each in faults.items()}
        for place, text in options["faults"].items():
            check_faults(f"faults of drive {place}", text)
    types = get_type_hints(RebuildOrder) | get_type_hints(kind)
    order, own = ({name: _checked(name, types[name], value) for name, value in each.items()} for each in (options, own))
    return _interruptibly(RebuildOrder(**order, options=kind(**own)))


def _target(given: str | Path) -> str:
    """Here every drive is modelled, and so a profile's name or its path is enough."""
    if isinstance(given, Path):
        return f"model:{given if given.is_absolute() else f'./{given}'}"
    return f"model:{given}" if profile_name(given) else given


def _no_target(name: str, given: object) -> UsageError:
    if any(isinstance(each, Drive) for each in (given if isinstance(given, Sequence) else [given])):
        return UsageError(
            f"`{name}` is {given!r:.60}: an array makes its drives itself, and a `Drive` is one that has begun",
            hint='name the target: `"model:wd40efrx"`, `"model:./mine.toml"` or a `pathlib.Path`',
        )
    either = "a drive, or a list of them" if name == "members" else "a drive"
    return UsageError(
        f"`{name}` is {given!r:.60}: it must be {either}",
        hint='like `"model:wd40efrx"`, of the members with a `width`, or `["model:wd40efrx", "model:wd40efax"]`',
    )


def _interruptibly(order: RebuildOrder) -> Rebuild:
    """Rebuild in another thread: signals come to this one, and it waits for nothing but that.

    A wait without an end is not woken by Ctrl-C once polars is loaded, which has system calls go on (SA_RESTART).
    """
    share = Share()
    with ThreadPoolExecutor(max_workers=1) as aside:
        rebuilt = aside.submit(simulate, order, share)
        try:
            while not wait([rebuilt], timeout=_LOOK_S).done:
                pass
            return rebuilt.result()
        finally:
            share.stop()


def _checked(name: str, kind: Any, value: Any) -> Any:
    """The value of an option, once it is of its type. Raises UsageError."""
    try:
        checked = TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise UsageError(
            f"`{name}` is {value!r:.60}: {error.errors()[0]['msg'].lower()}",
            hint="docs/python.md tells what each option takes",
        ) from error
    least, most = (1, 2**32 - 1) if name == "scale_divisor" else (0, 2**63 - 1)
    if isinstance(checked, tuple) and any(type(each) is int and not least <= each <= most for each in checked):
        raise UsageError(
            f"`{name}` is {value!r:.60}: its numbers must be whole ones from {least} to {most}",
            hint="docs/python.md tells what each option takes",
        )
    if type(checked) is int:
        whole_number(name, value, least, most)  # "2" and 2.0 are none
    return checked


def _names(kind: type[MdOptions | ZfsOptions | RebuildOrder]) -> set[str]:
    return {each.name for each in fields(kind)}
