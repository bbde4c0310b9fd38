"""``shakedown serve``: a modelled drive as a block device for other programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from shakedown import _core
from shakedown.cli.document import print_document
from shakedown.cli.own_file import refuse_no_folder
from shakedown.cli.scale import Scale, parse_scale
from shakedown.cli.terminated import terminated_as_interrupted
from shakedown.cli.whole import WHOLE, check_seed
from shakedown.data import profile_path
from shakedown.device.nbd import NbdAddress
from shakedown.device.nbd_export import modelled_description
from shakedown.errors import EnvironmentFailure, RefusedError, UsageError
from shakedown.real_time import HINT, ahead_of_others, keep_in_memory
from shakedown.target.modelled import profile_part, profile_refusal
from shakedown.target.profile import read_profile
from shakedown.toml import TomlError, parse_toml
from shakedown.units import format_duration

_MODEL = "model:"
_MOST_SOCKET_PATH_BYTES: Final = 107
"""Of `sun_path` (108 in `linux/un.h`), less the end."""
_SHARE = "the server runs in real time, before other processes: their load does not make its answers late"
_NO_SHARE = "the server may not run in real time: the load of other processes makes its answers late"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The options of ``serve``."""

    nbd: Annotated[Path, Parameter(help="the Unix socket to make; one that a dead server has left is replaced")]
    scale: Scale = "1"
    seed: Annotated[int, WHOLE, Parameter(help="where the drive's platters stand at the beginning")] = 1
    store: Annotated[Path | None, Parameter(help="keep the data in this sparse file [default: gone afterwards]")] = None
    json: Annotated[
        bool, Parameter(show_default=False, help="print one JSON document at the end instead of the report")
    ] = False
    quiet: Annotated[bool, Parameter(show_default=False, help="nothing on standard error but errors")] = False


def serve(target: str, /, *, options: ServeOptions) -> int:
    """Serve a modelled drive in real time, with its data, to NBD clients until it is interrupted.

    For example:

    shakedown serve model:wd40efax --nbd /tmp/drive.sock --scale 1/100

    Parameters
    ----------
    target
        model:NAME or model:./profile.toml.
    """
    if not target.startswith(_MODEL):
        raise UsageError(f"`{target}` cannot be served", hint="only modelled drives: model:wd40efax")
    if (path_bytes := len(os.fsencode(options.nbd))) > _MOST_SOCKET_PATH_BYTES:
        raise UsageError(
            f"the path of the socket has {path_bytes} bytes: the kernel takes {_MOST_SOCKET_PATH_BYTES} at most",
            hint="a shorter one, like `--nbd /tmp/drive.sock`",
        )
    check_seed(options.seed)
    for place in filter(None, (options.nbd, options.store)):
        refuse_no_folder(place)
    path = profile_path(target.removeprefix(_MODEL))
    divisor = parse_scale(options.scale)
    with terminated_as_interrupted(unignored=True), ahead_of_others() as first:
        keep_in_memory()
        text = read_profile(path)

        def announce() -> None:  # not before the core has found the text to be a drive
            _announce(target, options, divisor * profile_part(text), first=first)

        report = _serve(path, text, divisor, options, announce)
    if options.json:
        order = {"target": target, "scale_divisor": divisor, "seed": options.seed}
        print_document("serve", order | {"report": report})
    else:
        print("\n".join(_lines(report)))
    return 0


def _serve(
    profile: Path, text: str, divisor: int, options: ServeOptions, on_listening: Callable[[], None]
) -> _core.ServeReport:
    try:
        return _core.serve_nbd(
            text,
            str(options.nbd),
            description=modelled_description(_title(text), divisor, options.seed),
            seed=options.seed,
            scale_divisor=divisor,
            store_path=None if options.store is None else str(options.store),
            on_listening=on_listening,
        )
    except _core.ProfileError as error:
        raise profile_refusal(profile, text, divisor, error) from error
    except FileExistsError as error:
        raise RefusedError(str(error), hint="choose another path, or stop or remove what is there") from error
    except OSError as error:
        raise EnvironmentFailure(str(error), hint="choose another folder for it") from error


def _title(profile: str) -> str:
    """Of a drive; of what is none the core says what is wrong."""
    try:
        return str(parse_toml(profile).get("title", ""))
    except TomlError:
        return ""


def _announce(target: str, options: ServeOptions, divisor: int, *, first: bool) -> None:
    """Say on standard error what is served, of which size, how well it keeps its times, and how to try it."""
    if options.quiet:
        return
    size = "" if divisor == 1 else f" at 1/{divisor} of its size"
    uri = NbdAddress(str(options.nbd), "").uri
    job = "--rw=randwrite --bs=4k --iodepth=8 --size=64M"
    print(f"serving {target}{size} at {uri}; Ctrl-C ends it", file=sys.stderr)
    print(_SHARE if first else f"{_NO_SHARE}\nhint: {HINT}", file=sys.stderr)
    print(f"try: fio --name=try --ioengine=nbd --uri='{uri}' {job}", file=sys.stderr)


def _lines(report: _core.ServeReport) -> Iterator[str]:
    """The report for people."""
    yield f"requests: {report['requests']}, answered with an error: {report['errors']}"
    yield f"connections: {report['connections']}, turned away: {report['refused_connections']}"
    modelled = (report["modelled_p50_ns"], report["modelled_p99_ns"], report["modelled_max_ns"])
    lateness = (report["lateness_p50_ns"], report["lateness_p99_ns"], report["lateness_max_ns"])
    for what, times_ns in (("the drive took", modelled), ("this machine added", lateness)):
        if report["requests"]:
            median, most, worst = map(format_duration, times_ns)
            yield f"{what}: {median} (median), {most} (99 %), {worst} (worst)"
    if report["store_failures"]:
        yield f"failed because the store did, not the drive: {report['store_failures']}"
    if report["doubt"]:
        yield report["doubt"]
