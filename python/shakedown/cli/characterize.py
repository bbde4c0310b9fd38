"""``shakedown characterize``: a drive's insides from outside, and its twin."""

from __future__ import annotations

import re
import shlex
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import Parameter

from shakedown.characterize.plan import PARKING
from shakedown.characterize.record import RECORD_NAME, Order, Record, read_record
from shakedown.characterize.run import Outcome
from shakedown.characterize.run import characterize as measure
from shakedown.cli.consent import AllowSignature, DestroyDataOn, refuse_needless_consent
from shakedown.cli.document import print_document
from shakedown.cli.named import named
from shakedown.cli.output import print_result
from shakedown.cli.own_file import refuse_other_file
from shakedown.cli.plain import plain
from shakedown.cli.resuming import refuse_another_order
from shakedown.cli.scale import Scale, parse_scale
from shakedown.cli.whole import WHOLE, check_seed
from shakedown.data import names_file, profile_path
from shakedown.device.disk.facts import Consent
from shakedown.errors import EnvironmentFailure, InconclusiveError, Interrupted, RefusedError, UsageError
from shakedown.fit.twin import UNKNOWN
from shakedown.result.atomic import replace_file
from shakedown.result.folder import free_folder
from shakedown.target.storage_box import refuse_storage_box
from shakedown.units import parse_drive_bytes


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CharacterizeOptions:
    """The options of ``characterize``."""

    output: Annotated[
        Path | None,
        Parameter(name=["--output", "-o"], help="write the profile here as well [default: only in the folder]"),
    ] = None
    out: Annotated[
        Path | None, Parameter(help="the folder of the run [default: runs/characterize-TARGET, -2 and so on]")
    ] = None
    resume: Annotated[Path | None, Parameter(help="go on in this folder, or estimate again from what it holds")] = None
    without_parking: Annotated[
        bool,
        Parameter(
            show_default=False,
            help="do not wait for heads to be parked: 20 to 65 minutes less, but the heads of the twin never park, and "
            "it may show no end of cleaning to protocols that look for it; also with --resume",
        ),
    ] = False
    seed: Annotated[int, WHOLE, Parameter(help="of everything random in a modelled drive")] = 1
    scale: Scale = "1"
    size: Annotated[str | None, Parameter(help="of the file that is made: 10GiB")] = None
    destroy_data_on: DestroyDataOn = ()
    allow_signature: AllowSignature = ()
    json: Annotated[bool, Parameter(show_default=False, help="print one JSON document instead of the report")] = False
    quiet: Annotated[bool, Parameter(show_default=False, help="no progress on standard error")] = False


_DEFAULTS = CharacterizeOptions()
_WORTH_TELLING = 0.02
_ASSUMED: Final = "not identified, assumed instead"
# Without these a twin may do anything once it is written to for long.
_DECISIVE: Final = ("translation.cache.bytes", "translation.tracks_per_band")
_OF_A_NEW_RUN = ("out", "seed", "scale", "size")


