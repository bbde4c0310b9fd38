"""Finds the project's data: drive profiles, protocols, published measurements, what the lab is made from.

``_data/`` lies inside the package. In a checkout it holds symbolic links to the folders at the top, in a wheel the
files themselves, so there is one way to find them.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Final

from shakedown.errors import UsageError

_DATA: Final = Path(__file__).with_name("_data")


def list_profiles() -> list[str]:
    """Names of the drive profiles that come with Shakedown, sorted."""
    return _names("drives")


def profile_path(name_or_path: str | Path) -> Path:
    """The file of a drive profile: a name of ours (``wd40efax``) or a path (``./mine.toml``). Raises UsageError."""
    return _find("drives", "profile", name_or_path)


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


def _names(folder: str) -> list[str]:
    return sorted(path.stem for path in (_DATA / folder).glob("*.toml"))


def _find(folder: str, noun: str, name_or_path: str | Path) -> Path:
    if isinstance(name_or_path, Path) or "/" in name_or_path or name_or_path.endswith(".toml"):
        path = Path(name_or_path)
        if not path.is_file():
            raise UsageError(f"{noun} `{name_or_path}` is not a file", hint=_hint(folder, noun, path.stem))
        return path
    if name_or_path not in _names(folder):
        raise UsageError(f"there is no {noun} named `{name_or_path}`", hint=_hint(folder, noun, name_or_path))
    return _DATA / folder / f"{name_or_path}.toml"


def _hint(folder: str, noun: str, name: str) -> str:
    """Name what was probably meant; with nothing close, name all there is."""
    known = _names(folder)
    close = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    own = f"a {noun} of your own is given as a path: `./{noun}.toml`"
    if not known:
        return own
    return f"{'did you mean' if close else 'there are'} {', '.join(f'`{each}`' for each in close or known)}; {own}"
