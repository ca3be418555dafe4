"""A lying broker: a proxy in front of a real one that falsifies its answers, by a seed.

Frames stay well-formed and match their requests, but fields hold values that no broker should send. Each connection has
a thread; nothing sleeps.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from random import Random
from struct import Struct
from types import TracebackType
from typing import Any, Self

from devtools.clients.wire import WireClient
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode
from shareq.protocol.framing import frame
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.headers import decode_request_header, decode_response_header, response_header
from shareq.protocol.primitives import Structure

_SIZE = Struct(">i")
INTEGERS = (
    -(1 << 63),
    -(1 << 31),
    -(1 << 15),
    -1000,
    -2,
    -1,
    0,
    1,
    2,
    3,
    7,
    127,
    1 << 14,
    (1 << 31) - 1,
    (1 << 63) - 1,
)
TEXTS = ("", "x" * 300, "\x1b[31mred", "two\nlines", "no\0byte", "_\u202e", "orders", "9" * 30, "{", "User:", "é")
HOSTS = ("", "127.0.0.1", "no\0host", "x" * 300)
PORTS = (-1, 0, 1, 70_000, (1 << 31) - 1)
TRIES = 8
SMALL_INTEGERS = 128
"""False answers have some numbers below this; their other numbers are larger than any count of a broker in a test."""


def take_small_producer_ids(broker: tuple[str, int]) -> None:
    """Make a broker give out the producer ids that false answers name, so that writes with them are accepted."""
    with WireClient(broker) as client:
        for _ in range(SMALL_INTEGERS):
            answer = client.call(InitProducerIdRequest(None, 0), 4, InitProducerIdResponse)
            assert answer.error_code == ErrorCode.NONE


class FalseBroker:
    """A proxy on 127.0.0.1 for the broker at `behind`.

    It falsifies the share `bend` of the answers, except those to `honest`.
    """

    def __init__(
        self, behind: tuple[str, int], seed: int, bend: float = 0.5, honest: frozenset[int] = frozenset()
    ) -> None:
        self._behind = behind
        self._rng = Random(seed)
        self._bend = bend
        self._honest = honest
        self._guard = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.host, self.port = self._listener.getsockname()[:2]
        self.bootstrap = f"{self.host}:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError), sock, socket.create_connection(self._behind) as behind:
            while (request := _frame_of(sock)) is not None:
                behind.sendall(frame(request))
                answer = _frame_of(behind)
                if answer is None:
                    return
                sock.sendall(frame(self._bent(request, answer)))

    def _bent(self, request: bytes, answer: bytes) -> bytes:
        header = decode_request_header(request)
        key, version = header.api_key, header.api_version
        if key == ApiKey.API_VERSIONS:
            version = min(version, 4)
        head = decode_response_header(answer, key, version)
        kind = codec(key).response_class
        start = response_header(key, version, head.correlation_id)
        with self._guard:
            bends = key not in self._honest and self._rng.random() < self._bend
            for _ in range(TRIES):
                said, _ = kind.decode(answer, version, head.body_offset)
                for each in _structures(said):
                    if getattr(each, "host", "") and getattr(each, "port", 0):
                        each.host, each.port = self.host, self.port
                if not bends:
                    return start + said.encode(version)
                for _ in range(self._rng.randint(1, 3)):
                    bend(said, self._rng)
                with contextlib.suppress(Exception):  # what has no bytes is bent otherwise
                    return start + said.encode(version)
        return answer


def bend(said: Structure, rng: Random) -> None:
    holder: Any = rng.choice(list(_structures(said)))
    names = [name for name in _fields(holder) if getattr(holder, name, None) is not None]
    if not names:
        return
    name = rng.choice(names)
    setattr(holder, name, _bent_value(name, getattr(holder, name), rng))


def _bent_value(name: str, value: Any, rng: Random) -> Any:
    if name == "host":
        return rng.choice(HOSTS)
    if name == "port":
        return rng.choice(PORTS)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice(INTEGERS)
    if isinstance(value, str):
        return rng.choice(TEXTS)
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytearray(value)
        for _ in range(rng.randint(1, 4) if data else 0):
            data[rng.randrange(len(data))] = rng.choice((0, 1, 127, 128, 255))
        return bytes(rng.choice((data, data[: len(data) // 2], rng.randbytes(16), data + data)))
    if isinstance(value, list):
        return rng.choice(([], value + value, value[1:], value[::-1]))
    return value


def _structures(said: Any) -> Iterator[Any]:
    yield said
    for name in _fields(said):
        value = getattr(said, name, None)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, Structure):
                yield from _structures(each)


def _fields(said: Any) -> list[str]:
    return [name for kind in type(said).__mro__ for name in getattr(kind, "__slots__", ()) if not name.startswith("_")]


def _frame_of(sock: socket.socket) -> bytes | None:
    head = _bytes_of(sock, _SIZE.size)
    return None if head is None else _bytes_of(sock, _SIZE.unpack(head)[0])


def _bytes_of(sock: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            return None
        data += more
    return bytes(data)
