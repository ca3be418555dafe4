"""One connection without its socket: the choice of versions, the login, and the assignment of answers to requests.

ApiVersions comes first; a broker that does not support our version of it answers UNSUPPORTED_VERSION in version 0,
which lists the versions that it supports. Then SaslHandshake and SaslAuthenticate, if there is a login. Answers come in
the order of requests.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Mapping
from struct import Struct
from typing import Final, NamedTuple

from shareq import __version__
from shareq.client.errors import AuthenticationFailed, BrokerError, UnsupportedApi
from shareq.client.security.sasl import SaslClient
from shareq.protocol.api_keys import ApiCodec, ApiKey, codec
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from shareq.protocol.generated.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from shareq.protocol.headers import decode_response_header, encode_request
from shareq.protocol.primitives import Message, UnencodableMessage

_ERROR_CODE: Final = Struct(">h")
_SHARE_GROUPS: Final = "share groups need Apache Kafka 4.1 or later, with the feature share.version at 1"
_NEEDED: Final[dict[tuple[int, int], str]] = {
    # (API, lowest version that is wanted): what has it
    (ApiKey.SHARE_GROUP_HEARTBEAT, 0): _SHARE_GROUPS,
    (ApiKey.SHARE_FETCH, 0): _SHARE_GROUPS,
    (ApiKey.SHARE_ACKNOWLEDGE, 0): _SHARE_GROUPS,
    (ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 0): _SHARE_GROUPS,
    (ApiKey.SHARE_FETCH, 2): "exact record limits need Apache Kafka 4.2 or later",
    (ApiKey.SHARE_ACKNOWLEDGE, 2): "renewing acquisition locks needs Apache Kafka 4.2 or later",
    (ApiKey.FETCH, 13): "fetching by topic id needs Apache Kafka 3.1 or later",
    (ApiKey.METADATA, 12): "topic ids need Apache Kafka 3.1 or later",
}

Setup = Generator[bytes, bytes, None]
"""Yields frames to send, and is sent the frame that answers each. All without their sizes."""


class _Sent(NamedTuple):
    response_class: type[Message]
    version: int
    correlation_id: int


class ConnectionProtocol:
    """The dialogue on one connection. `peer` names the broker in errors; `login` makes a fresh login, None for none."""

    def __init__(self, peer: str, client_id: str, login: Callable[[], SaslClient] | None, mechanism: str = "") -> None:
        self.peer = peer
        self._client_id = client_id
        self._login = login
        self.mechanism = mechanism
        self._offered: dict[int, tuple[int, int]] = {}
        self._agreed: dict[tuple[int, int, int | None], int] = {}
        self._next_id = 0
        self._sent: deque[_Sent] = deque()
        self.session_lifetime_ms = 0
        """The time for which the broker takes the last login for good; 0: for ever (KIP-368)."""

    @property
    def in_flight(self) -> int:
        """Requests whose answers are still to come."""
        return len(self._sent)

    def version(self, api_key: int, lowest: int = 0, highest: int | None = None) -> int:
        """Return the highest version up to `highest` that both sides know.

        UnsupportedApi if there is no version from `lowest` on.
        """
        wanted = (api_key, lowest, highest)
        version = self._agreed.get(wanted)
        if version is None:
            version = self._agreed[wanted] = self._agree(api_key, lowest, highest)
        return version

    def _agree(self, api_key: int, lowest: int, highest: int | None) -> int:
        known, offered = codec(api_key), self._offered.get(api_key)
        newest = self._newest(api_key)
        highest = newest if highest is None else min(highest, newest)
        if offered is not None:
            version = min(highest, offered[1])
            if version >= max(lowest, known.min_version, offered[0]):
                return version
        raise UnsupportedApi(self._why_not(known, offered, max(lowest, known.min_version), lowest))

    def offers(self, api_key: int) -> bool:
        """Return whether the broker serves an API at all."""
        return api_key in self._offered

    @property
    def offered(self) -> Mapping[int, tuple[int, int]]:
        """The first and last version of each API that the broker serves, by key."""
        return self._offered

    @staticmethod
    def _newest(api_key: int) -> int:
        known = codec(api_key)
        return known.max_version - known.latest_version_unstable

    def _why_not(self, known: ApiCodec, offered: tuple[int, int] | None, needed: int, lowest: int) -> str:
        name = _api_name(known)
        has = f"offers {name} in versions {offered[0]}-{offered[1]} only" if offered else f"does not offer {name}"
        hint = _NEEDED.get((known.api_key, lowest)) or _NEEDED.get((known.api_key, 0))
        return f"{self.peer} {has}; version {needed} or later is needed{': ' + hint if hint else ''}"

    def setup(self) -> Setup:
        """Run the exchange that precedes the first request.

        Raise AuthenticationFailed, BrokerError, UnsupportedApi, MalformedMessage.
        """
        yield from self._negotiate()
        yield from self.log_in()

    def log_in(self) -> Setup:
        """Log in, also once more on a connection that is in use, as long as nothing is in flight. As `setup`."""
        if self._login is None:
            return
        login = self._login()
        handshake = yield self.request(SaslHandshakeRequest(self.mechanism), 1)
        answer = self.answer(handshake)
        assert isinstance(answer, SaslHandshakeResponse)
        if answer.error_code:
            offered = ", ".join(answer.mechanisms) or "none"
            raise AuthenticationFailed(f"{self.peer} has no {self.mechanism} on this listener; it has {offered}")
        token: bytes | None = login.first()
        while token is not None:
            frame = yield self.request(SaslAuthenticateRequest(token))
            del token  # whatever is raised from here on, no trace can show it
            result = self.answer(frame)
            assert isinstance(result, SaslAuthenticateResponse)
            if result.error_code:
                reason = result.error_message or ErrorCode.SASL_AUTHENTICATION_FAILED.name
                raise AuthenticationFailed(f"{self.peer}: {self.mechanism}: {reason}")
            self.session_lifetime_ms = result.session_lifetime_ms
            try:
                token = login.respond(bytes(result.auth_bytes))
            except AuthenticationFailed as error:
                raise AuthenticationFailed(f"{self.peer}: {error}") from None

    def _negotiate(self) -> Setup:
        version = codec(ApiKey.API_VERSIONS).max_version
        while True:
            frame = yield self._encode(ApiVersionsRequest("shareq", __version__), version)
            sent = self._sent[0]
            answer, unsupported = self._api_versions(frame, sent)
            offered = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
            if not unsupported:
                if answer.error_code:
                    raise BrokerError(answer.error_code, f"{self.peer}: ApiVersions")
                self._offered = offered
                self._agreed.clear()
                return
            if version <= 0:
                raise BrokerError(ErrorCode.UNSUPPORTED_VERSION, f"{self.peer}: ApiVersions")
            version = max(0, min(version - 1, offered.get(ApiKey.API_VERSIONS, (0, 0))[1]))

    def _api_versions(self, frame: bytes, sent: _Sent) -> tuple[ApiVersionsResponse, bool]:
        header = decode_response_header(frame, ApiKey.API_VERSIONS, 0)
        if len(frame) < header.body_offset + _ERROR_CODE.size:
            raise MalformedMessage(f"ApiVersions answer of {len(frame)} bytes")
        (code,) = _ERROR_CODE.unpack_from(frame, header.body_offset)
        unsupported = code == ErrorCode.UNSUPPORTED_VERSION
        answer = self.answer(frame, 0 if unsupported else sent.version)
        assert isinstance(answer, ApiVersionsResponse)
        return answer, unsupported

    def request(self, message: Message, lowest: int = 0, highest: int | None = None) -> bytes:
        """Return the frame of a request, in the highest version of these. UnsupportedApi, UnencodableMessage."""
        version = self.version(message.API_KEY, lowest, highest)
        try:
            return self._encode(message, version)
        except UnencodableMessage as error:
            if version < (newest := self._newest(message.API_KEY)):
                message.encode(newest)  # raises where it is the message that no version can say
                raise UnsupportedApi(f"{self.peer} offers too old a version: {error}") from error
            raise

    def _encode(self, message: Message, version: int) -> bytes:
        self._next_id = (self._next_id + 1) & 0x7FFFFFFF
        frame = encode_request(version, self._next_id, self._client_id, message)
        self._sent.append(_Sent(codec(message.API_KEY).response_class, version, self._next_id))
        return frame

    def answer(self, frame: bytes, version: int | None = None) -> Message:
        """Return the answer to the oldest request in flight. Raises MalformedMessage. `version` is given only if it is
        not the request's.
        """
        if not self._sent:
            raise MalformedMessage(f"{len(frame)} bytes that were not requested")
        sent = self._sent.popleft()
        version = sent.version if version is None else version
        header = decode_response_header(frame, sent.response_class.API_KEY, version)
        if header.correlation_id != sent.correlation_id:
            raise MalformedMessage(f"answer to request {header.correlation_id} in place of {sent.correlation_id}")
        return sent.response_class.decode(frame, version, header.body_offset)[0]


def _api_name(known: ApiCodec) -> str:
    return known.request_class.__name__.removesuffix("Request")
