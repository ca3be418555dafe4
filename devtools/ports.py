"""Ports for servers that are started beside each other."""

from __future__ import annotations

import socket
from pathlib import Path
from random import SystemRandom
from typing import Final

_FIRST: Final = 15_000
_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_TRIES: Final = 100


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on at this moment.

    It is one that the system gives to no outgoing connection: others connect without end until the server has it.
    """
    for _ in range(_TRIES):
        port = SystemRandom().randrange(_FIRST, _end())
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        any_port: int = probe.getsockname()[1]
        return any_port


def _end() -> int:
    """Return where the ports of outgoing connections begin: Linux says it, and elsewhere it is 32768 or later."""
    try:
        lowest = int(_RANGE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        lowest = 32_768
    return lowest if lowest > _FIRST + 1_000 else 32_768
