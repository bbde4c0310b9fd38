"""Asks an NBD server what it exports: a client for the handshake and nothing more.

After the protocol's own document, https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md: fixed newstyle
negotiation, NBD_OPT_INFO for the export, NBD_OPT_ABORT. No block is read or written here.
"""

from __future__ import annotations

import socket
import struct
from typing import Final, NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlsplit

from shakedown.errors import EnvironmentFailure, UsageError

_ANSWER_LIMIT_S: Final = 10.0
_LONGEST_REPLY_BYTES: Final = 1 << 16
_SERVER_MAGIC: Final = b"NBDMAGICIHAVEOPT"
_OPTION_MAGIC: Final = b"IHAVEOPT"
_REPLY_MAGIC: Final = 0x3E889045565A9
_FIXED_NEWSTYLE: Final = 1
_NO_ZEROES: Final = 2
_OPTION_ABORT: Final = 2
_OPTION_INFO: Final = 6
_REPLY_ACK: Final = 1
_REPLY_INFO: Final = 3
_REPLY_IS_ERROR: Final = 1 << 31
_INFO_EXPORT: Final = 0
_INFO_NAME: Final = 1
_INFO_DESCRIPTION: Final = 2
_EXPORT_IS_READ_ONLY: Final = 2


class NbdAddress(NamedTuple):
    """Where an export is served: a Unix socket and the export's name (empty: the server's default)."""

    socket_path: str
    export: str

    @property
    def uri(self) -> str:
        """The standard form, which fio and other clients understand."""
        return f"nbd+unix:///{quote(self.export, safe='')}?socket={quote(self.socket_path)}"


class NbdExport(NamedTuple):
    """What the server says of an export."""

    size_bytes: int
    read_only: bool
    description: str


def parse_nbd_uri(text: str) -> NbdAddress:
    """``nbd+unix:///path/to.sock`` or ``nbd+unix:///EXPORT?socket=/path/to.sock``. Raises UsageError."""
    refusal = UsageError(
        f"`{text}` is not an NBD address that Shakedown knows",
        hint="`nbd+unix:///path/to.sock` or `nbd+unix:///EXPORT?socket=/path/to.sock`",
    )
    try:
        parts = urlsplit(text)
        query = parse_qs(parts.query)
    except ValueError as error:
        raise refusal from error
    if "socket" in query:
        address = NbdAddress(query["socket"][0], unquote(parts.path.removeprefix("/")))
    else:
        address = NbdAddress(unquote(parts.path), "")
    if parts.scheme != "nbd+unix" or parts.netloc or not address.socket_path.startswith("/") or "\0" in unquote(text):
        raise refusal
    return address


def ask_export(address: NbdAddress, limit_s: float = _ANSWER_LIMIT_S) -> NbdExport:
    """Shake hands, ask for the export, say goodbye. Raises EnvironmentFailure."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(limit_s)
            line.connect(address.socket_path)
            return _negotiate(line, address.export)
    except TimeoutError as error:
        raise EnvironmentFailure(f"the server at {address.socket_path} does not answer within {limit_s:g} s") from error
    except OSError as error:
        raise EnvironmentFailure(
            f"no NBD server answers at {address.socket_path}: {error.strerror or error}",
            hint="start one, such as `shakedown serve model:wd40efax --nbd SOCKET`",
        ) from error


def _negotiate(line: socket.socket, export: str) -> NbdExport:
    if _receive(line, 16) != _SERVER_MAGIC:
        raise EnvironmentFailure("what listens at the socket does not speak NBD (fixed newstyle)")
    (flags,) = struct.unpack(">H", _receive(line, 2))
    if not flags & _FIXED_NEWSTYLE:
        raise EnvironmentFailure("the NBD server is too old: it does not speak fixed newstyle")
    line.sendall(struct.pack(">I", flags & (_FIXED_NEWSTYLE | _NO_ZEROES)))
    name = export.encode()
    asked = struct.pack(f">I{len(name)}sHHH", len(name), name, 2, _INFO_NAME, _INFO_DESCRIPTION)
    _send_option(line, _OPTION_INFO, asked)
    found = _information(line, export)
    _send_option(line, _OPTION_ABORT, b"")
    if _INFO_EXPORT not in found or len(found[_INFO_EXPORT]) != 10:
        raise EnvironmentFailure(f"the NBD server does not tell the size of the export `{export}`")
    size_bytes, export_flags = struct.unpack(">QH", found[_INFO_EXPORT])
    words = found.get(_INFO_DESCRIPTION) or found.get(_INFO_NAME) or name
    return NbdExport(size_bytes, bool(export_flags & _EXPORT_IS_READ_ONLY), words.decode(errors="replace"))


def _information(line: socket.socket, export: str) -> dict[int, bytes]:
    """Every piece of information that the server gives, by its number."""
    found: dict[int, bytes] = {}
    while True:
        magic, option, kind, length = struct.unpack(">QIII", _receive(line, 20))
        if magic != _REPLY_MAGIC or option != _OPTION_INFO or length > _LONGEST_REPLY_BYTES:
            raise EnvironmentFailure("the NBD server's answer is garbage")
        body = _receive(line, length)
        if kind & _REPLY_IS_ERROR:
            words = body.decode(errors="replace") or f"error {kind - _REPLY_IS_ERROR}"
            raise EnvironmentFailure(f"the NBD server refuses the export `{export}`: {words}")
        if kind == _REPLY_ACK:
            return found
        if kind == _REPLY_INFO and length >= 2:
            found[int.from_bytes(body[:2], "big")] = body[2:]


def _send_option(line: socket.socket, option: int, body: bytes) -> None:
    line.sendall(_OPTION_MAGIC + struct.pack(">II", option, len(body)) + body)


def _receive(line: socket.socket, length: int) -> bytes:
    parts = b""
    while len(parts) < length:
        part = line.recv(length - len(parts))
        if not part:
            raise EnvironmentFailure("the NBD server hung up during the handshake")
        parts += part
    return parts
