"""What the lab runs, kernel and image, built where the cache has none that fit."""

from __future__ import annotations

from typing import Final

from shakedown.lab import cache, image, kernel
from shakedown.lab.image import Image, build_image, find_image
from shakedown.lab.kernel import Kernel, build_kernel, find_kernel
from shakedown.lab.program import Say, require
from shakedown.lab.room import require_room

# Of the cache's disk while they are built, one after the other: half as much again as was measured, or more.
_KERNEL_BYTES: Final = 1 << 30
_ZFS_BYTES: Final = 512 << 20
_IMAGE_BYTES: Final = 512 << 20


def build(say: Say, *, with_zfs: bool = False, renew: bool = False) -> tuple[Kernel, Image]:
    """Both, built if they are not there, or if ``renew`` and apt offers other versions.

    Raises EnvironmentFailure, before anything is built, if something is missing that either is built with.
    """
    needed: dict[str, str] = {}
    room_bytes = 0
    with cache.readable():
        no_kernel, no_image = find_kernel(with_zfs=with_zfs) is None, find_image() is None
    if renew or no_kernel:
        needed |= kernel.needed(with_zfs=with_zfs)
        room_bytes = _KERNEL_BYTES + with_zfs * _ZFS_BYTES
    if renew or no_image:
        needed |= image.NEEDED
        room_bytes = max(room_bytes, _IMAGE_BYTES)
    require(needed)
    if needed:
        require_room(cache.cache_folder(), room_bytes, reused=cache.cache_folder() / "work")
    return build_kernel(say, with_zfs=with_zfs, renew=renew), build_image(say, renew=renew)
