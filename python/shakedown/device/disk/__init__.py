"""Whole disks as targets, and the guard before them: facts are gathered, rules decide, and only then is one opened."""
