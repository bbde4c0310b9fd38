"""An ordered rebuild as a run: several seeds, beside a baseline, kept in a folder that tells all of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from math import ceil
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Final

from shakedown.analysis.finding import Finding
from shakedown.analysis.in_vain import in_vain
from shakedown.array.capacity import Capacity
from shakedown.array.find import findings, ratios
from shakedown.array.host import cautions
from shakedown.array.keep import Setting, keep
from shakedown.array.order import RebuildOrder, model_path
from shakedown.array.ordered_rate import ordered_rate
from shakedown.array.padding import padding
from shakedown.array.parts import Ordered, Parts
from shakedown.array.rebuild import Rebuild, Share, simulate
from shakedown.array.sectors import small_sectors
from shakedown.array.unreadable import unreadable
from shakedown.array.unsure import assumed, of_parts, unsure, unsure_failure
from shakedown.array.users import longest_wait, rewritten, users_otherwise
from shakedown.array.wide import wide
from shakedown.array.zfs import ZfsOptions
from shakedown.parallel import cores
from shakedown.result.folder import BASELINE_NAME, Run, RunFolder, read_run
from shakedown.result.identity import Identity
from shakedown.target.model import ModelArena
from shakedown.toml import parse_toml
from shakedown.units import NS_PER_S, format_counts, format_duration

Tell = Callable[[str], None]
_EVERY_S: Final = 10.0
_FIRST_S: Final = 3.0
"""Until it is told for the first time how far it is: when something begins to be done is seen to this."""
_TOO_LONG_S: Final = 120.0
_SLOWER: Final = 1.1
"""A share of the later half costs so many times what one of the whole does: it is slowing down."""


def run_rebuild(order: RebuildOrder, baseline: RebuildOrder | None, seeds: int, out: Path, tell: Tell) -> Run:
    """Rebuild with ``seeds`` seeds, and the baseline likewise, into the folder ``out``.

    It is new, or holds parts of just this, which are gone on with; there is no run in it before all of them are done.
    Raises UsageError, EnvironmentFailure, and Interrupted, which tells what is kept.
    """
    ordered = Ordered(order, baseline, seeds)
    parts = Parts(ordered, out, tell)  # what cannot be is refused before anything is made
    folders = _folders(out, are_ours=parts.are_there, with_baseline=baseline is not None)
    try:
        parts.begin()
        made = [_rebuilds(each, seeds, parts, tell) for each in ordered.orders]
        theirs: list[Finding] = []
        for each, folder, rebuilds in zip(ordered.orders, folders, made, strict=True):
            found = findings(rebuilds, _names(each), each.limit_bytes_per_s, ordered_rate(each.load))
            told = found + (ratios(found, theirs) if each is order and baseline is not None else [])
            has_baseline = each is order and baseline is not None
            notes = (
                *cautions(rebuilds),
                *small_sectors(each),
                *(padding(each) if _is_timed(rebuilds) else ()),
                *(unsure(each, is_whole=all(every.whole for every in rebuilds)) if _is_timed(rebuilds) else ()),
                *(unsure_failure(each) if any(every.ended == "failed" for every in rebuilds) else ()),
                *wide(found, rebuilds, theirs if has_baseline else ()),
                *assumed(each, baseline=baseline if has_baseline else None),
                *of_parts(each),
                *_notes(each, next((every for every in rebuilds if not every.whole), rebuilds[0])),
                *users_otherwise(each),
                *longest_wait(each, rebuilds),
                *(unreadable(each, rebuilds) if _is_timed(rebuilds) else ()),
                *(rewritten(each, rebuilds, made[0]) if has_baseline and all(map(_is_timed, made)) else ()),
                *_of_one_seed(rebuilds),
                *_in_vain(each, rebuilds),
                *_faults_in_vain(each, rebuilds),
            )
            setting = Setting("model", _identity(each), notes, Capacity.of(each, each.modelled_capacities))
            keep(folder, each, rebuilds, told, setting, has_baseline=has_baseline)
            theirs = found
        parts.forget()
    except KeyboardInterrupt as error:
        raise parts.interrupted() from error
    finally:
        if parts.are_nothing:
            parts.forget()
        for folder in folders:  # the inner one first, else the outer one is not empty
            folder.close()
            folder.discard()
    return read_run(out)


def _folders(out: Path, *, are_ours: bool, with_baseline: bool) -> list[RunFolder]:
    """The run's, behind that of its baseline, if there is one. Raises UsageError and EnvironmentFailure."""
    run = RunFolder.create(out, "shakedown rebuild --resume DIR", is_ours=are_ours)
    try:
        return [*([RunFolder.create(out / BASELINE_NAME, is_ours=are_ours)] if with_baseline else []), run]
    except BaseException:
        run.close()
        run.discard()
        raise


