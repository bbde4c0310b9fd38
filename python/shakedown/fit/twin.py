"""A twin: the profile that says what was found."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Final

from shakedown.fit.estimate import Estimate

UNKNOWN: Final = "assumed: not identified"
BY: Final = "by characterize"
PERHAPS_MARK: Final = "but nothing came home in silence: perhaps the mark from which on it cleans under pressure"
_WHOLE: Final = 1e-6
REST_MS: Final = 1000

Plain = int | float | bool | str | list[list[float]]


@dataclass
class Twin:
    """Sections of a profile; each value with its origin."""

    name: str
    title: str
    sections: dict[str, dict[str, tuple[Plain, str]]] = field(default_factory=dict)
    misses: dict[str, float] = field(default_factory=dict)
    """Figures that no value tried makes the drive's, and by which share the nearest is off."""

    def put(self, section: str, key: str, value: Plain, origin: str) -> None:
        """Set a value."""
        self.sections.setdefault(section, {})[key] = (value, origin)

    def put_measured(self, section: str, key: str, found: Estimate, digits: int) -> None:
        """Set what was measured, to so many digits."""
        self.put(section, key, round(found.value, digits) if digits else round(found.value), span(found, digits))

    def put_at_least(self, section: str, key: str, found: Estimate, why: str) -> None:
        """Set what may be more, but is no less; ``why`` no more is known."""
        self.put(section, key, round(found.value), f"{UNKNOWN}; at least {found.low:.0f}, for {why}")

    def value(self, section: str, key: str) -> Plain:
        """A value."""
        return self.sections[section][key][0]

    def number(self, section: str, key: str) -> float:
        """A value that is a number."""
        value = self.value(section, key)
        assert isinstance(value, int | float)
        return float(value)

    def is_unknown(self, section: str, key: str) -> bool:
        """Whether a value was looked for and not found; what a drive does not have is not unknown."""
        _, origin = self.sections.get(section, {}).get(key, (None, ""))
        return origin.startswith(UNKNOWN)

    def doubt(self, section: str, key: str, why: str) -> None:
        """Keep a value, but as one that was not found."""
        self.put(section, key, self.value(section, key), f"{UNKNOWN}; {why}")

    def with_value(self, section: str, key: str, value: Plain) -> Twin:
        """Another twin, with one other value of the same origin."""
        sections = {name: dict(values) for name, values in self.sections.items()}
        other = Twin(self.name, self.title, sections, dict(self.misses))
        other.put(section, key, value, self.sections[section][key][1])
        return other

    def aggressive(self) -> Twin:
        """One that cleans whatever it holds: how it does that is the same, and shows without filling its cache."""
        section = "translation.cleaning"
        other = self.with_value(section, "when", "aggressive")
        for only_lazy in ("high_mark", "low_mark", "rest_s"):
            other.sections[section].pop(only_lazy, None)
        return other

    def at_rest(self) -> Twin:
        """One that cleans in silence only, whatever it holds: what is written stays until then."""
        section, other = "translation.cleaning", self.aggressive()
        other.put(section, "driven", "idle", UNKNOWN)
        other.put(section, "idle_ms", REST_MS, UNKNOWN)
        return other

    @property
    def toml(self) -> str:
        """The text of the profile."""
        lines = ["format_version = 1", f"name = {json.dumps(self.name)}", f"title = {json.dumps(self.title)}"]
        for section, values in self.sections.items():
            lines += ["", f"[{section}]"]
            for key, (value, origin) in values.items():
                lines.append(f"{key} = {{ value = {json.dumps(value)}, origin = {json.dumps(origin)} }}")
        return "\n".join(lines) + "\n"

    def unidentified(self) -> list[str]:
        """Full keys of what could not be found."""
        keys = ((section, key) for section, values in self.sections.items() for key in values)
        return [f"{section}.{key}" for section, key in keys if self.is_unknown(section, key)]


def span(found: Estimate, digits: int) -> str:
    """The origin of what was measured: its interval."""
    grain = 10.0**-digits
    # Outwards; what is whole but for rounding stays.
    low, high = math.floor(found.low / grain + _WHOLE) * grain, math.ceil(found.high / grain - _WHOLE) * grain
    return f"measured: {low:.{digits}f}..{high:.{digits}f} {BY}"
