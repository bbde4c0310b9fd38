"""A protocol's ``[parameters]``: their values, where they are filled in, and which of them a fault comes from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from shakedown.errors import UsageError
from shakedown.protocol.complain import did_you_mean
from shakedown.tools.fio.job import parse_option
from shakedown.units import NS_PER_S, parse_duration_ns, parse_size_bytes

_USE: Final = re.compile(r"\$\{([^}]*)\}")
_JOB: Final = ".job"
_NS_PER_MS: Final = NS_PER_S // 1000
_MINUTES: Final = re.compile(r"\d+(?:\.\d+)?\s*min")
_SIZE: Final = re.compile(r"\d+(?:\.\d+)?\s*[kKMGTP]i?B")


def _for_fio(value: str) -> str:
    """Minutes, and sizes with a unit, which mean the same in a job as in a condition: fio knows no `min`, and its `GiB`
    is 10^9.
    """
    if _SIZE.fullmatch(value):
        return str(parse_size_bytes(value))
    if not _MINUTES.fullmatch(value):
        return value
    duration_ns = parse_duration_ns(value)
    return f"{duration_ns // _NS_PER_MS}ms" if duration_ns % NS_PER_S else f"{duration_ns // NS_PER_S}s"


class Parameters:
    """The values in effect, and the texts of the protocol ``label`` that they were filled into."""

    def __init__(self, values: Mapping[str, str], given: Mapping[str, str], label: str) -> None:
        """``given`` are the values that were not left as the file has them."""
        self.values = {**values, **given}
        self._given = frozenset(given)
        self._label = label
        self._texts: dict[str, str] = {}

    def fill_in(self, value: Any, place: str) -> Any:
        """``value``, found at ``place``, with every ``${parameter}`` replaced in all its texts. Raises UsageError."""
        if isinstance(value, dict):
            return {key: self.fill_in(item, f"{place}.{key}") for key, item in value.items()}
        if isinstance(value, list):
            return [self.fill_in(item, f"{place}[{index}]") for index, item in enumerate(value)]
        if not isinstance(value, str):
            return value
        self._texts[place] = value
        filled = _for_fio if place.endswith(_JOB) else str
        return _USE.sub(lambda use: filled(self._value(use[1], place)), value)

    def _value(self, name: str, place: str) -> str:
        if name not in self.values:
            hint = did_you_mean(name, self.values) or "declare it under [parameters]"
            raise UsageError(f"`{self._label}`: `{place}` uses `${{{name}}}`, which is not a parameter", hint=hint)
        return self.values[name]

    def behind(self, place: str, option: str | None = None) -> str:
        """`` (from `--set hold=abc`)``: what the text at ``place``, or that ``option`` of the job there, was made of.

        Empty where no parameter was.
        """
        text = self._texts.get(place, "")
        if option is not None:
            lines = (line for line in text.splitlines() if parse_option(line).name == option)
            text = "\n".join(lines)
        names = dict.fromkeys(_USE.findall(text))
        shown = [f"`--set {name}={self.values[name]}`" if name in self._given else f"`{name}`" for name in names]
        return f" (from {', '.join(shown)})" if shown else ""
