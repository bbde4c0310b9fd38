"""Pure functions over samples: when a step is over, what was found, what it means.

In reading order: `condition` (what ends a step), `watch` (seeing it happen), `series` and `estimate` (a step as arrays,
means with honest intervals), `find` (one file a kind of finding), `rules` and `verdict` (for which use it is good).
"""

from shakedown.analysis.condition import Bytes, Cliff, Condition, Recovered, Steady, Time, parse_condition
from shakedown.analysis.find import findings
from shakedown.analysis.finding import Finding, FindingSpec
from shakedown.analysis.verdict import Reason, UseVerdict, Verdict, judge
from shakedown.analysis.watch import Watcher, make_watcher

__all__ = [
    "Bytes",
    "Cliff",
    "Condition",
    "Finding",
    "FindingSpec",
    "Reason",
    "Recovered",
    "Steady",
    "Time",
    "UseVerdict",
    "Verdict",
    "Watcher",
    "findings",
    "judge",
    "make_watcher",
    "parse_condition",
]
