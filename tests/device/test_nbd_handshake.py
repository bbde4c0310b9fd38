import socket
import struct
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from nbd_server import NbdServer

from shakedown.device.nbd import NbdAddress, NbdExport, ask_export, parse_nbd_uri
from shakedown.errors import EnvironmentFailure, UsageError

_HELLO = b"NBDMAGICIHAVEOPT\x00\x03"


@pytest.mark.parametrize(
    ("text", "socket_path", "export"),
    [
        ("nbd+unix:///run/a.sock", "/run/a.sock", ""),
        ("nbd+unix:///?socket=/run/a.sock", "/run/a.sock", ""),
        ("nbd+unix:///disk%201?socket=/run/a%23b.sock", "/run/a#b.sock", "disk 1"),
    ],
)
def test_addresses(text: str, socket_path: str, export: str) -> None:
    address = parse_nbd_uri(text)
    assert address == NbdAddress(socket_path, export)
    assert parse_nbd_uri(address.uri) == address


@pytest.mark.parametrize(
    "text",
    ["nbd+unix:", "nbd+unix://host/x", "nbd+unix:///?socket=a", "nbd://host", "nbd+unix:///a%00b", "nbd+unix://[x"],
)
def test_other_addresses_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_nbd_uri(text)


def test_the_server_is_asked(tmp_path: Path) -> None:
    server = NbdServer(tmp_path / "s", size_bytes=12_345_678, description="words", flags=3)
    assert ask_export(NbdAddress(str(tmp_path / "s"), "x")) == NbdExport(12_345_678, True, "words")
    assert server.requests == []
    server.close()


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="no NBD server answers"):
        ask_export(NbdAddress(str(tmp_path / "s"), ""))


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"", "hung up"),
        (b"SSH-2.0-OpenSSH_9.2p1 Debian", "does not speak NBD"),
        (b"NBDMAGICIHAVEOPT\x00\x00", "too old"),
        (_HELLO, "hung up"),
        (_HELLO + b"\xff" * 20, "garbage"),
        (_HELLO + struct.pack(">QIII", 0x3E889045565A9, 6, 3, 1 << 30), "garbage"),
        (_HELLO + struct.pack(">QIII", 0x3E889045565A9, 6, 0x80000006, 4) + b"none", "refuses the export `x`: none"),
        (_HELLO + struct.pack(">QIII", 0x3E889045565A9, 6, 1, 0), "does not tell the size"),
        (None, "does not answer within"),
    ],
)
def test_a_server_that_misbehaves(tmp_path: Path, answer: bytes | None, problem: str) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    listener.listen()

    def serve() -> None:
        line, _ = listener.accept()
        line.sendall(answer or b"")
        if answer is not None:
            line.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            while line.recv(4096):
                pass

    threading.Thread(target=serve, daemon=True).start()
    with pytest.raises(EnvironmentFailure, match=problem):
        ask_export(NbdAddress(str(tmp_path / "s"), "x"), limit_s=0.5)
    listener.close()
