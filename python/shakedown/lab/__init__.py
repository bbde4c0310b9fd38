"""The lab: the real Linux storage stack in virtual time, on modelled drives. docs/lab.md tells how it works."""
