"""Faults that were ordered and made no difference, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shakedown.toml import parse_toml
from shakedown.units import NS_PER_S, format_duration


def in_vain(faults: str, met: Sequence[bool], drive: str, ended_ns: int, ended: str) -> Iterator[str]:
    """A sentence for each of a drive's faults (TOML, see ``docs/faults.md``) that nothing has ``met``.

    ``drive`` is what that is called; at ``ended_ns``, of the clock that faults count from, all was over, which
    ``ended`` tells in words.
    """
    for fault, has_met in zip(parse_toml(faults)["faults"], met, strict=True):
        from_ns = round(fault.get("from_s", 0) * NS_PER_S)
        # Whoever is told that a drive was unplugged has met that.
        if has_met or (fault.get("unplugged") and from_ns < ended_ns):
            continue
        if from_ns >= ended_ns:
            why = ended
        elif fault["kind"] == "latent-sectors":
            why = "nobody read one of its sectors"
        else:
            why = "no command of that drive came then"
        when = f", from {format_duration(from_ns)} on" if from_ns else ""
        yield f"WITHOUT EFFECT: the fault `{fault['kind']}` of {drive}{when}: {why}."
