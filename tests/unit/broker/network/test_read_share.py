"""The limit on large reads of all sockets in one tick of the loop."""

from __future__ import annotations

import asyncio
import socket

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation.os_clock import LoopClock
from shareq.broker.network.answer_budget import AnswerBudget
from shareq.broker.network.answers import FrameHandler
from shareq.broker.network.connection import Connection
from shareq.broker.network.listener import Listener, ListenerLimits
from shareq.broker.network.read_share import GO_ON, LARGE_READ, MOST_READ, ReadShare
from shareq.broker.network.request_limits import RequestLimits
from shareq.broker.process.serve import new_event_loop

READ = 256 * 1024


class Sender:
    """A socket that always has more data."""

    def __init__(self, share: ReadShare) -> None:
        self.share = share
        self.reads = True
        self.read = 0

    def bring(self) -> int:
        """Read once, unless reading is paused, and return the size."""
        if not self.reads:
            return 0
        self.read += READ
        self.share.note(self, READ)
        return READ

    def wait_for_turn(self) -> None:
        self.reads = False

    def take_turn(self) -> None:
        self.reads = True


def test_so_much_is_read_in_a_tick_and_everybody_in_turn() -> None:
    """Sixty senders of 97 MB each once had megabytes read at once, which delayed others by 10 ms."""
    clock = VirtualClock()
    share = ReadShare(clock)
    senders = [Sender(share) for _ in range(60)]
    ticks = []
    for _ in range(600):
        read = 0
        while more := sum(each.bring() for each in senders):
            read += more
        ticks.append(read)
        clock.run_tick()
    assert max(ticks[1:]) <= MOST_READ + GO_ON * READ
    assert min(ticks) >= MOST_READ
    taken = [each.read for each in senders]
    assert max(taken) - min(taken) <= 4 * READ


def test_one_sender_alone_goes_on_in_the_next_tick() -> None:
    clock = VirtualClock()
    share = ReadShare(clock)
    sender = Sender(share)
    for _ in range(5):
        while sender.bring():
            pass
        clock.run_tick()
        assert sender.reads
    assert sender.read >= 5 * MOST_READ
    clock.run_until_idle()
    assert (share.waiting, clock.next_timer_ms()) == (0, None)


def test_a_frame_larger_than_a_share_arrives_and_others_are_answered_meanwhile() -> None:
    """On real sockets, the pauses of the share, the connection and the budget are independent of each other."""
    size = 8 * MOST_READ
    handled: list[int] = []

    def handler_for(_connection: Connection) -> FrameHandler:
        def handle(frame: bytes) -> bytes:
            handled.append(len(frame))
            return b"\0\0\0\1x"

        return handle

    async def run() -> None:
        loop = asyncio.get_running_loop()
        clock = LoopClock(loop)
        listener = Listener(
            "CLIENTS",
            clock=clock,
            handler_for=handler_for,
            limits=ListenerLimits(connection=RequestLimits(max_frame_bytes=2 * size)),
            room=AnswerBudget(clock),
            next_id=lambda: 1,
        )
        server = await loop.create_server(listener.protocol, "127.0.0.1", 0)
        clients = [socket.create_connection(server.sockets[0].getsockname()) for _ in range(3)]
        for client in clients:
            client.setblocking(False)
        async with asyncio.timeout(30):
            frame = size.to_bytes(4, "big") + bytes(size)
            sends = [asyncio.create_task(loop.sock_sendall(client, frame)) for client in clients[:2]]
            await loop.sock_sendall(clients[2], (4).to_bytes(4, "big") + bytes(4))
            assert await loop.sock_recv(clients[2], 100) == b"\0\0\0\1x"
            await asyncio.gather(*sends)
            for client in clients[:2]:
                assert await loop.sock_recv(client, 100) == b"\0\0\0\1x"
        assert sorted(handled) == [4, size, size]
        assert listener.read_share.waiting == 0
        for client in clients:
            client.close()
        server.close()
        listener.abort()
        await asyncio.sleep(0)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(run())


def test_small_reads_are_not_counted() -> None:
    assert LARGE_READ <= READ // 4
