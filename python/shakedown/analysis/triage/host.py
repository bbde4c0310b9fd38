"""Which ATA port a SCSI address is behind, as far as the boot says it."""

from __future__ import annotations

import re


class Hosts:
    """The ports of each ATA adapter, beside the SCSI hosts that libata makes of them.

    An adapter's hosts are announced first (``scsi host4: ahci``), then as many ports (``ata5: SATA max ...``), both in
    one order (drivers/ata/libata-core.c, ``ata_host_register``). Numbers that count differently, as where a USB disk
    took a host before, are told by that and by nothing else.
    """

    def __init__(self) -> None:
        """No adapter yet."""
        self._driver = ""
        self._hosts: list[int] = []
        self._ports: list[int] = []
        self._port_of: dict[int, int] = {}

    def announce_host(self, host: int, driver: str) -> None:
        """A host of an ATA adapter. One that comes before another's ports are all there leaves both unknown."""
        is_strange = driver != self._driver or (self._hosts and host <= self._hosts[-1])
        if len(self._ports) < len(self._hosts) and (self._ports or is_strange):
            self._hosts, self._ports = [], []
            return
        if self._ports:
            self._hosts, self._ports = [], []
        self._driver = driver
        self._hosts.append(host)

    def announce_port(self, port: int) -> None:
        """A port. More of them than hosts: the log begins amid the hosts, so that none of them is known."""
        if self._ports and port != self._ports[-1] + 1:
            self._hosts, self._ports = [], []
            return
        self._ports.append(port)
        if len(self._ports) == len(self._hosts):
            self._port_of.update(zip(self._hosts, self._ports, strict=True))
        elif len(self._ports) > len(self._hosts):
            for host in self._hosts:
                self._port_of.pop(host, None)

    def port_at(self, address: str) -> str:
        """The name of the ATA device at a SCSI address, empty where the log does not tell."""
        found = re.fullmatch(r"(\d+):(\d+):(\d+):\d+", address)
        port = self._port_of.get(int(found[1])) if found else None
        if found is None or port is None:
            return ""
        device = int(found[2]) or int(found[3])
        return f"ata{port}.{device:02d}" if device else f"ata{port}"

    def is_known(self, port: str) -> bool:
        """Whether the log tells the host of a port."""
        return any(port.partition(".")[0] == f"ata{each}" for each in self._port_of.values())
