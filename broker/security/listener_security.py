"""The protection of one listener."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shareq.broker.security.oauth.settings import OauthSettings
    from shareq.broker.security.tls.settings import TlsSettings

PLAINTEXT: Final = "PLAINTEXT"
SSL: Final = "SSL"
SASL_PLAINTEXT: Final = "SASL_PLAINTEXT"
SASL_SSL: Final = "SASL_SSL"
SERVED_PROTOCOLS: Final = (PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL)

OAUTHBEARER: Final = "OAUTHBEARER"
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", OAUTHBEARER)
"""The SASL mechanisms that the broker supports."""


class ListenerSecurity:
    """The protection of one listener. `mechanisms` are the SASL mechanisms, none if clients need not authenticate;
    `plain_users` are passwords by user name.

    `max_reauth_ms` is `connections.max.reauth.ms` by mechanism, 0 for never; `max_receive_bytes` is the largest
    request before authentication; `failed_delay_ms` is the delay of the answer to a failed attempt. `tls` is None if
    connections are not encrypted, `oauth` is None if OAUTHBEARER is not enabled.
    """

    __slots__ = (
        "failed_delay_ms",
        "max_reauth_ms",
        "max_receive_bytes",
        "mechanisms",
        "oauth",
        "plain_users",
        "protocol",
        "tls",
    )

    def __init__(
        self,
        protocol: str = PLAINTEXT,
        mechanisms: tuple[str, ...] = (),
        plain_users: Mapping[str, str] = MappingProxyType({}),
        max_reauth_ms: Mapping[str, int] = MappingProxyType({}),
        max_receive_bytes: int = 524_288,
        failed_delay_ms: int = 100,
        tls: TlsSettings | None = None,
        oauth: OauthSettings | None = None,
    ) -> None:
        self.protocol: Final = protocol
        self.mechanisms: Final = mechanisms
        self.plain_users: Final = plain_users
        self.max_reauth_ms: Final = max_reauth_ms
        self.max_receive_bytes: Final = max_receive_bytes
        self.failed_delay_ms: Final = failed_delay_ms
        self.tls: Final = tls
        self.oauth: Final = oauth

    @property
    def sasl(self) -> bool:
        """True if clients have to authenticate with SASL."""
        return self.protocol in (SASL_PLAINTEXT, SASL_SSL)
