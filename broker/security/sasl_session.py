"""SASL of one connection: the requests allowed in each state, and the handling of tokens. Sans-IO, time is an
argument.

    START ----------- ApiVersions --> VERSIONS_KNOWN
    START, VERSIONS_KNOWN -- SaslHandshake --> TOKENS (v0: raw tokens, v1: in SaslAuthenticate)
    TOKENS ---------- last token ---> DONE
    DONE ------------ SaslHandshake --> TOKENS    (re-authentication, KIP-368: same mechanism, same user)

Any other request, and every failure, closes the connection. An expired session accepts only a SaslHandshake. A
re-authentication begins at the earliest one second after the previous one, as in Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple

from shareq.broker.security.names import user as user_principal
from shareq.broker.security.sasl_mechanisms import AuthenticationFailed, Exchange, RefusedExchange
from shareq.protocol.api_keys import ApiKey


class SaslState(Enum):
    """The state of a connection's authentication. See the module's docstring."""

    START = 0
    VERSIONS_KNOWN = 1
    TOKENS = 2
    DONE = 3


MOST_NAME_CHARACTERS: Final = 200  # of a name in the log
REAUTHENTICATION_INTERVAL_MS: Final = 1_000

_MAY_COME: Final = {
    SaslState.START: frozenset((ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE)),
    SaslState.VERSIONS_KNOWN: frozenset((ApiKey.SASL_HANDSHAKE,)),
    SaslState.TOKENS: frozenset((ApiKey.SASL_AUTHENTICATE,)),
}


class Answer(NamedTuple):
    """The token to send, and the lifetime of the session in ms once it is complete (0: it does not expire).

    `refusal` is the reason of a failure, for the log, while a last message of the client is still expected.
    """

    token: bytes
    lifetime_ms: int
    refusal: str | None = None


class SaslSession:
    """The SASL state machine of one connection. `exchange_for` begins an exchange for an enabled mechanism;
    `max_reauth_ms` is its longest session, 0 for no limit.
    """

    __slots__ = (
        "_exchange",
        "_exchange_for",
        "_expires_ms",
        "_max_reauth_ms",
        "_mechanism",
        "_reauthenticates_from_ms",
        "principal",
        "raw",
        "state",
    )

    def __init__(self, exchange_for: Callable[[str], Exchange], max_reauth_ms: Callable[[str], int]) -> None:
        self._exchange_for = exchange_for
        self._max_reauth_ms = max_reauth_ms
        self._exchange: Exchange | None = None
        self._mechanism: str | None = None
        self._expires_ms: int | None = None
        self._reauthenticates_from_ms: int | None = None
        self.state = SaslState.START
        self.raw = False
        self.principal: str | None = None

    def refusal(self, api_key: int, now_ms: int) -> str | None:
        """Return why a request of this kind is not allowed now, for the log; None if it is."""
        if self.state is SaslState.DONE:
            if api_key == ApiKey.SASL_HANDSHAKE and self._may_reauthenticate(now_ms):
                return None
            if self._expires_ms is not None and now_ms > self._expires_ms:
                return "its session has expired, and it did not authenticate again"
            return None
        if api_key in _MAY_COME[self.state]:
            return None
        return f"API key {api_key} before authentication is complete"

    @property
    def attempt(self) -> tuple[str, str]:
        """The mechanism of the present authentication, and the user name that the client sent; "" for one that is
        unknown.
        """
        claimed = "" if self._exchange is None else self._exchange.claimed
        return self._mechanism or "", claimed[:MOST_NAME_CHARACTERS]

    def versions_told(self) -> None:
        """Note that ApiVersions was answered, which happens once."""
        self.state = SaslState.VERSIONS_KNOWN

    def _may_reauthenticate(self, now_ms: int) -> bool:
        earliest_ms = self._reauthenticates_from_ms
        return self._expires_ms is not None and (earliest_ms is None or now_ms >= earliest_ms)

    def handshake(self, mechanism: str, now_ms: int, *, raw: bool) -> bool:
        """Begin an exchange with an enabled mechanism. Return False if that is not allowed now."""
        if self.state is SaslState.TOKENS:
            return False
        if self.state is SaslState.DONE:
            if not self._may_reauthenticate(now_ms):
                return False
            self._reauthenticates_from_ms = now_ms + REAUTHENTICATION_INTERVAL_MS
        if self._mechanism is not None and mechanism != self._mechanism:
            self._exchange = RefusedExchange(
                f"SASL mechanism '{mechanism}' requested by client is not supported for re-authentication of "
                f"mechanism '{self._mechanism}'"
            )
        else:
            self._exchange = self._exchange_for(mechanism)
        self._mechanism = mechanism
        self.raw = raw
        self.state = SaslState.TOKENS
        return True

    def token(self, token: bytes, now_ms: int) -> Answer:
        """Return the answer to a token. Raise AuthenticationFailed: the connection is then closed after the answer."""
        exchange, mechanism = self._exchange, self._mechanism
        if exchange is None or mechanism is None:
            raise AuthenticationFailed("No SASL mechanism was agreed on")
        answer = exchange.respond(token)
        if exchange.user is None:
            return Answer(answer, 0, exchange.refusal)
        principal = user_principal(exchange.user)
        if self.principal is not None and principal != self.principal:
            raise AuthenticationFailed("Cannot change principals during re-authentication")
        lifetime_ms = max(self._max_reauth_ms(mechanism), 0)
        if exchange.lifetime_ms is not None:
            lifetime_ms = min(lifetime_ms or exchange.lifetime_ms, exchange.lifetime_ms)
        self.principal = principal
        self.state = SaslState.DONE
        self._exchange = None
        self._expires_ms = now_ms + lifetime_ms if lifetime_ms else None
        return Answer(answer, lifetime_ms)

    @property
    def for_ever(self) -> bool:
        """True if nothing has to be watched any more: the client is authenticated for as long as the connection
        lasts.
        """
        return self.state is SaslState.DONE and self._expires_ms is None
