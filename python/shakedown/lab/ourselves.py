"""Shakedown itself and the libraries it needs, as a filesystem that is laid over the tools of a guest."""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
import shutil
from pathlib import Path
from typing import Final

import shakedown
from shakedown.errors import EnvironmentFailure
from shakedown.lab import cache
from shakedown.lab.erofs import write_erofs
from shakedown.lab.image import PYTHON, Image, compile_python
from shakedown.lab.program import Say

_PLACE: Final = f"usr/local/lib/{PYTHON}/dist-packages"
_START: Final = "#!/usr/bin/python3\nfrom shakedown.cli import main\n\nmain()\n"
_NOT_FOR_GUESTS: Final = ("__pycache__", "tests", "test", "include")


def pack_ourselves(image: Image, say: Say) -> Path:
    """The filesystem, made if the cache has none of this very code.

    Raises EnvironmentFailure if the guest's Python is of another version than ours: compiled libraries would not load.
    """
    if not any(package.startswith(f"{PYTHON}=") for package in image.packages):
        raise EnvironmentFailure(
            f"the guest has no {PYTHON}, so Shakedown cannot run in it",
            hint="run Shakedown with the Python of the distribution",
        )
    package = Path(shakedown.__file__).parent
    libraries = _libraries()
    name = f"ourselves-{_digest(package, libraries)}"
    place = cache.cache_folder() / name / "ourselves"
    if place.is_file():
        return place
    with cache.locked("packing", waits=True) as work:
        if place.is_file():
            return place
        say("image: packing Shakedown for the guest")
        root, made = work / "ourselves-root", work / "ourselves-made"
        for folder in (root, made):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        _copy(package, libraries, root / _PLACE)
        compile_python(root, _PLACE)
        start = root / "usr" / "local" / "bin" / "shakedown"
        start.parent.mkdir()
        start.write_text(_START)
        start.chmod(0o755)
        write_erofs(root, made / "ourselves")
        shutil.rmtree(root)
        return cache.publish(made, name) / "ourselves"


def _libraries() -> list[importlib.metadata.Distribution]:
    """What Shakedown needs, and what that needs; optional parts left out."""
    found: dict[str, importlib.metadata.Distribution] = {}
    left = ["shakedown"]
    while left:
        name = left.pop()
        if name in found:
            continue
        try:
            found[name] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            # Needed on other systems or other versions of Python only.
            continue
        needs = [need for need in found[name].requires or () if "extra ==" not in need]
        left += [re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", need, maxsplit=1)[0]).lower() for need in needs]
    return [found[name] for name in sorted(found)]


def _digest(package: Path, libraries: list[importlib.metadata.Distribution]) -> str:
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for library in libraries:
        digest.update(f"{library.name} {library.version}\n".encode())
    for path in sorted(path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        digest.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def _copy(package: Path, libraries: list[importlib.metadata.Distribution], place: Path) -> None:
    for library in libraries:
        for file in library.files or ():
            # Scripts and the like lie elsewhere.
            if ".." in file.parts or any(part in _NOT_FOR_GUESTS for part in file.parts[:-1]):
                continue
            source = Path(str(library.locate_file(file)))
            if source.is_file() and source.suffix != ".pth":
                (place / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, place / file)
    shutil.copytree(package, place / "shakedown", ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
