"""A run in the lab: Shakedown itself, with the device arena, in a guest whose disks are the targets.

While it goes on, the run's folder holds nothing but its order: a guest that is stopped leaves nothing else, and the
same order gives the same run again.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self

from shakedown.device.lab_disk import DISKS, FAULTS, RUN_FOLDER
from shakedown.errors import EnvironmentFailure, RefusedError, UsageError
from shakedown.named_file import read_named_text
from shakedown.protocol.load import LoadedProtocol, parse_protocol
from shakedown.protocol.play import Listener
from shakedown.protocol.relay import Hearer
from shakedown.result.atomic import make_folder, replace_json
from shakedown.result.folder import Run, read_record, read_run, write_record
from shakedown.result.kept_order import kept_order
from shakedown.result.version import refuse_newer
from shakedown.target.storage_box import refuse_lab_box
from shakedown.toml import parse_toml

_SCHEME: Final = "lab:"
_DONE: Final = (0, 1, 3)
_ORDER: Final = "lab-order.json"
_FORMAT_VERSION: Final = 1


@dataclass(frozen=True)
class LabOrder:
    """All that a run in the lab follows from. ``targets``: the candidate, and a baseline if there is one."""

    protocol: str
    text: str
    parameters: dict[str, str]
    targets: tuple[str, ...]
    seed: int = 1
    scale_divisor: int = 1
    faults: tuple[str, ...] = ()
    temperature_limit_celsius: int | None = None

    @staticmethod
    def is_in(out: Path) -> bool:
        """Whether a run in the lab was stopped in ``out``."""
        return (out / _ORDER).exists()

    @classmethod
    def read(cls, out: Path) -> Self | None:
        """The order of the run that was stopped in ``out``; None if none was. Raises UsageError."""
        if not cls.is_in(out):
            return None
        written = read_named_text(out / _ORDER, hint="start a new run")
        try:
            content = json.loads(written)
            refuse_newer(content.pop("format_version", 1), _FORMAT_VERSION, out / _ORDER)
            return cls(**content | {name: tuple(content[name]) for name in ("targets", "faults")})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UsageError(f"{out / _ORDER} is not the order of a run: {error}", hint="start a new run") from error

    def write(self, out: Path) -> None:
        """Keep it in ``out``, where there is nothing else. Raises EnvironmentFailure."""
        make_folder(out)
        replace_json(out / _ORDER, {"format_version": _FORMAT_VERSION, **asdict(self)})

    def load(self) -> LoadedProtocol:
        """The protocol as it was ordered."""
        return parse_protocol(self.text.encode(), f"{self.protocol}.toml", self.parameters)


def is_of_lab(target: str, baseline: str | None) -> bool:
    """Whether a run belongs in the lab. Raises UsageError if just one of its targets does, or one is no drive."""
    given = [text.startswith(_SCHEME) for text in (target, baseline) if text is not None]
    for text in (target, baseline or ""):
        refuse_lab_box(text)
    if any(given) and not all(given):
        raise UsageError("one target is in the lab, the other is not", hint="give both as `lab:NAME`")
    if any(given) and target == baseline:
        raise UsageError(f"`{target}` is its own baseline", hint="give another one")
    return any(given)


def run_in_lab(order: LabOrder, out: Path, listener: Listener) -> Run:
    """Play a protocol into the new folder ``out``.

    Raises UsageError, EnvironmentFailure (with what the run in the guest said), RefusedError, Interrupted.
    """
    if out.exists():
        raise RefusedError(f"{out} exists already", hint="choose another folder: --out")
    _refuse_missed_windows(order)
    return run_again_in_lab(order, out, listener)


def run_again_in_lab(order: LabOrder, out: Path, listener: Listener) -> Run:
    """The same in a folder that holds the order already. Raises as ``run_in_lab``."""
    order.write(out)
    with kept_order(out / _ORDER, "run"):
        _tell_in_vain(out, _play(order, out, listener))
    return read_run(out)


def _faults(order: LabOrder) -> dict[int, str]:
    """What befalls which of the targets. Raises UsageError."""
    from shakedown.lab.faults import faults_by_drive  # noqa: PLC0415 - nobody but who goes to the lab waits for it

    return faults_by_drive(order.faults, len(order.targets))


def _refuse_missed_windows(order: LabOrder) -> None:
    """The baseline is played first, while the time of faults goes by. Raises UsageError."""
    ours = _faults(order).get(0)
    if len(order.targets) > 1 and ours and any("from_s" in fault for fault in parse_toml(ours)["faults"]):
        raise UsageError(
            "the times of faults of sda count from the boot, and the baseline, which is played first, would meet them",
            hint="leave `--baseline` out, and compare with a run of it: `shakedown compare`",
        )


def _tell_in_vain(out: Path, in_vain: tuple[str, ...]) -> None:
    """Put faults that made no difference into the guest's record, who knew nothing of them."""
    if in_vain:
        record = read_record(out)
        write_record(out, record.model_copy(update={"notes": (*record.notes, *in_vain)}))


def _play(order: LabOrder, out: Path, listener: Listener) -> tuple[str, ...]:
    """Which faults made no difference."""
    from shakedown.lab import run as lab  # noqa: PLC0415 - see `_faults`
    from shakedown.lab.ended import failed_inside  # noqa: PLC0415 - likewise
    from shakedown.lab.folder import scratch_folder  # noqa: PLC0415 - likewise

    loaded = order.load()
    hearer, said = Hearer(listener, loaded.protocol), bytearray()

    def hear(stream: str, text: bytes) -> None:
        hearer.hear(text) if stream == "output" else said.extend(text)

    with scratch_folder() as folder:
        protocol = folder / f"{order.protocol}.toml"
        protocol.write_text(order.text, encoding="utf-8")
        ordered = lab.Order(
            command=_command(order, protocol.name),
            drives=tuple("model:" + text.removeprefix(_SCHEME) for text in order.targets),
            seed=order.seed,
            scale_divisor=order.scale_divisor,
            bring_in=(protocol,),
            bring_out={RUN_FOLDER: out},
            with_shakedown=True,
            faults=_faults(order),
        )
        try:
            outcome = lab.run(ordered, hear)
        except EnvironmentFailure as error:
            if said:
                raise failed_inside(said) from error
            raise
    if outcome.exit_status not in _DONE:
        raise failed_inside(said)
    return lab.faults_in_vain(ordered, outcome)


def _command(order: LabOrder, protocol: str) -> tuple[str, ...]:
    """What the guest is to run: the same order, its targets being disks there."""
    disks = {text: f"/dev/sd{letter}" for text, letter in zip(order.targets, "ab", strict=False)}
    faults = {disks[order.targets[number]]: toml for number, toml in _faults(order).items()}
    command = ["env", f"{DISKS}={json.dumps(disks)}", f"{FAULTS}={json.dumps(faults)}"]
    command += ["shakedown", "run", f"./{protocol}", order.targets[0], "--quiet"]
    command += ["--seed", str(order.seed), "--scale", f"1/{order.scale_divisor}", "--out", RUN_FOLDER]
    command += [word for name, value in order.parameters.items() for word in ("--set", f"{name}={value}")]
    if order.temperature_limit_celsius is not None:
        command += ["--temperature-limit", str(order.temperature_limit_celsius)]
    command += [word for text in order.targets[1:] for word in ("--baseline", text)]
    return tuple(command)
