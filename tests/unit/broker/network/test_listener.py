"""Real sockets: the listener's reports of unsent responses, refused connections, and closing."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import weakref
from collections.abc import Callable

import pytest

from shareq.broker.foundation.environment import TimerHandle
from shareq.broker.foundation.os_clock import LoopClock
from shareq.broker.network.answer_budget import AnswerBudget
from shareq.broker.network.answers import AnswerSlot, FrameHandler
from shareq.broker.network.connection import Connection
from shareq.broker.network.connection_quotas import ConnectionQuotas
from shareq.broker.network.listener import FIRST_READ_BYTES, Listener, ListenerLimits, unsent_in_system
from shareq.broker.process.serve import new_event_loop
from shareq.broker.quotas.entity import CONNECTION_CREATION_RATE, QuotaEntity
from shareq.broker.quotas.limits import Limits
from tests.support.waiting import comes_true

ANSWER = 30 * 1024 * 1024


class Rig:
    """A listener that answers every frame with `ANSWER` bytes, and a client with a small receive buffer."""

    def __init__(self, quotas: ConnectionQuotas | None = None) -> None:
        self.clock = LoopClock(asyncio.get_running_loop())
        self.budget = AnswerBudget(self.clock)
        self.connections: list[Connection] = []
        self.listener = Listener(
            "CLIENTS",
            clock=self.clock,
            handler_for=self._handler_for,
            limits=ListenerLimits(),
            room=self.budget,
            next_id=lambda: 1,
            quotas=quotas,
        )

    def _handler_for(self, connection: Connection) -> FrameHandler:
        self.connections.append(connection)
        return lambda _frame: bytes(ANSWER)

    async def connect(self, server: asyncio.Server) -> socket.socket:
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, server.sockets[0].getsockname())
        return client


async def never_read() -> None:
    rig = Rig()
    server = await asyncio.get_running_loop().create_server(rig.listener.protocol, "127.0.0.1", 0)
    client = await rig.connect(server)
    try:
        await read_late(rig, client)
    finally:
        client.close()
        server.close()
        rig.listener.abort()
        await comes_true(lambda: not len(rig.listener))
    assert rig.connections[0].closed


async def read_late(rig: Rig, client: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(client, b"\0\0\0\1x" * 2)
    await comes_true(lambda: rig.budget.held)
    assert rig.budget.held in (ANSWER, 2 * ANSWER), "whole, although the system has taken a part"
    (holder,) = rig.listener._sockets
    before = holder.untaken()
    assert before <= rig.budget.held
    left = 2 * ANSWER
    for _ in range(100):
        left -= len(await loop.sock_recv(client, 10_000))
    assert before // 2 < holder.untaken() < before, "what is taken is seen at once"
    while left:
        left -= len(await loop.sock_recv(client, 1 << 20))
    await comes_true(lambda: not rig.budget.held)
    await loop.sock_sendall(client, b"\0\0\0\1x")
    await comes_true(lambda: rig.budget.held)
    holder.give_way("for the test")
    await comes_true(lambda: not len(rig.listener))


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, new_event_loop], ids=["asyncio", "uvloop"])
def test_an_answer_is_held_whole_until_its_client_has_taken_it(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(never_read())


async def sent_by_one_that_comes_too_often() -> tuple[int, bool]:
    """Return how many bytes are read from a waiting refused client, and whether it is then closed unserved."""
    quotas = ConnectionQuotas()
    quotas.limit_addresses(
        Limits(CONNECTION_CREATION_RATE, {QuotaEntity(ip="127.0.0.1"): {CONNECTION_CREATION_RATE: 0.01}})
    )
    rig = Rig(quotas)
    server = await asyncio.get_running_loop().create_server(rig.listener.protocol, "127.0.0.1", 0)
    client = await rig.connect(server)
    sent = 0
    try:
        await comes_true(lambda: rig.listener.delayed)
        with contextlib.suppress(OSError):
            while rig.listener.delayed:
                try:
                    sent += client.send(bytes(1 << 20))
                except BlockingIOError:
                    await asyncio.sleep(0.001)
                else:
                    await asyncio.sleep(0)
        await comes_true(lambda: not rig.listener.delayed)
    finally:
        client.close()
        server.close()
        rig.listener.abort()
    return sent, not rig.connections


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, new_event_loop], ids=["asyncio", "uvloop"])
def test_nothing_is_read_of_a_refused_connection_that_waits_to_be_closed(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """100 refused connections that send at full speed once held the loop for 26 ms at a time."""
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        sent, never_served = runner.run(sent_by_one_that_comes_too_often())
    assert never_served
    assert sent < 16 << 20, "what fits into the system's buffers"


async def beginning_with(data: bytes, size: int) -> tuple[int, list[bytes], bool]:
    """Send the data; return the number of bytes read, the frames, and whether the connection was closed."""
    rig = Rig()
    frames: list[bytes] = []

    def handler_for(connection: Connection) -> FrameHandler:
        rig.connections.append(connection)
        return frames.append

    rig.listener._handler_for = handler_for
    loop = asyncio.get_running_loop()
    server = await loop.create_server(rig.listener.protocol, "127.0.0.1", 0)
    client = await rig.connect(server)
    try:
        with contextlib.suppress(OSError):
            await loop.sock_sendall(client, data)
        await comes_true(lambda: rig.listener.bytes_in >= size)
        await comes_true(lambda: rig.connections[0].closed or sum(map(len, frames)) + 4 * len(frames) == len(data))
        return rig.listener.bytes_in, frames, rig.connections[0].closed
    finally:
        client.close()
        server.close()
        rig.listener.abort()
        await comes_true(lambda: not len(rig.listener))


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, new_event_loop], ids=["asyncio", "uvloop"])
def test_of_a_frame_that_is_refused_by_its_first_bytes_no_more_is_read(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """Reading 256 KB made the client send as much again: 290 µs for each connection."""
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        taken, frames, closed = runner.run(beginning_with(b"\x7f\xff\xff\xff" + bytes(1 << 20), 1))
    assert (taken, frames, closed) == (FIRST_READ_BYTES, [], True)


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, new_event_loop], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("size", [1, FIRST_READ_BYTES - 4, FIRST_READ_BYTES - 3, 3_000_000])
def test_a_first_request_of_any_size_is_read(size: int, loop_factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
    request = bytes(at % 251 for at in range(size))
    data = (size.to_bytes(4, "big") + request) * 3
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        taken, frames, closed = runner.run(beginning_with(data, len(data)))
    assert (taken, frames, closed) == (len(data), [request] * 3, False)


async def closed_without_the_collector() -> bool:
    """Return whether a socket whose client has disconnected is freed without the garbage collector."""
    rig = Rig()
    rig.listener._handler_for = lambda _connection: lambda _frame: b"\0\0\0\1x"
    loop = asyncio.get_running_loop()
    server = await loop.create_server(rig.listener.protocol, "127.0.0.1", 0)
    client = await rig.connect(server)
    gc.collect()
    gc.disable()
    try:
        await loop.sock_sendall(client, b"\0\0\0\1x")
        assert await loop.sock_recv(client, 5) == b"\0\0\0\1x"
        left = [weakref.ref(socket) for socket in rig.listener._sockets]
        client.close()
        await comes_true(lambda: not len(rig.listener))
        await asyncio.sleep(0)
        return len(left) == 1 and left[0]() is None
    finally:
        gc.enable()
        client.close()
        server.close()


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, new_event_loop], ids=["asyncio", "uvloop"])
def test_a_closed_connection_leaves_no_circle(loop_factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """The collector runs rarely, so thousands of connections would pile up."""
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        assert runner.run(closed_without_the_collector())


class HeldTimers(LoopClock):
    """A clock whose timers fire only when the test fires them."""

    def __init__(self) -> None:
        super().__init__(asyncio.get_running_loop())
        self.held: list[Callable[[], None]] = []

    def call_at(self, when_ms: int, callback: Callable[[], None]) -> TimerHandle:
        self.held.append(callback)
        return super().call_at(when_ms + 10**9, callback)


async def finished_while_an_answer_is_owed(within_ms: int | None) -> list[int]:
    """Return the number of timers, and of open connections after the timers fired.

    Two connections were closed, one of them with no request in flight; another one was opened afterwards.
    """
    rig = Rig()
    rig.listener.clock = clock = HeldTimers()
    rig.listener._handler_for = lambda connection: lambda _frame: AnswerSlot(connection, parks=True)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(rig.listener.protocol, "127.0.0.1", 0)
    clients = [await rig.connect(server) for _ in range(2)]
    try:
        await loop.sock_sendall(clients[0], b"\0\0\0\1x")
        await comes_true(lambda: len(rig.listener) == 2 and rig.listener.bytes_in == 5)
        rig.listener.finish(within_ms)
        await comes_true(lambda: len(rig.listener) == 1)
        clients.append(await rig.connect(server))
        await comes_true(lambda: len(rig.listener) == 2)
        for callback in clock.held:
            callback()
        await asyncio.sleep(0.1)
        return [len(clock.held), len(rig.listener)]
    finally:
        for client in clients:
            client.close()
        server.close()
        rig.listener.abort()
        await comes_true(lambda: not len(rig.listener))


def test_a_connection_finishes_when_all_is_answered_or_it_is_time() -> None:
    assert asyncio.run(finished_while_an_answer_is_owed(None)) == [0, 2]
    assert asyncio.run(finished_while_an_answer_is_owed(300)) == [1, 1]


def test_what_the_system_holds_is_nothing_where_it_does_not_say() -> None:
    assert unsent_in_system(None) == 0
    with socket.socket() as closed:
        pass
    assert unsent_in_system(closed) == 0