def resume_rebuild(out: Path, tell: Tell) -> Run:
    """Go on with the one that was interrupted in ``out``. Raises as ``run_rebuild``."""
    ordered = Ordered.read(out)
    return run_rebuild(ordered.order, ordered.baseline, ordered.seeds, out, tell)


def _rebuilds(order: RebuildOrder, seeds: int, parts: Parts, tell: Tell) -> list[Rebuild]:
    """The core lets other threads work while it does, and an interruption waits for none of them.

    Nobody waits for long without a word of how far it is.
    """
    wanted = range(order.seed, order.seed + seeds)
    rebuilds = {seed: part for seed in wanted if (part := parts.read(order, seed)) is not None}
    waiting = deque(seed for seed in wanted if seed not in rebuilds)
    missing = len(waiting)
    threads = min(missing, cores())
    came: SimpleQueue[tuple[int, Rebuild | BaseException]] = SimpleQueue()
    shares: list[Share] = []

    def work() -> None:
        with suppress(IndexError):
            while True:
                seed, share = waiting.popleft(), Share()
                shares.append(share)
                try:
                    came.put((seed, parts.keep(order, seed, simulate(order, share, seed))))
                except BaseException as error:  # noqa: BLE001 - raised where it is waited for
                    came.put((seed, error))

    for _ in range(threads):
        Thread(target=work, daemon=True).start()
    what, pace = f"{order.replacement} ({order.state})", _Pace(order, seeds, tell)
    try:
        while len(rebuilds) < seeds:
            try:
                seed, rebuild = came.get(timeout=_EVERY_S if pace.is_told else min(_FIRST_S, _EVERY_S))
            except Empty:
                pace.look(_done([each.done for each in shares], missing, threads))
                continue
            if isinstance(rebuild, BaseException):
                raise rebuild
            rebuilds[seed] = rebuild
            ended = f"{rebuild.ended} after {format_duration(rebuild.duration_ns)} of virtual time"
            tell(f"{what}, {len(rebuilds)} of {seeds}: {ended}")
    finally:
        waiting.clear()
        for each in shares:
            each.stop()
    return [rebuilds[seed] for seed in sorted(rebuilds)]


class _Pace:
    """Tells how much is done, how long the rest will take and, the first time, how it would be less.

    It is reckoned from when something is done: what passes before, of users alone, is of no rebuild's pace. And of the
    later half of the time since: what a load costs may rise as a drive's caches fill. While it does nobody knows more
    than the least that is left.
    """

    def __init__(self, order: RebuildOrder, seeds: int, tell: Tell) -> None:
        self.is_told = False
        self._order, self._seeds, self._tell = order, seeds, tell
        self._looks: list[tuple[float, float]] = []

    def look(self, done: float) -> None:
        now_s = monotonic()
        if not done:
            return
        self._looks.append((now_s, done))
        first_s, first_done = self._looks[0]
        if done <= first_done or now_s - first_s < _EVERY_S:
            return
        middle_s = (first_s + now_s) / 2
        late_s, late_done = [look for look in self._looks if look[0] <= middle_s and look[1] < done][-1]
        pace_s, mean_s = (now_s - late_s) / (done - late_done), (now_s - first_s) / (done - first_done)
        left_s = pace_s * (1 - done)
        about = "at least" if pace_s > _SLOWER * mean_s else "about"
        what = f"{self._order.replacement} ({self._order.state})"
        left = f", {about} {format_duration(left_s * NS_PER_S)} left" if left_s >= 1 else ""
        self._tell(f"{what}: {done:.0%} done{left}")
        if not self.is_told and left_s > _TOO_LONG_S:
            self._tell(self._sooner())
        self.is_told = True

    def _sooner(self) -> str:
        one = "" if self._seeds == 1 else f"`--seeds 1` computes one rebuild in place of {self._seeds}; "
        divisor = 10 * self._order.scale_divisor
        member = "" if self._order.member_bytes is None else f" --member-size {self._order.fitting_member(divisor)}"
        smaller = f"`--scale 1/{divisor}{member}`, for trying out, takes about a tenth"
        return f"hint: that is how long it computes. {one}{smaller}"


