"""A small NBD server for tests: fixed newstyle, one export in memory, a delay on demand."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path


class NbdServer:
    """Serves until ``close``. ``delay_s(verb, number)`` holds the n-th request up, ``fail_at`` says which one fails."""

    def __init__(
        self,
        path: Path,
        *,
        size_bytes: int = 64 << 20,
        description: str = "",
        flags: int = 1,
        delay_s: Callable[[int, int], float] = lambda _verb, _number: 0.0,
        fail_at: int = 0,
    ) -> None:
        self.description = description
        self.requests: list[int] = []
        self._data = bytearray(size_bytes)
        self._flags = flags
        self._delay_s = delay_s
        self._fail_at = fail_at
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                line, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        try:
            with line:
                line.sendall(b"NBDMAGICIHAVEOPT" + struct.pack(">H", 3))
                line.recv(4)
                if self._negotiate(line):
                    self._transmit(line)
        except (OSError, EOFError):
            return

    def _negotiate(self, line: socket.socket) -> bool:
        while True:
            _, option, length = struct.unpack(">8sII", _exactly(line, 16))
            _exactly(line, length)
            if option in (6, 7):
                info = struct.pack(">HQH", 0, len(self._data), self._flags)
                self._reply(line, option, 3, info)
                self._reply(line, option, 3, struct.pack(">H", 2) + self.description.encode())
                self._reply(line, option, 1, b"")
                if option == 7:
                    return True
            elif option == 2:
                self._reply(line, option, 1, b"")
                return False
            else:
                self._reply(line, option, 0x80000001, b"")

    @staticmethod
    def _reply(line: socket.socket, option: int, kind: int, body: bytes) -> None:
        line.sendall(struct.pack(">QIII", 0x3E889045565A9, option, kind, len(body)) + body)

    def _transmit(self, line: socket.socket) -> None:
        while True:
            _, _, verb, cookie, offset, length = struct.unpack(">IHHQQI", _exactly(line, 28))
            if verb == 2:
                return
            if verb == 1:
                self._data[offset : offset + length] = _exactly(line, length)
            self.requests.append(verb)
            time.sleep(self._delay_s(verb, len(self.requests)))
            answer = bytes(self._data[offset : offset + length]) if verb == 0 else b""
            error = 5 if len(self.requests) == self._fail_at else 0
            line.sendall(struct.pack(">IIQ", 0x67446698, error, cookie) + (b"" if error else answer))


def _exactly(line: socket.socket, length: int) -> bytes:
    parts = b""
    while len(parts) < length:
        part = line.recv(length - len(parts))
        if not part:
            raise EOFError
        parts += part
    return parts
