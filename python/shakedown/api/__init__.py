"""Modelled drives for those who study disks: what ``import shakedown`` offers to Python."""
