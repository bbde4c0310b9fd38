"""The lab's kernel: Debian's source, our configuration and patches, built for User-Mode Linux.

A kernel fits if it was made from the configuration and the patches of today, whatever Debian's release of the same
series and whatever compiler: neither changes what is measured. So nothing is built again for nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shakedown.data import lab_path
from shakedown.errors import EnvironmentFailure
from shakedown.lab import cache, zfs
from shakedown.lab.program import HINT_GET, Say, follow, run

_NEEDED: Final = {
    "apt-get": "apt",
    "bc": "bc",
    "bison": "bison",
    "dpkg-deb": "dpkg",
    "flex": "flex",
    "gcc": "gcc",
    "make": "make",
    "nice": "coreutils",
    "patch": "patch",
    "stdio.h": "libc6-dev",
    "tar": "tar",
    "xz": "xz-utils",
}
# Parts of the source that no lab kernel compiles: most of its bytes. What configures them must stay.
_FOREIGN: Final = (
    *("alpha", "arc", "arm", "arm64", "csky", "hexagon", "ia64", "loongarch", "m68k", "microblaze", "mips", "nios2"),
    *("openrisc", "parisc", "powerpc", "riscv", "s390", "sh", "sparc", "xtensa"),
)
_NO_DRIVERS: Final = (
    *("clk", "gpu", "iio", "infiniband", "media", "misc", "mtd", "net/*", "pinctrl", "staging", "usb", "video"),
)
_NOT_COMPILED: Final = ("sound", *(f"arch/{name}" for name in _FOREIGN), *(f"drivers/{name}" for name in _NO_DRIVERS))
_UNUSED: Final = (
    *(f"{folder}/*.[chS]" for folder in _NOT_COMPILED),
    *(f"arch/{name}/boot/dts" for name in _FOREIGN),
    *(f"Documentation/*.{kind}" for kind in ("rst", "txt", "yaml")),
    *("tools/perf", "tools/testing"),
)
# As many files as `make` compiles, about, and with ZFS: for the progress only.
_COMPILED_FILES: Final = (1150, 1490)


@dataclass(frozen=True)
class Kernel:
    """A built kernel: the program, and what it was made from; with OpenZFS its tools, a filesystem."""

    path: Path
    source: str
    compiler: str
    zfs_tools: Path | None = None


def find_kernel(*, with_zfs: bool = False) -> Kernel | None:
    """The newest kernel in the cache that fits; None if there is none."""
    found = []
    for series in _series():
        for record in cache.cache_folder().glob(f"kernel-{_recipe(series, with_zfs=with_zfs)}-*/built.json"):
            kernel = _built(record.parent, with_zfs=with_zfs)
            if os.access(kernel.path, os.X_OK):
                found.append((record.stat().st_mtime, kernel))
    return max(found, key=lambda each: each[0])[1] if found else None


def needed(*, with_zfs: bool = False) -> dict[str, str]:
    """The programs and headers it is built with, and the package of each."""
    return _NEEDED | zfs.NEEDED if with_zfs else _NEEDED


def build_kernel(say: Say, *, with_zfs: bool = False, renew: bool = False) -> Kernel:
    """The kernel that fits, built if there is none, or if ``renew`` and Debian's source or the compiler is another.

    Raises EnvironmentFailure if the source is missing or the build fails; what is ``needed`` has to be there.
    """
    kernel = find_kernel(with_zfs=with_zfs)
    if kernel is not None and not renew:
        return kernel
    with cache.locked() as work:
        package, version = _offered(work)
        zfs_version = zfs.offered(work) if with_zfs else None
        source = f"{package} {version}" + (f", OpenZFS {zfs_version}" if zfs_version else "")
        compiler = run(["gcc", "--version"], cwd=work).splitlines()[0]
        if kernel is not None and (kernel.source, kernel.compiler) == (source, compiler):
            return kernel
        tree = _source(package, version, zfs_version, work, say)
        _compile(tree, say, with_zfs=with_zfs)
        return _publish(tree, package.removeprefix("linux-source-"), source, compiler, with_zfs=with_zfs)


def _series() -> list[str]:
    """The kernel series that there are patches for, the preferred one first."""
    return sorted(folder.name for folder in lab_path("patches").iterdir() if folder.is_dir())


def _patches(series: str) -> list[Path]:
    return sorted((lab_path("patches") / series).glob("*.patch"))


def _configuration(series: str) -> str:
    """Ours, and what a series has otherwise."""
    other = lab_path("patches") / series / "kernel.config"
    return "".join(text.read_text(encoding="utf-8") for text in (lab_path("kernel.config"), other) if text.is_file())


def _recipe(series: str, *, with_zfs: bool = False) -> str:
    """What stands for the configuration and the patches of a series."""
    parts = [_configuration(series).encode(), *(patch.read_bytes() for patch in _patches(series))]
    parts += zfs.recipe() if with_zfs else []
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


def _offered(work: Path) -> tuple[str, str]:
    """The first source package that apt offers, and its version."""
    for series in _series():
        package = f"linux-source-{series}"
        policy = run(["apt-cache", "policy", package], cwd=work)
        # Of a name that it does not know apt makes a pattern, which the package of another series may fit.
        match = re.search(rf"Candidate: ({re.escape(series)}\.\S+)", policy)
        if match:
            return package, match[1]
    names = " or ".join(f"linux-source-{series}" for series in _series())
    raise EnvironmentFailure(f"apt offers no {names}", hint="apt update; the lab is built on Debian 12 or its like")


def _source(package: str, version: str, zfs_version: str | None, work: Path, say: Say) -> Path:
    """The patched and configured source; one that a killed build has left is taken up again."""
    series = package.removeprefix("linux-source-")
    key = f"{_recipe(series, with_zfs=zfs_version is not None)} {version} {zfs_version}"
    tree, ready = work / "kernel", work / "kernel-ready"
    if ready.is_file() and ready.read_text() == key:
        say("kernel: going on where the last build ended")
        return tree
    ready.unlink(missing_ok=True)
    shutil.rmtree(tree, ignore_errors=True)
    shutil.rmtree(work / "deb", ignore_errors=True)
    (work / "deb").mkdir()
    say(f"kernel: getting {package} {version}")
    run(["apt-get", "-q", "download", f"{package}={version}"], cwd=work / "deb", hint=HINT_GET)
    [archive] = (work / "deb").glob("*.deb")
    run(["dpkg-deb", "-x", archive, "."], cwd=work / "deb")
    say("kernel: unpacking")
    tree.mkdir()
    unused = [f"--exclude=*/{part}" for part in _UNUSED]
    tar = work / "deb" / "usr" / "src" / f"{package}.tar.xz"
    run(["tar", "-xJf", tar, "-C", tree, "--strip-components=1", *unused], cwd=work, hint="is the disk full?")
    shutil.rmtree(work / "deb")
    for patch in _patches(series):
        run(["patch", "-p1", "--forward", "-i", patch], cwd=tree)
    ours = _configuration(series)
    _configure(tree, ours)
    if zfs_version is not None:
        zfs.build_in(tree, zfs_version, say)
        _configure(tree, ours + "CONFIG_ZFS=y\n")
    ready.write_text(key)
    return tree


def _configure(tree: Path, ours: str) -> None:
    """Lay our configuration over Linux' own. Raises EnvironmentFailure if the kernel does not take a line of it."""
    base = tree / "arch/um/configs/x86_64_defconfig"
    (tree / ".config").write_text(base.read_text(encoding="utf-8") + ours, encoding="utf-8")
    run(["make", "ARCH=um", "olddefconfig"], cwd=tree)
    taken = set((tree / ".config").read_text(encoding="utf-8").splitlines())
    off = re.findall(r"^# (CONFIG_\w+) is not set$", ours, re.MULTILINE)
    on = [name for name in re.findall(r"^(CONFIG_\w+)=y$", ours, re.MULTILINE) if name not in off]
    refused = [f"{name}=y" for name in on if f"{name}=y" not in taken]
    refused += [f"{name}=n" for name in off if f"{name}=y" in taken]
    if refused:
        raise EnvironmentFailure(f"this kernel does not take {', '.join(refused)}", hint="please report it")


