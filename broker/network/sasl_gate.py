"""What stands between a connection and the dispatcher on listeners with SASL, until the client is authenticated."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.network.connection import AnswerSlot, CloseConnection, Connection, FrameHandler, Reply
from shareq.broker.security.credentials import CredentialKey, ScramCredential
from shareq.broker.security.listener_security import ListenerSecurity
from shareq.broker.security.sasl_mechanisms import AuthenticationFailed, Exchange, PlainExchange, ScramExchange
from shareq.broker.security.sasl_session import Answer, SaslSession, SaslState
from shareq.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from shareq.broker.broker import Broker

T = TypeVar("T")

_KEY: Final = struct.Struct(">h")
_SIZE: Final = struct.Struct(">i")
_ERROR_AT: Final = 8  # in the frame of an ApiVersions answer: behind its size and correlation id
_NONCE_BYTES: Final = 24


class SaslGate:
    """The gate of one connection. Lets through what may come, and takes itself away when it has nothing to watch."""

    __slots__ = ("_broker", "_connection", "_dispatch", "_now_ms", "_security", "session")

    def __init__(
        self, broker: Broker, connection: Connection, dispatch: FrameHandler, security: ListenerSecurity
    ) -> None:
        self._broker = broker
        self._connection = connection
        self._dispatch = dispatch
        self._security = security
        self._now_ms: Callable[[], int] = broker.env.clock.now_ms
        self.session = SaslSession(self._exchange, lambda mechanism: security.max_reauth_ms.get(mechanism, 0))

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The mechanisms that are enabled."""
        return self._security.mechanisms

    @property
    def expects_token(self) -> bool:
        """Whether a mechanism was agreed on and is not finished."""
        return self.session.state is SaslState.TOKENS

    def handle_frame(self, connection: Connection, frame: bytes) -> Reply:
        """As the dispatcher's. Raises CloseConnection, also for whatever may not come before authentication."""
        session = self.session
        if session.state is SaslState.TOKENS and session.raw:
            return self._raw_token(frame)
        if len(frame) < _KEY.size:
            raise CloseConnection(f"request header of {len(frame)} bytes")
        (api_key,) = _KEY.unpack_from(frame)
        refusal = session.refusal(api_key, self._now_ms())
        if refusal is not None:
            raise CloseConnection(refusal)
        reply = self._dispatch(connection, frame)
        if api_key == ApiKey.API_VERSIONS and session.state is SaslState.START and _succeeded(reply):
            session.versions_told()
        return reply

    def handshake(self, mechanism: str, *, raw: bool) -> bool:
        """The client has chosen an enabled mechanism. False where this is not the time for it."""
        return self.session.handshake(mechanism, self._now_ms(), raw=raw)

    def after_failure(self, answer: T) -> Pending[T]:
        """The answer to an attempt that failed, when `connection.failed.authentication.delay.ms` are over, so that
        guessing takes time. The connection takes nothing more, and is closed behind it.
        """
        delay_ms = self._security.failed_delay_ms
        if not delay_ms:
            return completed(answer)
        pending: Pending[T] = Pending()
        timer = self._broker.env.clock.call_at(self._now_ms() + delay_ms, lambda: pending.complete(answer))
        self._connection.on_close(timer.cancel)
        return pending

    def token(self, token: bytes) -> Answer:
        """Answer a token. Raises AuthenticationFailed, and closes the connection behind what `after_failure` gives."""
        try:
            answer = self.session.token(token, self._now_ms())
        except AuthenticationFailed:
            self._connection.close("authentication failed")
            raise
        if self.session.state is SaslState.DONE and self.session.principal is not None:
            self._connection.principal = self.session.principal
            self._connection.admitted(self._dispatch if self.session.for_ever else None)
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
        nonce = self._broker.env.secret_bytes(_NONCE_BYTES).hex()
        again = self.session.principal is not None
        return ScramExchange(mechanism, lambda user: self._credential(mechanism, user), nonce, again=again)

    def _credential(self, mechanism: str, user: str) -> ScramCredential:
        # Invented for those who exist, too: the time it takes must not tell who does.
        invented = self._broker.invented_credentials.of(mechanism, user)
        return self._broker.metadata.credentials.get(CredentialKey(user, mechanism), invented)


def _succeeded(reply: Reply) -> bool:
    """Whether an ApiVersions answer has no error. It is there at once, always."""
    return isinstance(reply, (bytes, bytearray)) and reply[_ERROR_AT : _ERROR_AT + 2] == b"\0\0"
