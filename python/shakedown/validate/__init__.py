"""Predicted beside published: which figures the modelled drives can answer, and how well they do.

``reference/questions.toml`` holds the questions; an experiment is a protocol played on a profile, a measure reads one
figure from its run, and the profile's own origins say whether that figure checks the model or was used to make it.
"""
