"""Does a full drive clean more for a host that does not pause?

Writes that are durable one by one leave a pause before each visit to the log; those that are taken as fast as they
come wait for it in memory. Regions of a fill have as many writes in either case. So how many are written from one
forced pass to the next tells how many bands it had.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from shakedown.fit.estimate import Estimate
from shakedown.fit.trace import Floats, Ints

# The first stall may have been hidden by what memory had room for.
_FEWEST: Final = 4
_LONG: Final = 0.6
_QUARTILES: Final = (0.25, 0.5, 0.75)


def apart(cycle_ms: Floats, stalls: Ints) -> Estimate | None:
    """How many writes there are from one forced pass to the next; None where too few were seen."""
    found = stalls[1:]
    if len(found) < _FEWEST:
        return None
    # Neither a journal nor a host that is late is a pass, and both are shorter.
    found = found[cycle_ms[found] > _LONG * float(np.median(cycle_ms[found]))]
    gaps = np.diff(found)
    if len(gaps) < _FEWEST - 1:
        return None
    # In the pause between two chunks a drive may clean unasked, and where memory gathers writes a pass comes late.
    low, middle, high = (float(one) for one in np.quantile(gaps, _QUARTILES))
    return Estimate(middle, low, high)


def times_as_many(as_taken: Estimate | None, durable: Estimate | None) -> Estimate | None:
    """How many times as many bands a pass has where the host does not pause; None: not known."""
    if as_taken is None or durable is None:
        return None
    low, high = as_taken.low / durable.high, as_taken.high / max(durable.low, 1.0)
    return Estimate(as_taken.value / durable.value, low, high)
