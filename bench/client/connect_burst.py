"""Many clients that connect at once, each with a first request, over raw sockets in one process."""

from __future__ import annotations

import selectors
import socket
import time
from typing import Final

from shareq.protocol.generated.api_versions import ApiVersionsRequest
from shareq.protocol.headers import encode_request

_VERSION: Final = 3
_PATIENCE_S: Final = 60.0


def run(address: str, broker_pid: int, connections: int, bursts: int) -> dict[str, float]:
    """Measure `p50_ms` and `p99_ms` from connect to the answer of ApiVersions, over all connects of the bursts."""
    host, _, port = address.rpartition(":")
    waited: list[float] = []
    for _ in range(bursts):
        waited += _burst((host, int(port)), connections)
    waited.sort()
    return {"p50_ms": waited[len(waited) // 2], "p99_ms": waited[len(waited) * 99 // 100]}


def _burst(address: tuple[str, int], connections: int) -> list[float]:
    request = encode_request(_VERSION, 1, "bench", ApiVersionsRequest("bench", "1"))
    frame = len(request).to_bytes(4, "big") + request
    selector = selectors.DefaultSelector()
    sockets = [socket.socket() for _ in range(connections)]
    began: dict[socket.socket, float] = {}
    for each in sockets:
        each.setblocking(False)
        began[each] = time.perf_counter()
        each.connect_ex(address)
        selector.register(each, selectors.EVENT_WRITE)
    waited: list[float] = []
    until = time.perf_counter() + _PATIENCE_S
    while len(waited) < connections:
        assert time.perf_counter() < until, f"{connections - len(waited)} of {connections} clients were not answered"
        for key, events in selector.select(1.0):
            one = key.fileobj
            assert isinstance(one, socket.socket), "only sockets are registered"
            if events & selectors.EVENT_WRITE:
                one.sendall(frame)
                selector.modify(one, selectors.EVENT_READ)
            else:
                assert one.recv(1 << 16), "the broker closed the connection"
                waited.append((time.perf_counter() - began[one]) * 1000)
                selector.unregister(one)
    for each in sockets:
        each.close()
    return waited
