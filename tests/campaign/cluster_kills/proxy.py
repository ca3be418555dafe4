"""Connections that can be cut like a network: nothing is closed, and what was sent waits until the cut ends."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Final

_CHUNK: Final = 1 << 16


class Cuts:
    """The two directions of some connections: each is open, or holds data back."""

    def __init__(self) -> None:
        self.there = threading.Event()
        self.back = threading.Event()
        self.heal()

    def heal(self) -> None:
        self.there.set()
        self.back.set()


class Proxy:
    """A proxy on 127.0.0.1 for 127.0.0.1:`target`, which it connects to from the address `source`.

    `cuts.there` is the direction to the target.
    """

    def __init__(self, target: int, cuts: Cuts, source: str = "127.0.0.1") -> None:
        self._target = target
        self._cuts = cuts
        self._source = source
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets = {self._listener}
        self._is_open = True
        self.port: Final[int] = self._listener.getsockname()[1]
        _run(self._accept)

    def close(self) -> None:
        self._is_open = False
        self._cuts.heal()
        for each in list(self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while self._is_open:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._target), 5, (self._source, 0))
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            for each in (client, server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sockets |= {client, server}
            there = _run(_copy, client, server, self._cuts.there)
            back = _run(_copy, server, client, self._cuts.back)
            _run(self._close_behind, there, back, client, server)

    def _close_behind(self, there: threading.Thread, back: threading.Thread, *both: socket.socket) -> None:
        there.join()
        back.join()
        for each in both:
            each.close()
        self._sockets -= set(both)


def _copy(source: socket.socket, target: socket.socket, is_open: threading.Event) -> None:
    with suppress(OSError):  # one side is gone, which the other one sees
        while data := source.recv(_CHUNK):
            is_open.wait()
            target.sendall(data)
    is_open.wait()
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)


def _run(function: object, *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=function, args=arguments, daemon=True)  # type: ignore[arg-type]
    thread.start()
    return thread
