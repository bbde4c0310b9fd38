"""``shakedown triage``: what a kernel log says about drives."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from shakedown.analysis.triage.diagnosis import diagnose, knows_shingled, not_met
from shakedown.analysis.triage.follow import follow
from shakedown.cli.document import print_document
from shakedown.cli.output import print_result
from shakedown.cli.plain import plain
from shakedown.cli.reading import size_bytes, told
from shakedown.errors import UsageError
from shakedown.protocol.listed import listed_models
from shakedown.report.triage import triage_document, triage_text
from shakedown.result.timeline import read_timeline
from shakedown.tools.kernel_log import open_journal, open_log


def triage(
    log: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    /,
    *,
    journal: Annotated[bool, Parameter(show_default=False, help="read the system's journal instead of a file")] = False,
    run: Annotated[Path | None, Parameter(help="put the episodes on the time of the run in this folder")] = None,
    shingled: Annotated[
        tuple[str, ...],
        Parameter(show_default=False, help="a drive (sdb, ata3) or model known to be shingled (repeatable)"),
    ] = (),
    json: Annotated[bool, Parameter(show_default=False, help="print one JSON document instead of text")] = False,
) -> int:
    """Tell a shingled drive's stalls from cables, controllers and dying drives in a kernel log.

    For example:

    dmesg --time-format iso | shakedown triage -

    shakedown triage /var/log/kern.log --run runs/cliff-nas

    Parameters
    ----------
    log
        What dmesg, journalctl (text or -o json) or a syslog daemon wrote, gzipped or not; - for standard input.
    """
    if journal == (log is not None):
        raise UsageError("give either a log file, `-`, or `--journal`", hint="dmesg | shakedown triage -")
    timeline = read_timeline(run) if run else None
    now = datetime.now().astimezone()
    with open_log(log) if log else open_journal() as lines:
        history = follow(told(lines, size_bytes(log)), now)
    models = listed_models()
    diagnosis = diagnose(history, knows_shingled(models, shingled))
    without_effect = not_met(diagnosis, shingled)
    if json:
        print_document("triage", triage_document(diagnosis, timeline, without_effect))
    else:
        assert now.tzinfo is not None
        print_result(plain(triage_text(diagnosis, now.tzinfo, timeline, without_effect)))
    return diagnosis.exit_status
