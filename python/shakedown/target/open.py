"""A target's text to an arena."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shakedown.data import profile_name
from shakedown.device.disk.facts import NO_CONSENT, Consent
from shakedown.errors import UsageError
from shakedown.target.arena import Arena
from shakedown.target.model import ModelArena
from shakedown.tools.fio.locate import locate_fio

if TYPE_CHECKING:
    from shakedown.device.medium import Medium

_FORMS: Final = (
    "a target is `model:NAME`, `model:./profile.toml`, `model:raid5:4xNAME`, `lab:NAME`, a path to a file, a "
    "folder or a whole disk, `nbd+unix:///path/to.sock` or `nbd+unix:///EXPORT?socket=/path/to.sock`"
)


def open_target(
    text: str,
    *,
    seed: int,
    scale_divisor: int = 1,
    raw: Path,
    consent: Consent = NO_CONSENT,
    size_bytes: int | None = None,
    like_lab: bool = False,
) -> Arena:
    """The arena that the text's scheme picks, ready for its first load.

    ``raw`` is the run's folder for other programs' files; the run's own folder, its parent, is never a target.
    ``consent`` names what may be destroyed, ``size_bytes`` the size of the file to be made where none is;
    ``like_lab`` makes a modelled drive's host like that of ``lab:``.
    Raises UsageError, RefusedError and EnvironmentFailure.
    """
    if not text.isprintable():
        raise UsageError(f"{text!a} is not a target: it holds unprintable characters", hint="give it a plain name")
    if text.startswith("model:"):
        if size_bytes is not None:
            raise UsageError("`--size` makes a file, and a modelled drive is none", hint="take a part of it: `--scale`")
        return ModelArena(text, seed=seed, scale_divisor=scale_divisor, like_lab=like_lab)
    # Nobody waits for the device arena but who opens a device.
    from shakedown.device.arena import DeviceArena  # noqa: PLC0415

    medium = _medium(text, raw.absolute().parent, consent, size_bytes, scale_divisor)
    try:
        return DeviceArena(medium, locate_fio("fio"), raw)
    except BaseException:
        medium.close()
        raise


def _medium(text: str, run: Path, consent: Consent, size_bytes: int | None, scale_divisor: int) -> Medium:
    from shakedown.device.disk.medium import DiskMedium  # noqa: PLC0415 - see `open_target`
    from shakedown.device.file import FileMedium  # noqa: PLC0415
    from shakedown.device.lab_disk import LabDisk  # noqa: PLC0415
    from shakedown.device.nbd_export import NbdMedium  # noqa: PLC0415

    if text.startswith("lab:"):
        return LabDisk(text, scale_divisor)
    if re.match(r"nbds?(\+[a-z]+)?:", text):
        if not text.startswith("nbd+unix:"):
            raise UsageError(f"`{text}` is not an NBD address that Shakedown knows", hint=_FORMS)
        if size_bytes is not None:
            raise UsageError("`--size` makes a file, and an NBD export has its size")
        return NbdMedium(text, consent=consent.devices)
    if not text or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", text):
        path = f"; a file of that name is `./{text}`" if text else ""
        raise UsageError(f"`{text}` is not a target", hint=f"{_FORMS}{path}")
    if profile_name(text) and not Path(text).exists():
        raise UsageError(f"there is no file `{text}`", hint=f"did you mean the modelled drive, `model:{text}`?")
    if Path(text).is_block_device():
        if size_bytes is not None:
            raise UsageError("`--size` makes a file, and a disk has its size", hint="take a part of it with `--set`")
        return DiskMedium(text, run=run, consent=consent)
    return FileMedium(text, run=run, consent=consent.devices, size_bytes=size_bytes)
