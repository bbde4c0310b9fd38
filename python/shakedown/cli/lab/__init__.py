"""``shakedown lab``: the real Linux storage stack in virtual time, on modelled drives."""

from __future__ import annotations

from cyclopts import App

lab = App(
    name="lab",
    help="Run the real Linux storage stack, in virtual time, on modelled drives.",
    help_format="plaintext",
    result_action="return_value",
)
lab.command("shakedown.cli.lab.build:build", help="Build what the lab runs: a kernel and the programs of a guest.")
lab.command("shakedown.cli.lab.run:run", help="Run a command on modelled drives in a guest.")
