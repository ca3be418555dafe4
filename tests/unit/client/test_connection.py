"""A connection over a pair of sockets: order, deadlines, bounds, and every way to lose the connection."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from shareq.client.connection import SocketWire
from shareq.client.core.connection import Connection, Exchange
from shareq.client.errors import AuthenticationFailed, Disconnected, UnsupportedApi
from shareq.client.protocol import ConnectionProtocol
from shareq.client.security.config import SaslConfig
from shareq.client.security.sasl import sasl_client
from shareq.client.sockets import run_now
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchableTopicResponse, FetchRequest, FetchResponse
from shareq.protocol.generated.fetch import PartitionData as FetchedPartition
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.protocol.generated.sasl_authenticate import SaslAuthenticateResponse
from shareq.protocol.generated.sasl_handshake import SaslHandshakeResponse
from shareq.protocol.primitives import Message
from tests.support.fakes.scripted_peer import HangUp, Script, talk_on

SOON, LATER = 0.2, 30.0
"""The seconds until a deadline that a test waits for, and until one that no test waits for."""
Open = Callable[..., tuple[Connection, list[Message]]]


def after(seconds: float) -> float:
    return time.monotonic() + seconds


class Clock:
    """A running clock that tests can move forward, and that can raise a signal while a caller waits."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self.signal: BaseException | None = None

    def __call__(self) -> float:
        if self.signal is not None:
            raise self.signal
        return time.monotonic() + self.ahead


@pytest.fixture
def connect() -> Iterator[Open]:
    ends: list[socket.socket] = []
    connections: list[Connection] = []

    def connect(
        scripts: dict[ApiKey, Script], max_frame_bytes: int = 1 << 20, sasl: bool = False, clock: Clock | None = None
    ) -> tuple[Connection, list[Message]]:
        """Return a connected connection to a peer that follows the scripts, and the requests that the peer got."""
        near, far = socket.socketpair()
        ends.extend((near, far))
        requests = talk_on(far, scripts)
        login = (lambda: sasl_client(SaslConfig("PLAIN", "alice", "wonderland"), "n")) if sasl else None
        protocol = ConnectionProtocol("broker 1", "me", login, "PLAIN")
        connection = SocketWire(near, protocol, max_frame_bytes, clock or time.monotonic).connection
        connections.append(connection)
        run_now(connection.set_up(after(LATER)))
        return connection, requests

    yield connect
    for connection in connections:
        connection.close()
    for end in ends:
        end.close()


def submit(connection: Connection, message: Message, by: float, lowest: int = 0) -> Exchange:
    return run_now(connection.send(message, by, lowest))


def result(exchange: Exchange) -> Message:
    return run_now(exchange.answer())


def numbered() -> Script:
    """Return a script that answers Metadata with 0, 1, 2 ... as controller id."""
    numbers = iter(range(1000))
    return lambda _: MetadataResponse(controller_id=next(numbers))


def controller(answer: Message) -> int:
    assert isinstance(answer, MetadataResponse)
    return answer.controller_id


def test_a_peer_that_sends_half_an_answer_is_given_up_at_the_deadline(connect: Open) -> None:
    connection, _ = connect({ApiKey.METADATA: lambda _: struct.pack(">i", 100) + bytes(99)})
    with pytest.raises(Disconnected, match="did not answer in time"):
        result(submit(connection, MetadataRequest([]), after(SOON)))


def test_a_peer_that_hangs_up_fails_all_that_is_in_flight(connect: Open) -> None:
    def hang_up(_: Message) -> None:
        raise HangUp

    connection, _ = connect({ApiKey.METADATA: hang_up, ApiKey.FETCH: lambda _: None})
    exchanges = [
        submit(connection, FetchRequest(), after(LATER)),
        submit(connection, MetadataRequest([]), after(LATER)),
    ]
    for exchange in exchanges:
        with pytest.raises(Disconnected, match="closed the connection"):
            result(exchange)


def test_a_large_answer_is_not_copied(connect: Open) -> None:
    records = bytes(range(256)) * 40_000
    answer = FetchResponse(
        responses=[FetchableTopicResponse(topic_id=b"t" * 16, partitions=[FetchedPartition(records=records)])]
    )
    connection, _ = connect({ApiKey.FETCH: lambda _: answer}, max_frame_bytes=1 << 24)
    got = result(submit(connection, FetchRequest(), after(LATER)))
    assert isinstance(got, FetchResponse)
    view = got.responses[0].partitions[0].records
    assert view == records
    assert type(view) is memoryview
    assert type(view.obj) is bytes, "the frame itself, as it was read"


