"""Connections to the other nodes on asyncio, whose loss shows that a node has died.

When a connection breaks, the node tries to connect again at once. If that fails, the peer is lost; if its machine
refuses the connection, the peer's process has ended. If it succeeds, the peer closed the connection for another reason:
the connection was idle, or the peer restarted, which the membership notices by itself. An ApiVersions request every
ASK_S keeps the connection from being idle. Nothing else is sent, so TLS without a check of the peer's identity
suffices.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from struct import pack
from typing import Final

from shareq.protocol.api_keys import ApiKey

CONNECT_S: Final = 1.0
AGAIN_S: Final = 1.0
"""The seconds until a lost peer is tried again."""
ASK_S: Final = 60.0
"""The seconds between two ApiVersions requests: well below the time after which a broker closes an idle connection."""
MOST_BYTES: Final = 1 << 16
"""The most bytes that are read at a time. Answers are read and dropped."""
_QUESTION: Final = pack(">ihhih", 10, ApiKey.API_VERSIONS, 0, 1, -1)
"""ApiVersions v0: the frame's size, key, version, correlation id, no client id."""


class PeerConnections:
    """One connection to each peer, on the running loop. `opened` is called with the peer's id; `lost` with the id and
    whether the peer's machine refused the connection, also when none could be opened. `tls`: whether peers listen with
    TLS.
    """

    def __init__(self, opened: Callable[[str], None], lost: Callable[[str, bool], None], *, tls: bool) -> None:
        self._opened: Final = opened
        self._lost: Final = lost
        self._tls: Final = _without_proof() if tls else None
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def connect(self, peer: str, host: str, port: int) -> None:
        self.disconnect(peer)
        self._tasks[peer] = asyncio.get_running_loop().create_task(self._hold(peer, host, port))

    def disconnect(self, peer: str) -> None:
        task = self._tasks.pop(peer, None)
        if task is not None:
            task.cancel()

    def close(self) -> None:
        for peer in list(self._tasks):
            self.disconnect(peer)

    async def _hold(self, peer: str, host: str, port: int) -> None:
        is_open: bool | None = None  # not known yet
        loop = asyncio.get_running_loop()
        while True:
            try:
                async with asyncio.timeout(CONNECT_S):
                    reader, writer = await asyncio.open_connection(host, port, ssl=self._tls)
            except (OSError, TimeoutError, ValueError, OverflowError) as error:  # the last two: no address at all
                if is_open is not False:
                    is_open = False
                    self._lost(peer, isinstance(error, ConnectionRefusedError))
                await asyncio.sleep(AGAIN_S)
                continue
            began = loop.time()
            try:
                if not is_open:
                    is_open = True
                    self._opened(peer)
                await _until_it_ends(reader, writer)
            finally:
                writer.close()
            if loop.time() - began < AGAIN_S:
                await asyncio.sleep(AGAIN_S)  # a peer that closes each connection is not to be asked without end


async def _until_it_ends(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            writer.write(_QUESTION)
            try:
                async with asyncio.timeout(ASK_S):
                    while await reader.read(MOST_BYTES):
                        pass
                return
            except TimeoutError:
                continue
    except OSError:
        return


def _without_proof() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
