"""Runs every answerable row and writes the tables of docs/validation.md: ``make validation``.

The document keeps the digest of the data that its tables were made from, and tests/validate/test_document.py says when
either has changed.
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

from shakedown.validate.run import validate
from shakedown.validate.table import to_markdown

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "validation.md"
BEGIN, END = "<!-- made by make validation from data ", "<!-- end of what is made -->"


def digest() -> str:
    """Of all data that the tables depend on."""
    found = sha256()
    for folder in ("drives", "protocols", "reference"):
        for path in sorted(path for path in (ROOT / folder).rglob("*") if path.is_file()):
            found.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return found.hexdigest()[:16]


def main() -> None:
    """Replace what stands between the marks."""
    tables = to_markdown(validate(told=lambda line: print(line, file=sys.stderr)))
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{BEGIN}{digest()} -->\n{tables}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