def characterize(target: str | None = None, /, *, options: CharacterizeOptions = _DEFAULTS) -> int:
    """Measure a drive's insides from outside and write its twin, a profile.

    For example:

    shakedown characterize model:wd40efax -o twin.toml

    shakedown characterize /dev/disk/by-id/ata-WDC_WD40EFAX-68JH4N0_WD-WX00 --destroy-data-on WD-WX00

    shakedown characterize nbd+unix:///tmp/drive.sock

    Parameters
    ----------
    target
        model:NAME, model:./profile.toml, a file, a folder, a whole disk, or nbd+unix:///path/to/socket.
        A file that is empty or all zeros is overwritten without asking,
        and so is the modelled drive of `shakedown serve`.
        What it holds is overwritten.
    """
    order, folder, before = _order(target, options)
    if options.output is not None:  # before hours have passed
        _refuse_output(options.output, order.target)
    consent = Consent(options.destroy_data_on, options.allow_signature)
    refuse_needless_consent(consent, order.target)
    teller = _Teller(quiet=options.quiet)
    try:
        outcome = measure(order, folder, consent, teller, before)
        if options.output is not None and outcome.refusal is None:
            replace_file(options.output, (outcome.folder / "twin.toml").read_bytes())
    except KeyboardInterrupt as error:
        if not (folder / RECORD_NAME).is_file():
            raise
        hint = f"go on with `{_way_on(folder, options)}`"
        if teller.only_parking:
            hint += "; with `--without-parking` it ends at once, but the heads of the twin never park"
        raise Interrupted(f"interrupted; what was measured is in {folder}", hint=hint) from error
    except (EnvironmentFailure, RefusedError) as error:
        # A server, a cable or a disk that is full: once that is mended nothing of what was measured is lost.
        if (folder / RECORD_NAME).is_file():
            error.add_hint(f"what was measured is in {folder}, go on with `{_way_on(folder, options)}`")
        raise
    status = 0 if outcome.refusal is None else InconclusiveError.exit_status
    if options.json:
        print_document("characterize", _document(outcome) | {"exit_status": status})
    else:
        print_result(plain("\n".join(_lines(outcome)) + "\n"))
        print(f"run: {folder}", file=sys.stderr)
        if outcome.refusal is None and not options.quiet:
            print(f"try: {_trial(options.output or outcome.folder / 'twin.toml')}", file=sys.stderr)
    if outcome.refusal is not None:
        twin = outcome.folder / "twin.toml"
        print(f"error: what was found makes no twin: {outcome.refusal}", file=sys.stderr)
        print(f"hint: all of it is in {twin}; mend or complete it by what you know of the drive", file=sys.stderr)
    return status


_ANOTHER_NAME: Final = "give `-o` another name for the profile to write"


def _refuse_output(output: Path, target: str) -> None:
    """Raise UsageError for what the twin may not replace: another file than a profile, and the one that is measured."""
    refuse_other_file(output, _is_profile, "a profile", _ANOTHER_NAME)
    if _is_own_file(output, target):
        raise UsageError(
            f"`{output}` is the profile of {target}, which is measured: its twin does not replace it",
            hint=_ANOTHER_NAME,
        )


def _is_own_file(path: Path, target: str) -> bool:
    """Whether it is the target's own, under whatever name. Of a course that goes on the target may be gone."""
    if not target.startswith("model:"):
        return False
    with suppress(UsageError, OSError):
        return path.samefile(profile_path(target.removeprefix("model:")))
    return False


def _is_profile(head: bytes) -> bool:
    """Whether a file begins as profiles do: what they say of themselves, after comments; an earlier twin, mostly."""
    keys = [line.partition(b"=")[0].strip() for line in head.splitlines() if line and not line.startswith(b"#")]
    return keys[:1] == [b"format_version"] and b"[identity]" in keys


def _way_on(folder: Path, options: CharacterizeOptions) -> str:
    """The command that goes on. What may be destroyed is asked for anew."""
    words = ["shakedown", "characterize", "--resume", str(folder)]
    words += [] if options.output is None else ["-o", str(options.output)]
    words += [word for device in options.destroy_data_on for word in ("--destroy-data-on", device)]
    words += [word for signature in options.allow_signature for word in ("--allow-signature", signature)]
    return shlex.join(words)


