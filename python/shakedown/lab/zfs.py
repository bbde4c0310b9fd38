"""The real OpenZFS for the lab's kernel: its source as Debian distributes it, built into the kernel, and its tools.

The source is in Debian's section contrib, and that of a stable release is too old for User-Mode Linux: apt is asked for
it with lists of our own, so that nobody needs to change what their system is installed from.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

from shakedown.data import lab_path
from shakedown.errors import EnvironmentFailure
from shakedown.lab.erofs import write_erofs
from shakedown.lab.program import HINT_GET, Say, run

_PACKAGE: Final = "zfs-linux"
# Besides what a kernel is built with.
NEEDED: Final = {
    "awk": "mawk",
    "mkfs.erofs": "erofs-utils",
    "strip": "binutils",
    "blkid/blkid.h": "libblkid-dev",
    "openssl/evp.h": "libssl-dev",
    "tirpc/rpc/xdr.h": "libtirpc-dev",
    "uuid/uuid.h": "uuid-dev",
    "zlib.h": "zlib1g-dev",
}
_TOOLS: Final = ("zed", "zfs", "zpool")
_KEYS: Final = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# Of each release of Debian its own contrib, and what is ported back to it.
_SUITES: Final = ("{release}-backports", "{release}")
# The tools must not wait for udev, which no guest has: as if libudev were not here, whether it is or not.
_WITHOUT_UDEV: Final = ("PKG_CONFIG=false", "ac_cv_lib_udev_main=no")
_CONFIGURE: Final = (
    *("--enable-linux-builtin", "--disable-shared", "--enable-static", "--disable-pyzfs", "--disable-pam"),
    *("--disable-systemd", "--disable-sysvinit", "--disable-nls", "--prefix=/usr", "--sbindir=/sbin"),
    *("--sysconfdir=/etc", "--localstatedir=/var", "KERNEL_ARCH=um", "CFLAGS=-O2", *_WITHOUT_UDEV),
)


def recipe() -> list[bytes]:
    """What shapes what is built."""
    patches = [patch.read_bytes() for series in _series() for patch in _patches(series)]
    return [*patches, *(text.encode() for text in (*_CONFIGURE, *_TOOLS))]


def offered(work: Path) -> str:
    """The version that apt offers of the series there are patches for. Raises EnvironmentFailure if there is none."""
    apt = _apt(work)
    lists = work / "apt"
    shutil.rmtree(lists, ignore_errors=True)
    for folder in ("lists/partial", "cache/archives/partial"):
        (lists / folder).mkdir(parents=True)
    mirror, release = _mirror(work)
    keys = f"[signed-by={_KEYS}] " if _KEYS.is_file() else ""
    suites = [suite.format(release=release) for suite in _SUITES]
    (lists / "sources.list").write_text("".join(f"deb-src {keys}{mirror} {suite} contrib\n" for suite in suites))
    run(["apt-get", *apt, "-q", "update"], cwd=work, hint=HINT_GET)
    shown = run(["apt-cache", *apt, "showsrc", _PACKAGE], cwd=work)
    versions: list[str] = re.findall(r"^Version: (\S+)", shown, re.MULTILINE)
    for version in versions:
        if any(version.startswith(f"{series}.") for series in _series()):
            return version
    raise EnvironmentFailure(
        f"{' and '.join(suites)} have OpenZFS {', '.join(versions) or 'not at all'}, the lab needs "
        f"{' or '.join(_series())}",
        hint="without --zfs the lab has zfs-fuse",
    )


def build_in(tree: Path, version: str, say: Say) -> None:
    """Add OpenZFS to a configured kernel source, and lay its tools, a filesystem, beside it as ``zfs-tools``.

    ``tree`` is the source's folder; what is needed meanwhile stands beside it.
    """
    work = tree.parent
    source = work / "zfs"
    say(f"zfs: getting {_PACKAGE} {version}")
    _unpack(source, version, work)
    say("zfs: looking at the kernel (a minute or two)")
    run(["make", "ARCH=um", "prepare"], cwd=tree)
    kernel = (f"--with-linux={tree}", f"--with-linux-obj={tree}")
    run(["nice", "-n", "10", "./configure", *kernel, *_CONFIGURE], cwd=source)
    run(["./copy-builtin", tree], cwd=source)
    say("zfs: compiling the tools")
    run(["nice", "-n", "10", "make", *_TOOLS], cwd=source)
    _pack(source, work)
    shutil.copy(source / "LICENSE", tree / "COPYING.zfs")
    shutil.rmtree(source)


def _series() -> list[str]:
    return sorted(folder.name for folder in lab_path("zfs").iterdir() if folder.is_dir())


def _patches(series: str) -> list[Path]:
    return sorted((lab_path("zfs") / series).glob("*.patch"))


def _apt(work: Path) -> list[str]:
    """Options that keep apt from the system's lists, and from needing root."""
    lists = work / "apt"
    options = {
        "Dir::Etc::sourcelist": lists / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": lists / "lists",
        "Dir::Cache": lists / "cache",
        "APT::Sandbox::User": "root",
    }
    return [part for name, value in options.items() for part in ("-o", f"{name}={value}")]


def _mirror(work: Path) -> tuple[str, str]:
    """Where the system gets Debian from, and which release. Raises EnvironmentFailure."""
    form = "$(LABEL)|$(COMPONENT)|$(CODENAME)|$(REPO_URI)"
    for line in run(["apt-get", "indextargets", "--format", form, "Created-By: Packages"], cwd=work).splitlines():
        label, component, release, mirror = line.split("|")
        if (label, component) == ("Debian", "main") and "-" not in release:
            return mirror, release
    raise EnvironmentFailure(
        "apt knows no release of Debian here", hint="apt update; without --zfs the lab has zfs-fuse"
    )


def _unpack(source: Path, version: str, work: Path) -> None:
    """The source with our patches. Debian's own patches are for its packages: the archive of the release suffices."""
    shutil.rmtree(source, ignore_errors=True)
    get = ["apt-get", *_apt(work), "-q", "source", "--download-only", "--only-source", "--tar-only"]
    run([*get, f"{_PACKAGE}={version}"], cwd=work / "apt", hint=HINT_GET)
    [archive] = (work / "apt").glob(f"{_PACKAGE}_*.orig.tar.*")
    source.mkdir()
    run(["tar", "-xf", archive, "-C", source, "--strip-components=1"], cwd=work, hint="is the disk full?")
    for series in _series():
        for patch in _patches(series) if version.startswith(f"{series}.") else ():
            run(["patch", "-p1", "--forward", "-i", patch], cwd=source)


def _pack(source: Path, work: Path) -> None:
    root = work / "zfs-root"
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("sbin", "etc/zfs/zed.d"):
        (root / folder).mkdir(parents=True)
    for tool in _TOOLS:
        run(["strip", "-o", root / "sbin" / tool, source / tool], cwd=work)
    (work / "zfs-tools").unlink(missing_ok=True)
    write_erofs(root, work / "zfs-tools")
    shutil.rmtree(root)
