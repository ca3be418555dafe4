"""A broker that answers as scripted: the far end of a client's connection, in a thread of its own.

It answers ApiVersions by itself, with the whole protocol, and every other request by the script named for it; a script
may return nothing, return raw bytes, or hang up. Nothing sleeps.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from struct import Struct
from types import TracebackType
from typing import Self

from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.framing import frame
from shareq.protocol.generated.api_versions import ApiVersion, ApiVersionsResponse
from shareq.protocol.generated.index import APIS
from shareq.protocol.headers import decode_request_header, response_header
from shareq.protocol.primitives import Message

_SIZE = Struct(">i")
MAX_REQUEST_BYTES = 104_857_600
"""Apache Kafka's limit. A connection that sends more is closed; that includes TLS clients of a listener without TLS."""


class HangUp(Exception):
    """An exception of a script: the connection ends here."""


Script = Callable[[Message], Message | bytes | None]
"""A function that returns the answer to a request, raw bytes to send, or None for silence."""


class Talk:
    """One connection, served until its end. `requests` are those received, without ApiVersions."""

    def __init__(self, sock: socket.socket, scripts: Mapping[ApiKey, Script], requests: list[Message]) -> None:
        self._socket = sock
        self._scripts = scripts
        self._requests = requests

    def serve(self) -> None:
        with contextlib.suppress(OSError, HangUp), self._socket:
            while (data := self._frame()) is not None:
                self._answer(data)

    def _answer(self, data: bytes) -> None:
        header = decode_request_header(data)
        key, version = header.api_key, header.api_version
        request, _ = codec(key).request_class.decode(data, version, header.body_offset)
        if key == ApiKey.API_VERSIONS:
            said: Message | bytes | None = ApiVersionsResponse(api_keys=EVERYTHING)
        else:
            self._requests.append(request)
            said = self._scripts[ApiKey(key)](request)
        if isinstance(said, Message):
            said = frame(response_header(key, version, header.correlation_id) + said.encode(version))
        if said:
            self._socket.sendall(said)

    def _frame(self) -> bytes | None:
        head = self._bytes(_SIZE.size)
        if head is None or (size := _SIZE.unpack(head)[0]) > MAX_REQUEST_BYTES:
            return None
        return self._bytes(size)

    def _bytes(self, size: int) -> bytes | None:
        data = bytearray()
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            if not more:
                return None
            data += more
        return bytes(data)


EVERYTHING = [ApiVersion(key, row[2], row[3]) for key, row in APIS.items()]


class ScriptedBroker:
    """A listener on 127.0.0.1 for any number of connections. With `tls`, behind TLS.

    `scripts` may change while it runs. `connections` counts those accepted, TLS included.
    """

    def __init__(
        self,
        scripts: dict[ApiKey, Script] | None = None,
        *,
        tls: ssl.SSLContext | None = None,
        family: socket.AddressFamily = socket.AF_INET,
    ) -> None:
        self.scripts: dict[ApiKey, Script] = {} if scripts is None else scripts
        self.requests: list[Message] = []
        self.connections = 0
        self._tls = tls
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0), family=family)
        self.host, self.port = self._listener.getsockname()[:2]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def bootstrap(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def hang_up(self) -> None:
        for sock in list(self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up()
        for thread in self._threads:
            thread.join(10)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                thread = threading.Thread(target=self._serve, args=(sock,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _serve(self, sock: socket.socket) -> None:
        if self._tls is not None:
            try:
                sock = self._tls.wrap_socket(sock, server_side=True)
            except OSError:
                sock.close()
                return
        self.connections += 1
        self._open.add(sock)
        try:
            Talk(sock, self.scripts, self.requests).serve()
        finally:
            self._open.discard(sock)


def talk_on(sock: socket.socket, scripts: Mapping[ApiKey, Script]) -> list[Message]:
    """Serve one end of a socket pair in a thread; return the list to which it adds requests."""
    requests: list[Message] = []
    threading.Thread(target=Talk(sock, scripts, requests).serve, daemon=True).start()
    return requests