def _compile(tree: Path, say: Say, *, with_zfs: bool) -> None:
    # A build that goes on finds what an earlier one has compiled.
    found = compiled = sum(1 for _ in tree.rglob("*.o"))
    began_s = time.monotonic()

    def count(line: str) -> None:
        nonlocal compiled
        compiled += line.startswith("  CC ")
        if line.startswith("  CC ") and compiled % 20 == 0:
            say(_progress(found, compiled, _COMPILED_FILES[with_zfs], time.monotonic() - began_s))

    say("kernel: compiling (some eight minutes on two idle cores)")
    jobs = len(os.sched_getaffinity(0))
    # Debian's own name and our path would be in it otherwise.
    stamp = ("KBUILD_BUILD_TIMESTAMP=1970-01-01", "KBUILD_BUILD_USER=shakedown", "KBUILD_BUILD_HOST=lab")
    hint = "the same command goes on where this ended; a full disk is the usual reason"
    follow(["nice", "-n", "10", "make", "ARCH=um", f"-j{jobs}", *stamp, "linux"], cwd=tree, hint=hint, on_line=count)


def _progress(found: int, compiled: int, files: int, used_s: float) -> str:
    """How far it is, and how long it takes yet if the ``files`` that are left take as long as those since ``found``."""
    left_s = used_s * max(0, files - compiled) / (compiled - found)
    left = f"{left_s:.0f} s" if left_s < 60 else f"{left_s / 60:.0f} min"
    return f"kernel: compiling, {min(99, compiled * 100 // files)} %, about {left} left"


def _publish(tree: Path, series: str, source: str, compiler: str, *, with_zfs: bool) -> Kernel:
    made = tree.with_name("kernel-made")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    run(["strip", "-o", made / "linux", tree / "linux"], cwd=tree)
    shutil.copy(tree / "COPYING", made / "COPYING")
    shutil.copy(tree / ".config", made / "config")
    if with_zfs:
        shutil.copy(tree / "COPYING.zfs", made / "COPYING.zfs")
        shutil.copy(tree.with_name("zfs-tools"), made / "zfs")
    (made / "built.json").write_text(json.dumps({"source": source, "compiler": compiler}, indent=1) + "\n")
    name = f"kernel-{_recipe(series, with_zfs=with_zfs)}-{_digest(source, compiler)}"
    place = cache.publish(made, name)
    shutil.rmtree(tree)
    return _built(place, with_zfs=with_zfs)


def _built(place: Path, *, with_zfs: bool) -> Kernel:
    built = json.loads((place / "built.json").read_text(encoding="utf-8"))
    tools = place / "zfs" if with_zfs else None
    return Kernel(place / "linux", built["source"], built["compiler"], tools)


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]
