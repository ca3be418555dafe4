"""Connections to peers over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from shareq.cluster.link import peer_connections
from shareq.cluster.link.peer_connections import PeerConnections


class Peer:
    """A peer that reads and never writes. `drop` ends its connections, `stop` the listener, too."""

    def __init__(self) -> None:
        self.heard = b""
        self.connections = 0
        self._writers: list[asyncio.StreamWriter] = []
        self._server: asyncio.Server | None = None

    async def start(self, port: int = 0) -> int:
        self._server = await asyncio.start_server(self._talk, "127.0.0.1", port)
        return int(self._server.sockets[0].getsockname()[1])

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        while data := await reader.read(100):
            self.heard += data
        writer.close()

    def drop(self) -> None:
        for writer in self._writers:
            writer.close()
        self._writers.clear()

    def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        self.drop()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.005)


def run(scene: Callable[[Peer, PeerConnections, list[str]], Awaitable[None]]) -> None:
    async def play() -> None:
        peer, news = Peer(), list[str]()
        connections = PeerConnections(
            lambda each: news.append(f"{each} opened"),
            lambda each, has_ended: news.append(f"{each} {'ended' if has_ended else 'lost'}"),
            tls=False,
        )
        try:
            await scene(peer, connections, news)
        finally:
            connections.close()
            peer.stop()
            await asyncio.sleep(0)

    asyncio.run(play())


def test_a_peer_that_dies_is_lost_once_and_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_connections, "AGAIN_S", 0.01)

    async def scene(peer: Peer, connections: PeerConnections, news: list[str]) -> None:
        port = await peer.start()
        connections.connect("a", "127.0.0.1", port)
        await until(lambda: news == ["a opened"] and len(peer.heard) == 14)
        peer.stop()
        await until(lambda: news == ["a opened", "a ended"])
        await asyncio.sleep(0.05)
        assert news == ["a opened", "a ended"]
        await peer.start(port)
        await until(lambda: news == ["a opened", "a ended", "a opened"])

    run(scene)


def test_a_peer_that_is_only_not_reached_any_more_has_not_ended_for_all_that_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(peer: Peer, connections: PeerConnections, news: list[str]) -> None:
        connections.connect("a", "127.0.0.1", await peer.start())
        await until(lambda: news == ["a opened"])

        async def silence(*_where: object, **_how: object) -> None:
            raise TimeoutError

        monkeypatch.setattr(asyncio, "open_connection", silence)
        peer.drop()
        await until(lambda: news == ["a opened", "a lost"])

    run(scene)


def test_a_peer_that_was_never_there_is_lost_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_connections, "AGAIN_S", 0.001)

    async def scene(peer: Peer, connections: PeerConnections, news: list[str]) -> None:
        port = await peer.start()
        peer.stop()
        connections.connect("a", "127.0.0.1", port)
        await until(lambda: news == ["a ended"])
        await asyncio.sleep(0.05)
        assert news == ["a ended"]

    run(scene)


def test_a_peer_that_only_closes_a_connection_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_connections, "AGAIN_S", 0.01)

    async def scene(peer: Peer, connections: PeerConnections, news: list[str]) -> None:
        connections.connect("a", "127.0.0.1", await peer.start())
        await until(lambda: peer.connections == 1)
        peer.drop()
        await until(lambda: peer.connections == 2)
        assert news == ["a opened"]

    run(scene)


def test_a_connection_that_is_wanted_no_more_is_closed_without_a_word() -> None:
    async def scene(peer: Peer, connections: PeerConnections, news: list[str]) -> None:
        connections.connect("a", "127.0.0.1", await peer.start())
        await until(lambda: news == ["a opened"])
        connections.disconnect("a")
        peer.stop()
        await asyncio.sleep(0.05)
        assert news == ["a opened"]

    run(scene)


def test_questions_keep_a_connection_from_being_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_connections, "ASK_S", 0.01)

    async def scene(peer: Peer, connections: PeerConnections, news: list[str]) -> None:
        connections.connect("a", "127.0.0.1", await peer.start())
        await until(lambda: len(peer.heard) >= 5 * 14)
        assert peer.connections == 1

    run(scene)


@pytest.mark.parametrize(
    "address", [("127.0.0.1", 2**31 - 1), ("a\0b", 9092), ("x" * 70 + ".example", 9092), ("\ud800", 1)]
)
def test_an_address_that_cannot_be_one_is_a_peer_that_is_not_reached(
    monkeypatch: pytest.MonkeyPatch, address: tuple[str, int]
) -> None:
    """Members choose the addresses that they publish, so a wrong one counts as lost."""
    monkeypatch.setattr(peer_connections, "AGAIN_S", 0.001)

    async def scene(peer: Peer, connections: PeerConnections, news: list[str]) -> None:
        await peer.start()
        connections.connect("a", *address)
        await until(lambda: news == ["a lost"])
        await asyncio.sleep(0.05)
        (task,) = connections._tasks.values()
        assert not task.done()
        assert news == ["a lost"]

    run(scene)
