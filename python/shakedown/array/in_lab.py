"""A rebuild in the lab: the real md, or the real OpenZFS, in a guest whose disks are modelled drives.

While it goes on, its folder holds nothing but the order: a guest that is stopped leaves nothing else, and the same
order gives the same rebuild again.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

from shakedown.array.effort import Effort, check_disk, effort_in_lab
from shakedown.array.faults import told_faults
from shakedown.array.order import RebuildOrder, check_order
from shakedown.array.settings import refuse_of_models
from shakedown.array.unsure import assumed
from shakedown.array.zfs import ZfsOptions
from shakedown.device.array.users import endless
from shakedown.device.lab_disk import DISKS, RUN_FOLDER, numbered
from shakedown.errors import RefusedError, UsageError
from shakedown.lab import run as lab
from shakedown.lab.disks import disk_name
from shakedown.lab.ended import failed_inside
from shakedown.lab.folder import scratch_folder
from shakedown.lab.program import Say
from shakedown.named_file import read_named_text
from shakedown.result.atomic import make_folder, replace_json
from shakedown.result.folder import Run, read_record, read_run, write_record
from shakedown.result.kept_order import kept_order
from shakedown.result.version import refuse_newer
from shakedown.toml import parse_toml
from shakedown.units import format_size

_SCHEME: Final = "lab:"
_DONE: Final = (0, 1, 3)
_MEMORY_BYTES: Final = 1 << 30
_MEMORY_OF_ZFS_BYTES: Final = 2 << 30
_LOAD_NAME: Final = "load.fio"
_ORDER_NAME: Final = "lab-rebuild.json"
_FORMAT_VERSION: Final = 1
_SPARED: Final = (
    "No baseline: in the lab faults count from the boot, and a baseline, which comes first, would meet them in place of"
    " the rebuild."
)

_HEALED: Final = (
    "In the lab sectors of {drives} are bad from the boot on, before the array is filled, and writing a sector heals "
    "it: the rebuild meets only those that nothing wrote, and who got through it may have met none. In the model, of "
    "`model:NAME`, they go bad when the new drive is put in."
)


@dataclass(frozen=True)
class InGuest:
    """A rebuild as it is ordered there: ``settings`` and ``baseline`` as they were given."""

    order: RebuildOrder
    settings: tuple[str, ...]
    baseline: str | None

    @property
    def effort(self) -> Effort:
        """What it takes of this machine. Raises UsageError for what cannot be."""
        has_none = self.spares_baseline or self.order.on_spare
        return effort_in_lab(self.order, with_baseline=self.baseline is None and not has_none)

    @property
    def spares_baseline(self) -> bool:
        """Whether there is none although nobody said so: it comes first, in the same boot, from which faults count."""
        return self.baseline is None and bool(self.order.faults)

    @classmethod
    def read(cls, out: Path) -> Self:
        """The order of the rebuild that was stopped in ``out``. Raises UsageError."""
        written = read_named_text(out / _ORDER_NAME, hint="start a new one")
        try:
            told: dict[str, Any] = json.loads(written)
            refuse_newer(told.get("format_version", 1), _FORMAT_VERSION, out / _ORDER_NAME)
            return cls(RebuildOrder.from_json(told["order"]), tuple(told["settings"]), told["baseline"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UsageError(
                f"{out / _ORDER_NAME} is not the order of a rebuild: {error}", hint="start a new one"
            ) from error

    def write(self, out: Path) -> None:
        """Keep it in ``out``, where there is nothing else."""
        make_folder(out)
        replace_json(out / _ORDER_NAME, {"format_version": _FORMAT_VERSION, **asdict(self)})


def is_cut_off_in_lab(out: Path) -> bool:
    """Whether a rebuild in the lab was stopped in ``out``."""
    return (out / _ORDER_NAME).exists()


def refuse_in_lab(order: RebuildOrder) -> None:
    """Raise UsageError for what cannot be rebuilt there."""
    check_order(order)
    refuse_of_models(order.options, is_lab=True)
    if order.load is not None:
        endless(order.load)
    _is_fuse(order)  # raises for what the lab has not
    _memory_bytes(order)


def run_rebuild_in_lab(ordered: InGuest, out: Path, tell: Say) -> Run:
    """Rebuild into the new folder ``out``. Raises UsageError, RefusedError, EnvironmentFailure and Interrupted."""
    refuse_in_lab(ordered.order)
    if out.exists():
        raise RefusedError(f"{out} exists already", hint="choose another folder: --out")
    effort = ordered.effort
    check_disk(effort)
    for told in (effort.words, *_of_faults(ordered), *assumed(ordered.order.as_modelled())):
        tell(told)
    ordered.write(out)
    return _kept(ordered, out, tell)


def resume_in_lab(out: Path, tell: Say) -> Run:
    """Play the rebuild that was stopped in ``out`` again, from its beginning. Raises as ``run_rebuild_in_lab``."""
    tell("a rebuild in the lab is played again from its beginning, and comes out the same")
    return _kept(InGuest.read(out), out, tell)


def _kept(ordered: InGuest, out: Path, tell: Say) -> Run:
    with kept_order(out / _ORDER_NAME, "rebuild"):
        _tell_faults(out, ordered, _play(ordered, out, tell), tell)
    return read_run(out)


def _tell_faults(out: Path, ordered: InGuest, in_vain: tuple[str, ...], tell: Say) -> None:
    """Put the faults that were ordered into the guest's record, who knew nothing of them, and what they cost."""
    if not ordered.order.faults:
        return
    record = read_record(out)
    told = record.parameters | {"faults": told_faults(ordered.order.faults)}
    for words in in_vain:
        tell(words)
    notes = (*record.notes, *_of_faults(ordered), *in_vain)
    write_record(out, record.model_copy(update={"parameters": told, "notes": notes}))


