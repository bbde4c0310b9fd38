"""What all verbs share: how they are found, and how anything may end.

Results go to standard output, everything else to standard error. Cyclopts rather than typer: it reads types and
docstrings as they are, flattens a dataclass of options, and leaves printing and exit statuses to us.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from cyclopts import App, CycloptsError, Parameter
from rich.console import Console

from shakedown.cli import EXIT_INTERRUPTED, leave_at_once_when_ended
from shakedown.cli.document import print_document
from shakedown.cli.output import give_up_output, print_plan
from shakedown.cli.plain import plain
from shakedown.cli.terminated import terminated_as_interrupted
from shakedown.cli.wrong_usage import wrong_usage
from shakedown.errors import TRACEBACK, EnvironmentFailure, Planned, RefusedError, ShakedownError, UsageError
from shakedown.protocol.environment import shakedown_version

EXIT_USAGE: Final = 2
EXIT_BUG: Final = 70
_WITHOUT_A_VERB: Final[tuple[list[str], ...]] = ([], ["lab"])
"""What these do is to show what could be said: a script that meant more has not said it."""

_OF_THE_SYSTEM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


class _Console(Console):
    """Rich leaves with status 1 when its reader has gone; here that is no failure."""

    def on_broken_pipe(self) -> None:
        """Leave it to ``run_command_line``."""
        raise BrokenPipeError


_SUMMARIES: Final = {
    "demo": "Test a shingled NAS drive beside a conventional one, both modelled.",
    "run": "Run a protocol against a target.",
    "rebuild": "Say how long an array's rebuild takes, who holds it up, and what its users feel.",
    "matrix": "Resilver pools of every layout, width and fill: CSV and a picture.",
    "characterize": "Measure a drive's insides from outside and write its twin, a profile.",
    "serve": "Serve a modelled drive as a block device to other programs.",
    "profiles": "List the modelled drives, and make one of a data sheet.",
    "lab": "Run the real Linux storage stack, in virtual time, on modelled drives.",
    "compare": "Lay the findings of several runs side by side.",
    "report": "Write the report of one run or more as one page that opens offline.",
    "validate": "Lay what the modelled drives do beside what others measured.",
    "export": "Write a run as CSV, for Prometheus, or as a drive card to share.",
    "identify": "Say whether drives are shingled, with graded evidence.",
    "explain": "Say what limits an array or a NAS, from measured figures.",
    "triage": "Tell a shingled drive's stalls from cables and dying drives in a kernel log.",
}


def run_command_line(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # What follows `--` is a command for a guest: lines may break in it, and its options are not ours.
    ours = given[: given.index("--")] if "--" in given else given
    closed = _open_closed_streams()
    _print_whatever_it_is()
    status = _guarded(lambda: _dispatch(given, ours, closed), given, is_document="--json" in ours)
    # What is left goes with the process: to look through it once more, as Python does at its end, frees nothing.
    gc.freeze()
    sys.exit(status)


def _open_closed_streams() -> set[str]:
    """What was closed when we were called (``>&-``) takes whatever is printed: no file of ours is to get its number."""
    closed = set()
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - as long as we live
            closed.add(name)
    return closed


def _print_whatever_it_is() -> None:
    """What a terminal has no letters for is a question mark, as wide as it is; of errors Python shows the code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _dispatch(arguments: list[str], ours: list[str], closed: set[str]) -> int:
    for argument in ours:
        if not argument.isprintable():
            raise UsageError(f"{argument!a} holds unprintable characters", hint="give files and folders plain names")
    if "--json" in ours and "stdout" in closed:
        # Before hours have passed for a document that nobody gets.
        raise EnvironmentFailure(
            "standard output is closed, and `--json` prints its document there",
            hint="send it to a file, or leave --json out",
        )
    status = make_app(called=arguments[:1])(arguments or ["--help"])
    sys.stdout.flush()
    return status if isinstance(status, int) else EXIT_USAGE if arguments in _WITHOUT_A_VERB else 0


def make_app(called: Sequence[str]) -> App:
    """All verbs, of which only the one that is called is imported: it does not wait for what another one needs."""
    app = App(
        console=_Console(),
        name="shakedown",
        help="Puts a drive, an array or a NAS through its worst day before anybody trusts it with data.",
        help_epilogue="Exit status: 0 passed, 1 the verdict is a failure, 2 usage, 3 inconclusive, 4 refused for"
        " safety, 5 a tool or the environment failed, 130 interrupted and resumable.",
        version=lambda: f"shakedown {shakedown_version()}",
        default_parameter=Parameter(negative=()),
        help_format="plaintext",
        result_action="return_value",
        suppress_keyboard_interrupt=False,
        exit_on_error=False,
        print_error=False,
    )
    # Where shells look for completions by themselves: nobody's start-up file is touched.
    app.register_install_completion_command(add_to_startup=False)
    for verb, summary in _SUMMARIES.items():
        # Of the others nothing but this summary is known; what is called has a longer help of its own.
        app.command(f"shakedown.cli.{verb}:{verb}", help=None if verb in called else summary)
    return app


