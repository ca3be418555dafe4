"""A proxy that records its clients' requests to a broker, which has to advertise the proxy's port."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple, Self

from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.headers import decode_request_header
from shareq.protocol.primitives import Message


class Asked(NamedTuple):
    api_key: ApiKey
    version: int
    request: Message


class RecordingProxy:
    """A proxy for 127.0.0.1:`target`. `asked` grows while clients work."""

    def __init__(self, port: int, target: int) -> None:
        self.asked: list[Asked] = []
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", port))
        self._sockets = [self._listener]
        self._threads: list[threading.Thread] = []
        self._run(self._accept)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for each in self._sockets:
            with suppress(OSError):  # not connected, or gone
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(5)

    def of(self, *api_keys: ApiKey) -> list[Asked]:
        return [asked for asked in self.asked if asked.api_key in api_keys]

    def _run(self, function: object, *arguments: object) -> None:
        thread = threading.Thread(target=function, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            broker = socket.create_connection(("127.0.0.1", self._target))
            self._sockets += [client, broker]
            self._run(self._forward, client, broker)
            self._run(_copy, broker, client)

    def _forward(self, client: socket.socket, broker: socket.socket) -> None:
        try:
            with client.makefile("rb") as requests:
                while len(size := requests.read(4)) == 4:
                    payload = requests.read(*struct.unpack(">i", size))
                    self._note(payload)
                    broker.sendall(size + payload)
            broker.shutdown(socket.SHUT_WR)
        except (OSError, ValueError):
            pass  # the proxy is closed, or one of both sides

    def _note(self, payload: bytes) -> None:
        header = decode_request_header(payload)
        api_key = ApiKey(header.api_key)
        request, _ = codec(api_key).request_class.decode(payload, header.api_version, header.body_offset)
        self.asked.append(Asked(api_key, header.api_version, request))


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the proxy is closed, or one of both sides
