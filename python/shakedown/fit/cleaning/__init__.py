"""Cleaning of a persistent cache: bands, when and in which order they come home, what a drive without room does."""
