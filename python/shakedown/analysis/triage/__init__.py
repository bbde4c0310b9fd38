"""Kernel log lines to episodes, in reading order.

`line` (when and what, in every form of log), `sign` (what single lines mean), `drive` (which names are one drive),
`episode` and `follow` (signs that belong together), `judge` (what it was, and is it harmless), `advice` (what to do),
`diagnosis` (all of it, as it is shown).
"""
