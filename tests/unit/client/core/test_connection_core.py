"""The core's rules of one connection, over a wire in memory: order, logins, deadlines, and every end."""

from __future__ import annotations

import contextlib
import struct
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

import pytest

from shareq.client.core.connection import Connection, Exchange, Sent, step
from shareq.client.errors import AuthenticationFailed, Disconnected
from shareq.client.protocol import ConnectionProtocol, Setup
from shareq.client.security.config import SaslConfig
from shareq.client.security.sasl import sasl_client
from shareq.client.sockets import run_now
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.framing import SIZE_BYTES
from shareq.protocol.generated.api_versions import ApiVersionsResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.protocol.generated.sasl_authenticate import SaslAuthenticateResponse
from shareq.protocol.generated.sasl_handshake import SaslHandshakeResponse
from shareq.protocol.headers import decode_request_header, response_header
from shareq.protocol.primitives import Message
from tests.support.fakes.scripted_peer import EVERYTHING

T = TypeVar("T")
MOST = 1000


class MemoryWire:
    """A wire that answers dialogues at once, and requests when a caller waits for them, unless `silent`."""

    def __init__(self, lifetime_ms: int | None = None) -> None:
        login = None if lifetime_ms is None else (lambda: sasl_client(SaslConfig("PLAIN", "alice", "wonder"), "n"))
        self._said: dict[ApiKey, Message] = {
            ApiKey.API_VERSIONS: ApiVersionsResponse(api_keys=EVERYTHING),
            ApiKey.SASL_HANDSHAKE: SaslHandshakeResponse(0, ["PLAIN"]),
            ApiKey.SASL_AUTHENTICATE: SaslAuthenticateResponse(
                error_message=None, session_lifetime_ms=lifetime_ms or 0
            ),
        }
        self._due: list[bytes] = []
        self.time = 0.0
        self.silent = False
        self.ended = 0
        self.news: str | None = None
        self.asked: list[str] = []
        self.waited_until: list[float] = []
        self.connection = Connection(ConnectionProtocol("broker 1", "me", login, "PLAIN"), self, MOST)
        run_now(self.connection.set_up(5.0))

    def now(self) -> float:
        return self.time

    def within(self, by: float) -> AbstractAsyncContextManager[object]:
        return contextlib.nullcontext()

    def lock(self) -> AbstractAsyncContextManager[object]:
        return contextlib.nullcontext()

    is_writable = True

    async def writable(self) -> None: ...

    async def write(self, data: bytes, by: float) -> None:
        header = decode_request_header(data[SIZE_BYTES:])
        key = ApiKey(header.api_key)
        self.asked.append(key.name)
        said = self._said.get(key) or MetadataResponse(controller_id=len(self.asked))
        answer = response_header(key, header.api_version, header.correlation_id) + said.encode(header.api_version)
        if key in self._said:
            self.connection.take(answer)
        else:
            self._due.append(answer)

    async def wait(self, exchange: Sent[T], by: float) -> None:
        self.waited_until.append(by)
        while not (exchange.done or self.silent):
            self.connection.take(self._due.pop(0))

    async def step(self, dialogue: Setup, answer: bytes) -> bytes | None:
        return step(dialogue, answer)

    def probe(self) -> str | None:
        return self.news

    def end(self) -> None:
        self.ended += 1

    def send(self, by: float = 10.0) -> Exchange:
        return run_now(self.connection.send(MetadataRequest([]), by))


def controller(exchange: Exchange) -> int:
    answer = run_now(exchange.answer())
    assert isinstance(answer, MetadataResponse)
    return answer.controller_id


def test_answers_belong_to_requests_in_their_order() -> None:
    wire = MemoryWire()
    first, second, third = wire.send(), wire.send(), wire.send()
    assert controller(second) == 3
    assert (first.done, third.done, wire.connection.in_flight) == (True, False, 1)
    assert [controller(each) for each in (third, first)] == [4, 2]


