"""Traces of real requests, read into one frame whatever wrote them. One reader a file format."""

from shakedown.trace.blkparse import read_blkparse
from shakedown.trace.blktrace import read_blktrace
from shakedown.trace.csv_table import read_csv
from shakedown.trace.frame import TRACE_SCHEMA
from shakedown.trace.iolog import read_iolog
from shakedown.trace.msr import read_msr

__all__ = ["TRACE_SCHEMA", "read_blkparse", "read_blktrace", "read_csv", "read_iolog", "read_msr"]
