"""``--resume``: what goes on does so as it was ordered, and whatever orders something else beside it is refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from shakedown.errors import UsageError

_TYPED_AS: Final = {"settings": "set"}


def ordered_anew(options: Any, names: Iterable[str]) -> list[str]:
    """Those of the named options that are given, as they are typed: ``--like-lab``. All have a default."""
    usual = type(options)()
    given = [name for name in names if getattr(options, name) != getattr(usual, name)]
    return [f"--{_TYPED_AS.get(name, name).replace('_', '-')}" for name in given]


def refuse_another_order(noun: str, positional: str | None, options: Any, names: Iterable[str]) -> None:
    """Raise UsageError if any is given, or what is ``positional``: what that is called, where it was given."""
    given = ordered_anew(options, names)
    if positional is not None or given:
        left_out = [*([positional] if positional is not None else []), *(f"`{name}`" for name in given)]
        raise UsageError(
            f"`--resume` goes on with a {noun} as it was ordered", hint=f"leave {' and '.join(left_out)} out"
        )
