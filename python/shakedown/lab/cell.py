"""A process that runs one program in namespaces of its own, and of which nothing is left when its parent is gone.

Run as a file of its own (``python -I cell.py ORDER``, ORDER being JSON), so that it starts fast and forks while it has
one thread. It becomes

    the cell, in the host's PID namespace: waits, and kills on SIGTERM; dies with its parent (PDEATHSIG)
    └─ init, PID 1 of a namespace: dies with the cell, and when it dies the kernel kills all the namespace
       └─ the program, in an empty root with just the files it was given, without a network and never as root

An ordinary user needs a user namespace for that. Root needs none, and becomes ``nobody`` once all is mounted.
Failures to set it up are written as ``{"message": ..., "hint": ...}`` to the file descriptor ``trouble``.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import resource
import select
import signal
import sys
from pathlib import Path
from typing import Any, Final, NoReturn

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_NO_NEW_PRIVS: Final = 38
_CLONE_NEWNS: Final = 0x00020000
_CLONE_NEWUTS: Final = 0x04000000
_CLONE_NEWIPC: Final = 0x08000000
_CLONE_NEWUSER: Final = 0x10000000
_CLONE_NEWPID: Final = 0x20000000
_CLONE_NEWNET: Final = 0x40000000
_MS_RDONLY: Final = 0x1
_MS_NOSUID: Final = 0x2
_MS_NODEV: Final = 0x4
_MS_REMOUNT: Final = 0x20
_MS_BIND: Final = 0x1000
_MS_REC: Final = 0x4000
_MS_PRIVATE: Final = 0x40000
_MNT_DETACH: Final = 2
_ADDR_NO_RANDOMIZE: Final = 0x0040000
_SYS_PIVOT_ROOT: Final = 155

NOBODY: Final = 65534
_FORBIDDEN: Final = "a container's seccomp profile or security module may forbid it; outside of a container it works"
_HINTS: Final = {
    errno.EPERM: _FORBIDDEN,
    errno.EACCES: _FORBIDDEN,
    errno.EMFILE: "it needs some 30 open files: ulimit -n 256",
    errno.EAGAIN: "it needs some 20 processes, and more for what the command starts: ulimit -u",
}
EXIT_TROUBLE: Final = 125

_libc: Final = ctypes.CDLL(None, use_errno=True)


class Trouble(Exception):  # noqa: N818 - a message for people
    """What cannot be set up here, and what to do about it."""


def _call(name: str, *arguments: object) -> int:
    """Call libc. Raises OSError."""
    result = int(getattr(_libc, name)(*arguments))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def _mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    _call(
        "mount",
        source.encode(),
        target.encode(),
        None if kind is None else kind.encode(),
        ctypes.c_ulong(flags),
        None if data is None else data.encode(),
    )


def _die_with_parent() -> None:
    _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def main() -> int:
    """Set all of it up and wait; the program's status, 128 + signal if it was killed."""
    order = json.loads(sys.argv[1])
    _die_with_parent()
    if os.getppid() != order["parent"]:
        return EXIT_TROUBLE
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.sched_setaffinity(0, {order["cpu"]})
    try:
        _unshare()
        ours, inits = os.pipe()
        child = _fork()
    except (OSError, Trouble) as error:
        return _trouble(order, error)
    if child == 0:
        os.close(inits)
        _init(order, ours)
    os.close(ours)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
    return _wait(child)


def _fork() -> int:
    try:
        return os.fork()
    except OSError as error:
        raise OSError(error.errno, f"fork: {error.strerror}") from error


def _unshare() -> None:
    """Leave the host's namespaces; an ordinary user keeps their number, and gets power over the new ones only."""
    new = _CLONE_NEWNS | _CLONE_NEWPID | _CLONE_NEWNET | _CLONE_NEWIPC | _CLONE_NEWUTS
    user, group = os.getuid(), os.getgid()
    if user != 0:
        new |= _CLONE_NEWUSER
    try:
        _call("unshare", new)
        if user != 0:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    except OSError as error:
        if user == 0:
            raise Trouble(
                f"root is not allowed to make namespaces here ({error.strerror})",
                "in a container: give it CAP_SYS_ADMIN, or run the lab as an ordinary user",
            ) from error
        raise Trouble(
            f"user namespaces are not allowed here ({error.strerror})",
            "one of these: sysctl kernel.unprivileged_userns_clone=1; "
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0; sysctl user.max_user_namespaces=10000",
        ) from error
    # Changed credentials undo it.
    _die_with_parent()


