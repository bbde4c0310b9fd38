"""The import law of the crates: who may depend on whom, that only `py` knows Python and only `serve` system calls.

And that none of their dependencies needs a newer Rust than they do: theirs is what Debian 13 has.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

ALLOWED = {
    "sim": set(),
    "drive": {"sim"},
    "array": {"drive", "sim"},
    "workload": {"array", "drive", "sim"},
    "serve": {"drive", "sim"},
    "py": {"sim", "drive", "array", "workload", "serve"},
}
RESERVED = {"pyo3": {"py"}, "nix": {"serve"}, "rustix": {"serve"}}


Packages = list[dict[str, Any]]


def packages() -> Packages:
    """What cargo knows of our crates and of all that they need."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    return list(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["packages"])


def version(text: str) -> tuple[int, ...]:
    """A version that compares."""
    return tuple(int(part) for part in text.split("."))


def too_new(everything: Packages) -> list[str]:
    """One sentence for each crate that our oldest Rust does not build."""
    oldest = next(package["rust_version"] for package in everything if package["name"] == "sim")
    return [
        f"crate `{package['name']}` {package['version']} needs Rust {package['rust_version']}, and ours is {oldest}"
        for package in everything
        if version(package["rust_version"] or "1") > version(f"{oldest}.99")
    ]


def violations(everything: Packages) -> list[str]:
    """One sentence for each dependency that the law does not allow."""
    ours = [package for package in everything if package["source"] is None]
    found = [f"crate `{package['name']}` has no place in the law" for package in ours if package["name"] not in ALLOWED]
    for package in ours:
        name = package["name"]
        for dependency in package["dependencies"]:
            needed = dependency["name"]
            if needed in ALLOWED and needed not in ALLOWED.get(name, set()):
                found.append(f"crate `{name}` must not depend on `{needed}`")
            if dependency["kind"] != "dev" and name not in RESERVED.get(needed, {name}):
                found.append(f"crate `{name}` must not depend on `{needed}`: only {sorted(RESERVED[needed])} may")
    return found


if __name__ == "__main__":
    everything = packages()
    broken = violations(everything) + too_new(everything)
    print("\n".join(broken) if broken else f"crate graph: kept by {len(ALLOWED)} crates")
    sys.exit(bool(broken))
