"""What is written into a fio job stays in its own line."""

from __future__ import annotations

import pytest

from shakedown.errors import UsageError
from shakedown.tools.fio.command import render_job
from shakedown.tools.fio.job import Option, Section


def test_sections_are_followed_by_what_has_the_last_word() -> None:
    sections = (Section("a", (Option("rw", "read"),)), Section("b", (Option("time_based", None),)))
    assert render_job(sections, (Option("direct", "1"),)) == "[a]\nrw=read\ndirect=1\n\n[b]\ntime_based\ndirect=1\n"


@pytest.mark.parametrize("value", ["z.img\n[evil]\nexec_prerun=touch PWNED", "a\rb", "`id`", "\x1b[31m", "\udcff"])
def test_no_value_can_become_a_second_line_or_a_command(value: str) -> None:
    with pytest.raises(UsageError, match="cannot stand in a fio job"):
        render_job((Section("a", (Option("rw", "read"),)),), (Option("filename", value),))
    with pytest.raises(UsageError, match="cannot stand in a fio job"):
        render_job((Section(value, (Option("rw", "read"),)),), ())
