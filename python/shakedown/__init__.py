"""Shakedown: a drive, an array or a NAS on its worst day, before anybody trusts it with data."""
