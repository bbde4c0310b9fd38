"""``shakedown export``: a run in other people's formats."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, NamedTuple

from cyclopts import Parameter

from shakedown.cli.document import print_document
from shakedown.cli.output import print_result
from shakedown.cli.own_file import refuse_other_file
from shakedown.errors import UsageError
from shakedown.report.export.card import HEAD as CARD_HEAD
from shakedown.report.export.card import PICTURE_HEAD, card_document, card_json, card_picture
from shakedown.report.export.prometheus import HEAD as PROMETHEUS_HEAD
from shakedown.report.export.prometheus import prometheus_text
from shakedown.report.export.samples import HEAD as SAMPLES_HEAD
from shakedown.report.export.samples import samples_csv
from shakedown.result.atomic import replace_file
from shakedown.result.folder import Run, read_run
from shakedown.result.under_way import with_step_under_way

_STANDARD_OUTPUT: Final = Path("-")


class _File(NamedTuple):
    """What to write where; ``head`` is how each file of its kind begins."""

    path: Path
    content: bytes
    head: str


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """The options of ``export``."""

    csv: Annotated[
        Path | None, Parameter(allow_leading_hyphen=True, help="write the samples as CSV; - for standard output")
    ] = None
    prometheus: Annotated[
        Path | None, Parameter(allow_leading_hyphen=True, help="write a Prometheus textfile, FILE.prom")
    ] = None
    card: Annotated[
        Path | None,
        Parameter(allow_leading_hyphen=True, help="write a drive card, FILE.json, and its picture, FILE.svg"),
    ] = None
    model: Annotated[str | None, Parameter(help="the drive's model, for the card of a real target")] = None
    firmware: Annotated[str | None, Parameter(help="the drive's firmware, for the card")] = None
    json: Annotated[bool, Parameter(show_default=False, help="print one JSON document instead of paths")] = False


_DEFAULTS = ExportOptions()


def export(run: Path, /, *, options: ExportOptions = _DEFAULTS) -> None:
    """Write a run's samples as CSV, its figures for Prometheus, or a drive card to share.

    For example:

    shakedown export runs/cliff-wd40efax --csv samples.csv --card wd40efax.json

    shakedown export runs/cliff-nas --prometheus /var/lib/node_exporter/shakedown.prom

    Parameters
    ----------
    run
        The folder of a run.
    """
    if not (options.csv or options.prometheus or options.card):
        raise UsageError("nothing to write", hint="give --csv, --prometheus or --card, or several of them")
    if options.json and options.csv == _STANDARD_OUTPUT:
        raise UsageError("`--json` and `--csv -` both want standard output", hint="give --csv a file")
    files = _files(with_step_under_way(read_run(run)), options)
    for file in files:
        _refuse_other_file(file)
    for file in files:
        if file.path == _STANDARD_OUTPUT:
            sys.stdout.buffer.write(file.content)
        else:
            replace_file(file.path, file.content)
    written = [str(file.path) for file in files if file.path != _STANDARD_OUTPUT]
    if options.json:
        print_document("export", {"run": str(run), "files": written})
    elif options.csv != _STANDARD_OUTPUT:
        print_result("".join(f"{path}\n" for path in written))


def _files(run: Run, options: ExportOptions) -> list[_File]:
    files = []
    if options.csv:
        files.append(_File(options.csv, samples_csv(run), SAMPLES_HEAD))
    if options.prometheus:
        # A collector reads every *.prom in its folder; another name would never be read.
        _need_suffix(options.prometheus, ".prom")
        files.append(_File(options.prometheus, prometheus_text(run), PROMETHEUS_HEAD))
    if options.card:
        _need_suffix(options.card, ".json")
        document = card_document(run, _model(run, options), options.firmware)
        files.append(_File(options.card, card_json(document), CARD_HEAD))
        files.append(_File(options.card.with_suffix(".svg"), card_picture(run, document), PICTURE_HEAD))
    return files


def _model(run: Run, options: ExportOptions) -> str:
    """A file or a server does not know which drive is beneath it; a card without the drive is worth nothing."""
    if options.model:
        return options.model
    if run.record.target.kind != "model":
        raise UsageError(
            "the run does not say which drive is beneath its target",
            hint="give --model and --firmware as `shakedown identify` or `smartctl -i` tells them",
        )
    return run.record.target.model


def _need_suffix(path: Path, suffix: str) -> None:
    if path == _STANDARD_OUTPUT:
        raise UsageError("only `--csv` goes to standard output", hint=f"give a file, like drive{suffix}")
    if path.suffix != suffix:
        raise UsageError(f"`{path}` does not end in {suffix}", hint=f"like {path.with_suffix(suffix)}")


def _refuse_other_file(file: _File) -> None:
    """Raise UsageError unless there is nothing at the path, or an earlier export of the same kind."""
    if file.path != _STANDARD_OUTPUT:
        begins = file.head.encode()
        refuse_other_file(file.path, lambda head: head.startswith(begins), "an earlier export", "choose another path")
