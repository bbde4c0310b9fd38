"""What the lab runs, kernel and image, built where the cache has none that fit."""

from __future__ import annotations

from shakedown.lab import image, kernel
from shakedown.lab.image import Image, build_image, find_image
from shakedown.lab.kernel import Kernel, build_kernel, find_kernel
from shakedown.lab.program import Say, require


def build(say: Say, *, with_zfs: bool = False, renew: bool = False) -> tuple[Kernel, Image]:
    """Both, built if they are not there, or if ``renew`` and apt offers other versions.

    Raises EnvironmentFailure, before anything is built, if something is missing that either is built with.
    """
    needed: dict[str, str] = {}
    if renew or find_kernel(with_zfs=with_zfs) is None:
        needed |= kernel.needed(with_zfs=with_zfs)
    if renew or find_image() is None:
        needed |= image.NEEDED
    require(needed)
    return build_kernel(say, with_zfs=with_zfs, renew=renew), build_image(say, renew=renew)
