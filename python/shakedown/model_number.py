"""A drive's model number, of the many ways in which labels, shops and smartctl write it."""

from __future__ import annotations

import re
from typing import Final

_MAKERS: Final = re.compile(r"^(?:ATA|WDC|WD|SEAGATE|TOSHIBA|HGST|HITACHI|SAMSUNG)[ _]+", re.IGNORECASE)

UNKNOWN_MODEL: Final = "unknown"
"""What a profile says of a drive whose model number nobody has told."""


def model_number(model: str) -> str:
    """The number alone, ``WD80EFZX`` of ``WDC WD80EFZX-68UW8N0``: no maker in front, no revision behind the hyphen."""
    return _MAKERS.sub("", model.strip()).partition("-")[0].strip().upper()
