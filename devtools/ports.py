"""Ports for servers that are started beside each other."""

from __future__ import annotations

import socket


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
