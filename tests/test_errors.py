"""Whatever of ours is raised may be raised in another process, and is the same there."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages

import pytest

import shakedown
from shakedown.errors import Planned, RefusedError, ShakedownError


def _with_subclasses(kind: type[ShakedownError]) -> Iterator[type[ShakedownError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _with_subclasses(each)


def test_every_error_crosses_to_another_process_with_all_that_it_holds() -> None:
    for module in walk_packages(shakedown.__path__, "shakedown."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    kinds = set(_with_subclasses(ShakedownError))
    assert {kind.__name__ for kind in kinds} >= {"OptionError", "GuardError", "NotBroughtOut", "Interrupted"}
    for kind in kinds:
        # As its own `__init__` leaves it, whatever that takes.
        error = kind.__new__(kind, "wrong", "and more than a message")
        ShakedownError.__init__(error, "wrong", hint="mend it")
        error.plan = (Planned(("what would be done",), {"bytes": 1}),)
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (kind, "wrong", vars(error))


def test_a_refusal_keeps_what_would_allow_it() -> None:
    error = RefusedError("no", hint="ask", options=("--yes",), strangers=("sdb",))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.hint, again.options, again.strangers) == ("no", "ask", ("--yes",), ("sdb",))


def test_a_wrong_option_of_a_job_crosses_to_another_process() -> None:
    drive = shakedown.Drive.load("wd40efax", seed=1, scale_divisor=1000)
    with pytest.raises(shakedown.UsageError) as refusal:
        drive.run("rw=foo")
    again = pickle.loads(pickle.dumps(refusal.value))
    assert (str(again), again.hint) == (str(refusal.value), refusal.value.hint)
    assert str(again).startswith("[job] rw=foo: ")
