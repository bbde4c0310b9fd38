"""Rebuilds of modelled arrays: what is ordered, what came of it, and the run folder that tells of it."""