class _Failure(NamedTuple):
    """How a command failed, for people and, with ``--json``, for programs."""

    exit_status: int
    message: str
    hint: str = ""
    plan: tuple[Planned, ...] = ()


def _guarded(command: Callable[[], int], arguments: Sequence[str], *, is_document: bool) -> int:
    """Turn every way in which a command may end into words and an exit status; ``is_document``: ours is ``--json``."""
    try:
        with terminated_as_interrupted():
            return command()
    except BrokenPipeError:
        give_up_output()  # whoever read it has enough
        return 0
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is told as what it is; a panic is no Exception
        leave_at_once_when_ended()  # whatever is still to be said
        failure = _failure(error, arguments)
    with suppress(OSError):  # where standard error cannot be written either, the exit status has to do
        _tell(failure)
    if is_document:
        _answer(arguments[0], failure)
    elif failure.plan:
        _show(failure.plan)
    return failure.exit_status


def _show(plan: Sequence[Planned]) -> None:
    """Print what would have been done: it is the result of a command that was refused."""
    try:
        print_plan(plan)
    except OSError:
        give_up_output()


def _answer(verb: str, failure: _Failure) -> None:
    """Print the failure as the document; where output itself is what failed, nobody can be answered there."""
    told = {"exit_status": failure.exit_status, "error": {"message": failure.message, "hint": failure.hint}}
    if failure.plan:
        told["plan"] = [planned.document for planned in failure.plan]
    try:
        print_document(verb, told)
        sys.stdout.flush()
    except OSError:
        give_up_output()


def _failure(error: BaseException, arguments: Sequence[str]) -> _Failure:
    if isinstance(error, RefusedError):
        return _Failure(error.exit_status, str(error), _way_out(error, arguments), error.plan)
    if isinstance(error, ShakedownError):
        return _Failure(error.exit_status, str(error), error.hint, error.plan)
    if isinstance(error, CycloptsError):
        called = " ".join(("shakedown", *(error.command_chain or ()), "--help"))
        return _Failure(EXIT_USAGE, wrong_usage(error, arguments), f"`{called}` shows how it is meant")
    if isinstance(error, KeyboardInterrupt):
        verb = " ".join(arguments[: 2 if "lab" in arguments[:1] else 1])
        return _Failure(EXIT_INTERRUPTED, "interrupted", _GOES_ON.get(verb, ""))
    if isinstance(error, OSError) and (told := _of_the_system(error)):
        return told
    report = f"what {TRACEBACK}=1 prints"
    if os.environ.get(TRACEBACK):
        report = "all of this"
        with suppress(OSError):
            traceback.print_exception(error)
    hint = f"please report it with {report}; a run that had begun keeps what it measured"
    return _Failure(EXIT_BUG, f"a bug in Shakedown: {type(error).__name__}: {error}", hint)


def _of_the_system(error: OSError) -> _Failure | None:
    if error.errno in (errno.EMFILE, errno.ENFILE):
        message = f"no more files can be opened: {error.strerror}"
        return _Failure(EnvironmentFailure.exit_status, message, "ulimit -n 1024; a run that had begun can be resumed")
    if error.errno not in _OF_THE_SYSTEM:
        return None
    what = f"`{error.filename}`" if error.filename else "a file, or what was to be printed,"
    hint = "free some space, or send it elsewhere; a run that had begun keeps what it measured"
    return _Failure(EnvironmentFailure.exit_status, f"{what} could not be written: {error.strerror}", hint)


_ANEW: Final = "the same command begins anew"
_GOES_ON: Final = {
    "characterize": "a run that had begun is kept: `shakedown characterize --resume DIR`",
    "demo": _ANEW,
    "lab build": "the same command goes on where this ended",
    "matrix": "the same command goes on where it was interrupted: what is done is in its CSV",
    "rebuild": "what a run that had begun has done is kept: `shakedown rebuild --resume DIR`",
    "run": "a run that had begun is kept: `shakedown run --resume DIR`",
    "validate": f"{_ANEW}; `--row` and `--profile` play less of it",
}


def _way_out(error: RefusedError, arguments: Sequence[str]) -> str:
    """The hint; where the user may decide, the line to type instead."""
    if not error.options:
        return error.hint
    given = [argument for argument in arguments if argument != "--plan"]
    for word in error.strangers:
        given = _without(given, "--destroy-data-on", word)
    return f"if that may be destroyed: `{shlex.join(('shakedown', *given, *error.options))}`"


def _without(arguments: list[str], option: str, value: str) -> list[str]:
    """The line without what would only be refused again, as `--option value` or `--option=value`."""
    kept: list[str] = []
    for argument in arguments:
        if argument == value and kept[-1:] == [option]:
            kept.pop()
        elif argument != f"{option}={value}":
            kept.append(argument)
    return kept


def _tell(failure: _Failure) -> None:
    print(f"error: {plain(failure.message)}", file=sys.stderr)
    if failure.hint:
        print(f"hint: {plain(failure.hint)}", file=sys.stderr)
    sys.stderr.flush()
