"""Do bands move? Where each begins at nearly the angle of the next, only one that moves far comes to another.

A band that is cleaned goes where an earlier one was: the last one, or one some before it. So they are cleaned in an
order by chance, in which few lie near one of those before them.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from shakedown.fit.cleaning import bands
from shakedown.fit.drive.rotation import short_way
from shakedown.fit.drive.whereabouts import Sight
from shakedown.fit.trace import Bench, Floats, Ints

# What angles are told apart by, and as much again: cylinders do not begin where bands do.
_ALIKE_TURNS: Final = 0.06
_BLOCKS_OF_BAND: Final = 2
# By even steps one is always as far from the one so many before it, and that may be a whole turn.
_SEED: Final = 1
# It takes the place of one of these: no drive is known to keep more bands to move to.
_MOST_SPARE: Final = 8
_MOSTLY: Final = 0.75


def look_alike(turns: Floats) -> NDArray[np.bool_]:
    """Whether places that begin so many turns apart may be taken for one another."""
    return np.asarray(np.abs(short_way(turns)) <= _ALIKE_TURNS)


def static_share(
    bench: Bench, band: bands.Bands, turns: float, sight: Sight, rest_ms: float, press: bands.Press
) -> float | None:
    """How much of what is cleaned comes to its old place; None where bands would look the same however far they move.

    ``turns`` is by how much each begins later than the one before.
    """
    spacing = bands.spacing_within(bench, int(band.size_bytes.value / _BLOCKS_OF_BAND))
    order = np.random.default_rng(_SEED).permutation(bands.BLOCKS)
    seen = bands.watch_home(bench, "moving", 0.5, spacing, sight, rest_ms, press, order)
    return seen.static_share if would_show(cleaned(seen, band), turns) else None


def cleaned(seen: bands.Homecoming, band: bands.Bands) -> Ints:
    """The bands in the order in which they came home."""
    numbers = np.floor((seen.offsets - band.border) / band.size_bytes.value).astype(np.int64)
    came = np.flatnonzero(seen.rounds >= 0)
    came = came[np.argsort(seen.rounds[came], kind="stable")]
    _, first = np.unique(numbers[came], return_index=True)
    return np.asarray(numbers[came][np.sort(first)])


def would_show(order: Ints, turns: float) -> bool:
    """Whether bands that are cleaned in this order come to other angles, each where the one so many before it was."""
    if len(order) <= 2 * _MOST_SPARE:
        return False
    ways = (order[back:] - order[:-back] for back in range(1, _MOST_SPARE + 1))
    return all(np.mean(look_alike(np.asarray(way * turns))) <= 1 - _MOSTLY for way in ways)
