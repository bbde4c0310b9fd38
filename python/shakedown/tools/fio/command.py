"""The command line with which fio is started, and the check that starts nothing."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Final

from shakedown.errors import EnvironmentFailure, UsageError
from shakedown.tools.fio.job import Option, Section
from shakedown.tools.fio.locate import Fio

_PARSE_LIMIT_S: Final = 20


def run_command(fio: Fio, job_file: Path, interval_ns: int, *, read_only: bool) -> list[str]:
    """Arguments that run a job and print a cumulative document every interval and at the end."""
    return [
        str(fio.path),
        "--output-format=json+",
        f"--status-interval={max(interval_ns // 1_000_000, 1)}ms",
        "--eta=never",
        *(["--readonly"] if read_only else []),
        str(job_file),
    ]


def render_job(sections: tuple[Section, ...], extra: tuple[Option, ...]) -> str:
    """A job file for fio: the sections as they are, each followed by ``extra``, which has the last word.

    Raises UsageError for a name or value that would be more than the one line it is given.
    """
    blocks = [
        "\n".join(_one_line(line) for line in [f"[{section.name}]", *map(str, (*section.options, *extra))])
        for section in sections
    ]
    return "\n\n".join(blocks) + "\n"


def _one_line(line: str) -> str:
    """The line, unless it would end early and begin another, or be handed to a shell, as fio does with backquotes."""
    if not line.isprintable() or "`" in line:
        raise UsageError(
            f"{line!a} cannot stand in a fio job: it holds a backquote or an unprintable character",
            hint="give the file, folder or socket a plain name",
        )
    return line


def check_job_file(fio: Fio, text: str) -> None:
    """Let fio itself refuse what it does not understand. Raises UsageError with fio's own words."""
    with tempfile.TemporaryDirectory(prefix="shakedown-") as folder:
        job_file = Path(folder) / "job.fio"
        job_file.write_text(text)
        try:
            outcome = subprocess.run(
                [fio.path, "--parse-only", job_file],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_PARSE_LIMIT_S,
                check=False,
                cwd=folder,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EnvironmentFailure(f"{fio.path} --parse-only: {error}") from error
    if outcome.returncode != 0:
        words = [line.removeprefix("fio: ").strip() for line in outcome.stderr.splitlines() if line.strip()]
        raise UsageError(
            f"fio refuses the job: {'; '.join(words) or f'exit status {outcome.returncode}'}",
            hint=f"fio {fio.version} explains an option with `fio --cmdhelp=OPTION`",
        )
