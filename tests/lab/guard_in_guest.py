"""Runs in a guest of the lab: builds real stacks on real block devices, and lets Shakedown try to write to them.

Prints one JSON line a stack: exit status, words, the plan, and whether any byte of any disk has changed.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import io
import json
import os
import struct
import subprocess
import sys
import time
import uuid
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from shakedown.cli import main
from shakedown.tools.fio.locate import locate_fio

A, B = "/dev/sda", "/dev/sdb"
MIB = 1 << 20
ZEROS = bytes(MIB)
# Of virtual time: what a mounted file system still writes by itself is written by then.
SETTLED_S = 120


def sh(command: str) -> str:
    done = subprocess.run(["bash", "-ec", command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def serial(disk: str) -> str:
    return Path(f"/sys/block/{Path(disk).name}/device/vpd_pg80").read_bytes()[4:].decode().strip("\0 ")


def by_id(disk: str) -> str:
    return next(str(link) for link in Path("/dev/disk/by-id").glob("ata-*") if str(link.resolve()) == disk)


def digest(disk: str) -> str:
    """Of every byte, past the page cache's opinion: what is dirty is written back first."""
    os.sync()
    with Path(disk).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def shakedown(*arguments: str) -> tuple[int, str, str]:
    """The command line in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        output, errors = io.StringIO(), io.StringIO()
        status = 99
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            try:
                main(arguments)
            except SystemExit as end:
                status = int(end.code or 0)
        with os.fdopen(write, "w") as told:
            json.dump([status, output.getvalue(), errors.getvalue()], told)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        text = told.read()
    os.waitpid(child, 0)
    status, printed, errors = json.loads(text)
    return status, printed, errors


def attempt(name: str, disk: str = A, *, allow: tuple[str, ...] = (), consent: str | None = "") -> None:
    """Try to run on the disk with full consent, and tell what came of it and of the disks."""
    time.sleep(SETTLED_S)
    before = [digest(each) for each in (A, B)]
    words = ["run", "./short.toml", by_id(disk), "--json", "--quiet", "--out", f"/tmp/{name}"]
    words += [] if consent is None else ["--destroy-data-on", consent or serial(disk)]
    words += [word for each in allow for word in ("--allow-signature", each)]
    status, printed, errors = shakedown(*words)
    after = [digest(each) for each in (A, B)]
    told = json.loads(printed) if printed else {}
    rules = [[each["rule"], each["words"]] for plan in told.get("plan", []) for each in plan["refusals"]]
    line = {"name": name, "status": status, "errors": errors, "rules": rules, "same": before == after}
    print(json.dumps(line), flush=True)


def blank() -> None:
    """Zeros where anybody could look for a signature, and no partitions known."""
    for disk in (A, B):
        size = int(Path(f"/sys/block/{Path(disk).name}/size").read_text()) * 512
        with Path(disk).open("r+b") as file:
            for place in [*range(0, 80 * MIB, MIB), size // MIB * MIB - 4 * MIB, size - 4 * MIB, size - MIB]:
                file.seek(place)
                file.write(ZEROS[: size - place])
        sh(f"blockdev --rereadpt {disk} || true")


@contextmanager
def stack(up: str, down: str) -> Iterator[None]:
    blank()
    try:
        sh(up)
        yield
    finally:
        sh(down)
        time.sleep(0.1)


def gpt(disk: str) -> None:
    """A GUID partition table with one partition of 64 MiB from 1 MiB on: no program of the guest makes one."""
    sectors = int(Path(f"/sys/block/{Path(disk).name}/size").read_text())
    kind, mine = uuid.UUID("0fc63daf-8483-4772-8e79-3d69d8477de4"), uuid.UUID(int=7)
    entry = struct.pack("<16s16sQQQ72s", kind.bytes_le, mine.bytes_le, 2048, 2048 + (64 << 11) - 1, 0, b"")
    table = entry.ljust(128 * 128, b"\0")

    def header(here: int, there: int, entries: int) -> bytes:
        def packed(crc: int) -> bytes:
            head = struct.pack("<8sIIII", b"EFI PART", 0x10000, 92, crc, 0)
            lines = struct.pack("<QQQQ16sQ", here, there, 34, sectors - 34, mine.bytes_le, entries)
            return head + lines + struct.pack("<III", 128, 128, zlib.crc32(table))

        return packed(zlib.crc32(packed(0))).ljust(512, b"\0")

    protective = bytes(446) + struct.pack("<B3sB3sII", 0, b"\0\2\0", 0xEE, b"\xff" * 3, 1, sectors - 1)
    with Path(disk).open("r+b") as file:
        file.write(protective.ljust(510, b"\0") + b"\x55\xaa" + header(1, sectors - 1, 2) + table)
        file.seek((sectors - 33) * 512)
        file.write(table + header(sectors - 1, 1, sectors - 33))
    sh(f"blockdev --rereadpt {disk}")


def members() -> None:
    mdadm = (
        f"mdadm --create /dev/md0 --run --level=1 --metadata={{}} --bitmap=none --assume-clean --raid-devices=2 {A} {B}"
    )
    for version in ("1.2", "1.0", "0.90"):
        with stack(mdadm.format(version), "mdadm --stop /dev/md0 || true"):
            attempt(f"md {version}, running", allow=("linux_raid_member",))
            sh("mdadm --stop /dev/md0")
            attempt(f"md {version}, stopped", allow=("linux_raid_member",))
    lvm = f"pvcreate -q {A} {B}; vgcreate -q vg {A} {B}; lvcreate -q -Zn -n lv -L 64M vg"
    with stack(lvm, "vgchange -q -an vg; vgremove -q -y -f vg"):
        attempt("lvm, active", allow=("LVM2_member",))
        attempt("lvm, active, the volume elsewhere", B, allow=("LVM2_member",))
        sh("vgchange -q -an vg")
        attempt("lvm, inactive", allow=("LVM2_member",))
    zfs = "zfs-fuse -n --no-kstat-mount >/dev/null 2>&1 & sleep 2; zpool create tank mirror /dev/sda /dev/sdb"
    with stack(zfs, "zpool destroy tank || true; kill $(busybox pidof zfs-fuse); sleep 1"):
        attempt("zfs, imported", allow=("zfs_member",))
        sh("zpool export tank")
        attempt("zfs, exported", allow=("zfs_member",))
    with stack(f"mkfs.btrfs -q {A} {B}; mount {A} /mnt", "umount /mnt || true"):
        attempt("btrfs, mounted, first", A, allow=("btrfs",))
        attempt("btrfs, mounted, second", B, allow=("btrfs",))
        sh("umount /mnt")
        attempt("btrfs, of two, unmounted", allow=("btrfs",))


def mappings() -> None:
    luks = f"cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 {A} <<<secret"
    with stack(f"{luks}; cryptsetup open {A} vault <<<secret", "cryptsetup close vault || true"):
        attempt("luks, open", allow=("crypto_LUKS",))
        sh("mkfs.ext4 -q /dev/mapper/vault; mount /dev/mapper/vault /mnt")
        attempt("luks, mounted", allow=("crypto_LUKS",))
        sh("umount /mnt; cryptsetup close vault")
        attempt("luks, closed, not named")
    with stack(f"dmsetup create plain --table '0 2048 linear {A} 0'", "dmsetup remove plain"):
        attempt("dm, linear")
    multipath = f"0 2048 multipath 0 0 1 1 round-robin 0 1 1 {A} 1"
    with stack(f"dmsetup create mpatha --uuid mpath-1 --table '{multipath}'", "dmsetup remove mpatha"):
        attempt("multipath")


def file_systems() -> None:
    with stack(f"mkfs.ext4 -q {A}; mount {A} /mnt", "umount /mnt || true"):
        attempt("ext4, mounted", allow=("ext4",))
        sh("umount /mnt")
        attempt("ext4, not named")
        attempt("ext4, another is named", allow=("xfs",))
    with stack(f"mkfs.ext4 -q {A}; mkdir /tmp/cage; true", "true"):
        # Mounted where only another process sees it, and by a node that is nowhere else.
        inside = (
            "mount --make-rprivate /; mknod /tmp/cage/n b 8 0; mount /tmp/cage/n /mnt; rm /tmp/cage/n; exec sleep 1000"
        )
        other = subprocess.Popen(["unshare", "-m", "bash", "-ec", inside])
        time.sleep(1)
        attempt("ext4, mounted in another namespace", allow=("ext4",))
        other.kill()
        other.wait()
    with stack(f"mkswap -q {A} || mkswap {A}", "true"):
        attempt("swap signature, not named")
    blank()
    gpt(A)
    attempt("gpt, not named")
    sh("mkfs.ext4 -q /dev/sda1")
    attempt("gpt named, its file system not", allow=("gpt",))
    sh("mount /dev/sda1 /mnt")
    attempt("gpt, a partition mounted", allow=("gpt", "ext4"))
    sh("umount /mnt; pvcreate -q -ff -y /dev/sda1")
    attempt("gpt, a partition is of LVM", allow=("gpt", "LVM2_member"))


def in_use() -> None:
    blank()
    with Path(A).open("rb") as disk:
        other = subprocess.Popen(["sleep", "1000"], stdin=disk)
    attempt("open in another process")
    other.kill()
    other.wait()
    with stack(f"losetup /dev/loop5 {A}", "losetup -d /dev/loop5"):
        attempt("a loop device on it")
    with stack(f"blockdev --setro {A}", f"blockdev --setrw {A}"):
        attempt("read-only")
    with stack(f"mkfs.ext4 -q {B}; mkdir -p /srv/runs; mount {B} /srv/runs", "umount /srv/runs"):
        words = ["run", "./short.toml", by_id(B), "--json", "--quiet", "--out", "/srv/runs/x"]
        status, printed, _ = shakedown(*words, "--destroy-data-on", serial(B), "--allow-signature", "ext4")
        rules = [[each["rule"], each["words"]] for each in json.loads(printed)["plan"][0]["refusals"]]
        print(
            json.dumps({"name": "the run's own folder", "status": status, "errors": "", "rules": rules, "same": True})
        )


def consent() -> None:
    blank()
    attempt("nobody has agreed", consent=None)
    attempt("agreed to the other one", consent=serial(B))
    attempt("agreed to the name", consent=A)


def allowed() -> None:
    """What may be overwritten is: with the edges kept, and put back by the commands that are written down."""
    blank()
    gpt(A)
    sh("mkfs.ext4 -q -L precious /dev/sda1")
    table = sh(f"wipefs --json --output OFFSET,TYPE,UUID,LABEL {A} /dev/sda1")
    attempt("allowed", allow=("gpt", "ext4"))
    run = Path("/tmp/allowed")
    record = json.loads((run / "before" / "before.json").read_text())
    gone = sh(f"wipefs --json --output OFFSET,TYPE,UUID,LABEL {A}")
    for command in record["put_back"]:
        sh(f"cd {run}/before && {command}")
    sh(f"blockdev --rereadpt {A}")
    back = sh(f"wipefs --json --output OFFSET,TYPE,UUID,LABEL {A} /dev/sda1")
    steps = [(step["name"], step["error"]) for step in json.loads((run / "run.json").read_text())["steps"]]
    commands = [(run / "raw" / name / "command.txt").read_text() for name in ("read", "write")]
    line = {"name": "put back", "gone": gone != table, "back": back == table, "steps": steps, "commands": commands}
    line["target"] = json.loads((run / "run.json").read_text())["target"]
    print(json.dumps(line), flush=True)


def reading() -> None:
    """A run that only reads needs no consent, also on what is mounted."""
    with stack(f"mkfs.ext4 -q {A}; mount -o ro {A} /mnt", "umount /mnt"):
        before = digest(A)
        status, printed, errors = shakedown(
            "run", "./reads.toml", by_id(A), "--json", "--quiet", "--out", "/tmp/reading"
        )
        line = {"name": "reading", "status": status, "errors": errors, "same": before == digest(A)}
        line["notes"] = json.loads(printed).get("run", {}).get("notes")
        print(json.dumps(line), flush=True)


PARTS: dict[str, Callable[[], None]] = {
    each.__name__: each for each in (members, mappings, file_systems, in_use, consent, allowed, reading)
}
if __name__ == "__main__":
    # Imports all that a run needs, and asks fio: once, before the first fork, and not in every child.
    with contextlib.suppress(SystemExit), contextlib.redirect_stderr(io.StringIO()):
        main(["run", "./short.toml", "/dev/none"])
    locate_fio()
    # What is never looked at again is never copied.
    gc.freeze()
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
