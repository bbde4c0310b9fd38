"""Runs every answerable row and writes docs/validation-table.md, and what the goals say into docs/validation.md:
``make validation``.

Both keep the digest of the data that they were made from, and tests/validate/test_document.py says when
either has changed.
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

from made_part import put
from shakedown.validate.run import validate
from shakedown.validate.table import goals_to_markdown, to_markdown

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "validation.md"
TABLE = ROOT / "docs" / "validation-table.md"
BEGIN = "<!-- made by make validation from data "


def digest() -> str:
    """Of all data that the tables depend on."""
    found = sha256()
    for folder in ("drives", "protocols", "reference"):
        for path in sorted(path for path in (ROOT / folder).rglob("*") if path.is_file()):
            found.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return found.hexdigest()[:16]


def main() -> None:
    """Replace what stands between the marks."""
    done = validate(told=lambda line: print(line, file=sys.stderr))
    for document, made in ((DOCUMENT, goals_to_markdown(done)), (TABLE, to_markdown(done))):
        put(document, BEGIN, f"{digest()} -->\n{made}")


if __name__ == "__main__":
    main()
