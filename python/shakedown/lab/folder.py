"""The folder of one lab run on the host: sockets, what the guest shares, and what it prints.

lock               held while the run lasts: a folder whose lock is free belongs to a run that was killed
tt, d0, d1, ...    the sockets of clock and drives
cell/              where the cell's root is mounted
share/             what the guest sees of the host; `lab/guest/init` tells what is in it
console, output, errors   the kernel's messages, and what the command prints
"""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Final

from shakedown.errors import EnvironmentFailure, UsageError
from shakedown.lab.cell import NOBODY

_PREFIX: Final = "shakedown-lab-"
# The address of a socket has room for 107 bytes.
_LONGEST_PATH_BYTES: Final = 90
_PAGE_BYTES: Final = 4096
_BRING_IN_HINT: Final = "give the path of a file or a folder of this machine"
PRINTED: Final = ("console", "output", "errors")
# Where the guest's kernel shows what it knows.
_NO_FILES: Final = ("proc", "sys")


@contextmanager
def run_folder() -> Iterator[Path]:
    """A ``scratch_folder`` with what a run begins with."""
    with scratch_folder() as folder:
        for name in ("cell", "share"):
            (folder / name).mkdir()
        for name in PRINTED:
            (folder / name).touch()
        yield folder


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A new folder, removed afterwards; those of runs that were killed are removed on the way."""
    place = Path(tempfile.gettempdir())
    if len(os.fsencode(place)) > _LONGEST_PATH_BYTES - len(_PREFIX) - 10:
        place = Path("/tmp")
    _sweep(place)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
    with ExitStack() as ours:
        ours.callback(shutil.rmtree, folder, ignore_errors=True)
        # Under its name it is never free while we live: a sweep could take the folder away in between.
        lock = os.open(folder / "lock.new", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        ours.callback(os.close, lock)
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "lock.new").rename(folder / "lock")
        yield folder


def _sweep(place: Path) -> None:
    for folder in place.glob(f"{_PREFIX}*"):
        try:
            if folder.lstat().st_uid != os.getuid():
                continue
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)


def fill(
    folder: Path,
    command: Sequence[str],
    limit_s: int,
    bring_in: Sequence[Path],
    bring_out: Iterable[str],
    *,
    stays: bool = False,
) -> None:
    """Lay what the guest is to find. Raises UsageError if a file to bring in cannot be read.

    A guest that ``stays`` does not halt when its command has ended.
    """
    share = folder / "share"
    (share / "limit").write_text(f"{limit_s}\n")
    line = f"{shlex.join(command)}\nexec sleep infinity" if stays else f"exec {shlex.join(command)}"
    (share / "command").write_text(f"cd /lab\n{line}\n", encoding="utf-8")
    if bring_out:
        (share / "bring-out").write_text("".join(f"{inside(path)}\n" for path in bring_out), encoding="utf-8")
    if bring_in:
        refuse_namesakes([path.resolve().name for path in bring_in], "in")
        with tarfile.open(share / "in.tar", "w") as archive:
            for path in bring_in:
                try:
                    archive.add(path.resolve(), arcname=path.resolve().name, filter=_same_everywhere)
                except OSError as error:
                    raise UsageError(f"`--bring-in {path}`: {error.strerror}", hint=_BRING_IN_HINT) from error


def room_in_guest(bring_in: Sequence[Path]) -> int:
    """How many bytes of the guest's memory, which holds whole pages, what is brought in will take.

    Raises UsageError for what is not there.
    """
    for path in bring_in:
        if not path.exists():
            raise UsageError(f"`--bring-in {path}`: there is no such file or folder", hint=_BRING_IN_HINT)
        if not (path.is_file() or path.is_dir()) or path.resolve() == Path("/"):
            raise UsageError(f"`--bring-in {path}` is neither a file nor a folder with a name", hint=_BRING_IN_HINT)
    try:
        whole = [each for path in bring_in for each in (path.resolve(), *path.resolve().rglob("*"))]
    except OSError as error:
        raise UsageError(f"`--bring-in`: {error.filename}: {error.strerror}", hint=_BRING_IN_HINT) from error
    return sum(max(1, -(-_size_bytes(each) // _PAGE_BYTES)) * _PAGE_BYTES for each in whole)


def _size_bytes(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        # Whoever packs it says so.
        return 0


def refuse_namesakes(names: Sequence[str], way: str) -> None:
    """Raise UsageError where of what is brought ``way``, in or out, one would lie over another."""
    for name, times in Counter(names).items():
        if times > 1:
            raise UsageError(
                f"{times} of what is to be brought {way} are called `{name}`", hint=f"bring a folder {way}"
            )


def hand_over(folder: Path) -> None:
    """Where we are root the guest runs as ``nobody``: give it its part of the folder, sockets included."""
    if os.getuid() == 0:
        folder.chmod(0o711)
        for path in (folder / "share", *folder.glob("share/*"), folder / "tt", *folder.glob("d[0-9]*")):
            try:
                os.chown(path, NOBODY, NOBODY)
            except OSError as error:
                raise EnvironmentFailure(
                    f"a guest must not run as root, and root has nobody to become here: {error.strerror}",
                    hint="run the lab as an ordinary user",
                ) from error


def brought_out(folder: Path, bring_out: Mapping[str, Path]) -> None:
    """Unpack what the guest has packed, each path of the guest to its place here.

    Raises EnvironmentFailure if something is left behind; what cannot be unpacked is kept as it was packed.
    """
    odd: list[str] = []
    wanted = {inside(path): place for path, place in bring_out.items()}
    try:
        with tarfile.open(folder / "share" / "out.tar") as archive:
            for member in archive:
                if member.isreg() or member.isdir():
                    _extract(archive, member, wanted)
                else:
                    odd.append(f"/{member.name}")
    except (OSError, tarfile.TarError) as error:
        raise EnvironmentFailure(
            f"what the guest has packed cannot be brought out: {error}",
            hint=_kept(folder / "share" / "out.tar", next(iter(bring_out.values())).parent),
        ) from error
    missing = [
        path for path, place in bring_out.items() if not os.path.lexists(place) and f"/{inside(path)}" not in odd
    ]
    told = [f"not in the guest: {', '.join(missing)}"] if missing else []
    told += [f"neither files nor folders, and left in the guest: {', '.join(odd)}"] if odd else []
    if told:
        hint = "the command did not make it, or under another name; " if missing else ""
        raise EnvironmentFailure("; ".join(told), hint=hint + "all else has been brought out")


def _kept(packed: Path, out: Path) -> str:
    """Where what was packed is kept, in words."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        number, kept = tempfile.mkstemp(prefix="brought-out-", suffix=".tar", dir=out)
        os.close(number)
        with packed.open("rb") as content, Path(kept).open("wb") as file:
            _copy_whole(content, file)
    except OSError as error:
        why = f"nor could it be kept ({error.strerror})"
        return f"{why}: free some space at {out}, then run it again; the same comes of it"
    return f"all of it is kept in {kept}"


