"""The import law of the crates: who may depend on whom, that only `py` knows Python and only `serve` system calls."""

from __future__ import annotations

import json
import subprocess
import sys

ALLOWED = {
    "sim": set(),
    "drive": {"sim"},
    "array": {"drive", "sim"},
    "workload": {"array", "drive", "sim"},
    "serve": {"drive", "sim"},
    "py": {"sim", "drive", "array", "workload", "serve"},
}
RESERVED = {"pyo3": {"py"}, "nix": {"serve"}, "rustix": {"serve"}}


def violations() -> list[str]:
    """One sentence for each dependency that the law does not allow."""
    metadata = json.loads(
        subprocess.run(
            ["cargo", "metadata", "--format-version", "1", "--no-deps"], check=True, capture_output=True, text=True
        ).stdout
    )
    found = [f"crate `{p['name']}` has no place in the law" for p in metadata["packages"] if p["name"] not in ALLOWED]
    for package in metadata["packages"]:
        name = package["name"]
        for dependency in package["dependencies"]:
            needed = dependency["name"]
            if needed in ALLOWED and needed not in ALLOWED.get(name, set()):
                found.append(f"crate `{name}` must not depend on `{needed}`")
            if dependency["kind"] != "dev" and name not in RESERVED.get(needed, {name}):
                found.append(f"crate `{name}` must not depend on `{needed}`: only {sorted(RESERVED[needed])} may")
    return found


if __name__ == "__main__":
    broken = violations()
    print("\n".join(broken) if broken else f"crate graph: kept by {len(ALLOWED)} crates")
    sys.exit(bool(broken))
