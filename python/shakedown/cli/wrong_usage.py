"""What is wrong with a command line that does not say what a verb takes, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cyclopts import CycloptsError, MissingArgumentError, UnknownCommandError, UnknownOptionError, UnusedCliTokensError

from shakedown.protocol.complain import did_you_mean

# What every verb takes, and no verb has among its own options.
_EVERYWHERE: Final = ("--help", "--version")


def wrong_usage(error: CycloptsError, arguments: Sequence[str]) -> str:
    """The complaint, without a hint."""
    if isinstance(error, UnknownOptionError):
        own = [name for argument in error.argument_collection for name in argument.names]
        return _unknown_option(error.token.keyword or error.token.value, own)
    if isinstance(error, UnknownCommandError) and error.unused_tokens and error.unused_tokens[0].startswith("-"):
        return _unknown_option(error.unused_tokens[0], ())
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        left = ", ".join(f"`{token}`" for token in error.unused_tokens)
        return f"{left} {'is' if len(error.unused_tokens) == 1 else 'are'} more than it takes"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        return _without_value(error.argument.name, arguments)
    return str(error)


def _unknown_option(option: str, own: Sequence[str]) -> str:
    name = option.partition("=")[0]
    if "--replace-with" in own and (instead := _of_arrays(name.removeprefix("--"), own)):
        return f"Unknown option: {option}. {instead}"
    meant = did_you_mean(name, (*own, *_EVERYWHERE)).replace("did", "Did").replace("`", "")
    return f"Unknown option: {option}. {meant}".rstrip()


def _of_arrays(name: str, own: Sequence[str]) -> str:
    """What is set of an array is no option of its own, and whose place is taken is asked in many words."""
    from shakedown.array.settings import SETTINGS, WHICH_FAILS  # noqa: PLC0415 - only who asks for them waits for it

    if name in SETTINGS:
        return f"It is set: --set {name}=VALUE"
    return "Did you mean --replace PLACE?" if name in WHICH_FAILS and "--replace" in own else ""


def _without_value(name: str, arguments: Sequence[str]) -> str:
    """Cyclopts says the same of an option without its value and of one that is not there at all."""
    if name not in arguments:
        return f"{name} must be given"
    # A `--` ahead of it does not make it a value.
    after = next((each for each in arguments[arguments.index(name) + 1 :] if each != "--"), "")
    written = f"; one that begins with a minus is written {name}={after}" if after.startswith("-") else ""
    return f"{name} needs a value{written}"
