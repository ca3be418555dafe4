"""SASL mechanisms of the client's side: tokens out, tokens in. Sans-IO.

PLAIN       RFC 4616: NUL username NUL password
SCRAM-*     RFC 5802: client-first -> server-first, client-final -> server-final
OAUTHBEARER RFC 7628: the token; after a refusal ^A, which the broker answers with an error

User and password are sent as their UTF-8 bytes, as Kafka's clients and brokers treat them, without SASLprep: a library
that prepares them would lock out a user with, say, a ligature in the password.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from typing import Final, Protocol

from shareq.client.errors import AuthenticationFailed
from shareq.client.security.config import OAUTHBEARER, SaslConfig

_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_NO_CHANNEL_BINDING: Final = "n,,"
_BEARER: Final = re.compile(r"[-._~+/A-Za-z0-9]+=*")  # RFC 6750, 2.1
MIN_ITERATIONS: Final = 4096
"""RFC 7677, and Kafka's own bound: fewer would let a false broker guess the password."""
MAX_ITERATIONS: Final = 16_384
"""A bound on the work that an answer can demand, some 20 ms; and Kafka's own for a user's."""


class SaslClient(Protocol):
    """One login under way."""

    def first(self) -> bytes:
        """Return the token to begin with."""

    def respond(self, token: bytes) -> bytes | None:
        """Return the answer to the broker's token; None once the login is complete. Raise AuthenticationFailed."""


def sasl_client(config: SaslConfig, nonce: str, token: str = "") -> SaslClient:
    """Return the client's side of a login. `nonce` is made of printable characters without commas that were never used
    before; `token` is OAUTHBEARER's.

    Raises AuthenticationFailed for an invalid token.
    """
    if config.mechanism == OAUTHBEARER:
        return OauthClient(token)
    if config.mechanism == "PLAIN":
        return PlainClient(config)
    return ScramClient(config, nonce)


class PlainClient:
    __slots__ = ("_config",)

    def __init__(self, config: SaslConfig) -> None:
        self._config = config

    def first(self) -> bytes:
        return f"\0{self._config.user}\0{self._config.password}".encode()

    def respond(self, token: bytes) -> bytes | None:
        return None


class OauthClient:
    """A login with a bearer token, which must be as in RFC 6750, without blanks around it. Raises AuthenticationFailed
    if not.
    """

    __slots__ = ("_token",)

    def __init__(self, token: str) -> None:
        if _BEARER.fullmatch(token) is None:
            raise AuthenticationFailed(f"{OAUTHBEARER}: the token is empty, or not one")
        self._token = token

    def first(self) -> bytes:
        return f"{_NO_CHANNEL_BINDING}\x01auth=Bearer {self._token}\x01\x01".encode()

    def respond(self, token: bytes) -> bytes | None:
        return b"\x01" if token else None


class ScramClient:
    """SCRAM without channel binding, which Kafka does not have. The broker has to show that it knows the user, too."""

    __slots__ = ("_config", "_first_bare", "_hash", "_nonce", "_signature")

    def __init__(self, config: SaslConfig, nonce: str) -> None:
        self._config = config
        self._hash = _HASHES[config.mechanism]
        self._nonce = nonce
        user = config.user.replace("=", "=3D").replace(",", "=2C")
        self._first_bare = f"n={user},r={nonce}"
        self._signature: bytes | None = None

    def first(self) -> bytes:
        return (_NO_CHANNEL_BINDING + self._first_bare).encode()

    def respond(self, token: bytes) -> bytes | None:
        try:
            text = token.decode()
            fields = _fields(text)
            if self._signature is None:
                return self._final(text, fields)
            self._verify(fields)
        except (KeyError, ValueError) as error:
            raise AuthenticationFailed(f"{self._config.mechanism}: the broker's answer is not valid: {error}") from None
        return None

    def _final(self, server_first: str, fields: dict[str, str]) -> bytes:
        nonce, salt, iterations = fields["r"], b64decode(fields["s"], validate=True), int(fields["i"])
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise ValueError("nonce")
        if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
            raise ValueError(f"{iterations} iterations; {MIN_ITERATIONS} to {MAX_ITERATIONS} are taken")
        without_proof = f"c={b64encode(_NO_CHANNEL_BINDING.encode()).decode()},r={nonce}"
        signed = f"{self._first_bare},{server_first},{without_proof}".encode()
        salted = hashlib.pbkdf2_hmac(self._hash, self._config.password.encode(), salt, iterations)
        key = hmac.digest(salted, b"Client Key", self._hash)
        stored_key = hashlib.new(self._hash, key).digest()
        proof = bytes(a ^ b for a, b in zip(key, hmac.digest(stored_key, signed, self._hash), strict=True))
        self._signature = hmac.digest(hmac.digest(salted, b"Server Key", self._hash), signed, self._hash)
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def _verify(self, fields: dict[str, str]) -> None:
        if "e" in fields:
            raise AuthenticationFailed(f"{self._config.mechanism}: {fields['e']}")
        assert self._signature is not None
        if not hmac.compare_digest(b64decode(fields["v"], validate=True), self._signature):
            raise AuthenticationFailed(f"{self._config.mechanism}: the broker does not know this user's credentials")


def _fields(text: str) -> dict[str, str]:
    """Read `a=1,b=2=` as {"a": "1", "b": "2="}. Raises ValueError."""
    fields = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals or len(name) != 1 or name in fields:
            raise ValueError("not SCRAM")
        fields[name] = value
    return fields
