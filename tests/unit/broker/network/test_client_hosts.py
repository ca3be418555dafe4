"""The client's address as seen by the broker, used by ACLs and by limits per address."""

from __future__ import annotations

import asyncio

import pytest

from shareq.broker.foundation.os_clock import LoopClock
from shareq.broker.network.answer_budget import AnswerBudget
from shareq.broker.network.connection import Connection
from shareq.broker.network.listener import Listener, ListenerLimits, SocketConnection


class _Peer(asyncio.Transport):
    """A connected socket that does nothing but know its address."""

    def __init__(self, address: str) -> None:
        super().__init__({"peername": (address, 1234, 0, 0)})

    def abort(self) -> None: ...

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...


@pytest.mark.parametrize(
    ("address", "host"),
    [("::ffff:10.1.2.3", "10.1.2.3"), ("10.1.2.3", "10.1.2.3"), ("fe80::1", "fe80::1")],
)
async def test_an_ipv4_client_is_one_on_a_socket_for_both_kinds_too(address: str, host: str) -> None:
    """A client has one address however the broker listens, so that ACLs for it always apply."""
    clock = LoopClock(asyncio.get_running_loop())
    guarded: list[Connection] = []
    listener = Listener(
        "CLIENTS",
        clock=clock,
        handler_for=lambda _connection: lambda _frame: None,
        limits=ListenerLimits(),
        room=AnswerBudget(clock),
        next_id=lambda: 1,
        guard=guarded.append,
    )
    socket = SocketConnection(listener)
    socket.connection_made(_Peer(address))
    assert socket.connection is not None
    assert socket.connection.client_host == host
    assert guarded == [socket.connection], "the gate comes before the first byte"
