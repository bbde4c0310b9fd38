"""``python -m shakedown``: the command line without its script."""

from shakedown.cli import main

main()
