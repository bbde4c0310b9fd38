"""Finds the project's data: drive profiles, protocols, published measurements, what the lab is made from.

``_data/`` lies inside the package. In a checkout it holds symbolic links to the folders at the top, in a wheel the
files themselves, so there is one way to find them.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Final

from shakedown.errors import UsageError
from shakedown.model_number import model_number

_DATA: Final = Path(__file__).with_name("_data")


def list_profiles() -> list[str]:
    """Names of the drive profiles that come with Shakedown, sorted."""
    return list(_names(_DATA / "drives"))


def profile_name(text: str) -> str | None:
    """Our name of a drive as people write it: ``ST8000VN004-2M2101``, ``WDC WD80EFZX-68UW8N0``. None of a stranger."""
    if ":" in text or names_file(text):
        return None
    known = _names(_DATA / "drives")
    return next((each for each in (text.lower(), _number(text)) if each in known), None)


def profile_path(name_or_path: str | Path) -> Path:
    """The file of a drive profile: a name of ours (``wd40efax``) or a path (``./mine.toml``). Raises UsageError."""
    name = name_or_path if names_file(name_or_path) else profile_name(str(name_or_path)) or name_or_path
    return _find("drives", "profile", name)


def protocol_path(name_or_path: str) -> Path:
    """The file of a protocol: a name of ours (``cliff``) or a path (``./mine.toml``). Raises UsageError."""
    return _find("protocols", "protocol", name_or_path)


def reference_path(file_name: str) -> Path:
    """A table of published measurements, such as ``published.csv``. Raises UsageError."""
    path = _DATA / "reference" / file_name
    if not path.is_file():
        raise UsageError(f"there is no reference table `{file_name}`")
    return path


def lab_path(name: str) -> Path:
    """A file or folder of what the lab is made from, such as ``kernel.config``."""
    return _DATA / "lab" / name


@cache
def _names(folder: Path) -> tuple[str, ...]:
    """Listed once: what comes with Shakedown does not change while it runs."""
    return tuple(sorted(path.stem for path in folder.glob("*.toml")))


def _number(text: str) -> str:
    """The model number at the end of what a label says, as our names are written."""
    return model_number(text.rsplit(maxsplit=1)[-1]).lower() if text.strip() else ""


def names_file(name_or_path: str | Path) -> bool:
    """Whether it is a file of the user's own, rather than the name of what comes with Shakedown."""
    return isinstance(name_or_path, Path) or "/" in name_or_path or name_or_path.endswith(".toml")


def _find(folder: str, noun: str, name_or_path: str | Path) -> Path:
    if names_file(name_or_path):
        path = Path(name_or_path)
        if not path.is_file():
            raise UsageError(f"{noun} `{name_or_path}` is not a file", hint=_hint(folder, noun, path.stem))
        return path
    name = str(name_or_path)
    if name not in _names(_DATA / folder):
        raise UsageError(f"there is no {noun} named `{name}`", hint=_hint(folder, noun, name))
    return _DATA / folder / f"{name}.toml"


def _hint(folder: str, noun: str, name: str) -> str:
    """Name what was probably meant, all there is, and how to get another."""
    known = _names(_DATA / folder)
    number = _number(name)
    close = get_close_matches(number, known, n=3, cutoff=0.5) if number else []
    own = f"a {noun} of your own is given as a path: `./{noun}.toml`"
    if folder == "drives":
        own = (
            "`shakedown profiles` lists all; `shakedown profiles new` makes one of another drive's data sheet, which "
            "is given as a path: `./mine.toml` (docs/profiles.md)"
        )
    elif not close and known:
        return f"there are {_quoted(known)}; {own}"
    return f"did you mean {_quoted(close)}? {own}" if close else own


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"`{each}`" for each in names)
