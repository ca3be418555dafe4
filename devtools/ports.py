"""Ports for servers that are started together."""

from __future__ import annotations

import socket
from pathlib import Path
from random import SystemRandom
from typing import Final

_FIRST: Final = 15_000
_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_TRIES: Final = 100


def free_port() -> int:
    """Return a port of 127.0.0.1 without a listener at this moment.

    It is outside the range of outgoing connections, which could otherwise take it before the server does.
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
    """Return the start of the range of outgoing connections, from Linux, or 32768."""
    try:
        lowest = int(_RANGE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        lowest = 32_768
    return lowest if lowest > _FIRST + 1_000 else 32_768
