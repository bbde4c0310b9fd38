"""One run at a time on an NBD server: two would measure each other.

The claim is a socket in Linux's abstract namespace, whose name holds the device and inode of the server's socket, and
who listens there: the inode of a socket that is gone is soon another's. It needs no file, holds for all users of a
machine, and ends with its process, however that ends.
"""

from __future__ import annotations

import errno
import socket
import struct
from pathlib import Path

from shakedown.errors import EnvironmentFailure, RefusedError

_PATIENCE_S = 10.0


class Claim:
    """Held from its making to ``release``."""

    def __init__(self, socket_path: str) -> None:
        """Claim the server that listens there. Raises RefusedError (a run has it), EnvironmentFailure (it is gone)."""
        self._name = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            status = Path(socket_path).stat()
            self._name.bind(f"\0shakedown-nbd-{status.st_dev}-{status.st_ino}-{_listener(socket_path)}")
        except OSError as error:
            self.release()
            if error.errno == errno.EADDRINUSE:
                raise RefusedError(
                    f"another run of Shakedown is using the server at {socket_path}",
                    hint="two at once would measure each other: wait for its end, or serve another drive",
                ) from error
            raise EnvironmentFailure(f"{socket_path} cannot be examined: {error.strerror or error}") from error

    def release(self) -> None:
        """Let the next run have it."""
        self._name.close()


def _listener(socket_path: str) -> int:
    """The process that listens there. Raises OSError."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(_PATIENCE_S)
        caller.connect(socket_path)
        # `struct ucred` of unix(7): pid, uid, gid.
        credentials = caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        pid, _, _ = struct.unpack("3i", credentials)
        return int(pid)
