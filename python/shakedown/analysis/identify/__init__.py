"""Is a drive shingled? In reading order.

`facts` (what was read of a drive), `ata` and `smart` (facts from IDENTIFY DEVICE and VPD bytes, and from smartctl's
JSON), `models` (what is published), `evidence` (what each fact says, and how much), `answer` (all of it together).
"""
