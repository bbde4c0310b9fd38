"""An array of modelled drives in a storage box, as a target: ``model:raid5:4xhd103uj:link=1Gb/s``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

from shakedown import _core
from shakedown.analysis.explain.ceiling import PAYLOAD_SHARE
from shakedown.data import profile_name, profile_path
from shakedown.errors import UsageError
from shakedown.layouts import LAYOUTS, MD_LAYOUTS, ZFS_LAYOUTS
from shakedown.target.md_options import MD_SETTINGS, MdOptions, parse_flag
from shakedown.target.modelled import Modelled, is_shingled, modelled_capacity_bytes, profile_part
from shakedown.target.profile import read_profile
from shakedown.target.settings import between, read_settings
from shakedown.units import (
    parse_bytes_per_s,
    parse_data_rate,
    parse_duration_ns,
    parse_memory_bytes,
    parse_request_bytes,
)

_MISSING: Final = "missing"
_MOST_DRIVES: Final = 384
_MOST_OUTSTANDING: Final = 65536
_EXAMPLE: Final = "model:raid5:4xwd40efrx, model:raid6:7xst12000vn0007,missing:chunk=64KiB,link=1Gb/s"

_CACHES_EXAMPLE: Final = ",read-cache=512MiB,read-ahead=128KiB,write-cache=256MiB,dirty-expire=30s"


# Nothing is rebuilt in a box: who is missing stays so. Nobody writes past its memory, as on a mounted array some do.
_NOT_OF_BOXES: Final = ("speed-min", "speed-max", "ext4-journal")
_MD_SETTINGS: Final = {name: known for name, known in MD_SETTINGS.items() if name not in _NOT_OF_BOXES}
BOX_SETTINGS: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "link": ("link_bytes_per_s", parse_bytes_per_s),
    "read-ceiling": ("read_ceiling_bytes_per_s", parse_data_rate),
    "write-ceiling": ("write_ceiling_bytes_per_s", parse_data_rate),
    "round-trip": ("round_trip_ns", parse_duration_ns),
    "outstanding": ("outstanding", between(1, _MOST_OUTSTANDING)),
    "read-cache": ("read_cache_bytes", parse_memory_bytes),
    "read-ahead": ("read_ahead_bytes", parse_request_bytes),
    "write-cache": ("write_cache_bytes", parse_memory_bytes),
    "dirty-expire": ("dirty_expire_ns", parse_duration_ns),
    "battery": ("battery", parse_flag),
}


def names_storage_box(text: str) -> bool:
    """Whether a target's text is an array's, and no drive's: ``model:raid5...``, or any two words with a colon."""
    first, colon, _ = text.removeprefix("model:").partition(":")
    is_path = "/" in first or text.endswith(".toml")
    return text.startswith("model:") and (first in LAYOUTS or (bool(colon) and not is_path))


def refuse_lab_box(text: str) -> None:
    """Raise UsageError for an array of the lab, where drives of it are wanted."""
    what = text.removeprefix("lab:")
    if what == text or not names_storage_box(f"model:{what}"):
        return
    layout = what.partition(":")[0]
    raise UsageError(
        f"`{text}` is no drive, and a target of the lab is one",
        hint=f"arrays in the lab are made by `shakedown rebuild {layout} lab:NAME --width 4` and `shakedown matrix`; a "
        f"protocol runs on a modelled one, `model:{what}`",
    )


def refuse_storage_box(text: str, verb: str) -> None:
    """Raise UsageError for an array, where one drive is wanted."""
    if names_storage_box(text):
        raise UsageError(f"`{text}` is an array, and `{verb}` takes drives", hint="model:NAME or model:./file.toml")


def drives_of(name: str) -> tuple[str, ...]:
    """The profiles that ``model:NAME`` is made of, each once. Raises UsageError."""
    if not names_storage_box(f"model:{name}"):
        return (name,)
    places = _places(_parts(f"model:{name}")[1])
    return tuple(dict.fromkeys(each.removeprefix("model:") for each in places if each != _MISSING))


