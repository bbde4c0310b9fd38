"""The text of a step's load: a fio job, of which the target's part is not the protocol's to say."""

from __future__ import annotations

import re
from typing import Final

from shakedown.tools.fio.job import Option, job_lines, parse_option, swapped_size
from shakedown.tools.fio.owned import owner, words

_REACHES_OUTSIDE: Final = words(
    """
    exec_prerun exec_postrun include read_iolog merge_blktrace_file ioscheduler cgroup cgroup_weight lockmem
    buffer_pattern_file zonesize_file dedupe_file iomem
    """
)


class JobTextError(ValueError):
    """The text cannot be the load of a step; the message says why, ``hint`` what to do, ``option`` where (or is "")."""

    def __init__(
        self, message: str, hint: str = "a protocol says what is done, the target where: remove it", option: str = ""
    ) -> None:
        """Keep all three."""
        super().__init__(message)
        self.hint = hint
        self.option = option


def with_section(job: str, step: str) -> str:
    """The job, its options under a section named after the step where it has no section of its own."""
    text = job.strip("\n") + "\n"
    return text if any(_section(line) is not None for _, line in job_lines(text)) else f"[{step}]\n{text}"


def check_job_text(job: str) -> None:
    """Look at a job with sections line by line. Raises JobTextError. What the options mean is the arena's to check."""
    if "\0" in job:
        raise JobTextError("holds a NUL character")
    section, sections = None, 0
    for _, line in job_lines(job):
        if (name := _section(line)) is not None:
            section, sections = name, sections + (name != "global")
        elif section is None:
            raise JobTextError(f"has `{line}` before the first [section]")
        else:
            _check_option(parse_option(line))
    if sections == 0:
        raise JobTextError("has no [section] besides [global]: there is nothing to run")


def _section(line: str) -> str | None:
    match = re.fullmatch(r"\[([^\]]+)\]", line)
    return match[1] if match else None


def _check_option(option: Option) -> None:
    name, value = option.name, option.value or ""
    whose = owner(name)
    if whose == "target":
        raise JobTextError(f"has `{name}`, which belongs to the target")
    if whose == "measurement":
        raise JobTextError(f"has `{name}`: Shakedown decides itself what fio measures and writes down")
    if name.split(" ")[0] in _REACHES_OUTSIDE or (name == "mem" and ":" in value):
        raise JobTextError(f"has `{name}`, which reaches outside the target")
    if (swapped := swapped_size(name, value)) is not None:
        reason, hint = swapped
        raise JobTextError(f"has `{name}={value}`: {reason}", hint, name)
