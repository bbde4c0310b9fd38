"""``shakedown profiles``: which modelled drives there are, and how sure each is."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Annotated, Final

from cyclopts import Parameter

from shakedown.cli.document import print_document
from shakedown.cli.output import print_result, tell
from shakedown.data import list_profiles, profile_name, profile_path
from shakedown.report.plain_text import table, wrap
from shakedown.target.overview import Overview, overview
from shakedown.target.profile import read_profile

_NOTE: Final = (
    "MB/s is what it sustains at the edge, skews included; then who says so: others who measured it, its data sheet, a "
    "sheet that is remembered and was not looked up, or nobody. A drive without shingles is conventional. Of the "
    "others, how much of what makes it shingle was measured; ASSUMED: nobody has published how this one does it, so it "
    "has the parts of a drive of which more is known. `shakedown profiles new` makes one of a data sheet."
)


def show(
    *words: str,
    json: Annotated[bool, Parameter(show_default=False, help="print one JSON document instead of the table")] = False,
) -> int:
    """List the modelled drives, and how sure the figures of each are.

    For example:

    shakedown profiles

    shakedown profiles ironwolf

    shakedown profiles ST8000VN004-2M2101 --json

    Parameters
    ----------
    words
        Only drives whose name or title holds one of these, or that are called so by their label.
    """
    known = [overview(read_profile(profile_path(name))) for name in list_profiles()]
    found = [each for each in known if not words or any(_is_meant(each, word) for word in words)]
    if not found:
        profile_path(words[0].removeprefix("model:"))  # a stranger: it tells what is near
    for word in dict.fromkeys(words):
        if not any(_is_meant(each, word) for each in known):
            tell(f"`{word}`: no drive's name or title holds that")
    if json:
        print_document("profiles", {"profiles": [asdict(each) for each in found]})
        return 0
    head = ("model:", "drive", "TB", "rpm", "MB/s", "source", "shingles")
    print_result(f"{table(head, [_row(each) for each in found])}\n\n{wrap(_NOTE)}\n")
    return 0


def _is_meant(drive: Overview, word: str) -> bool:
    plain = word.removeprefix("model:")
    return drive.name == profile_name(plain) or plain.lower() in f"{drive.name} {drive.title}".lower()


def _row(drive: Overview) -> tuple[str, ...]:
    return (
        drive.name,
        re.sub(r"(?<! of) \d+ TB$", "", re.split(r" \(|[,:]| on USB", drive.title)[0]),
        f"{drive.capacity_bytes / 1e12:.3g}",
        f"{drive.rpm:.0f}",
        f"{drive.outer_bytes_per_s / 1e6:.0f}",
        drive.rate_from,
        drive.shingles,
    )
