"""The guest's image: its programs as a read-only filesystem, and the initramfs that finds it."""

from __future__ import annotations

import compileall
import hashlib
import json
import os
import py_compile
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shakedown.data import lab_path
from shakedown.lab import cache
from shakedown.lab.erofs import write_erofs
from shakedown.lab.initramfs import initramfs
from shakedown.lab.packages import guest_packages, unpack
from shakedown.lab.program import Say, run

NEEDED: Final = {"apt-get": "apt", "dpkg-deb": "dpkg", "mkfs.erofs": "erofs-utils"}
_UNUSED: Final = (
    "etc/init.d",
    "lib/systemd",
    "lib/udev",
    "usr/include",
    "usr/lib/systemd",
    "usr/share/bash-completion",
    "usr/share/bug",
    "usr/share/doc-base",
    "usr/share/initramfs-tools",
    "usr/share/lintian",
    "usr/share/locale",
    "usr/share/man",
    "var",
)
# Bytecode of ours is bytecode of the guest's Python if both are of one version.
PYTHON: Final = f"python{sys.version_info.major}.{sys.version_info.minor}"
_PROGRAM_FOLDERS: Final = ("bin", "sbin", "usr/bin", "usr/sbin")
_FOLDERS: Final = (
    "dev",
    "etc",
    "lab",
    "mnt",
    "proc",
    "root",
    "run",
    "sys",
    "tmp",
    "var/lib",
    "var/lock",
    "var/log",
    "var/tmp",
)
_FILES: Final = {
    "etc/group": "root:x:0:\ndisk:x:6:\nnogroup:x:65534:\n",
    "etc/hostname": "lab\n",
    "etc/hosts": "127.0.0.1 localhost lab\n",
    "etc/passwd": "root:x:0:0:root:/lab:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "etc/zfs/zfsrc": "",
}


@dataclass(frozen=True)
class Image:
    """A built image: ``tools`` (EROFS) and ``initramfs``, in one folder, and the packages in it."""

    tools: Path
    initramfs: Path
    packages: tuple[str, ...]


def find_image() -> Image | None:
    """The newest image in the cache that was made by today's recipe; None if there is none."""
    records = list(cache.cache_folder().glob(f"image-{_recipe()}-*/built.json"))
    if not records:
        return None
    record = max(records, key=lambda each: each.stat().st_mtime)
    packages = json.loads(record.read_text(encoding="utf-8"))["packages"]
    return Image(record.with_name("tools"), record.with_name("initramfs"), tuple(packages))


def build_image(say: Say, *, renew: bool = False) -> Image:
    """The image that fits, made if there is none, or if ``renew`` and apt offers other packages.

    Raises EnvironmentFailure if a package is missing; what is ``NEEDED`` has to be there.
    """
    image = find_image()
    if image is not None and not renew:
        return image
    with cache.locked() as work:
        say("image: choosing packages")
        packages = guest_packages(work)
        if image is not None and image.packages == tuple(packages):
            return image
        root = work / "root"
        shutil.rmtree(root, ignore_errors=True)
        say(f"image: getting {len(packages)} packages")
        unpack(packages, work / "packages", root)
        say("image: writing it")
        return _publish(root, packages)


def compile_python(root: Path, folder: str) -> None:
    """Compile the modules in a folder of a guest's root, once: a guest forgets what it has compiled."""
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    compileall.compile_dir(root / folder, quiet=2, stripdir=str(root), prependdir="/", invalidation_mode=mode)


def _recipe() -> str:
    """What stands for everything of ours that shapes an image."""
    parts = [lab_path("guest/packages").read_bytes(), lab_path("guest/init").read_bytes()]
    parts += [Path(__file__).read_bytes(), Path(__file__).with_name("initramfs.py").read_bytes()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


def _publish(root: Path, packages: list[str]) -> Image:
    busybox = (root / "bin" / "busybox").read_bytes()
    _furnish(root)
    made = root.with_name("image-made")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    (made / "initramfs").write_bytes(initramfs(busybox, lab_path("guest/init").read_bytes()))
    write_erofs(root, made / "tools")
    (made / "built.json").write_text(json.dumps({"packages": packages}, indent=1) + "\n")
    digest = hashlib.sha256("\n".join(packages).encode()).hexdigest()[:12]
    place = cache.publish(made, f"image-{_recipe()}-{digest}")
    shutil.rmtree(root)
    shutil.rmtree(root.with_name("packages"))
    return Image(place / "tools", place / "initramfs", tuple(packages))


def _furnish(root: Path) -> None:
    """Remove what no guest uses, and do what packages leave to their installation."""
    for name in _UNUSED:
        shutil.rmtree(root / name, ignore_errors=True)
    for name in _FOLDERS:
        (root / name).mkdir(parents=True, exist_ok=True)
    for name, text in _FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "etc" / "mtab").symlink_to("/proc/mounts")
    (root / "var" / "run").symlink_to("/run")
    _link(root, "bin/sh", "bash")
    compile_python(root, f"usr/lib/{PYTHON}")
    for applet in run([root / "bin" / "busybox", "--list-full"], cwd=root).split():
        _link(root, applet, "/bin/busybox")


def _link(root: Path, path: str, to: str) -> None:
    """Make a program of a name that no package has brought."""
    name = path.rpartition("/")[2]
    if not any(os.path.lexists(root / folder / name) for folder in _PROGRAM_FOLDERS):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(to)
