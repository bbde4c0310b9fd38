"""How a command in a guest ended: its exit status, or why it has none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from shakedown.errors import EnvironmentFailure
from shakedown.units import NS_PER_S, format_duration

# A guest that is not waited for any longer: by how the core says that it ended, what that is, and what helps.
_GIVEN_UP: Final = {
    "wall_limit": (
        "`--wall-limit` is over",
        "give it longer, or smaller drives: --scale; computing takes no virtual time, nor does spinning",
    ),
    "loops": (
        "the guest loops: it has computed for {stall_s:.0f} s without a look at its clock",
        "programs that wait by spinning cannot run in virtual time",
    ),
    "hangs": (
        "the guest hangs: for {stall_s:.0f} s nothing of it could run, and it does not wait",
        "the same order again; if it hangs there, too, its kernel and the lab wait for each other: a bug",
    ),
    "rebooted": (
        "the command has rebooted the guest",
        "a guest boots once, and again after a loss of power: --power-cut-at, --after-cut",
    ),
}
_LAST_LINES: Final = 12
# Of a kernel that looks what the host lets it do: what it was looking for, and what it found.
_LINES_BEFORE_BOOT: Final = 2
# What readings of the clock come to in a guest that only computes.
_MOMENT_NS: Final = 1_000_000
# Of the kernel; before them it looks whether the host lets it do what it needs.
_FIRST_WORDS: Final = "Linux version"
# Of the kernel, in all that it says when it kills for memory, or panics because nothing is left to be killed.
_NO_MEMORY: Final = "Out of memory"
# Of a program of the guest whose file has no room in its memory.
_NO_ROOM: Final = "No space left"
# What the program that the kernel is says where it cannot be one, and what it needs: ENOMEM is no room for its memory.
_NEEDS: Final = {
    "errno = -12": "it needs its memory as address space: ulimit -v unlimited, or a smaller --memory",
    "fork failed": "it needs processes, which a container's seccomp profile or ulimit -u may forbid",
    "ptrace": "it needs ptrace, which a container's seccomp profile or kernel.yama.ptrace_scope=3 may forbid",
}
# With these Shakedown begins to say how it failed; what it says before is how far it has come.
_FAILS: Final = re.compile(r"^(?:error: |Traceback \()", re.MULTILINE)
# Of a kernel that somebody has sent to sleep.
_HALTED: Final = ("reboot: System halted", "reboot: Power down")


def raise_given_up(outcome: str, virtual_ns: int, *, stall_s: float) -> None:
    """Raise EnvironmentFailure if the guest was not waited for any longer, KeyboardInterrupt if a person ended it."""
    if outcome == "interrupted":
        raise KeyboardInterrupt
    if outcome in _GIVEN_UP:
        said, hint = _GIVEN_UP[outcome]
        raise EnvironmentFailure(f"{said.format(stall_s=stall_s)}; {_last_heard(virtual_ns)}", hint=hint)


def failed_inside(said: bytes | bytearray) -> EnvironmentFailure:
    """How a Shakedown in the guest failed, in its own words and with its own hint."""
    text = said.decode(errors="replace").strip()
    begins = _FAILS.search(text)
    words, _, hint = text[begins.start() if begins else 0 :].partition("\nhint: ")
    return EnvironmentFailure(f"in the guest: {words.removeprefix('error: ')}", hint=hint)


def exit_status(
    folder: Path, outcome: str, virtual_ns: int, *, virtual_limit_s: int, memory_bytes: int
) -> tuple[int, int]:
    """The command's exit status, and when it ended (ns, to 10 ms). Raises EnvironmentFailure if it never did."""
    status = folder / "share" / "status"
    match status.read_text().split() if status.is_file() else []:
        case ["limit"]:
            limit = format_duration(virtual_limit_s * NS_PER_S)
            raise EnvironmentFailure(
                f"the command did not end within {limit} of virtual time",
                hint="it waits for something that never comes (its standard input is empty), or needs --virtual-limit",
            )
        case ["unprepared", *words]:
            said = " ".join(words)
            raise EnvironmentFailure(
                f"the guest could not make ready for its command: {said or 'it does not say why'}",
                hint=_more_memory(memory_bytes) if _NO_ROOM in said else "please report it",
            )
        case [number, uptime_s]:
            return int(number), round(float(uptime_s) * NS_PER_S)
    raise _why_it_never_ended(folder, outcome, _last_heard(virtual_ns), memory_bytes)


def _why_it_never_ended(folder: Path, outcome: str, at: str, memory_bytes: int) -> EnvironmentFailure:
    """The guest is gone, and nothing of it has told a status."""
    if outcome in ("deadlock", "power_cut"):
        return EnvironmentFailure(
            f"the guest sleeps for ever: nothing is left that could wake it; {at}",
            hint="the command waits for something that never comes; its standard input is empty",
        )
    said = (folder / "console").read_text(encoding="utf-8", errors="replace")
    if _FIRST_WORDS not in said:
        return EnvironmentFailure(
            f"the guest's kernel cannot run here: {_last_words(said, _LINES_BEFORE_BOOT)}",
            hint=next((hint for words, hint in _NEEDS.items() if words in said), _NEEDS["ptrace"]),
        )
    if any(words in said for words in _HALTED):
        return EnvironmentFailure(
            f"the command has halted the guest; {at}", hint="a guest halts by itself when its command has ended"
        )
    return EnvironmentFailure(
        f"the guest ended before its command did; {at}: {_last_words(said)}",
        hint=_more_memory(memory_bytes) if _NO_MEMORY in said else "its kernel panicked",
    )


def _more_memory(memory_bytes: int) -> str:
    return f"--memory {2 * memory_bytes >> 20}MiB"


def _last_heard(virtual_ns: int) -> str:
    """What is known of when it was: a guest tells the time when it turns to a drive, and once a minute."""
    if virtual_ns < _MOMENT_NS:
        return "last heard of before any virtual time had passed"
    return f"last heard of after {format_duration(virtual_ns)} of virtual time"


def _last_words(said: str, most: int = _LAST_LINES) -> str:
    """Why the kernel says it panicked; if it does not, the end of what it said."""
    lines = said.expandtabs(2).splitlines()
    panics = [line for line in lines if "Kernel panic" in line]
    return panics[0] if panics else "its last words:\n" + "\n".join(lines[-most:])