def _of_faults(ordered: InGuest) -> tuple[str, ...]:
    """What becomes of faults because they count from the boot."""
    order = ordered.order
    bad = [place for place, text in sorted(order.faults.items()) if place != order.place and _has_bad_sectors(text)]
    healed = (_HEALED.format(drives=" and ".join(f"drive {place}" for place in bad)),) if bad else ()
    return (*((_SPARED,) if ordered.spares_baseline else ()), *healed)


def _has_bad_sectors(faults: str) -> bool:
    return any(fault["kind"] == "latent-sectors" for fault in parse_toml(faults)["faults"])


def _play(ordered: InGuest, out: Path, tell: Say) -> tuple[str, ...]:
    """Which faults made no difference."""
    said = bytearray()

    def hear(stream: str, text: bytes) -> None:
        if stream != "output":
            said.extend(text)
            for line in text.decode(errors="replace").splitlines():
                tell(line)

    with scratch_folder() as folder:
        brought: tuple[Path, ...] = ()
        if ordered.order.load is not None:
            brought = (folder / _LOAD_NAME,)
            brought[0].write_text(ordered.order.load, encoding="utf-8")
        in_lab = _order_of_lab(ordered, out, brought)
        outcome = lab.run(in_lab, hear)
    if outcome.exit_status not in _DONE:
        raise failed_inside(said)
    return lab.faults_in_vain(in_lab, outcome, _called(ordered.order))


def _called(order: RebuildOrder) -> Callable[[int], str]:
    """What a disk of the guest is called in the order."""
    return lambda number: f"drive {order.place if number == len(order.members) else number}"


def _order_of_lab(ordered: InGuest, out: Path, brought: tuple[Path, ...]) -> lab.Order:
    order = ordered.order
    texts = (*order.members, order.replacement)
    # A fault of the last place is one of the drive that is put in there.
    faults = {len(order.members) if place == order.place else place: text for place, text in order.faults.items()}
    return lab.Order(
        command=_command(ordered),
        drives=tuple("model:" + text.removeprefix(_SCHEME) for text in texts),
        seed=order.seed,
        scale_divisor=order.scale_divisor,
        memory_bytes=_memory_bytes(order),
        bring_in=brought,
        bring_out={RUN_FOLDER: out},
        with_shakedown=True,
        faults=faults,
        with_zfs=order.is_zfs and not _is_fuse(order),
    )


def _memory_bytes(order: RebuildOrder) -> int:
    """Of the guest. Raises UsageError for more than it can have."""
    if not isinstance(order.options, ZfsOptions):
        return _MEMORY_BYTES
    wanted = order.options.memory_bytes
    if wanted == ZfsOptions.memory_bytes:
        return _MEMORY_OF_ZFS_BYTES
    if wanted > _MEMORY_OF_ZFS_BYTES:
        most = format_size(_MEMORY_OF_ZFS_BYTES)
        raise UsageError(
            f"`--set memory=` is {format_size(wanted)}, and a guest of the lab has {most} at the most",
            hint="leave it out: it has that",
        )
    return wanted


def _command(ordered: InGuest) -> tuple[str, ...]:
    """The same order, its targets being disks of the guest, each by its place."""
    order = ordered.order
    texts = (*order.members, order.replacement)
    disks = {numbered(text, number): f"/dev/{disk_name(number)}" for number, text in enumerate(texts)}
    command = ["env", f"{DISKS}={json.dumps(disks)}", "shakedown", "rebuild", order.layout, *order.members]
    command += ["--replace-with", order.replacement, "--fill", f"{order.fill * 100:.6f}%", "--state", order.state]
    command += ["--seed", str(order.seed), "--scale", f"1/{order.scale_divisor}", "--out", RUN_FOLDER]
    command += [word for text in ordered.settings for word in ("--set", text)]
    if order.member_bytes is not None:
        command += ["--member-size", str(order.member_bytes)]
    if order.load is not None:
        command += ["--load", _LOAD_NAME]
    if ordered.baseline is not None or ordered.spares_baseline:
        command += ["--baseline", ordered.baseline or "none"]
    return ("sh", "-c", f"{_START_FUSE} exec {shlex.join(command)}") if _is_fuse(order) else tuple(command)


# Its own daemon mode hangs in a guest.
_START_FUSE: Final = "zfs-fuse -n --no-kstat-mount & until zpool list >/dev/null 2>&1; do sleep 0.1; done;"


def _is_fuse(order: RebuildOrder) -> bool:
    """Whether it is resilvered by zfs-fuse, which has the scan of OpenZFS 0.6. Raises UsageError."""
    if not isinstance(order.options, ZfsOptions) or order.options.release == "2.3":
        return False
    if order.options.release == "0.6":
        return True
    raise UsageError(
        f"the lab has no OpenZFS {order.options.release}", hint="--set release=2.3, or 0.6, which is zfs-fuse there"
    )
