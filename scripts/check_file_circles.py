"""No two files of a crate need each other, directly or round about: each can be read behind those that it uses.

What a `mod.rs` or `lib.rs` hands on has its place in the file that it comes from, and is not followed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Container, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

CRATES = Path(__file__).parent.parent / "crates"
FRONTS = {"mod", "lib"}
Module = tuple[str, ...]


def modules(source: Path) -> dict[Module, Path]:
    """The files of a crate by the path of their module."""
    return {path.relative_to(source).with_suffix("").parts: path for path in source.rglob("*.rs")}


def leaves(tree: str) -> Iterator[str]:
    """The paths that a `use` with braces stands for."""
    inner = re.search(r"\{([^{}]*)\}", tree)
    if inner is None:
        yield tree
        return
    for part in inner[1].split(","):
        yield from leaves(tree[: inner.start()] + part.strip() + tree[inner.end() :])


def used(module: Module, text: str) -> Iterator[Module]:
    """The paths within its crate that a file names: in a `use`, or where it needs them."""
    text = re.sub(r"//.*", "", text).split("#[cfg(test)]\nmod tests", maxsplit=1)[0]
    named = [leaf for tree in re.findall(r"\buse ([^;]+);", text) for leaf in leaves(re.sub(r"\s+", "", tree))]
    named += re.findall(r"\b(?:crate|super)(?:::\w+)+", text)
    home = module[:-1] if module[-1] in FRONTS else module
    for first, *rest in (path.split("::") for path in named):
        if first == "crate":
            yield tuple(rest)
        elif first == "super":
            ups = next((number for number, part in enumerate(rest) if part != "super"), len(rest))
            yield (*home[: len(home) - 1 - ups], *rest[ups:])


def place(name: Module, files: Container[Module]) -> Module | None:
    """The file that a path leads into, if it is one of the crate's."""
    return next((name[:end] for end in range(len(name), 0, -1) if name[:end] in files), None)


def circle(source: Path) -> list[str]:
    """Files of a crate of which each needs the next, and the last is the first; none if there is no circle."""
    files = modules(source)
    needs: dict[Module, set[Module]] = {}
    for module, path in files.items():
        if module[-1] not in FRONTS:
            places = {place(name, files) for name in used(module, path.read_text())}
            needs[module] = {other for other in places if other is not None and other != module}
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        # Each stands behind who needs it.
        return ["/".join(module) + ".rs" for module in reversed(error.args[1])]
    return []


if __name__ == "__main__":
    found = {crate.name: circle(crate / "src") for crate in sorted(CRATES.iterdir()) if (crate / "src").is_dir()}
    broken = [f"crate `{name}`: {' needs '.join(files)}" for name, files in found.items() if files]
    print("\n".join(broken) if broken else f"files of {len(found)} crates: none needs another that needs it")
    sys.exit(bool(broken))
