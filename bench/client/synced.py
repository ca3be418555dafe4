"""Produce requests of one record to many partitions, each answered after its own sync."""

from __future__ import annotations

import selectors
import socket
import time
from typing import Final

from bench.client.meter import Meter
from bench.client.pipelined import answer_to, produce_request

_LEADS_S: Final = 20.0


def run(address: str, broker_pid: int, topic: str, partitions: int, seconds: float) -> dict[str, float]:
    """Measure requests per second; each partition has a connection with one request in flight."""
    host, _, port = address.rpartition(":")
    requests: dict[socket.socket, bytes] = {}
    for partition in range(partitions):
        connection = socket.create_connection((host, int(port)), 30)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        requests[connection] = produce_request(topic, partition)
        answer_size = _first_answer(connection, requests[connection])
    with selectors.DefaultSelector() as selector:
        meter = Meter.start(broker_pid)
        for connection, request in requests.items():
            selector.register(connection, selectors.EVENT_READ)
            connection.sendall(request)
        answered, until = 0, time.perf_counter() + seconds
        while time.perf_counter() < until:
            for key, _ in selector.select(1):
                waiting = key.fileobj
                assert isinstance(waiting, socket.socket)
                received = waiting.recv(answer_size)
                assert len(received) == answer_size, f"{len(received)} bytes of {answer_size}"
                answered += 1
                waiting.sendall(requests[waiting])
        sample = meter.stop(answered)
    for connection in requests:
        connection.close()
    return sample


def _first_answer(connection: socket.socket, request: bytes) -> int:
    """Return the size of an answer. Apache Kafka leads a new partition a moment after its creation."""
    until = time.monotonic() + _LEADS_S
    while True:
        try:
            return answer_to(connection, request)
        except AssertionError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