def storage_box(text: str, *, seed: int, scale_divisor: int) -> Modelled:
    """``model:LAYOUT:DRIVES[:NAME=VALUE,...]``, drives and caches so many times smaller. Raises UsageError."""
    layout, drives, settings = _parts(text)
    places = _places(drives)
    present = [each for each in places if each != _MISSING]
    if not present:
        raise UsageError(f"`{text}` has no drives", hint=_EXAMPLE)
    profiles = {target: read_profile(profile_path(target.removeprefix("model:"))) for target in dict.fromkeys(present)}
    for target, profile in profiles.items():
        modelled_capacity_bytes(target, profile, scale_divisor)
    given = read_settings(settings, {**_MD_SETTINGS, **BOX_SETTINGS}, "a storage box", _EXAMPLE)
    options = MdOptions(**{each.name: given.get(each.name) for each in fields(MdOptions)})
    options.check_layout(layout)
    order: _core.StorageBoxOrder = {
        "layout": layout,
        # Who is missing is as large as the others.
        "profiles": [profiles[present[0] if each == _MISSING else each] for each in places],
        "missing": [place for place, each in enumerate(places) if each == _MISSING],
        "scale_divisor": scale_divisor,
        "options": options.to_core(),
        "seed": seed,
        "link_bytes_per_s": _payload(given.get("link_bytes_per_s")),
        "read_ceiling_bytes_per_s": given.get("read_ceiling_bytes_per_s"),
        "write_ceiling_bytes_per_s": given.get("write_ceiling_bytes_per_s"),
        "round_trip_ns": given.get("round_trip_ns", 0),
        "outstanding": given.get("outstanding"),
        "read_cache_bytes": _scaled(given.get("read_cache_bytes", 0), scale_divisor),
        "read_ahead_bytes": given.get("read_ahead_bytes", 0),
        "write_cache_bytes": _scaled(given.get("write_cache_bytes", 0), scale_divisor),
        "dirty_expire_ns": given.get("dirty_expire_ns", 0),
        "battery": given.get("battery", False),
    }
    try:
        machine = _core.Machine.storage_box(order)
    except _core.ArrayError as error:
        smaller = f", scaled down by {scale_divisor}" if scale_divisor > 1 else ""
        raise UsageError(f"`{text}`{smaller}: {error}", hint=f"like {_EXAMPLE}{_CACHES_EXAMPLE}") from error
    kinds = {is_shingled(profile) for profile in profiles.values()}
    shingled = True if True in kinds else None if None in kinds else False
    part = max(profile_part(profile) for profile in profiles.values())
    return Modelled(machine, _name(layout, drives), shingled, {"drives": ", ".join(places)} | _told(settings), part)


def _parts(text: str) -> tuple[str, str, list[str]]:
    layout, colon, rest = text.removeprefix("model:").partition(":")
    if layout in ZFS_LAYOUTS:
        raise UsageError(
            f"`{text}` is a pool of ZFS, and loads run on arrays of md only",
            hint=f"{', '.join(MD_LAYOUTS)}; `shakedown rebuild {layout}` tells how a pool resilvers",
        )
    if layout not in MD_LAYOUTS:
        alone = f"one drive is `model:{layout}`; " if profile_name(layout) else ""
        hint = f"{alone}{', '.join(MD_LAYOUTS)}, like {_EXAMPLE}"
        raise UsageError(f"`{text}`: there is no layout `{layout}`", hint=hint)
    drives, sets, settings = rest.partition(":")
    if not colon or not drives:
        raise UsageError(f"`{text}` has no drives", hint=_EXAMPLE)
    given = settings.split(",") if sets else []
    if not all(given):
        raise UsageError(f"`{text}`: an option is empty", hint=f"leave its `:` or `,` out, or write {_EXAMPLE}")
    return layout, drives, given


def _places(drives: str) -> list[str]:
    """``3xNAME,NAME,missing`` as a target for each place."""
    places: list[str] = []
    for part in drives.split(","):
        match = re.fullmatch(r"(?:(\d{1,18})x)?(.+)", part)
        count = int(match[1] or 1) if match else 0
        if match is None or not count:
            raise UsageError(f"`{part}` is no drive of an array: `{drives}`", hint=_EXAMPLE)
        if len(places) + count > _MOST_DRIVES:
            raise UsageError(
                f"an array of {len(places) + count} drives is too wide", hint=f"up to {_MOST_DRIVES}, like {_EXAMPLE}"
            )
        places += [match[2] if match[2] == _MISSING else f"model:{match[2]}"] * count
    return places


def _scaled(size_bytes: int, divisor: int) -> int:
    """Never nothing of something."""
    return -(-size_bytes // divisor)


def _payload(bytes_per_s: int | None) -> int | None:
    return None if bytes_per_s is None else round(bytes_per_s * PAYLOAD_SHARE)


def _name(layout: str, drives: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{layout}-{drives}").strip("-.")


def _told(settings: list[str]) -> dict[str, str]:
    return {name: value for name, _, value in (each.partition("=") for each in settings)}
