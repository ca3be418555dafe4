"""A check for listeners where strangers could do everything: the operator has to ask for such a start."""

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
    """ServeError when a bound socket is open to other machines, and its listener (by name) takes clients that do not
    authenticate; with `insecure` a warning instead.
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
    """Return True if only this machine reaches the address, as a socket gives it."""
    return host.removeprefix("::ffff:").startswith("127.") or host == "::1"
