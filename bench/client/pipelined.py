"""Produce requests of one record over raw sockets, many in flight per connection: the broker is the limit."""

from __future__ import annotations

import selectors
import socket
import struct
import time
from dataclasses import dataclass

import crc32c

from bench.client.meter import Meter

CONNECTIONS = 4
IN_FLIGHT = 64  # per connection


@dataclass(slots=True)
class _Pipe:
    """One connection: requests left to send, in flight, and answered; bytes of the answers so far."""

    socket: socket.socket
    requests: bytes  # IN_FLIGHT / 2 requests
    to_send: int
    in_flight: int = 0
    answered_bytes: int = 0


def run(address: str, broker_pid: int, topic: str, requests: int) -> dict[str, float]:
    """Measure requests per second and broker CPU per request; connection N writes to partition N of the topic."""
    host, _, port = address.rpartition(":")
    pipes: list[_Pipe] = []
    answer_size = 0
    for partition in range(CONNECTIONS):
        connection = socket.create_connection((host, int(port)), 10)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        request = produce_request(topic, partition)
        answer_size = answer_to(connection, request)
        connection.setblocking(False)
        pipes.append(_Pipe(connection, request * (IN_FLIGHT // 2), requests // CONNECTIONS))
    per_chunk = IN_FLIGHT // 2
    rounds = requests // CONNECTIONS // per_chunk
    count = rounds * per_chunk * CONNECTIONS
    for pipe in pipes:
        pipe.to_send = rounds
    meter = Meter.start(broker_pid)
    _exchange(pipes, answer_size, per_chunk)
    return meter.stop(count)


def _exchange(pipes: list[_Pipe], answer_size: int, per_chunk: int) -> None:
    with selectors.DefaultSelector() as selector:
        for pipe in pipes:
            selector.register(pipe.socket, selectors.EVENT_READ, pipe)
            _send(pipe, per_chunk)
            _send(pipe, per_chunk)
        open_pipes = len(pipes)
        while open_pipes:
            for key, _ in selector.select(10):
                pipe = key.data
                received = len(pipe.socket.recv(1 << 20))
                assert received, "the broker closed the connection"
                pipe.answered_bytes += received
                while pipe.answered_bytes >= answer_size * per_chunk:
                    pipe.answered_bytes -= answer_size * per_chunk
                    pipe.in_flight -= per_chunk
                    _send(pipe, per_chunk)
                if not pipe.in_flight:
                    selector.unregister(pipe.socket)
                    pipe.socket.close()
                    open_pipes -= 1


def _send(pipe: _Pipe, per_chunk: int) -> None:
    """Send one chunk; it always fits the socket's buffer, because half of the window is answered."""
    if pipe.to_send:
        pipe.to_send -= 1
        pipe.in_flight += per_chunk
        sent = pipe.socket.send(pipe.requests)
        assert sent == len(pipe.requests), f"{sent} of {len(pipe.requests)} bytes fitted"


def answer_to(connection: socket.socket, request: bytes) -> int:
    """Send a request, and return its answer's size with the length prefix; all answers are equally large."""
    connection.settimeout(10)
    connection.sendall(request)
    size = int.from_bytes(_exactly(connection, 4), "big")
    answer = _exactly(connection, size)
    # correlation id 4, tags 1, topics 1, name length 1 + name, partitions 1, index 4, then the error code
    name_length = answer[6] - 1
    (error,) = struct.unpack_from(">h", answer, 7 + name_length + 5)
    assert error == 0, f"produce answered error {error}"
    return size + 4


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += connection.recv(size - len(data))
    return data


def produce_request(topic: str, partition: int, value: bytes = b"x" * 100) -> bytes:
    """Return a Produce v9 with acks=all and one batch of one record, with its length prefix."""
    batch = _batch(value)
    header = struct.pack(">hhih", 0, 9, 7, 5) + b"bench" + b"\x00"
    body = b"\x00" + struct.pack(">hi", -1, 30_000)  # no transactional id, acks, timeout
    body += b"\x02" + bytes([len(topic) + 1]) + topic.encode()
    body += b"\x02" + struct.pack(">i", partition) + _unsigned_varint(len(batch) + 1) + batch
    body += b"\x00" * 3  # no tags: partition, topic, request
    return struct.pack(">i", len(header) + len(body)) + header + body


def _batch(value: bytes) -> bytes:
    """Return a record batch v2; the CRC covers everything from the attributes on."""
    record = b"\x00\x00\x00" + b"\x01" + _unsigned_varint(len(value) << 1) + value + b"\x00"  # key -1: zigzag 1
    record = _unsigned_varint(len(record) << 1) + record
    now = int(time.time() * 1000)
    # attributes, last offset delta, first and last timestamp, producer id, epoch, sequence, number of records
    checked = struct.pack(">hiqqqhii", 0, 0, now, now, -1, -1, -1, 1) + record
    # base offset, length of the rest, leader epoch, magic, CRC
    return struct.pack(">qiibI", 0, 9 + len(checked), -1, 2, crc32c.crc32c(checked)) + checked


def _unsigned_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
