"""The common part of opening both kinds of connections, and the outcome of one in words."""

from __future__ import annotations

import secrets
import socket
import ssl
from typing import Final

from shareq.client.config import Address, ClientConfig
from shareq.client.core.connection import TOO_LATE
from shareq.client.errors import AuthenticationFailed, ClientError, Disconnected, Unreachable
from shareq.client.protocol import ConnectionProtocol
from shareq.client.security.config import SaslConfig
from shareq.client.security.sasl import sasl_client

_CERTIFICATE_ALERTS: Final = ("CERTIFICATE", "UNKNOWN_CA", "ACCESS_DENIED", "HANDSHAKE_FAILURE", "PROTOCOL_VERSION")


def peer_of(address: Address, name: str) -> str:
    """Return a broker's name in errors; "" for one without a name."""
    return f"{name} at {address}" if name else str(address)


def dialogue_with(peer: str, config: ClientConfig) -> ConnectionProtocol:
    """Return the dialogue of a new connection, with the login of the configuration."""
    sasl = config.sasl
    login = None if sasl is None else lambda: sasl_client(sasl, secrets.token_urlsafe(24), current_token(sasl))
    return ConnectionProtocol(peer, config.client_id, login, sasl.mechanism if sasl else "")


def current_token(sasl: SaslConfig) -> str:
    """Return the token of OAUTHBEARER as it is now; "" for other mechanisms. AuthenticationFailed never shows it."""
    if sasl.token is not None:
        return sasl.token().strip()
    if sasl.token_file is None:
        return ""
    try:
        with open(sasl.token_file, encoding="ascii") as file:
            return file.read().strip()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "not text"
        raise AuthenticationFailed(f"the token cannot be read from {sasl.token_file}: {reason}") from None


def set_options(sock: socket.socket, config: ClientConfig) -> None:
    """Set the options of every connection's socket."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if config.receive_buffer_bytes >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, config.receive_buffer_bytes)
    if config.send_buffer_bytes >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, config.send_buffer_bytes)


def failure_of(error: Exception) -> str:
    """Return the system's own words for an error."""
    return getattr(error, "strerror", None) or str(error)


def is_certificate_alert(error: Exception) -> bool:
    """Return True if the peer ended TLS because of our certificate, or the lack of one."""
    reason = getattr(error, "reason", None) or ""
    return "ALERT" in reason and any(word in reason for word in _CERTIFICATE_ALERTS)


def failure_text(error: Exception) -> str:
    """Return the fate of a connection in words that follow the name of its peer."""
    if isinstance(error, TimeoutError | BlockingIOError | ssl.SSLWantReadError | ssl.SSLWantWriteError):
        return TOO_LATE
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return "closed the connection"
    if isinstance(error, ssl.SSLError):
        return f"ended TLS: {(error.reason or 'unknown').lower().replace('_', ' ')}"
    if isinstance(error, OSError):
        return f"is lost: {error.strerror or type(error).__name__}"
    return str(error)


def handshake_failure(peer: str, error: Exception) -> ClientError:
    """Return the error for a failed TLS handshake: a certificate that either side does not accept, or no TLS there."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return AuthenticationFailed(f"{peer}: its certificate is not accepted: {error.verify_message}")
    if is_certificate_alert(error):
        return AuthenticationFailed(f"{peer}: {failure_text(error)}")
    return Unreachable(f"{peer} {failure_text(error)} (during the TLS handshake; is it a listener of SSL or SASL_SSL?)")


def other_listener(error: Disconnected, config: ClientConfig) -> Unreachable:
    """Return the error for a connection that ended before its first answer."""
    return Unreachable(f"{error} (before its first answer; is it a listener of {config.security_protocol}?)")
