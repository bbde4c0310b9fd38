"""``shakedown profiles``: the modelled drives that there are, and how to get another."""

from __future__ import annotations

from cyclopts import App

from shakedown.cli.profiles.new import new
from shakedown.cli.profiles.show import show

profiles = App(
    name="profiles",
    help_format="plaintext",
    result_action="return_value",
)
profiles.default(show)
profiles.command(new)
