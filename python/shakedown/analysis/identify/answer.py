"""All evidence on a drive together: an answer and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from shakedown.analysis.identify.evidence import Evidence, Says, Weight, weigh
from shakedown.analysis.identify.facts import Facts
from shakedown.analysis.identify.models import ModelList

Verdict = Literal["shingled", "conventional", "solid-state", "unknown"]
Confidence = Literal["certain", "strong", "likely", "none"]

_CONFIDENCE: Final[dict[Weight, Confidence]] = {"decisive": "certain", "strong": "strong", "moderate": "likely"}


@dataclass(frozen=True)
class Answer:
    """``contradicted`` is evidence that says otherwise; where the weightiest disagrees, the answer is unknown."""

    facts: Facts
    verdict: Verdict
    confidence: Confidence
    evidence: tuple[Evidence, ...]
    contradicted: bool

    @property
    def exit_status(self) -> int:
        """1 shingled, 0 not, 3 where no evidence is strong."""
        if self.confidence not in ("certain", "strong"):
            return 3
        return 1 if self.verdict == "shingled" else 0


def answer(facts: Facts, models: ModelList) -> Answer:
    """The answer of the weightiest evidence alone: many weak pieces do not add up to a strong one."""
    evidence = weigh(facts, models)
    telling = [each for each in evidence if each.says != "nothing"]
    top = [each for each in telling if each.weight == telling[0].weight]
    said: set[Says] = {each.says for each in top}
    confidence = _CONFIDENCE.get(top[0].weight, "none") if len(said) == 1 else "none"
    verdict: Verdict = "unknown"
    if confidence != "none" and top[0].says != "nothing":
        verdict = top[0].says
    contradicted = len({each.says for each in telling}) > 1
    return Answer(facts, verdict, confidence, evidence, contradicted)


def exit_status(answers: list[Answer]) -> int:
    """One shingled drive gives 1, otherwise one that is not known gives 3, otherwise 0."""
    given = {each.exit_status for each in answers}
    return next((status for status in (1, 3) if status in given), 0)