def _copy_whole(content: IO[bytes], file: IO[bytes]) -> None:
    """Copy into a new file, of which nothing is left if it cannot be written whole. Raises OSError."""
    try:
        shutil.copyfileobj(content, file)
        file.flush()
    except OSError:
        Path(file.name).unlink()
        raise


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, wanted: Mapping[str, Path]) -> None:
    """Unpack a member under each of the wanted paths that it belongs to; never outside of their places.

    Python's own filter for this is not in the Python of every distribution.
    """
    for path, out in wanted.items():
        if member.name != path and not member.name.startswith(path + "/"):
            continue
        place = out / member.name[len(path) + 1 :]
        if ".." in place.relative_to(out).parts:
            raise tarfile.TarError(f"{member.name} would lie elsewhere")
        content = archive.extractfile(member)
        if content is None:
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        with content, place.open("xb") as file:
            _copy_whole(content, file)
        place.chmod(0o755 if member.mode & 0o100 else 0o644)


def inside(path: str) -> str:
    """An absolute path of the guest relative to its root. Raises UsageError."""
    there = PurePosixPath(path)
    if not there.is_absolute() or ".." in there.parts or there == PurePosixPath("/"):
        raise UsageError(f"`--bring-out {path}` is no absolute path", hint="like `--bring-out /lab/result.json`")
    if len(there.parts) > 1 and there.parts[1] in _NO_FILES:
        hint = f"let the command copy it: cp {path} /lab, and `--bring-out /lab/{there.name}`"
        raise UsageError(f"`--bring-out {path}`: what lies there is no file of a known length", hint=hint)
    return str(there.relative_to("/"))


def _same_everywhere(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without whose a file is and how old: the guest must not depend on it."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = "root"
    return entry