def test_a_request_without_an_answer_in_time_ends_the_connection() -> None:
    wire = MemoryWire()
    wire.silent = True
    first, second = wire.send(by=3.0), wire.send(by=4.0)
    for exchange in (first, second, first):
        with pytest.raises(Disconnected, match=r"^broker 1 did not answer in time \(during Metadata\)$"):
            run_now(exchange.answer())
    assert (wire.waited_until, wire.ended, wire.connection.in_flight) == ([3.0], 1, 0)
    with pytest.raises(Disconnected, match=r"^broker 1 did not answer in time \(before Metadata\)$"):
        wire.send()


def test_a_certificate_that_is_refused_is_the_error_of_all_that_is_in_flight() -> None:
    wire = MemoryWire()
    exchanges = [wire.send(), wire.send()]
    wire.connection.fail(AuthenticationFailed("broker 1 ended TLS: certificate required"))
    wire.connection.close()
    for exchange in exchanges:
        with pytest.raises(AuthenticationFailed, match=r"^broker 1 ended TLS: certificate required$"):
            run_now(exchange.answer())
    assert (wire.ended, wire.connection.alive()) == (1, False)


@pytest.mark.parametrize("size", [-1, MOST + 1])
def test_a_frame_out_of_bounds_ends_the_connection(size: int) -> None:
    wire = MemoryWire()
    assert wire.connection.size_of(struct.pack(">i", MOST)) == MOST
    assert wire.connection.size_of(struct.pack(">i", size)) == -1
    assert f"an answer of {size} bytes, and receive.message.max.bytes allows {MOST}" in str(wire.connection.closed)


def test_bytes_that_nobody_asked_for_end_the_connection() -> None:
    wire = MemoryWire()
    wire.connection.take(b"x")
    assert str(wire.connection.closed) == "broker 1 sent bytes that were not requested"


def test_an_answer_that_is_not_understood_fails_its_request_and_those_behind_it() -> None:
    wire = MemoryWire()
    exchanges = [wire.send(), wire.send()]
    wire.connection.take(b"x")
    for exchange in exchanges:
        with pytest.raises(Disconnected, match=r"^broker 1 sent what is not understood: .* \(during Metadata\)$"):
            run_now(exchange.answer())


def test_only_an_idle_connection_is_probed() -> None:
    wire = MemoryWire()
    wire.news = "closed the connection"
    exchange = wire.send()
    assert wire.connection.alive()
    controller(exchange)
    assert not wire.connection.alive()
    assert str(wire.connection.closed) == "broker 1 closed the connection"


def test_a_login_is_renewed_behind_the_answers_that_are_due() -> None:
    """The login is renewed after 85 of 100 parts of the session's lifetime (KIP-368)."""
    wire = MemoryWire(lifetime_ms=100_000)
    first = wire.send(by=90.0)
    wire.time = 84.9
    wire.send(by=91.0)
    wire.time = 85.0
    last = wire.send(by=92.0)
    login = ["SASL_HANDSHAKE", "SASL_AUTHENTICATE"]
    assert wire.asked == ["API_VERSIONS", *login, "METADATA", "METADATA", *login, "METADATA"]
    assert wire.waited_until == [92.0], "the answers may take as long as the request that waits for them"
    assert first.done
    assert controller(last) == 8
    wire.time = 169.9
    wire.send(by=200.0)
    assert wire.asked[-2:] == ["METADATA", "METADATA"], "a renewed login lives as long again"


@pytest.mark.parametrize("cut", [KeyboardInterrupt, RuntimeError])
def test_a_dialogue_that_is_cut_short_ends_the_connection(
    cut: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = MemoryWire(lifetime_ms=1000)
    wire.time = 1.0

    async def stepped(dialogue: Setup, answer: bytes) -> bytes | None:
        raise cut

    monkeypatch.setattr(wire, "step", stepped)
    with pytest.raises(cut):
        wire.send()
    assert str(wire.connection.closed) == "broker 1 was interrupted"
