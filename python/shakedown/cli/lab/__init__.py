"""``shakedown lab``: the real Linux storage stack in virtual time, on modelled drives."""

from __future__ import annotations

from cyclopts import App

from shakedown.cli.lab.build import build
from shakedown.cli.lab.run import run

lab = App(
    name="lab",
    help="Run the real Linux storage stack, in virtual time, on modelled drives.",
    help_format="plaintext",
    result_action="return_value",
)
lab.command(build)
lab.command(run)