def _order(target: str | None, options: CharacterizeOptions) -> tuple[Order, Path, Record | None]:
    if options.resume is not None:
        refuse_another_order("run", None if target is None else "the target", options, _OF_A_NEW_RUN)
        before = read_record(options.resume)
        # Parking comes last: who has waited long enough may do without it.
        with_parking = before.order.with_parking and not options.without_parking
        return replace(before.order, with_parking=with_parking), options.resume, before
    if target is None:
        raise UsageError("a target must be given", hint="shakedown characterize model:wd40efax -o twin.toml")
    refuse_storage_box(target, "characterize")
    if options.scale != _DEFAULTS.scale and not target.startswith("model:"):
        raise UsageError(
            f"`--scale` makes modelled drives smaller, and {target} has its size", hint="give it to `serve`"
        )
    last = re.split(r"[:/]", target.rstrip("/"))[-1].removesuffix(".toml")
    name = re.sub(r"[^A-Za-z0-9]+", "-", last).strip("-").lower() or "target"
    order = Order(
        target=_from_anywhere(target),
        name=f"{name}-twin",
        seed=check_seed(options.seed),
        scale_divisor=parse_scale(options.scale),
        with_parking=not options.without_parking,
        size_bytes=None if options.size is None else named("--size", parse_drive_bytes, options.size),
    )
    folder = options.out or free_folder(Path("runs") / f"characterize-{name}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"`{folder}` exists and is not an empty folder",
            hint="choose another --out, or go on with an interrupted run: `shakedown characterize --resume DIR`",
        )
    return order, folder, None


def _from_anywhere(target: str) -> str:
    """The target with the whole path of its profile, if it has one: who goes on may do so from another folder."""
    name = target.removeprefix("model:")
    return f"model:{Path(name).absolute()}" if name != target and names_file(name) else target


@dataclass
class _Teller:
    """Prints what begins, unless nobody is to hear it."""

    quiet: bool
    only_parking: bool = False
    """Whether the last to begin was the last part, which a run may do without."""

    def __call__(self, line: str) -> None:
        self.only_parking = PARKING in line
        if not self.quiet:
            print(line, file=sys.stderr)


def _trial(twin: Path) -> str:
    """What asks the twin something: a profile is a target by its path."""
    path = twin if twin.is_absolute() else f"./{twin}"
    return shlex.join(["shakedown", "run", "cliff", f"model:{path}"])


def _lines(outcome: Outcome) -> list[str]:
    """Values beside where they come from, then what was not identified, beside what is known of it."""
    twin = outcome.twin
    lines = []
    for section, values in twin.sections.items():
        lines.append(f"[{section}]")
        for key, (value, origin) in values.items():
            if origin.startswith("measured"):
                lines.append(f"  {key:22} {_short(value):>14}  {origin.removeprefix('measured: ')}")
    unknown = twin.unidentified()
    lines.append(f"{_ASSUMED}:" if unknown else f"{_ASSUMED}: nothing")
    for full_key in unknown:
        section, _, key = full_key.rpartition(".")
        value, origin = twin.sections[section][key]
        lines.append(f"  {full_key:38} {_short(value):>14}  {_known_of(origin)}".rstrip())
    if misses := [f"{what} ({off:.0%} off)" for what, off in twin.misses.items() if off >= _WORTH_TELLING]:
        lines.append(f"the twin does not do what the drive did: {', '.join(misses)}")
    if decisive := [key for key in _DECISIVE if key in unknown]:
        lines.append(
            f"the twin is no guide to a collapse, a recovery or a rebuild: not identified {', '.join(decisive)}"
        )
    return lines


def _known_of(origin: str) -> str:
    """What bounds a value that was not identified, or why it was not."""
    return origin.removeprefix(UNKNOWN).removeprefix("; ")


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 14 else f"{text[:11]}..."


def _document(outcome: Outcome) -> dict[str, Any]:
    return {
        "folder": str(outcome.folder),
        "target": outcome.order.target,
        "plan": outcome.plan.document(),
        "profile": outcome.twin.toml,
        "values": {
            f"{section}.{key}": {"value": value, "origin": origin}
            for section, values in outcome.twin.sections.items()
            for key, (value, origin) in values.items()
        },
        "not_identified": outcome.twin.unidentified(),
        "misses": outcome.twin.misses,
        "refusal": outcome.refusal,
    }
