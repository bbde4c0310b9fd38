"""``NAME=VALUE`` of whoever builds arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from shakedown.errors import UsageError


class OutOfRangeError(ValueError):
    """The range that a value is not in."""


def between(
    least: int, most: int | None = None, parse: Callable[[str], int] = int, show: Callable[[int], str] = str
) -> Callable[[str], int]:
    """What reads a value that is one from ``least`` to ``most`` (None: there is no end)."""

    def read(text: str) -> int:
        value = parse(text)
        if value < least or (most is not None and value > most):
            raise OutOfRangeError(f"{show(least)} or more" if most is None else f"{show(least)} to {show(most)}")
        return value

    return read


def split_pairs(
    texts: Sequence[str],
    hint: str,
    form: str = "NAME=VALUE",
    name_of: Callable[[str], str] = str,
    twice: str = "leave one of them out",
) -> dict[str, str]:
    """The values by their names, as ``name_of`` reads them. Raises UsageError for what is no pair, and for a second."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"`{text}` is not {form}", hint=hint)
        if (key := name_of(name)) in found:
            raise UsageError(f"`{key}` is given twice, as `{text}` at last", hint=twice)
        found[key] = value
    return found


def read_settings(
    texts: Sequence[str], known: Mapping[str, tuple[str, Callable[[str], Any]]], of: str, examples: str
) -> dict[str, Any]:
    """The values that ``known`` makes of the texts, by its keys. Raises UsageError that says what may be set."""
    given = {}
    names = f"NAME=VALUE with {', '.join(known)}"
    for name, value in split_pairs(texts, names).items():
        text = f"{name}={value}"
        if name not in known:
            raise UsageError(f"`{text}` is no option of {of}", hint=names)
        key, parse = known[name]
        try:
            given[key] = parse(value)
        except OutOfRangeError as error:
            raise UsageError(f"`{text}` is out of range: {error}", hint=examples) from error
        except UsageError as error:
            raise UsageError(f"`{text}`: {error}", hint=error.hint) from error
        except (ValueError, KeyError) as error:
            raise UsageError(f"`{text}` cannot be read", hint=examples) from error
    return given


def refuse_of_other_layouts(
    options: object, layout: str, known: Mapping[str, tuple[str, object]], layouts_of: Mapping[str, Collection[str]]
) -> None:
    """Raise UsageError for what is set and ``layout`` does not have; ``layouts_of`` are those that do."""
    usual = type(options)()
    for setting, layouts in layouts_of.items():
        name = known[setting][0]
        if layout not in layouts and getattr(options, name) != getattr(usual, name):
            who = f"{', '.join(layouts)} {'has' if len(layouts) == 1 else 'have'} it"
            raise UsageError(f"{layout} has no `{setting}` to set", hint=f"leave it out; {who}")
