"""The text of a step's load: a fio job, of which the target's part is not the protocol's to say."""

from __future__ import annotations

import re
from typing import Final

from shakedown.tools.fio.job import swapped_size

_OWNED_BY_TARGET: Final = frozenset(
    {"filename", "directory", "ioengine", "direct", "uri", "filename_format", "opendir"}
)
_OWNED_BY_SHAKEDOWN: Final = re.compile(
    r"write_\w+_log|log_\w+|per_job_logs|output(-format)?|minimal|eta|status-interval|bandwidth-log|bwavgtime"
    r"|iopsavgtime|write_iolog|merge_blktrace_file|group_reporting|percentile_list|disable_\w+|readonly"
)
_REACHES_OUTSIDE: Final = frozenset(
    {
        "exec_prerun",
        "exec_postrun",
        "include",
        "read_iolog",
        "ioscheduler",
        "cgroup",
        "cgroup_weight",
        "unlink",
        "lockmem",
    }
    | {"buffer_pattern_file", "zonesize_file", "dedupe_file", "aux-path", "trigger-file", "iomem", "hugepage-size"}
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
    return text if any(_section(line) is not None for line in text.splitlines()) else f"[{step}]\n{text}"


def check_job_text(job: str) -> None:
    """Look at a job with sections line by line. Raises JobTextError. What the options mean is the arena's to check."""
    if "\0" in job:
        raise JobTextError("holds a NUL character")
    section, sections = None, 0
    for line in job.splitlines():
        text = line.strip()
        if not text or text[0] in ";#":
            continue
        if (name := _section(text)) is not None:
            section, sections = name, sections + (name != "global")
        elif section is None:
            raise JobTextError(f"has `{text}` before the first [section]")
        else:
            _check_option(text)
    if sections == 0:
        raise JobTextError("has no [section] besides [global]: there is nothing to run")


def _section(line: str) -> str | None:
    match = re.fullmatch(r"\[([^\]]+)\]", line.strip())
    return match[1] if match else None


def _check_option(text: str) -> None:
    option, _, value = (part.strip() for part in text.partition("="))
    if option in _OWNED_BY_TARGET:
        raise JobTextError(f"has `{option}`, which belongs to the target")
    if _OWNED_BY_SHAKEDOWN.fullmatch(option):
        raise JobTextError(f"has `{option}`: Shakedown decides itself what fio measures and writes down")
    if option in _REACHES_OUTSIDE or (option in {"mem", "iomem"} and ":" in value):
        raise JobTextError(f"has `{option}`, which reaches outside the target")
    if (swapped := swapped_size(option, value)) is not None:
        reason, hint = swapped
        raise JobTextError(f"has `{option}={value}`: {reason}", hint, option)
