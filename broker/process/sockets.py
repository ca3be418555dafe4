"""Sockets of the process: they are bound before anything is changed, and listen when the broker is ready."""

from __future__ import annotations

import errno
import logging
import socket
from typing import Final, NamedTuple

from shareq.broker.config.broker_config import BrokerConfig

logger = logging.getLogger(__name__)

_MOST_UNACCEPTED: Final = "/proc/sys/net/core/somaxconn"  # Linux


class ServeError(Exception):
    """Error: the broker cannot run. The text is one sentence for the user. `usage`: its options or configuration are
    the cause.
    """

    def __init__(self, message: str, *, usage: bool = False) -> None:
        super().__init__(message)
        self.usage = usage


class Address(NamedTuple):
    """An address to listen on. An empty host means all addresses of this machine, port 0 any free one."""

    host: str
    port: int


def bind(wanted: Address, purpose: str) -> socket.socket:
    """Return a bound socket that does not listen yet: connections are refused until the broker is ready.

    `purpose` completes "cannot ... on HOST:PORT" in the ServeError that this raises.
    """
    host = wanted.host or "0.0.0.0"
    try:
        # As bytes: a text would be encoded as IDNA, and the tables of that take a millisecond to import.
        name = host.encode("ascii") if host.isascii() else host
        family, kind, protocol, _, address = socket.getaddrinfo(
            name, wanted.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        raise ServeError(f"cannot {purpose} on {host}:{wanted.port}: {_reason(error)}") from error
    return bound


def begin_to_listen(bound: socket.socket, backlog: int, purpose: str) -> None:
    """Listen on a bound socket. Raise ServeError.

    Two sockets may bind one port; that conflict is found only here, and uvloop would hide it.
    """
    address = address_text(bound.getsockname())
    try:
        bound.listen(backlog)
    except OSError as error:
        raise ServeError(f"cannot {purpose} on {address}: {_reason(error)}") from error


def note_backlog(backlog: int) -> None:
    """Log how many connections the system holds unaccepted, if these are fewer than `backlog`."""
    try:
        with open(_MOST_UNACCEPTED, "rb", buffering=0) as file:
            allowed = int(file.read(32))
    except (OSError, ValueError):
        return
    if allowed < backlog:
        logger.info("socket.listen.backlog.size=%d: the system allows %d (net.core.somaxconn)", backlog, allowed)


def _reason(error: OSError) -> str:
    in_use = error.errno == errno.EADDRINUSE
    return "the port is in use by another process" if in_use else error.strerror or str(error)


def set_buffers(bound: socket.socket, config: BrokerConfig) -> None:
    """Set configured buffer sizes, which accepted sockets inherit. Otherwise the system chooses better ones."""
    for name, option, size in (
        ("socket.send.buffer.bytes", socket.SO_SNDBUF, config.socket_send_buffer_bytes),
        ("socket.receive.buffer.bytes", socket.SO_RCVBUF, config.socket_receive_buffer_bytes),
    ):
        if name in config.originals and size > 0:
            bound.setsockopt(socket.SOL_SOCKET, option, size)


def address_text(address: tuple[object, ...]) -> str:
    """Return HOST:PORT of a socket's address."""
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"
