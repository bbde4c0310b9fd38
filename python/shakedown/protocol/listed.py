"""What is published about drive models: the list that comes with Shakedown."""

from __future__ import annotations

from shakedown.analysis.identify.models import ModelList, parse_models
from shakedown.data import reference_path


def listed_models() -> ModelList:
    """All of ``reference/smr_models.csv``."""
    return parse_models(reference_path("smr_models.csv").read_text(encoding="utf-8"))
