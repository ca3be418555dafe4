"""The server's side of SASL mechanisms: a token in, a token out, until the user is known. Sans-IO.

PLAIN       RFC 4616: [authzid] NUL username NUL password
SCRAM-*     RFC 5802: client-first -> server-first, client-final -> server-final

OAUTHBEARER is in `oauth/`.
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from shareq.broker.security.credentials import ScramCredential

_LEAST_SALT_BYTES: Final = 12  # scramp wants as many, and only passes them on: clients get the salt as it is


class AuthenticationFailed(Exception):
    """Error: an authentication failed. The text is for the client: it reveals neither which users exist nor any part
    of the input.

    `reason` is for the log; by default it is the same text. `noted`: the failure has already been logged and
    counted.
    """

    def __init__(self, text: str, reason: str = "", *, noted: bool = False) -> None:
        super().__init__(text)
        self.reason: Final = reason or text.removeprefix("Authentication failed: ")
        self.noted: Final = noted


def invalid_credentials(mechanism: str, *, again: bool) -> str:
    """Return the error text for a client with invalid or wrong tokens. `again`: in a re-authentication."""
    return (
        f"Authentication failed during {'re-' if again else ''}authentication due to invalid credentials with SASL "
        f"mechanism {mechanism}"
    )


class Exchange(Protocol):
    """One authentication in progress. `user` is None until it is complete; `claimed` is the name that the client has
    sent, "" before.
    """

    user: str | None

    @property
    def claimed(self) -> str:
        """The name that the client has sent, "" before."""

    @property
    def lifetime_ms(self) -> int | None:
        """The milliseconds for which the authentication is valid from now on; None if it does not expire."""

    @property
    def refusal(self) -> str | None:
        """The reason of a failure, for the log, while a last message of the client is still expected; otherwise
        None.
        """

    def respond(self, token: bytes) -> bytes:
        """Return the answer to the client's token. Raise AuthenticationFailed; the exchange has ended then."""


class PlainExchange:
    """An exchange of PLAIN with the given users and passwords."""

    __slots__ = ("_users", "claimed", "user")
    lifetime_ms: Final = None
    refusal: Final = None

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = users
        self.user: str | None = None
        self.claimed = ""

    def respond(self, token: bytes) -> bytes:
        try:
            parts = token.decode().split("\0")
        except UnicodeDecodeError:
            raise AuthenticationFailed("Invalid SASL/PLAIN response: not UTF-8") from None
        if len(parts) != 3:
            raise AuthenticationFailed(f"Invalid SASL/PLAIN response: expected 3 tokens, got {min(len(parts), 4)}")
        authorization_id, user, password = parts
        self.claimed = user
        if not user:
            raise AuthenticationFailed("Authentication failed: username not specified")
        if not password:
            raise AuthenticationFailed("Authentication failed: password not specified")
        # Compared for users who do not exist, too: the time it takes must not show which users exist.
        expected = self._users.get(user)
        same = hmac.compare_digest(password.encode(), (expected or "").encode())
        if expected is None or not same:
            raise AuthenticationFailed("Authentication failed: Invalid username or password")
        if authorization_id not in ("", user):
            raise AuthenticationFailed(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        self.user = user
        return b""


class ScramExchange:
    """A SCRAM mechanism. `find` returns a user's credentials, and invents them for an unknown user.

    `nonce` has printable characters without commas, and was never used before; `again`: it is a re-authentication.
    """

    __slots__ = ("_failure", "_name", "_salt", "_server", "user")
    lifetime_ms: Final = None
    refusal: Final = None

    def __init__(
        self, mechanism: str, find: Callable[[str], ScramCredential], nonce: str, *, again: bool = False
    ) -> None:
        from scramp import ScramMechanism  # a tenth of a second: only a broker with SCRAM users pays for it

        def credential(user: str) -> tuple[bytes, bytes, bytes, int]:
            self._name = user
            known = find(user)
            self._salt = known.salt
            return known._replace(salt=known.salt.ljust(_LEAST_SALT_BYTES))

        self._name = ""
        self._salt = b""
        self._server = ScramMechanism(mechanism).make_server(credential, s_nonce=nonce)
        self._failure = invalid_credentials(mechanism, again=again)
        self.user: str | None = None

    @property
    def claimed(self) -> str:
        return self._name

    def respond(self, token: bytes) -> bytes:
        from scramp import ScramException

        server = self._server
        try:
            text = token.decode()
            if not self._name:
                server.set_client_first(text)
                server.salt = b64encode(self._salt).decode()
                return str(server.get_server_first()).encode()
            server.set_client_final(text)
            final = str(server.get_server_final()).encode()
        except (ScramException, UnicodeDecodeError, ValueError):
            raise AuthenticationFailed(self._failure) from None
        self.user = self._name
        return final


class RefusedExchange:
    """An exchange that always fails: the answer to the client's first token is the refusal."""

    __slots__ = ("_reason", "claimed", "user")
    lifetime_ms: Final = None
    refusal: Final = None

    def __init__(self, reason: str) -> None:
        self._reason = reason
        self.user: str | None = None
        self.claimed = ""

    def respond(self, token: bytes) -> bytes:
        raise AuthenticationFailed(self._reason)
