"""The one JSON document that ``--json`` prints."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

from shakedown.cli.output import print_result

FORMAT_VERSION: Final = 1


def print_document(command: str, content: dict[str, Any]) -> None:
    """Print ``content`` on standard output as the answer of ``command``."""
    document = {"format_version": FORMAT_VERSION, "command": command, **content}
    # What keeps text, and no bytes, has no encoding.
    is_unicode = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
    print_result(json.dumps(document, indent=1, ensure_ascii=not is_unicode, allow_nan=False) + "\n")
