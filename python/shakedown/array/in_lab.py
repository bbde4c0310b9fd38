"""A rebuild in the lab: the real md, or the real OpenZFS, in a guest whose disks are modelled drives."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shakedown.array.order import RebuildOrder, check_order
from shakedown.array.zfs import ZfsOptions
from shakedown.device.lab_disk import DISKS, numbered
from shakedown.errors import EnvironmentFailure, RefusedError
from shakedown.lab import run as lab
from shakedown.lab.disks import disk_name
from shakedown.lab.program import Say
from shakedown.result.folder import Run, read_run

_SCHEME: Final = "lab:"
_DONE: Final = (0, 1, 3)
_MEMORY_BYTES: Final = 1 << 30
_MEMORY_OF_ZFS_BYTES: Final = 2 << 30
_LOAD_NAME: Final = "load.fio"


@dataclass(frozen=True)
class InGuest:
    """A rebuild as it is ordered there: ``settings`` and ``baseline`` as they were given."""

    order: RebuildOrder
    settings: tuple[str, ...]
    baseline: str | None


def run_rebuild_in_lab(ordered: InGuest, out: Path, tell: Say) -> Run:
    """Rebuild into the new folder ``out``. Raises UsageError, RefusedError and EnvironmentFailure."""
    check_order(ordered.order)
    if out.exists():
        raise RefusedError(f"{out} exists already", hint="choose another folder: --out")
    out.parent.mkdir(parents=True, exist_ok=True)
    said = bytearray()

    def hear(stream: str, text: bytes) -> None:
        if stream != "output":
            said.extend(text)
            for line in text.decode(errors="replace").splitlines():
                tell(line)

    with tempfile.TemporaryDirectory() as folder:
        brought: tuple[Path, ...] = ()
        if ordered.order.load is not None:
            brought = (Path(folder) / _LOAD_NAME,)
            brought[0].write_text(ordered.order.load, encoding="utf-8")
        outcome = lab.run(_order_of_lab(ordered, out, brought), hear)
    if outcome.exit_status not in _DONE:
        words = said.decode(errors="replace").strip().splitlines()
        raise EnvironmentFailure(f"in the guest: {' / '.join(words[-3:])}")
    return read_run(out)


def _order_of_lab(ordered: InGuest, out: Path, brought: tuple[Path, ...]) -> lab.Order:
    order = ordered.order
    texts = (*order.members, order.replacement)
    # A fault of the last place is one of the drive that is put in there.
    faults = {len(order.members) if place == order.place else place: text for place, text in order.faults.items()}
    memory_bytes = _MEMORY_BYTES
    if isinstance(order.options, ZfsOptions):
        memory_bytes = min(order.options.memory_bytes, _MEMORY_OF_ZFS_BYTES)
    return lab.Order(
        command=_command(ordered, out.name),
        drives=tuple("model:" + text.removeprefix(_SCHEME) for text in texts),
        seed=order.seed,
        scale_divisor=order.scale_divisor,
        memory_bytes=memory_bytes,
        bring_in=brought,
        bring_out=(f"/lab/{out.name}",),
        out=out.parent,
        with_shakedown=True,
        faults=faults,
        with_zfs=order.is_zfs,
    )


def _command(ordered: InGuest, out: str) -> tuple[str, ...]:
    """The same order, its targets being disks of the guest, each by its place."""
    order = ordered.order
    texts = (*order.members, order.replacement)
    disks = {numbered(text, number): f"/dev/{disk_name(number)}" for number, text in enumerate(texts)}
    command = ["env", f"{DISKS}={json.dumps(disks)}", "shakedown", "rebuild", order.layout, *order.members]
    command += ["--replace-with", order.replacement, "--fill", f"{order.fill * 100:.6f}%", "--state", order.state]
    command += ["--seed", str(order.seed), "--scale", f"1/{order.scale_divisor}", "--out", out]
    command += [word for text in ordered.settings for word in ("--set", text)]
    if order.member_bytes is not None:
        command += ["--member-size", str(order.member_bytes)]
    if order.load is not None:
        command += ["--load", _LOAD_NAME]
    if ordered.baseline is not None:
        command += ["--baseline", ordered.baseline]
    return tuple(command)
