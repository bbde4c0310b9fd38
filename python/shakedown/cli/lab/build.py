"""``shakedown lab build``: what the lab runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from shakedown.cli.document import print_document
from shakedown.cli.lab.say import say
from shakedown.cli.terminated import terminated_as_interrupted
from shakedown.lab.build import build as build_lab


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """The options of ``lab build``."""

    renew: Annotated[bool, Parameter(help="build again where apt offers other versions than those in the cache")] = (
        False
    )
    zfs: Annotated[bool, Parameter(help="with the real OpenZFS, for `lab run --zfs`: some minutes more")] = False
    json: Annotated[bool, Parameter(show_default=False, help="print one JSON document instead of the paths")] = False


_DEFAULTS = BuildOptions()


def build(*, options: BuildOptions = _DEFAULTS) -> int:
    """Build the kernel and the image of the lab, where the cache has none that fit.

    The kernel comes from Debian's source package with a configuration and small patches of ours, the image from
    Debian packages; neither is installed. It takes some eight minutes on two idle cores, once, and meanwhile 1 GB of
    the cache's disk. `--zfs` builds another kernel beside it, which has OpenZFS, and takes 0.5 GB more. It is for your
    own use: licences forbid to hand on what is made of both.

    For example:

    shakedown lab build

    shakedown lab build --zfs
    """
    with terminated_as_interrupted(unignored=True):
        kernel, image = build_lab(say, with_zfs=options.zfs, renew=options.renew)
    if options.json:
        found = {"path": str(kernel.path), "source": kernel.source, "compiler": kernel.compiler}
        print_document("lab build", {"kernel": found, "image": {"path": str(image.tools), "packages": image.packages}})
    else:
        print(f"kernel: {kernel.path} ({kernel.source})")
        print(f"image: {image.tools} ({len(image.packages)} packages)")
    return 0
