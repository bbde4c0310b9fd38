"""The law of the guard: only `device/` may open devices for writing, and whoever writes files at all is listed here.

What a path leads to is not seen in the sources, so whatever writes outside of `device/` needs a line below with the
reason why that can be no device. Beyond that nobody else may ask a device anything by ioctl or start a program that
writes to devices.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GUARD = "device/"
WRITERS = {
    "characterize/bench.py": "a log in memory",
    "characterize/run.py": "a profile in a temporary folder",
    "cli/demo.py": "an empty file in the demonstration's own folder",
    "cli/output.py": "/dev/null, in place of an output that nobody reads",
    "cli/several.py": "documents of runs in a temporary folder",
    "array/in_lab.py": "a load in a temporary folder",
    "array/keep.py": "a text in memory",
    "array/matrix.py": "the table of a matrix, a row at a time, fsynced",
    "lab/cache.py": "the lab's cache",
    "lab/cell.py": "the cell's own user mapping in /proc",
    "lab/disks.py": "an archive in memory",
    "lab/fence.py": "/dev/null, and what the guest printed, in a folder of this run",
    "lab/folder.py": "a folder of this run; what comes out of a guest is made anew and never replaces anything",
    "lab/image.py": "the lab's cache",
    "lab/keep.py": "the folder of `lab run --keep`, which it has made or found empty",
    "lab/kernel.py": "the lab's cache",
    "lab/ourselves.py": "the lab's cache",
    "lab/run.py": "a folder of this run",
    "lab/zfs.py": "the folder in which the lab is built, in its cache",
    "report/export/samples.py": "a text in memory",
    "protocol/in_lab.py": "a protocol in a temporary folder",
    "result/atomic.py": "a new file beside the place, renamed: a device's node is replaced, not written through",
    "result/journal.py": "the run's own folder",
    "result/samples.py": "the run's own folder",
    "tools/fio/command.py": "a job in a temporary folder",
    "tools/fio/process.py": "what fio complains of, in the run's own folder",
    "tools/fio/raw.py": "the run's own folder",
}
RUST_WRITERS = {
    "crates/serve/src/lab/history.rs": "the list of what a drive is asked, in the folder of `lab run --keep`",
    "crates/serve/src/lab/setup.rs": "the trace of a run of the lab, in a file that was not there",
    "crates/serve/src/store.rs": "the data of a modelled drive: refuses whatever is no regular file",
}
_MODE = re.compile(r"^(?=[rwxabt+]*[wxa+])[rwxabt+]{1,4}$")
_WRITING_FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC"}
_WRITING_CALLS = {
    *("write_text", "write_bytes", "write_parquet", "write_csv", "write_json", "write_ndjson", "sink_parquet"),
    *("sink_csv", "truncate", "ftruncate", "pwrite", "pwritev", "posix_fallocate", "copyfile", "copy", "copy2"),
    *("copytree", "copyfileobj", "sendfile", "copy_file_range", "splice", "mknod", "touch"),
}
_HARMLESS = {"copy"}  # of a list, a set, a frame: only shutil's writes
_ASKS_DEVICES = {"ioctl", "mmap"}
_PROGRAMS = {
    *("dd", "blkdiscard", "wipefs", "sfdisk", "sgdisk", "parted", "partx", "hdparm", "nvme", "sg_format", "sg_unmap"),
    *("mdadm", "zpool", "pvcreate", "cryptsetup", "dmsetup", "losetup", "mkswap", "blockdev", "badblocks", "shred"),
}
# mkfs.erofs makes an image of a folder and has no use for a device.
_MKFS = re.compile(r"mkfs(?!\.erofs$)")
_RUST_WRITES = re.compile(r"OpenOptions|File::(?:create|options)|fs::(?:write|copy)\b|OFlags::(?:WRONLY|RDWR)")


def violations(package: Path, writers: dict[str, str]) -> Iterator[str]:
    """One sentence for each thing that only `device/` may do, or that is not listed, and for each line without need."""
    writing = set()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if name.startswith(GUARD):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            if why := _reserved(node):
                yield f"{name}:{node.lineno}: {why}: only `{GUARD}` may"
            if _writes(node):
                writing.add(name)
                if name not in writers:
                    yield f"{name}:{node.lineno}: writes a file: use `result/atomic.py`, or be listed with a reason"
    yield from _unneeded(writers, writing)


def rust_violations(crates: Path, writers: dict[str, str]) -> Iterator[str]:
    """The same for the crates."""
    writing = {
        path.relative_to(crates.parent).as_posix()
        for path in crates.glob("*/src/**/*.rs")
        if _RUST_WRITES.search(path.read_text(encoding="utf-8"))
    }
    yield from (f"{name}: opens files for writing and is not listed" for name in sorted(writing - set(writers)))
    yield from _unneeded(writers, writing)


def _unneeded(writers: dict[str, str], writing: set[str]) -> Iterator[str]:
    yield from (f"{name}: listed as a writer, and writes nothing" for name in sorted(set(writers) - writing))


def _reserved(call: ast.Call) -> str | None:
    name = _name(call)
    if name in _ASKS_DEVICES:
        return f"calls {name}"
    if name in {"run", "Popen", "call", "check_call", "check_output", "system", "execvp", "ask", "Question"}:
        words = (text.split(" ")[0].rpartition("/")[2] for text in _texts(call))
        started = {word for word in words if word in _PROGRAMS or _MKFS.match(word)}
        if started:
            return f"starts {', '.join(sorted(started))}"
    if name == "open" and any(_is_device(text) for text in _texts(call)):
        return "opens something under /dev"
    return None


def _writes(call: ast.Call) -> bool:
    name = _name(call)
    if name in {"open", "fdopen"}:
        flags = {node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute)}
        modes = [*call.args[:2], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
        if flags & _WRITING_FLAGS:
            return True
        return any(isinstance(mode, ast.Constant) and _MODE.match(str(mode.value)) for mode in modes)
    if name in _HARMLESS:
        return isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "shutil"
    return name in _WRITING_CALLS


def _name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _texts(call: ast.Call) -> Iterator[str]:
    for node in ast.walk(call):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _is_device(text: str) -> bool:
    return text.startswith("/dev/") and text != "/dev/null"


if __name__ == "__main__":
    broken = [
        *violations(ROOT / "python" / "shakedown", WRITERS),
        *rust_violations(ROOT / "crates", RUST_WRITERS),
    ]
    print(
        "\n".join(broken) if broken else f"writers: only `{GUARD}` opens devices, and {len(WRITERS)} files are listed"
    )
    sys.exit(bool(broken))
