"""One HTML file that opens anywhere, offline: verdict, findings, pictures, method.

Nothing in it is fetched. Its content security policy forbids every request, and runs only the two scripts whose hashes
it names: a script that came in through a target's name would not run even if it got past the escaping.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from shakedown.errors import UsageError
from shakedown.report import method, sweep, words
from shakedown.report.figures import candidates, figures, highlights
from shakedown.report.outcome import outcome
from shakedown.report.overview import endings, overview, side_by_side
from shakedown.report.pictures import pictures
from shakedown.result.atomic import make_folder, replace_file
from shakedown.result.folder import Run
from shakedown.units import format_duration, format_size

_STYLES: Final = ("vendor/uPlot.min.css", "page.css")
_SCRIPTS: Final = ("vendor/uPlot.iife.min.js", "page.js")


def write(runs: Sequence[Run], out_path: Path) -> Path:
    """Write the report of one or more runs; a run's baseline is shown with it. Returns ``out_path``.

    Raises UsageError when there is none, EnvironmentFailure when the file cannot be written.
    """
    if not runs:
        raise UsageError("there is no run to report on", hint="give the folder of one run or more")
    page = render_page(runs)
    make_folder(out_path.parent)
    replace_file(out_path, page.encode())
    return out_path


def render_page(runs: Sequence[Run]) -> str:
    """The text of the report."""
    environment = Environment(
        loader=PackageLoader("shakedown.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "words": words,
        "method": method,
        "figures": figures,
        "highlights": highlights,
        "endings": endings,
        "outcome": outcome,
        "overview": overview,
        "side_by_side": side_by_side,
        "sweep_answers": sweep.answers,
    }
    environment.filters |= {
        "figures_of": figures,
        "cautions_of": words.cautions_of,
        "duration": format_duration,
        "size": format_size,
        "data": _inert_json,
        "glossed": _glossed,
    }
    grouped = candidates(runs)
    ordered = [run for candidate in grouped for run in candidate.runs]
    styles, scripts = [_asset(name) for name in _STYLES], [_asset(name) for name in _SCRIPTS]
    return environment.get_template("page.html.j2").render(
        candidates=grouped,
        pictures={run.path: picture for run, picture in zip(ordered, pictures(ordered), strict=True)},
        modelled=any(run.record.is_of_a_model for run in ordered),
        styles=[Markup(style) for style in styles],
        scripts=[Markup(script) for script in scripts],
        policy=_policy(styles, scripts),
    )


def _asset(name: str) -> str:
    return (files("shakedown.report") / name).read_text(encoding="utf-8")


def _policy(styles: list[str], scripts: list[str]) -> str:
    def hashes(texts: list[str]) -> str:
        digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
        return " ".join(f"'sha256-{digest}'" for digest in digests)

    return (
        f"default-src 'none'; style-src {hashes(styles)}; script-src {hashes(scripts)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _glossed(text: str) -> Markup:
    """The text, escaped, with what not everybody knows explained where it stands, and what is typed set as that."""
    coded = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    return Markup(re.sub(r"\bIOPS\b", '<abbr title="requests completed in a second">IOPS</abbr>', coded))


def _inert_json(value: Any) -> Markup:
    """JSON that cannot end the element it stands in: no character that HTML knows is left in it."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