def _done(shares: Sequence[float], seeds: int, threads: int) -> float:
    """Which share of the time is over: rebuilds take about as long each, and whose turn came last ends last."""
    rounds = (len(shares) - 1) // threads + shares[-1] if shares else 0.0
    return rounds / ceil(seeds / threads)


def _names(order: RebuildOrder) -> list[str]:
    return [model_path(target).stem for target in order.drives]


def _identity(order: RebuildOrder) -> Identity:
    """The replacement is who is tested."""
    arena = ModelArena(order.replacement, seed=order.seed, scale_divisor=order.scale_divisor)
    details = {"state": order.state, "layout": order.layout, "width": str(len(order.members))}
    if order.failed is not None:
        details["replaced"] = str(order.failed)
    update: dict[str, object] = {"details": {**arena.identity.details, **details}}
    if order.state == "used":
        # Beside the same drive new it has to be told apart.
        update["model"] = f"{arena.identity.model}, used"
    return arena.identity.model_copy(update=update)


def _notes(order: RebuildOrder, one: Rebuild) -> tuple[str, ...]:
    drives = format_counts([model_path(target).stem for target in order.members])
    which = "the last" if order.place == len(order.members) - 1 else f"drive {order.place}"
    instead = (
        f"{which} fails, and a distributed spare takes its place"
        if order.on_spare
        else f"{which} is replaced by {order.replacement}, {order.state}"
    )
    how = "every request was played" if one.whole else f"sampled: {one.requests} requests stand for all"
    how = how if one.duration_ns else "there was nothing to do"
    rebuilt = _OF_ZFS if order.is_zfs else _OF_MD
    used = (_USED,) if order.state == "used" else ()
    return (f"{order.layout} of {drives}; {instead}; {how}.", rebuilt, *used)


def _is_timed(rebuilds: Sequence[Rebuild]) -> bool:
    """Whether a time is told, of which one could be unsure: that of a failure is none, nor that of nothing to do."""
    return all(each.ended != "failed" for each in rebuilds) and any(each.duration_ns for each in rebuilds)


def _of_one_seed(rebuilds: Sequence[Rebuild]) -> tuple[str, ...]:
    if len(rebuilds) > 1 or not _is_timed(rebuilds):
        return ()
    told = "the interval is of the sample alone" if rebuilds[0].deviation_ns else "there is no interval"
    return (f"Of one seed: {told}, and how much chance changes is not known; `--seeds 3` tells.",)


def _in_vain(order: RebuildOrder, rebuilds: Sequence[Rebuild]) -> tuple[str, ...]:
    """A second failure that was ordered for a time when all was over."""
    wanted = order.options.second_failure if isinstance(order.options, ZfsOptions) else None
    if wanted is None or any(wanted[0] in each.failed_on_the_way for each in rebuilds):
        return ()
    return (f"Drive {wanted[0]} was to fail after {format_duration(wanted[1])}: by then the rebuild was over.",)


def _faults_in_vain(order: RebuildOrder, rebuilds: Sequence[Rebuild]) -> Iterator[str]:
    """Faults that no rebuild met, but of drives that failed of another: too late, or of sectors that nobody read."""
    ended_ns = max(each.duration_ns for each in rebuilds)
    failed = {each.failed_member for each in rebuilds}
    for place, text in sorted(order.faults.items()):
        if place in failed:
            continue
        bits = [each.members["faults_met"][place] for each in rebuilds]
        met = [any(each >> number & 1 for each in bits) for number in range(len(parse_toml(text)["faults"]))]
        over = f"the rebuild was over after {format_duration(ended_ns)}"
        yield from in_vain(text, met, f"drive {place}", ended_ns, over)


_OF_ZFS: Final = "ZFS resilvers only what is allocated."
_OF_MD: Final = "md rebuilds all of a member, however full the array is."
_USED: Final = (
    "Used: the new drive had taken 4 KiB random writes until its persistent cache was full; a drive without such a "
    "cache has nothing to remember."
)
