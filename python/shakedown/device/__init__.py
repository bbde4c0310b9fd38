"""The device arena: real time, real I/O. The only code that may open a target for writing; see guard."""
