"""The part of a document that a script makes: between a mark that says by what it was made, and ``END``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

END: Final = "<!-- end of what is made -->"


def put(document: Path, begin: str, made: str) -> None:
    """Write ``made`` in the place of what ``begin`` began. Raises SystemExit if the document has no such part.

    ``made`` may go on with the mark, as a digest does.
    """
    before, mark, rest = document.read_text(encoding="utf-8").partition(begin)
    _, end, after = rest.partition(END)
    if not (mark and end):
        raise SystemExit(f"{document}: no part from `{begin.strip()}` to `{END}`")
    document.write_text(f"{before}{begin}{made}{END}{after}", encoding="utf-8")
