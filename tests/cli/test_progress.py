"""The lines that last in a terminal."""

from __future__ import annotations

from io import StringIO
from types import SimpleNamespace
from typing import Any

from rich.console import Console
from rich.live import Live

from shakedown.cli.progress import LiveProgress


def test_only_the_line_that_says_who_is_tested_is_bold() -> None:
    shown = StringIO()
    console = Console(file=shown, force_terminal=True, color_system="standard", width=80)
    progress = LiveProgress(Live(console=console, auto_refresh=False))
    record: Any = SimpleNamespace(target=SimpleNamespace(name="/dev/sdb"))
    protocol: Any = SimpleNamespace(name="cliff", title="When does it fall?", steps=())
    progress.run_began(record, protocol)
    progress.noted("the load goes on at 50 °C")
    headline, note = shown.getvalue().splitlines()
    assert headline == "\x1b[1mcliff on /dev/sdb: When does it fall?\x1b[0m"
    assert note == ": the load goes on at 50 °C"
