from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from random import Random

import pytest

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation.os_clock import LoopClock
from shareq.broker.network.answer_budget import AnswerBudget
from shareq.broker.network.answers import FrameHandler
from shareq.broker.network.connection import Connection
from shareq.broker.network.listener import SMALL_IN_A_ROW, Listener, ListenerLimits
from shareq.broker.network.write_share import (
    LARGE_ANSWER,
    LEAST_PIECE,
    MOST_PIECE,
    MOST_WRITTEN,
    TICKS_BESIDE,
    WRITTEN_BESIDE,
    Rest,
    WriteShare,
)
from shareq.broker.process.serve import new_event_loop
from tests.support.waiting import comes_true


class Socket:
    """A socket with a response; it accepts up to `room` bytes before it is full."""

    def __init__(self, size: int, room: int = 1 << 40) -> None:
        self.left, self.room, self.pieces = size, room, 0

    def write_piece(self, most: int) -> int:
        size = min(most, self.left)
        self.left -= size
        self.room -= size
        self.pieces += 1
        return size

    @property
    def wants_turn(self) -> bool:
        return self.left > 0 and self.room > 0


def test_an_answer_that_fits_into_a_tick_is_written_at_once() -> None:
    clock = VirtualClock()
    share, one = WriteShare(clock), Socket(MOST_WRITTEN)
    share.write(one)
    assert (one.left, one.pieces) == (0, MOST_WRITTEN // MOST_PIECE)
    clock.run_until_idle()
    assert not share.waiting


def test_so_much_is_written_in_a_tick_and_everybody_in_turn() -> None:
    clock = VirtualClock()
    share = WriteShare(clock)
    sockets = [Socket(4 * MOST_WRITTEN) for _ in range(20)]
    for each in sockets:
        share.write(each)
    before = sum(each.left for each in sockets)
    while share.waiting:
        clock.run_tick()
        after = sum(each.left for each in sockets)
        assert before - after <= MOST_WRITTEN
        before = after
        assert max(each.pieces for each in sockets[1:]) - min(each.pieces for each in sockets[1:]) <= 1
    assert before == 0


def test_a_socket_that_is_full_loses_its_turn_until_it_has_room() -> None:
    clock = VirtualClock()
    share = WriteShare(clock)
    full, other = Socket(3 * MOST_WRITTEN, room=MOST_WRITTEN), Socket(MOST_WRITTEN)
    share.write(full)
    share.write(other)
    clock.run_until_idle()
    assert (full.left, other.left, share.waiting) == (2 * MOST_WRITTEN, 0, 0)
    full.room = 1 << 40
    share.write(full)
    clock.run_until_idle()
    assert full.left == 0


def test_a_tick_goes_less_far_behind_requests_of_others() -> None:
    clock = VirtualClock()
    share, one = WriteShare(clock), Socket(20 * MOST_WRITTEN)
    share.write(one)

    def written_in_a_tick() -> int:
        before = one.left
        clock.run_tick()
        return before - one.left

    assert written_in_a_tick() == MOST_WRITTEN
    share.requests += 1
    behind = [written_in_a_tick() for _ in range(TICKS_BESIDE + 1)]
    assert behind == [WRITTEN_BESIDE] * TICKS_BESIDE + [MOST_WRITTEN]
    share.requests += 1
    written_in_a_tick()
    share.requests += 1
    assert [written_in_a_tick() for _ in range(TICKS_BESIDE)] == [WRITTEN_BESIDE] * TICKS_BESIDE


class Answering(Socket):
    """A socket whose connection answers the next request as soon as a response is written."""

    def __init__(self, share: WriteShare, sizes: list[int]) -> None:
        super().__init__(sizes[0])
        self.share, self.sizes, self.written = share, sizes[1:], 0

    def write_piece(self, most: int) -> int:
        size = super().write_piece(most)
        self.written += size
        if not self.left and self.sizes:
            self.left = self.sizes.pop(0)
            self.share.write(self)
        return size


def test_a_socket_that_has_the_next_answer_within_its_turn_has_one_place_and_no_more_than_a_tick() -> None:
    clock = VirtualClock()
    share = WriteShare(clock)
    one = Answering(share, [MOST_PIECE] * 3 + [3 * MOST_WRITTEN])
    share.write(one)
    assert (one.written, share.waiting) == (MOST_WRITTEN, 1)
    other = Socket(MOST_WRITTEN)
    share.write(other)
    clock.run_tick()
    assert (one.pieces, other.pieces) == (MOST_WRITTEN // MOST_PIECE + 2, 2)
    clock.run_until_idle()
    assert one.written == 3 * MOST_PIECE + 3 * MOST_WRITTEN


def test_a_socket_that_fails_takes_no_turn_from_others() -> None:
    class Failing(Socket):
        def write_piece(self, most: int) -> int:
            raise RuntimeError(f"{most} bytes, and the socket fails")

    clock = VirtualClock()
    share, other = WriteShare(clock), Socket(3 * MOST_WRITTEN)
    share.write(other)
    share.write(Failing(1))
    with pytest.raises(RuntimeError, match="the socket fails"):
        clock.run_until_idle()
    clock.run_until_idle()
    assert other.left == 0


def test_what_is_left_of_a_tick_is_not_cut_into_small_pieces() -> None:
    clock = VirtualClock()
    share, first, second = WriteShare(clock), Socket(MOST_WRITTEN - LEAST_PIECE + 1), Socket(LEAST_PIECE)
    share.write(first)
    share.write(second)
    assert (first.left, second.left) == (0, LEAST_PIECE)
    clock.run_tick()
    assert second.left == 0


def test_a_rest_gives_its_bytes_in_order() -> None:
    rest, chance = Rest(), Random(1)
    data = chance.randbytes(10_000)
    rest.add([data[:10], bytearray(data[10:4_000]), memoryview(data)[4_000:]], len(data))
    found = b""
    while rest.size:
        taken = b"".join(rest.take(chance.randrange(1, 700)))
        found += taken
        assert rest.size == len(data) - len(found)
    assert found == data
    rest.add([b"x"], 1)
    rest.clear()
    assert (rest.size, rest.take(5)) == (0, [])


ANSWERS = [LARGE_ANSWER - 1, 9 * MOST_WRITTEN + 17, 3, LARGE_ANSWER + 1, MOST_WRITTEN]


class Rig:
    """A listener that answers each frame with the next answer, of random bytes."""

    def __init__(self, sizes: Sequence[int] = ANSWERS) -> None:
        self.clock = LoopClock(asyncio.get_running_loop())
        self.budget = AnswerBudget(self.clock)
        chance = Random(2)
        self.answers = [chance.randbytes(size) for size in sizes]
        left = iter(self.answers)
        self.connections: list[Connection] = []

        def handler_for(connection: Connection) -> FrameHandler:
            self.connections.append(connection)
            return lambda _frame: next(left)

        self.listener = Listener(
            "CLIENTS",
            clock=self.clock,
            handler_for=handler_for,
            limits=ListenerLimits(),
            room=self.budget,
            next_id=lambda: 1,
        )


async def read_all(end: str) -> None:
    """Check that every byte arrives in order, even if the connection then closes, and that none stays in memory."""
    rig = Rig()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(rig.listener.protocol, "127.0.0.1", 0)
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
    client.setblocking(False)
    await loop.sock_connect(client, server.sockets[0].getsockname())
    try:
        frames = ANSWERS[:2] if end else ANSWERS
        await loop.sock_sendall(client, b"\0\0\0\1x" * len(frames))
        await comes_true(lambda: rig.budget.held)
        if end == "by the broker":
            rig.connections[0].finish()
        elif end == "by half":
            client.shutdown(socket.SHUT_WR)
        expected = b"".join(rig.answers[: len(frames)])
        found = bytearray()
        while len(found) < len(expected):
            found += await loop.sock_recv(client, 1 << 20)
        assert found == expected
        if end:
            assert await loop.sock_recv(client, 1) == b""
        await comes_true(lambda: not rig.budget.held)
    finally:
        client.close()
        server.close()
        rig.listener.abort()
        await comes_true(lambda: not len(rig.listener))


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, new_event_loop], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("end", ["", "by the broker", "by half"])
def test_large_answers_arrive_whole_and_in_order(
    loop_factory: Callable[[], asyncio.AbstractEventLoop], end: str
) -> None:
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(read_all(end))


async def requests_counted(sizes: Sequence[int]) -> list[int]:
    rig = Rig(sizes)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(rig.listener.protocol, "127.0.0.1", 0)
    client = socket.socket()
    client.setblocking(False)
    await loop.sock_connect(client, server.sockets[0].getsockname())
    counted = []
    try:
        for size in sizes:
            await loop.sock_sendall(client, b"\0\0\0\1x")
            while size:
                size -= len(await loop.sock_recv(client, min(size, 1 << 20)))
            counted.append(rig.listener.write_share.requests)
        return counted
    finally:
        client.close()
        server.close()
        await comes_true(lambda: not len(rig.listener))


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, new_event_loop], ids=["asyncio", "uvloop"])
def test_a_client_does_not_slow_its_own_large_answers_down(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """Large and small answers alternate, as a share consumer's do.

    Its requests must not count as another client's until it has been answered little for a while.
    """
    sizes = [3, LARGE_ANSWER + 1, 3, LARGE_ANSWER + 1, *[3] * SMALL_IN_A_ROW, 3, 3]
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        assert runner.run(requests_counted(sizes)) == [1, *[2] * (3 + SMALL_IN_A_ROW), 3, 4]
