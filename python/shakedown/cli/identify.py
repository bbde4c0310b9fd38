"""``shakedown identify``: is a drive shingled?"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from shakedown.analysis.identify.answer import answer, exit_status
from shakedown.analysis.identify.facts import Facts
from shakedown.analysis.identify.models import ModelList
from shakedown.analysis.identify.recorded import parse_recorded
from shakedown.analysis.triage.diagnosis import Diagnosis, diagnose, knows_shingled
from shakedown.analysis.triage.follow import follow
from shakedown.cli.consent import AllowSignature, DestroyDataOn
from shakedown.cli.document import print_document
from shakedown.cli.output import print_result, tell
from shakedown.cli.plain import plain
from shakedown.device.describe import describe
from shakedown.device.disk.facts import NO_CONSENT, Consent
from shakedown.errors import RefusedError, UsageError
from shakedown.model_number import model_number
from shakedown.protocol.listed import listed_models
from shakedown.report.identify import identify_document, identify_text
from shakedown.result.folder import RunFolder, free_folder
from shakedown.target.modelled import told_model
from shakedown.target.open import open_target
from shakedown.target.probe import probe as run_probe
from shakedown.target.storage_box import refuse_storage_box
from shakedown.tools.kernel_log import open_input, open_log, unreadable
from shakedown.tools.smartctl import ask_smartctl

_LARGEST_BYTES: Final = 64 << 20
_MODEL: Final = "model:"
# In capitals, which the kernel's names of devices are not.
_IS_A_MODEL: Final = re.compile(r"(?:\w+ )?(?=[A-Z0-9-]*\d)[A-Z]{2}[A-Z0-9-]{4,}")
_STALLS: Final = ("shingled-stall", "shingled-refusal", "command-timeout")


def identify(
    *devices: str,
    recorded: Annotated[
        Path | None,
        Parameter(
            allow_leading_hyphen=True,
            help="judge what was recorded of another machine's drives: this command's or smartctl's JSON",
        ),
    ] = None,
    log: Annotated[
        Path | None, Parameter(allow_leading_hyphen=True, help="a kernel log to look for stalls of the drives in")
    ] = None,
    probe: Annotated[
        bool,
        Parameter(show_default=False, help="put a load on them for half a minute; only read, unless told to destroy"),
    ] = False,
    destroy_data_on: DestroyDataOn = (),
    allow_signature: AllowSignature = (),
    json: Annotated[bool, Parameter(show_default=False, help="print one JSON document instead of text")] = False,
) -> int:
    """Say whether drives are shingled, with graded evidence; nothing is written to them unless you give their data up.

    For example:

    shakedown identify /dev/sdb /dev/sdc

    smartctl --json -i /dev/sdb > sdb.json; shakedown identify --recorded sdb.json

    shakedown identify ST8000DM004

    shakedown identify --probe /dev/sdb --destroy-data-on WD-WX00AB12

    Parameters
    ----------
    devices
        Block devices, or links to them; model numbers, of which the list of models is asked; modelled drives,
        model:NAME.
    """
    if bool(devices) == (recorded is not None):
        raise UsageError("give either devices or `--recorded FILE`", hint="shakedown identify /dev/sdb")
    consent = Consent(destroy_data_on, allow_signature)
    if not probe and consent != NO_CONSENT:
        raise UsageError("only a probe writes", hint="add `--probe`")
    if probe and recorded is not None:
        raise UsageError("what was recorded cannot be probed", hint="shakedown identify --probe /dev/sdb")
    models = listed_models()
    drives = parse_recorded(_read(recorded)) if recorded else _all_asked(devices, models, probe=probe)
    if probe:
        try:
            drives = [_probed(device, facts, consent) for device, facts in zip(devices, drives, strict=True)]
        except RefusedError as error:
            if len(devices) > 1:
                error.strangers = ()  # one is asked after the other: they may name those still to come
            raise
    if log:
        with open_log(log) as lines:
            diagnosis = diagnose(follow(lines, datetime.now().astimezone()), knows_shingled(models, ()))
        drives = list(_with_stalls(drives, diagnosis))
    answers = [answer(facts, models) for facts in drives]
    if json:
        print_document("identify", identify_document(answers))
    else:
        print_result(plain(identify_text(answers)))
    return exit_status(answers)


def _all_asked(devices: Sequence[str], models: ModelList, *, probe: bool) -> list[Facts]:
    drives = []
    for device, following in zip(devices, (*devices[1:], ""), strict=True):
        try:
            drives.append(_asked(device, models, probe=probe))
        except UsageError as error:
            if not re.search("[/:]", device) and not Path(device).exists():
                error.hint += f"; {_by_number(device, following, models)}"
            raise
    return drives


def _asked(device: str, models: ModelList, *, probe: bool) -> Facts:
    """What a device says of itself; of a drive that is not there only its model."""
    if device.startswith(_MODEL):
        refuse_storage_box(device, "identify")
        return Facts(name=device, model=told_model(device))
    if device.startswith("lab:"):
        drive = device.removeprefix("lab:")
        raise UsageError(
            f"`{device}` is asked in its guest, where it is a disk",
            hint=f"shakedown lab run --with-shakedown --drive model:{drive} -- shakedown identify /dev/sda",
        )
    if not probe and not Path(device).exists():
        is_listed = models.find(device) is not None
        if not is_listed and _IS_A_MODEL.fullmatch(device) and (alike := models.spelt_alike(device)):
            tell(f"hint: the list of models has no `{device}`; if it is a slip, did you mean {_quoted(alike)}?")
        if is_listed or _IS_A_MODEL.fullmatch(device):
            return Facts(name=device, model=device)
    facts = describe(device)
    return facts.completed_by(ask_smartctl(Path("/dev") / facts.name))


def _by_number(device: str, following: str, models: ModelList) -> str:
    """How a drive that is not here is asked for, by its model number."""
    if models.find(device):
        return f"of one that is not here the list of models is asked, and nothing is probed: identify {device}"
    if following and model_number(f"{device} {following}") == model_number(following):
        return f'a model number with its maker is one word in quotes: "{device} {following}"'
    if alike := models.spelt_alike(device):
        return f"of model numbers, did you mean {_quoted(alike)}?"
    return "a drive that is not here is asked for by its model number, whole and in capitals, like `ST8000DM004`"


def _quoted(numbers: Sequence[str]) -> str:
    return ", ".join(f"`{each}`" for each in numbers)


def _probed(device: str, facts: Facts, consent: Consent) -> Facts:
    """The facts with what the probe measured. Where something is overwritten, what stood there is kept in a folder."""
    out = free_folder(Path("runs") / f"probe-{Path(device.removeprefix(_MODEL)).name}")
    folder = RunFolder.create(out)
    try:
        arena = open_target(device, seed=1, raw=folder.raw.absolute(), consent=consent)
        try:
            found = run_probe(arena, write=device.startswith(_MODEL) or consent != NO_CONSENT)
        finally:
            arena.close()
    finally:
        folder.close()
        folder.discard()
    if out.exists():
        print(f"kept of the probe: {out}", file=sys.stderr)
    iops = {"random_read_iops": found.read_iops, "durable_write_iops": found.durable_write_iops}
    return facts.model_copy(update=iops)


def _with_stalls(drives: Iterable[Facts], diagnosis: Diagnosis) -> Iterable[Facts]:
    """The facts with the stalls that a log tells of drives of that name."""
    for facts in drives:
        name = Path(facts.name).name
        stalls = [
            judged
            for judged in diagnosis.episodes
            if name == judged.episode.drive.letter and judged.judgement.kind in _STALLS
        ]
        yield facts.model_copy(update={"stalls": len(stalls)})


def _read(path: Path) -> str:
    with open_input(path) as file:
        try:
            content = file.read(_LARGEST_BYTES + 1)
        except OSError as error:
            raise unreadable(path, error) from error
    if len(content) > _LARGEST_BYTES:
        raise UsageError(f"`{path}` is no recording: it is larger than 64 MiB")
    return content.decode("utf-8", errors="replace")