def _init(order: dict[str, Any], life_of_cell: int) -> NoReturn:
    """PID 1 of the namespace."""
    status = EXIT_TROUBLE
    try:
        _die_with_parent()
        if select.select([life_of_cell], [], [], 0)[0]:
            os._exit(status)
        _enter_root(order)
        if os.getuid() == 0:
            _become_nobody()
        _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        _die_with_parent()
        if select.select([life_of_cell], [], [], 0)[0]:
            os._exit(status)
        program = _fork()
        if program == 0:
            _program(order)
        status = _wait(program)
    except (OSError, Trouble) as error:
        status = _trouble(order, error)
    finally:
        os._exit(status)


def _enter_root(order: dict[str, Any]) -> None:
    """An empty root: a temporary filesystem over ``cell`` in the run's folder, with what the order binds."""
    root = str(Path(order["folder"]) / "cell")
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    _mount("lab", root, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=755")
    for target, source in order["binds"].items():
        _bind(source, root + target, writable=target in order["writable"])
    Path(root, "tmp").mkdir()
    # The guest's memory is a file here.
    _mount("memory", root + "/tmp", "tmpfs", _MS_NOSUID | _MS_NODEV, f"mode=1777,size={order['memory_bytes'] * 5 // 4}")
    Path(root, "old").mkdir()
    _call("syscall", ctypes.c_long(_SYS_PIVOT_ROOT), root.encode(), (root + "/old").encode())
    os.chdir("/")
    _call("umount2", b"/old", _MNT_DETACH)
    Path("/old").rmdir()


def _bind(source: str, target: str, *, writable: bool) -> None:
    if Path(source).is_dir():
        Path(target).mkdir(parents=True)
    else:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        Path(target).touch()
    _mount(source, target, None, _MS_BIND)
    if not writable:
        flags = _MS_BIND | _MS_REMOUNT | _MS_RDONLY | _locked_flags(target)
        _mount("none", target, None, flags)


def _locked_flags(path: str) -> int:
    """The flags of a mount that a user namespace may not take away (their bits are those of ``mount``)."""
    return os.statvfs(path).f_flag & (os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC | os.ST_NOATIME | os.ST_NODIRATIME)


def _become_nobody() -> None:
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    _call("prctl", _PR_SET_DUMPABLE, 1, 0, 0, 0)


def _program(order: dict[str, Any]) -> NoReturn:
    try:
        # Its own group: a kernel that panics ends its group.
        os.setsid()
        _call("personality", ctypes.c_ulong(_ADDR_NO_RANDOMIZE))
        os.chdir(order["start_in"])
        _lay_descriptors(order["descriptors"])
        os.execve(order["program"][0], order["program"], order["environment"])
    except OSError as error:
        _trouble(order, error)
    finally:
        os._exit(EXIT_TROUBLE)


def _lay_descriptors(files: list[int]) -> None:
    """Make ``files`` the descriptors 0, 1, 2 and so on: a command line that names them is always the same."""
    apart = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, len(files)) for file in files]
    for number, file in enumerate(apart):
        os.dup2(file, number, inheritable=True)


def _wait(child: int) -> int:
    """Wait for a child and reap whatever else falls to us."""
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            return EXIT_TROUBLE
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _trouble(order: dict[str, Any], error: OSError | Trouble) -> int:
    if isinstance(error, Trouble):
        message, hint = error.args
    else:
        message, hint = f"the cell cannot be set up: {error}", _HINTS.get(error.errno or 0, "")
    os.write(order["trouble"], json.dumps({"message": message, "hint": hint}).encode())
    return EXIT_TROUBLE


if __name__ == "__main__":
    sys.exit(main())