def test_an_idle_connection_that_was_closed_is_noticed_before_anything_is_sent(connect: Open) -> None:
    def last(_: Message) -> bytes:
        raise HangUp

    connection, _ = connect({ApiKey.METADATA: numbered(), ApiKey.FETCH: last})
    result(submit(connection, MetadataRequest([]), after(LATER)))
    assert connection.alive()
    doomed = submit(connection, FetchRequest(), after(LATER))
    assert connection.alive(), "with a request in flight the socket is not asked"
    with pytest.raises(Disconnected):
        result(doomed)
    assert not connection.alive()


def test_an_idle_connection_on_which_something_comes_is_not_used(connect: Open) -> None:
    connection, _ = connect({ApiKey.METADATA: lambda _: b"\0\0"})
    exchange = submit(connection, MetadataRequest([]), after(SOON))
    with pytest.raises(Disconnected):
        result(exchange)
    assert not connection.alive()


def test_what_interrupts_a_wait_ends_the_connection(connect: Open) -> None:
    """Half a frame may have been read, and the rest would be taken for the next one."""
    clock = Clock()
    connection, _ = connect({ApiKey.METADATA: lambda _: None}, clock=clock)
    exchange = submit(connection, MetadataRequest([]), after(LATER))
    clock.signal = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        result(exchange)
    assert str(connection.closed) == "broker 1 was interrupted"


def test_an_api_the_peer_does_not_offer_leaves_the_connection_alone(connect: Open) -> None:
    connection, _ = connect({ApiKey.METADATA: numbered()})
    with pytest.raises(UnsupportedApi):
        submit(connection, FetchRequest(), after(LATER), lowest=99)
    assert controller(result(submit(connection, MetadataRequest([]), after(LATER)))) == 0


def sasl_scripts(lifetime_ms: int, refuse_from: int = 100) -> dict[ApiKey, Script]:
    """Return scripts of PLAIN with sessions of `lifetime_ms`; logins from the `refuse_from`th on are refused."""
    logins = iter(range(100))

    def authenticate(_: Message) -> Message:
        if next(logins) >= refuse_from:
            return SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, "no more")
        return SaslAuthenticateResponse(error_message=None, session_lifetime_ms=lifetime_ms)

    return {
        ApiKey.SASL_HANDSHAKE: lambda _: SaslHandshakeResponse(0, ["PLAIN"]),
        ApiKey.SASL_AUTHENTICATE: authenticate,
        ApiKey.METADATA: numbered(),
    }


def names(requests: list[Message]) -> list[str]:
    return [type(request).__name__.removesuffix("Request") for request in requests]


def test_a_login_without_an_end_is_not_renewed(connect: Open) -> None:
    clock = Clock()
    connection, requests = connect(sasl_scripts(lifetime_ms=0), sasl=True, clock=clock)
    clock.ahead = 1e6
    result(submit(connection, MetadataRequest([]), clock() + LATER))
    assert names(requests) == ["SaslHandshake", "SaslAuthenticate", "Metadata"]


def test_a_login_that_is_refused_ends_the_connection(connect: Open) -> None:
    clock = Clock()
    connection, _ = connect(sasl_scripts(lifetime_ms=1000, refuse_from=1), sasl=True, clock=clock)
    clock.ahead = 1.0
    with pytest.raises(AuthenticationFailed, match="no more"):
        submit(connection, MetadataRequest([]), clock() + LATER)
    assert not connection.alive()


def test_an_answer_that_came_in_time_is_taken_after_the_deadline_too(connect: Open) -> None:
    """A caller that waits for several brokers may read it late."""
    clock = Clock()
    connection, _ = connect({ApiKey.METADATA: numbered()}, clock=clock)
    exchange = submit(connection, MetadataRequest([]), clock() + LATER)
    select.select([cast("SocketWire", connection.wire)], [], [], LATER)
    clock.ahead = 2 * LATER
    assert controller(result(exchange)) == 0
