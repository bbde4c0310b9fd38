"""What was found out about drives, for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from shakedown.analysis.identify.answer import Answer, exit_status
from shakedown.analysis.identify.facts import Facts
from shakedown.report.plain_text import wrap
from shakedown.units import format_size

_SURE: Final = {
    "certain": "{}, certain",
    "strong": "{}, on strong evidence",
    "likely": "likely {}, on moderate evidence",
    "none": "not known",
}
_UNTOLD: Final = "it tells nothing of itself"
_NEXT: Final = (
    "Only its behaviour under load tells: run the protocol `cliff` on it, or on a file on it. `--probe` is half a"
    " minute of it, and tells some."
)


def identify_text(answers: Sequence[Answer]) -> str:
    """A paragraph a drive: the answer, then each piece of evidence with its weight."""
    return "\n\n".join("\n".join(_paragraph(answer)) for answer in answers) + "\n"


def identify_document(answers: Sequence[Answer]) -> dict[str, Any]:
    """The same as JSON; ``facts`` can be read again on another machine."""
    return {"exit_status": exit_status(list(answers)), "drives": [_entry(answer) for answer in answers]}


def _paragraph(answer: Answer) -> Iterator[str]:
    facts = answer.facts
    size = format_size(facts.capacity_bytes) if facts.capacity_bytes else ""
    details = [part for part in (facts.model, facts.firmware, size, facts.transport) if part]
    yield wrap(f"{facts.name}: {_SURE[answer.confidence].format(answer.verdict)}")
    yield wrap(", ".join(details) or _UNTOLD, "  ")
    for each in answer.evidence:
        says = "says nothing" if each.says == "nothing" else f"{each.says}, {each.weight}"
        yield wrap(f"{each.source}: {says}. {each.text}", "  - ", "    ")
    if facts.random_read_iops is not None:
        yield wrap(_what_the_probe_did(facts), "  ")
    for what in facts.unread:
        yield wrap(f"not read: {what}", "  ! ", "    ")
    if answer.contradicted:
        decides = "so nothing is decided" if answer.verdict == "unknown" else "the weightiest decides"
        yield wrap(f"The evidence contradicts itself; {decides}.", "  ")
    if answer.verdict == "unknown" or answer.confidence == "likely":
        yield wrap(_NEXT, "  ")


def _what_the_probe_did(facts: Facts) -> str:
    if facts.durable_write_iops is None:
        return (
            "The probe has only read: it wrote nothing. With `--destroy-data-on` it writes, too, and that tells more."
        )
    whose = (
        "a modelled drive's, and nothing of this machine's" if facts.name.startswith("model:") else "its data is lost"
    )
    return f"The probe has overwritten random places: {whose}."


def _entry(answer: Answer) -> dict[str, Any]:
    return {
        "name": answer.facts.name,
        "verdict": answer.verdict,
        "confidence": answer.confidence,
        "contradicted": answer.contradicted,
        "evidence": [
            {"source": each.source, "says": each.says, "weight": each.weight, "text": each.text}
            for each in answer.evidence
        ],
        "facts": answer.facts.model_dump(mode="json"),
    }
