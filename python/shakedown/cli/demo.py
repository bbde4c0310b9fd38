"""``shakedown demo``: the main job on modelled drives."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from shakedown.analysis.verdict import judge
from shakedown.cli.document import print_document
from shakedown.cli.output import print_result
from shakedown.cli.plain import plain
from shakedown.cli.progress import PlainProgress
from shakedown.errors import UsageError
from shakedown.parallel import on_every_core
from shakedown.protocol.load import load_protocol
from shakedown.protocol.play import Listener
from shakedown.protocol.run import Order, run
from shakedown.report.html import write
from shakedown.report.summary import render
from shakedown.result.atomic import failed_write, make_folder
from shakedown.result.folder import Run, read_run

_CANDIDATE: Final = "model:wd40efax"
_BASELINE: Final = "model:st12000vn0007"

_LONGEST_FIRST: Final = ("cliff", "sequential-32k", "random-1m")
_AS_TOLD: Final = ("random-1m", "sequential-32k", "cliff")

_MARK: Final = ".made-by-shakedown-demo"


def demo(
    *,
    out: Annotated[Path, Parameter(help="the folder of the demo; an earlier demo in it is replaced")] = Path(
        "runs/demo"
    ),
    json: Annotated[bool, Parameter(show_default=False, help="print one JSON document instead of the summary")] = False,
    quiet: Annotated[bool, Parameter(show_default=False, help="no progress on standard error")] = False,
) -> int:
    """Test a shingled NAS drive beside a conventional one, both modelled.

    Runs random-1m, sequential-32k and cliff on model:wd40efax against model:st12000vn0007. The exit status says that
    the demo worked, not what the verdict is.

    For example:

    shakedown demo
    """
    _make_room(out)
    runs = _run_all(out, quiet=quiet)
    report = write(runs, out / "report.html")
    if json:
        verdict = judge({run.record.protocol.name: run.record.findings for run in runs})
        folders = [str(run.path) for run in runs]
        document = {"runs": folders, "report": str(report), "verdict": verdict.model_dump(mode="json")}
        print_document("demo", document)
    else:
        print_result(plain(render(runs)))
        print_result(f"report: {report}\n")
    return 0


def _make_room(out: Path) -> None:
    """Take an earlier demo away: only what a demo made, only in a folder that a demo made."""
    if out.exists() and not (out / _MARK).exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"`{out}` is not empty and was not made by a demo", hint="choose another folder with --out")
    for protocol in _AS_TOLD:
        shutil.rmtree(out / protocol, ignore_errors=True)
    make_folder(out)
    try:
        (out / _MARK).touch()
    except OSError as error:
        raise failed_write(out / _MARK, error) from error


def _run_all(out: Path, *, quiet: bool) -> list[Run]:
    """Every protocol in a process of its own."""
    orders = [(protocol, out / protocol, quiet) for protocol in _LONGEST_FIRST]
    with on_every_core(_run_one, orders) as pending:
        for each in pending:
            each.result()
    return [read_run(out / protocol) for protocol in _AS_TOLD]


def _run_one(protocol: str, out: Path, quiet: bool) -> None:
    listener = Listener() if quiet else PlainProgress(sys.stderr, label=f"{protocol}: ")
    run(load_protocol(protocol), Order(_CANDIDATE, _BASELINE), out, listener)
