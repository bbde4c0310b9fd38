"""The parts of a modelled rebuild, one seed of the order or of its baseline each, kept as soon as they are done.

They lie beside what was ordered, in a folder within the run's, until the run is whole.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Self

from shakedown.array.order import RebuildOrder
from shakedown.array.rebuild import Rebuild, model_digest
from shakedown.errors import Interrupted, UsageError
from shakedown.protocol.environment import shakedown_version
from shakedown.result.atomic import make_folder, replace_file

_PARTS_NAME: Final = "parts"
_ORDER_NAME: Final = "order.json"
_FORMAT_VERSION: Final = 1


@dataclass(frozen=True)
class Ordered:
    """What is to be computed: both rebuilds with so many seeds, the first of which is the order's own."""

    order: RebuildOrder
    baseline: RebuildOrder | None
    seeds: int

    @property
    def orders(self) -> list[RebuildOrder]:
        """In the order in which they are computed."""
        return [each for each in (self.baseline, self.order) if each is not None]

    @cached_property
    def text(self) -> bytes:
        """With all that the answer depends on: the model, and what it is asked, with profiles. Raises UsageError."""
        asked = json.dumps([each.to_core() for each in self.orders], sort_keys=True)
        told = {
            "format_version": _FORMAT_VERSION,
            "model": _model(),
            "asked": sha256(asked.encode()).hexdigest(),
            **asdict(self),
        }
        return json.dumps(told, indent=1, sort_keys=True).encode()

    @classmethod
    def read(cls, out: Path) -> Self:
        """Of the rebuild that was interrupted in ``out``. Raises UsageError."""
        try:
            told = _read(out)
            beside = told["baseline"]
            baseline = None if beside is None else RebuildOrder.from_json(beside)
            return cls(RebuildOrder.from_json(told["order"]), baseline, int(told["seeds"]))
        except (OSError, AttributeError, ValueError, TypeError, KeyError) as error:
            raise UsageError(
                f"`{_order_of(out)}` is damaged: {error}", hint="begin anew in another folder: --out"
            ) from error

    def is_begun_in(self, out: Path) -> bool:
        """Whether ``out`` holds this very rebuild, interrupted. Raises UsageError."""
        return is_cut_off_in_model(out) and _order_of(out).read_bytes() == self.text


def is_cut_off_in_model(out: Path) -> bool:
    """Whether a rebuild of modelled drives was interrupted in ``out``."""
    return _order_of(out).exists()


class Parts:
    """Those of one rebuild, in the folder ``out``."""

    def __init__(self, ordered: Ordered, out: Path, tell: Callable[[str], None]) -> None:
        """Raise UsageError for what cannot be, and if those that are there are of another rebuild."""
        self._ordered, self._out, self._tell, self._text = ordered, out, tell, ordered.text
        self.are_there = ordered.is_begun_in(out)
        if self.are_there:
            tell(f"{self.kept} of {self._of} rebuilds are there: going on")
        elif is_cut_off_in_model(out):
            self._refuse()

    @property
    def are_nothing(self) -> bool:
        """Whether nothing is lost if the folder goes: no part is done, and nobody has come back for it."""
        return not self.are_there and not self.kept

    @property
    def kept(self) -> int:
        """How many are done."""
        return len(list(_order_of(self._out).parent.glob("*.part")))

    def begin(self) -> None:
        """Keep the order that all parts answer. Raises EnvironmentFailure."""
        if not self.are_there:
            make_folder(_order_of(self._out).parent)
            replace_file(_order_of(self._out), self._text)

    def keep(self, order: RebuildOrder, seed: int, rebuild: Rebuild) -> Rebuild:
        """Make a part durable, and give it back. Raises EnvironmentFailure."""
        told = json.dumps(rebuild.to_part()).encode()
        replace_file(self._path(order, seed), self._seal(told) + b"\n" + told)
        return rebuild

    def read(self, order: RebuildOrder, seed: int) -> Rebuild | None:
        """A part, if it is there and as it was written."""
        path = self._path(order, seed)
        if not path.exists():
            return None
        seal, _, told = path.read_bytes().partition(b"\n")
        if seal == self._seal(told):
            return Rebuild.from_part(json.loads(told))
        self._tell(f"`{path}` is damaged: this rebuild is computed anew")
        return None

    def forget(self) -> None:
        """The run is whole, or nothing is lost: leave no part, and first of all nothing to go on with."""
        _order_of(self._out).unlink(missing_ok=True)
        shutil.rmtree(_order_of(self._out).parent, ignore_errors=True)

    def interrupted(self) -> Interrupted:
        """What is kept, and how to go on."""
        if self.are_nothing:
            return Interrupted(
                f"interrupted before the first of {self._of} rebuilds was done: nothing is kept",
                hint="the same command begins anew",
            )
        return Interrupted(
            f"interrupted; {self.kept} of {self._of} rebuilds are done and kept",
            hint=f"`{_go_on(self._out)}` goes on with the others, and so does the same command",
        )

    @property
    def _of(self) -> int:
        return len(self._ordered.orders) * self._ordered.seeds

    def _path(self, order: RebuildOrder, seed: int) -> Path:
        name = "candidate" if order is self._ordered.order else "baseline"
        return _order_of(self._out).with_name(f"{name}-{seed}.part")

    def _seal(self, told: bytes) -> bytes:
        """By which a part is known to be whole, and to answer this order."""
        return sha256(self._text + told).hexdigest().encode()

    def _refuse(self) -> None:
        begun = f"`{self._out}` holds a rebuild that was interrupted"
        if Ordered.read(self._out) != self._ordered:
            raise UsageError(
                f"{begun}, and another one than is ordered",
                hint=f"go on with that one, `{_go_on(self._out)}`, or choose another --out",
            )
        is_of_this_model = _read(self._out).get("model") == _model()
        other = "a drive's profile was another then" if is_of_this_model else "another version of the model began it"
        raise UsageError(
            f"{begun}, and {other}: what is computed now does not go with it",
            hint="the same order with another --out begins anew",
        )


def _order_of(out: Path) -> Path:
    return out / _PARTS_NAME / _ORDER_NAME


def _go_on(out: Path) -> str:
    return shlex.join(("shakedown", "rebuild", "--resume", str(out)))


def _read(out: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(_order_of(out).read_bytes())
    return told


def _model() -> str:
    return f"{shakedown_version()} {model_digest()}"
