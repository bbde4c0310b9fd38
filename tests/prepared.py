"""Starts commands of Shakedown for ``serving``: the libraries are imported once, all of Shakedown anew in each command.

Reads orders from the socket whose number it is given, each with the three streams of a command; answers with the
process, and then with how it ended.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from importlib import import_module
from typing import Any

# What every verb waits for. No threads of theirs run before they are used, so that a fork has all there is.
LIBRARIES = ("numpy", "polars", "pydantic", "cyclopts", "rich.console")
MOST_BYTES = 1 << 20


def orders(server: socket.socket) -> None:
    """Fork for each order, until nobody is left to give one; returns in a child, which has become the command."""
    while True:
        text, streams, _, _ = socket.recv_fds(server, MOST_BYTES, 3)
        if not text:
            os._exit(0)
        child = os.fork()
        if child == 0:
            server.close()
            become(json.loads(text), streams)
            return
        for stream in streams:
            os.close(stream)
        server.send(str(child).encode())
        server.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def become(order: dict[str, Any], streams: list[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["cwd"])
    sys.argv[1:] = order["arguments"]
    signal.signal(signal.SIGINT, signal.default_int_handler)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for library in LIBRARIES:
        import_module(library)
    orders(socket.socket(fileno=int(sys.argv[1])))

    from shakedown.cli import main

    main()
