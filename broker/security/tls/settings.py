"""One listener's TLS settings, as configured. Nothing here reads a file. Secrets have no `repr`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from shareq.broker.security.tls.mapping_rules import MappingRules

PEM: Final = "PEM"
PKCS12: Final = "PKCS12"
JKS: Final = "JKS"

NO_CLIENT_AUTH: Final = "none"
CLIENT_AUTH_REQUESTED: Final = "requested"
CLIENT_AUTH_REQUIRED: Final = "required"


class Setting:
    """A property as it was set: its full name, with the listener's prefix if it has one, and its text."""

    __slots__ = ("name", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name: Final = name
        self.text: Final = text

    def __repr__(self) -> str:
        return f"Setting({self.name})"


class KeyStore(NamedTuple):
    """The source of certificate and key: a file (`location`), or `chain` and `key` as PEM texts."""

    kind: Setting
    location: Setting | None
    password: Setting | None
    chain: Setting | None
    key: Setting | None
    key_password: Setting | None


class TrustStore(NamedTuple):
    """The authorities for clients' certificates: a file (`location`), or `certificates` as PEM text."""

    kind: Setting
    location: Setting | None
    password: Setting | None
    certificates: Setting | None


class TlsSettings(NamedTuple):
    """TLS settings of one listener. `client_auth` is none, requested or required; `trusted` is None only with none.

    `versions` are Java's names, `ciphers` OpenSSL's for TLS 1.2 (empty: OpenSSL's default). `rules` derive a user
    from a client's certificate; None if SASL names the user.
    """

    keys: KeyStore
    trusted: TrustStore | None
    client_auth: str
    versions: tuple[str, ...]
    ciphers: tuple[str, ...]
    rules: MappingRules | None
    allow_dn_changes: bool
    allow_san_changes: bool
