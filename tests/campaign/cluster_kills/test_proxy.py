"""A cut that holds back data in one direction or both, and loses none."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.campaign.cluster_kills.proxy import Cuts, Proxy

WAIT_S = 10.0
SOON_S = 0.1


@pytest.fixture
def cuts() -> Cuts:
    return Cuts()


@pytest.fixture
def both(cuts: Cuts) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Yield a client behind a proxy, and the server's end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = Proxy(listener.getsockname()[1], cuts, "127.0.0.2")
        with socket.create_connection(("127.0.0.1", proxy.port), WAIT_S) as client:
            server, (host, _) = listener.accept()
            assert host == "127.0.0.2"
            server.settimeout(WAIT_S)
            with server:
                yield client, server
        proxy.close()


def nothing_comes(to: socket.socket) -> bool:
    to.settimeout(SOON_S)
    try:
        to.recv(1)
    except TimeoutError:
        return True
    finally:
        to.settimeout(WAIT_S)
    return False


def test_what_is_sent_comes_both_ways_and_so_does_the_end(both: tuple[socket.socket, socket.socket]) -> None:
    client, server = both
    client.sendall(b"there")
    assert server.recv(9) == b"there"
    server.sendall(b"back")
    assert client.recv(9) == b"back"
    client.close()
    assert server.recv(9) == b""


@pytest.mark.parametrize("way", ["there", "back"])
def test_one_way_is_cut_and_the_other_one_is_open(
    cuts: Cuts, both: tuple[socket.socket, socket.socket], way: str
) -> None:
    source, target = both if way == "there" else both[::-1]
    getattr(cuts, way).clear()
    source.sendall(b"later")
    assert nothing_comes(target)
    target.sendall(b"now")
    assert source.recv(9) == b"now"
    cuts.heal()
    assert target.recv(9) == b"later"


def test_a_target_that_is_gone_ends_the_connection(cuts: Cuts) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    proxy = Proxy(port, cuts)
    with socket.create_connection(("127.0.0.1", proxy.port), WAIT_S) as client:
        assert client.recv(1) == b""
    proxy.close()
