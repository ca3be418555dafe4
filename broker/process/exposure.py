"""A check for listeners on which strangers could do everything: such a start needs the operator's option."""

from __future__ import annotations

import logging
import socket
from collections.abc import Mapping

from shareq.broker.process.sockets import ServeError, address_text
from shareq.broker.security.listener_security import ListenerSecurity

logger = logging.getLogger(__name__)


def check_exposure(
    sockets: Mapping[str, socket.socket], security: Mapping[str, ListenerSecurity], *, insecure: bool
) -> None:
    """Raise ServeError if a bound socket can be reached from other machines, and its listener (by name) accepts
    unauthenticated clients.

    With `insecure`, log a warning instead.
    """
    for name, bound in sockets.items():
        address = bound.getsockname()
        if _authenticates(security[name]) or is_loopback(str(address[0])):
            continue
        where = f"listener {name} on {address_text(address)}"
        if not insecure:
            raise ServeError(
                f"{where} is open to other machines without authentication: listen on 127.0.0.1, "
                "give it SASL, or say --insecure",
                usage=True,
            )
        logger.warning("%s: other machines may connect without authentication (--insecure)", where)


def _authenticates(security: ListenerSecurity) -> bool:
    """Return True if clients have to authenticate, by SASL or by a certificate."""
    return security.sasl or (security.tls is not None and security.tls.client_auth == "required")


def is_loopback(host: str) -> bool:
    """Return True if only this machine can reach the address, given in a socket's form."""
    return host.removeprefix("::ffff:").startswith("127.") or host == "::1"
