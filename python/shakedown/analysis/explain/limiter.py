"""The bar beside the ceilings: which one it touches, and what that proves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Final, Literal

from shakedown.analysis.explain.ceiling import PAYLOAD_SHARE, Box, Ceiling, Part, ceilings
from shakedown.analysis.explain.load import Load, Measured
from shakedown.analysis.rate import figure
from shakedown.units import format_size

Limiter = Literal["drives", "link", "round trip", "elsewhere", "unknown", "impossible"]

TOUCHED: Final = 0.8
"""From this share of a ceiling on, that part is what limits: a ceiling is an estimate, and known to about a fifth."""

NEAR: Final = 0.5
"""From here on, if no other part comes half as near."""

_MOST: Final = 0.5
"""From this share of random places on, a seek for each is within a factor of two of what the drives are asked for."""

CACHED: Final = 1 / TOUCHED
"""So many times what moving heads could have served: not every request moved them."""

_NOT_PAST: Final[dict[Part, float]] = {"drives": 1 / TOUCHED, "link": 1 / PAYLOAD_SHARE, "round trip": 1.1}
"""Up to so many times a ceiling a figure is at it, as near as the ceiling is known: drives to a fifth, a link up to its
bits on the wire, a round trip as it was measured. What is more went past that part."""


@dataclass(frozen=True)
class Proof:
    """One measured load and what follows from it.

    ``used`` is the share of each ceiling that was measured. ``limiter`` is ``elsewhere`` if no ceiling is near,
    ``unknown`` if how near the drives are cannot be told, ``impossible`` if what was measured cannot have come from the
    box. ``cached`` says that not every request moved the heads. ``of_drives`` is the ceiling that the drives are
    judged by.
    """

    measured: Measured
    ceilings: dict[Part, Ceiling]
    used: dict[Part, float]
    limiter: Limiter
    sure: bool
    cached: bool
    statements: tuple[str, ...]
    of_drives: Part = "drives"

    @property
    def tells_of_the_box(self) -> bool:
        """Whether more can be concluded of the box than that this figure is not of it."""
        return self.limiter != "impossible" and not self.measured.is_of_another

    @property
    def is_left_by_caches(self) -> bool:
        """What caches leave to the drives holds it, or may: how much that is no ceiling tells."""
        return self.limiter == "elsewhere" and ("drives" in _past(self.used) or _has_but_caches(self.measured))


def prove(box: Box, measured: Measured) -> Proof:
    """Lay a measured figure beside the ceilings of its load."""
    found = ceilings(box, measured.load)
    used: dict[Part, float] = {part: measured.iops / ceiling.iops for part, ceiling in found.items()}
    past = _past(used)
    cached = used["heads"] > CACHED and used["heads"] > used["drives"]
    if contradiction := _contradiction(measured):
        return Proof(measured, found, used, "impossible", True, cached, (contradiction,))
    of_drives: Part = "heads" if _seeks_decide(measured.load) and not cached else "drives"
    limiter, sure = _limiter(used, past, of_drives)
    told = limiter != "elsewhere" and (sure or limiter == "drives")
    if not told and not past and (_may_seek(box, measured, used) or _writes_wait(box, measured, used)):
        limiter, sure = "unknown", True
    statements = [_gone_past(part, used[part]) for part in used if part in past]
    if past == {"drives"} and _may_be_of_all_copies(box, measured):
        # What limits besides, the link perhaps, is told as ever.
        statements = [_of_all_copies(box, measured)]
        limiter = "unknown" if limiter == "elsewhere" else limiter
    if limiter == "impossible":
        statements = statements[-1:]  # what it says of the drives is no news of them
    else:
        statements += _of_the_cache(box, measured, found, cached=cached, limiter=limiter)
        if limiter != "unknown":
            near = {part: used[part] for part in used if part not in past}
            statements.append(_of_the_limiter(box, measured, near, limiter, of_drives, sure=sure))
        elif not past:
            statements.append(f"{_of_what_is_unknown(box, measured.load, found, used)} {_of_the_way(used)}")
        statements += _of_the_record(box, measured.load, limiter)
    statements += _of_the_queue(measured)
    return Proof(measured, found, used, limiter, sure, cached, tuple(statements), of_drives)


def _past(used: dict[Part, float]) -> set[Part]:
    """The parts that more came past than they can."""
    return {part for part, most in _NOT_PAST.items() if used.get(part, 0) > most}


def _limiter(used: dict[Part, float], past: set[Part], of_drives: Part) -> tuple[Limiter, bool]:
    """The part that is used most."""
    if past & {"link", "round trip"}:
        return "impossible", True
    near: dict[Limiter, float] = {part: used[part] for part in ("link", "round trip") if part in used}
    if "drives" not in past:
        near["drives"] = max(used[of_drives], used["drives"])
    if not near:
        return "elsewhere", True
    (first, share), *others = sorted(near.items(), key=lambda item: -item[1])
    if share >= TOUCHED:
        return first, True
    alone = all(other < share / 2 for _, other in others)
    return (first, False) if share >= NEAR and alone and not past else ("elsewhere", True)


def _gone_past(part: Part, share: float) -> str:
    """What is more than a part can do was not done by it."""
    if part == "drives":
        return f"It is {figure(share)} times what the drives can: part of the load never reached them."
    return (
        f"This cannot be: it is {figure(share)} times what the {part} allows. It never came out of the box: the host's"
        " own cache answered, or a figure is wrong. So it says nothing about the box."
    )


def _may_be_of_all_copies(box: Box, measured: Measured) -> bool:
    """Whether a stream of reads is no more than all drives that hold the same do together: the ceiling is of one."""
    reads_alone = measured.load.read_share == 1 and not measured.load.random_share
    return reads_alone and measured.iops <= box.layout.copies * _NOT_PAST["drives"] * _of_one_copy(box, measured.load)


def _of_one_copy(box: Box, load: Load) -> float:
    """Requests a second that one drive of each that hold the same streams."""
    return box.layout.stream_drives * box.drive.stream_bytes_per_s / load.block_bytes


def _of_all_copies(box: Box, measured: Measured) -> str:
    copies, one = box.layout.copies, _of_one_copy(box, measured.load)
    return (
        f"It is {figure(measured.iops / one)} times what one drive of each {copies} that hold the same streams."
        f" Several streams, or ZFS, may read from all of them, up to {figure(one * copies)} requests/s: whether"
        " it was that or a cache, this figure does not tell."
    )


def _is_stream(load: Load) -> bool:
    return not load.random_share and not _streams_compete(load)


def _streams_compete(load: Load) -> bool:
    """Of a read and a written stream, how often the heads go from one to the other is for a cache to decide."""
    return load.random_share < 1 and 0 < load.read_share < 1


def _waits(box: Box, load: Load) -> bool:
    """Whether a write that is gathered with no other needs something read first: of parity, or of a record."""
    return box.layout.lone_request(load).steps > 1


def needs_no_seek(box: Box, load: Load) -> bool:
    """One stream, read or in whole stripes and records: nothing takes the heads away from it."""
    return _is_stream(load) and not _waits(box, load)


def _seeks_decide(load: Load) -> bool:
    """Whether most requests go to random places: their seeks are what the drives are asked for."""
    return load.random_share >= _MOST


def _may_seek(box: Box, measured: Measured, used: dict[Part, float]) -> bool:
    """Of all loads between one stream and random places alone, how many requests move the heads is not told.

    Unless the drives would do far more if each did.
    """
    load = measured.load
    return load.random_share < 1 and not needs_no_seek(box, load) and used["heads"] >= NEAR


def _writes_wait(box: Box, measured: Measured, used: dict[Part, float]) -> bool:
    """Of writes that wait for reads, whether the drives do more than one request at a time is for the box to decide."""
    return _waits(box, measured.load) and used.get("one at a time", 0) >= TOUCHED


def _of_what_is_unknown(box: Box, load: Load, found: dict[Part, Ceiling], used: dict[Part, float]) -> str:
    if load.random_share == 1 or used["heads"] < NEAR:
        return (
            "Writes wait for the reads they need: what the drives allow lies between"
            f" {figure(found['one at a time'].iops)} requests/s, one after the other, and"
            f" {figure(found['drives'].iops)}, and so does the figure. How many the box hands them at once decides."
        )
    why = "What goes on in sequence shares the heads with what goes to random places."
    if _streams_compete(load):
        why = "Streams of reads and of writes share the heads."
    elif _is_stream(load):
        why = f"{_of_parts(box, load)}, unless the box gathers them into whole ones. Such requests would tell."
    return (
        f"{why} What the drives allow lies between a seek for each, of which this is {_percent(used['heads'])}, and"
        f" their best, of which it is {_percent(used['drives'])}."
    )


def _of_parts(box: Box, load: Load) -> str:
    layout, size = box.layout, format_size(load.block_bytes)
    if layout.is_zfs:
        record = format_size(layout.record_bytes)
        return f"{size} are no whole record of {record} (`--set recordsize=SIZE`): it is read before it is written"
    stripe = format_size(layout.stripe_bytes)
    return f"{size} are no whole stripes of {stripe} (`--set chunk=SIZE`): each waits until what parity needs is read"


def _of_the_way(used: dict[Part, float]) -> str:
    """How near link and round trip are, beside drives of which it cannot be told."""
    near = [
        f"the {part} is {_percent(used[part])} used" for part in ("link", "round trip") if used.get(part, 0) >= NEAR
    ]
    return f"And {' and '.join(near)}." if near else "No other part is near."


def _of_the_record(box: Box, load: Load, limiter: Limiter) -> list[str]:
    """What a small request costs in ZFS, where that decides."""
    if limiter != "drives" or not load.random_share or not box.layout.is_part_of_a_record(load):
        return []
    drives, costs = round(box.layout.lone_request(load).reads), []
    if load.read_share:
        costs.append(f"is read from {drives} drives to be verified" if drives > 1 else "is read whole to be verified")
    if load.write_share:
        costs.append("is read, changed and written whole")
    asked, whole = format_size(load.block_bytes), format_size(box.layout.record_bytes)
    return [
        f"A request of {asked} costs its record of {whole}, which {', or '.join(costs)}."
        " `--set recordsize=SIZE` assumes another."
    ]


def _of_the_cache(
    box: Box, measured: Measured, found: dict[Part, Ceiling], *, cached: bool, limiter: Limiter
) -> list[str]:
    load, statements = measured.load, []
    # No request of a stream has to move the heads: that none did is news only as long as no part is found to limit.
    if cached and (limiter == "elsewhere" or not needs_no_seek(box, load)):
        statements.append(
            f"{_what_works(box, measured)}: {figure(measured.iops)} requests/s were served, "
            f"{figure(found['heads'].iops)} if each had moved the heads."
        )
    if limiter not in ("drives", "unknown") and _is_stream(load):
        statements += _of_the_innocent(box, measured, found)
    return statements


def _of_the_innocent(box: Box, measured: Measured, found: dict[Part, Ceiling]) -> list[str]:
    """Why drives do not hold a stream: less than one of them streams, or than a seek for each would let through."""
    if needs_no_seek(box, measured.load):
        if measured.bytes_per_s >= box.drive.stream_bytes_per_s:
            return []
        return [
            f"It is not the drives: {measured.bytes_per_s / 1e6:.3g} MB/s are less than one of them streams "
            f"({box.drive.stream_bytes_per_s / 1e6:.3g} MB/s)."
        ]
    if measured.iops >= NEAR * found["heads"].iops:
        return []
    return [
        f"It is not the drives: even if each moved the heads, they would do {figure(found['heads'].iops)} requests/s."
    ]


def _what_works(box: Box, measured: Measured) -> str:
    load = measured.load
    if load.random_share and box.layout.lone_request(load).gathered_bytes:
        return "Writing in new places, one behind the other, works, or reordering, or a cache"
    if load.outstanding == 1:
        # Nobody waits beside it: only what was acknowledged before it was done can still be put in another order.
        few = "or the requests went to a small part of the drives"
        return f"A cache works, {few if load.read_share == 1 else 'which may put writes in another order'}"
    if load.random_share == 1:
        return "Reordering in the drives' queues works, or a cache"
    if load.random_share or _streams_compete(load):
        return "A cache works, or reordering and gathering in the drives' queues"
    if not _may_cache(measured):
        return "The drives' reading ahead works" if load.read_share else "The drives' own caches work, or gathering"
    return "The read cache (or reading ahead) works" if load.read_share else "A write cache works, or gathering"


def _of_the_limiter(
    box: Box, measured: Measured, used: dict[Part, float], limiter: Limiter, of_drives: Part, *, sure: bool
) -> str:
    """``used`` is of the parts that the figure did not go past."""
    if limiter == "elsewhere":
        if _has_but_caches(measured):
            return f"What its caches leave to the drives limits it. {_of_the_rest(measured, used)}"
        held = ("heads", "one at a time")
        nearest = max(((share, part) for part, share in used.items() if part not in held), default=None)
        near = f"; the nearest of them: the {nearest[1]}, {_percent(nearest[0])} used" if nearest else ""
        return f"Something other than these parts limits it{near}. {_of_the_rest(measured, used)}"
    if limiter == "drives":
        share = max(used[of_drives], used["drives"])
        best = f" if each moves the heads, {_percent(used['drives'])} of their best" if share > used["drives"] else ""
        told = f"drives limit: {_percent(share)} of what {box.layout} allows them{best}{_as_known(share, 'drives')}."
    else:
        part: Part = "link" if limiter == "link" else "round trip"
        told = f"{limiter} limits: {_percent(used[part])} of what it allows{_as_known(used[part], part)}."
    return f"The {told}" if sure else f"Most likely the {told}{_of_others(limiter, measured, used)}"


def _of_others(limiter: Limiter, measured: Measured, used: dict[Part, float]) -> str:
    """That no other part comes near one that is half used: only of parts whose ceiling is known."""
    others = [part for part in ("drives", "link", "round trip") if part != limiter]
    # Of a modelled box all is known that is around its drives: what it does not state is not there.
    stated = _stated(measured) if measured.stated is not None else {"link", "round-trip"}
    unknown = [f"the {part}" for part in others if part not in used and part.replace(" ", "-") in stated]
    if not unknown:
        return " Nothing else comes near." if any(part in used for part in others) else ""
    left_out = f"{' and '.join(unknown)} {'was' if len(unknown) == 1 else 'were'} not given and left out."
    if len(unknown) == len(others):
        return f" {left_out[:1].upper()}{left_out[1:]}"
    return f" Nothing else that is known comes near; {left_out}"


def _has_but_caches(measured: Measured) -> bool:
    """Whether a modelled box has caches of what is asked for, and besides nothing that is not one of the parts."""
    others = {"read-ceiling", "write-ceiling", "outstanding"}
    return measured.stated is not None and _may_cache(measured) and not others & _stated(measured)


def _may_cache(measured: Measured) -> bool:
    """Whether the box may have a cache of what is asked for; of a modelled one that is known."""
    bears = {"read-cache": measured.load.read_share, "write-cache": measured.load.write_share}
    return measured.stated is None or any(bears.get(name) for name in _stated(measured))


def _stated(measured: Measured) -> set[str]:
    """The names of what a modelled box has around its drives."""
    return {each.partition("=")[0] for each in measured.stated or ()}


def _of_the_rest(measured: Measured, used: dict[Part, float]) -> str:
    """What is there besides drives, link and round trip; of a modelled box all of it is known."""
    if measured.stated is None:
        # `used` is without the drives where more came than they can.
        caches = "" if "drives" in used else "what the box's caches leave to the drives, "
        return f"That leaves {caches}the box's processor, its target software, the protocol, or the host."
    if measured.stated:
        return f"Around its drives this modelled box has {', '.join(measured.stated)}, and nothing else."
    return "This modelled box has nothing around its drives: that leaves their own caches, and how they are asked."


def _contradiction(measured: Measured) -> str | None:
    """Rate and waiting time that cannot both be: more than twice as many in flight as were asked for.

    A little more may be: what a step's end cuts off counts with its time, and not with the rate.
    """
    if measured.mean_s is None or measured.iops * measured.mean_s <= 2 * measured.load.outstanding:
        return None
    return (
        f"This cannot be: by Little's law {figure(measured.iops * measured.mean_s)} requests were in flight, and"
        f" {measured.load.outstanding} asked for. Rate, mean time or depth is wrong. So it says nothing about the box."
    )


def _of_the_queue(measured: Measured) -> list[str]:
    if measured.mean_s is None:
        return []
    flying, asked = measured.iops * measured.mean_s, measured.load.outstanding
    if flying > 1.1 * asked:
        return [f"The figures hardly agree: {figure(flying)} in flight by Little's law, {asked} were asked for."]
    if flying < 0.5 * asked:
        return [f"Only {figure(flying)} of {asked} requests were in flight: the host did not keep the box busy."]
    if asked == 1:
        return []  # one after the other was asked for, and waits in no queue
    queue = "they waited in the box, not in the host"
    return [f"{figure(flying)} of {asked} requests were in flight (Little's law): {queue}."]


def isolate(proofs: Sequence[Proof]) -> list[str]:
    """What pairs of loads tell: of two that are alike but for where they go, randomness alone costs the difference.

    Of two on boxes that state different things, what else differs may have cost it as well.
    """
    statements = []
    for fast, slow in permutations([each for each in proofs if each.tells_of_the_box], 2):
        if fast.measured.stated != slow.measured.stated:
            continue
        one, other = fast.measured.load, slow.measured.load
        # The slower one reads no less, so that its writes are no excuse.
        alike = 0 < one.read_share <= other.read_share < 1 and other.random_share - one.random_share >= 0.5
        if alike and fast.cached and slow.limiter == "drives":
            times = fast.measured.iops / slow.measured.iops
            statements.append(
                f"Random access is what costs: {slow.measured.name} has no more writes than {fast.measured.name}, yet "
                f"{figure(times)} times fewer requests a second."
            )
    return statements


def _percent(share: float) -> str:
    return f"{figure(share * 100)} %"


def _as_known(share: float, part: Part) -> str:
    """Why more than all of a ceiling is no contradiction."""
    if share <= 1:
        return ""
    return f", more than all of it: this ceiling is an estimate, and may be {_NOT_PAST[part] - 1:.0%} too low".replace(
        "%", " %"
    )
