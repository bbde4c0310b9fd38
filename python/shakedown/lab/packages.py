"""Debian packages, fetched and unpacked without installing them: what a guest is made from."""

from __future__ import annotations

import re
from pathlib import Path

from shakedown.data import lab_path
from shakedown.errors import EnvironmentFailure
from shakedown.lab.program import HINT_GET, run

_NO_MORE_THAN_NEEDED = [
    f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
]


def guest_packages(work: Path) -> list[str]:
    """``name=version`` of every package of a guest as apt offers them, sorted. Raises EnvironmentFailure."""
    lines = [line.strip() for line in lab_path("guest/packages").read_text(encoding="utf-8").splitlines()]
    wanted = [line for line in lines if line and line[0] not in "#-"]
    without = {line.removeprefix("- ") for line in lines if line.startswith("- ")}
    needs = _needs(wanted, work)
    names, left = set[str](), [*wanted]
    while left:
        name = left.pop()
        if name not in names and name not in without:
            names.add(name)
            left += needs.get(name, [])
    return [f"{name}={version}" for name, version in sorted(_versions(names, work).items())]


def unpack(packages: list[str], folder: Path, root: Path) -> None:
    """Fetch packages into ``folder``, where those of an earlier try are used, and unpack them over each other."""
    folder.mkdir(exist_ok=True)
    root.mkdir()
    # Chmods what apt's own user could not read anyway: without it apt warns of what we do on purpose.
    run(["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", *packages], cwd=folder, hint=HINT_GET)
    for package in packages:
        name, _, version = package.partition("=")
        [archive] = folder.glob(f"{name}_{version.replace(':', '%3a')}_*.deb")
        run(["dpkg-deb", "-x", archive, root], cwd=folder, hint="is the disk full?")
    _link_merged(root)


def _link_merged(root: Path) -> None:
    """Debian 13's packages bring everything under `usr` and leave the old names to links of its installation."""
    for name in ("bin", "sbin", "lib", "lib64"):
        if not (root / name).exists() and (root / "usr" / name).is_dir():
            (root / name).symlink_to(f"usr/{name}")


def _needs(wanted: list[str], work: Path) -> dict[str, list[str]]:
    """What each package depends on, for all that can be reached; of alternatives the first that exists."""
    text = run(["apt-cache", "depends", "--recurse", *_NO_MORE_THAN_NEEDED, *wanted], cwd=work)
    needs: dict[str, list[str]] = {}
    current: list[str] = []
    after_alternative = False
    for line in text.splitlines():
        if not line.startswith((" ", "|", "<")):
            current = needs.setdefault(line, [])
        elif match := re.match(r" ([ |])(?:Pre)?Depends: (\S+)", line):
            if not after_alternative and not match[2].startswith("<"):
                current.append(match[2].partition(":")[0])
            after_alternative = match[1] == "|"
    return needs


def _versions(names: set[str], work: Path) -> dict[str, str]:
    text = run(["apt-cache", "policy", *sorted(names)], cwd=work)
    found = dict(re.findall(r"^(\S+):\n(?:  Installed: .*\n)  Candidate: (\S+)", text, re.MULTILINE))
    missing = sorted(name for name in names if found.get(name, "(none)") == "(none)")
    if missing:
        raise EnvironmentFailure(f"apt does not offer {', '.join(missing)}", hint="apt update")
    return {name: found[name] for name in names}
