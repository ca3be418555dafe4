"""Listening sockets for commands that serve HTTP."""

from __future__ import annotations

import socket

from shareq.ops.cli.shared.exits import HIGHEST_PORT, NO_CONNECTION, USAGE, exit_with

BACKLOG = 128


def bound_socket(listen: str, example: str) -> socket.socket:
    """Return a socket that listens on HOST:PORT. Ends the command for an invalid address, or one in use."""
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > HIGHEST_PORT or (":" in host and not host.startswith("[")):
        exit_with(USAGE, f"--listen {listen}: must be HOST:PORT, for example {example}")
    try:
        found = socket.getaddrinfo(
            host.strip("[]") or None, int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, kind, protocol, _, address = found[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(BACKLOG)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        exit_with(NO_CONNECTION, f"cannot listen on {listen}: {error.strerror or error}")
    return bound


def address_of(bound: socket.socket) -> str:
    """Return HOST:PORT, an IPv6 host in brackets."""
    host, port = bound.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
