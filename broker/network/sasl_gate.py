"""The gate between a connection and its handler on listeners with SASL, until the client is authenticated."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, TypeVar

from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.network.answers import AnswerSlot, FrameHandler, Reply
from shareq.broker.network.connection import Connection
from shareq.broker.network.counters import Authentications
from shareq.broker.network.frames import CloseConnection
from shareq.broker.security.credentials import ScramCredential
from shareq.broker.security.listener_security import OAUTHBEARER, ListenerSecurity
from shareq.broker.security.sasl_mechanisms import AuthenticationFailed, Exchange, PlainExchange, ScramExchange
from shareq.broker.security.sasl_session import Answer, SaslSession, SaslState
from shareq.protocol.api_keys import ApiKey

T = TypeVar("T")

_KEY: Final = struct.Struct(">h")
_SIZE: Final = struct.Struct(">i")
_ERROR_AT: Final = 8  # in the frame of an ApiVersions answer: behind its size and correlation id
_NONCE_BYTES: Final = 24

BeginOauth = Callable[[bool], Exchange]
"""A function that begins an exchange of OAUTHBEARER; its argument is True for a re-authentication."""


class SaslGates:
    """The gates of one listener's connections.

    `credential` returns the SCRAM credential of a mechanism and user; for unknown users it returns an invented one,
    in equal time. `secret_bytes` returns so many bytes that cannot be guessed; `authentications` counts the outcomes
    of attempts. `begin_oauth` is given if the listener has OAUTHBEARER.
    """

    def __init__(
        self,
        security: ListenerSecurity,
        clock: Clock,
        credential: Callable[[str, str], ScramCredential],
        secret_bytes: Callable[[int], bytes],
        authentications: Authentications | None = None,
        begin_oauth: BeginOauth | None = None,
    ) -> None:
        self.security = security
        self.authentications = authentications or Authentications()
        self.clock = clock
        self.credential = credential
        self.begin_oauth = begin_oauth
        self._secret_bytes = secret_bytes

    def guard(self, connection: Connection) -> None:
        """Put a gate before a new connection's handler."""
        connection.guard(lambda handle: SaslGate(self, connection, handle), self.security.max_receive_bytes)

    def new_nonce(self) -> str:
        """Return the broker's part of a SCRAM nonce."""
        return self._secret_bytes(_NONCE_BYTES).hex()


class SaslGate:
    """The gate of one connection. It passes allowed frames on, and removes itself when nothing has to be watched any
    more.
    """

    __slots__ = ("_clock", "_connection", "_gates", "_handle", "_security", "session")

    def __init__(self, gates: SaslGates, connection: Connection, handle: FrameHandler) -> None:
        security = gates.security
        self._gates = gates
        self._clock = gates.clock
        self._connection = connection
        self._handle = handle
        self._security = security
        self.session = SaslSession(self._exchange, lambda mechanism: security.max_reauth_ms.get(mechanism, 0))

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The enabled mechanisms."""
        return self._security.mechanisms

    @property
    def expects_token(self) -> bool:
        return self.session.state is SaslState.TOKENS

    def handle_frame(self, frame: bytes) -> Reply:
        """Handle a frame as the connection's handler.

        Raise CloseConnection, also for requests before authentication.
        """
        session = self.session
        if session.state is SaslState.TOKENS and session.raw:
            return self._raw_token(frame)
        if len(frame) < _KEY.size:
            raise CloseConnection(f"request header of {len(frame)} bytes")
        (api_key,) = _KEY.unpack_from(frame)
        refusal = session.refusal(api_key, self._clock.now_ms())
        if refusal is not None:
            raise CloseConnection(refusal)
        reply = self._handle(frame)
        if api_key == ApiKey.API_VERSIONS and session.state is SaslState.START and _succeeded(reply):
            session.versions_told()
        return reply

    def handshake(self, mechanism: str, *, raw: bool) -> bool:
        """Set the mechanism, an enabled one, that the client has chosen; return False if it may not be set now."""
        return self.session.handshake(mechanism, self._clock.now_ms(), raw=raw)

    def after_failure(self, answer: T) -> Pending[T]:
        """Return the answer to a failed attempt, after `connection.failed.authentication.delay.ms`, so that guessing
        takes time.

        The connection accepts nothing more, and is closed after the answer.
        """
        delay_ms = self._security.failed_delay_ms
        if not delay_ms:
            return completed(answer)
        pending: Pending[T] = Pending()
        timer = self._clock.call_at(self._clock.now_ms() + delay_ms, lambda: pending.complete(answer))
        self._connection.on_close(timer.cancel)
        return pending

    def token(self, token: bytes) -> Answer:
        """Return the answer to a token. Raise AuthenticationFailed, and close the connection after `after_failure`."""
        try:
            answer = self.session.token(token, self._clock.now_ms())
        except AuthenticationFailed as error:
            if error.noted:
                self._connection.finish()
            else:
                self._gates.authentications.failed += 1
                mechanism, user = self.session.attempt
                self._connection.close(f"authentication failed: {error.reason} (mechanism {mechanism}, user {user!r})")
            raise
        if answer.refusal is not None:
            self._gates.authentications.failed += 1
            self._connection.lines.warn(self._connection, f"authentication failed: {answer.refusal}")
        if self.session.state is SaslState.DONE and self.session.principal is not None:
            self._gates.authentications.succeeded += 1
            self._connection.principal = self.session.principal
            self._connection.admitted(self._handle if self.session.for_ever else None)
        return answer

    def _raw_token(self, frame: bytes) -> Reply:
        try:
            answer = self.token(frame)
        except AuthenticationFailed:
            nothing = AnswerSlot(self._connection, parks=True)
            self.after_failure(None).on_complete(nothing.fill)
            return nothing
        return _SIZE.pack(len(answer.token)) + answer.token

    def _exchange(self, mechanism: str) -> Exchange:
        if mechanism == "PLAIN":
            return PlainExchange(self._security.plain_users)
        credential, again = self._gates.credential, self.session.principal is not None
        if mechanism == OAUTHBEARER and self._gates.begin_oauth is not None:
            return self._gates.begin_oauth(again)
        return ScramExchange(mechanism, lambda user: credential(mechanism, user), self._gates.new_nonce(), again=again)


def _succeeded(reply: Reply) -> bool:
    """Return True if an ApiVersions answer has no error. It is never pending."""
    return isinstance(reply, (bytes, bytearray)) and reply[_ERROR_AT : _ERROR_AT + 2] == b"\0\0"
