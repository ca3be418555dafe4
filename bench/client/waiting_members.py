"""Share-group members that long-poll, with heartbeats at the broker's interval, while records arrive singly.

They use raw sockets in one process, so that thousands cost less than the broker does.
"""

from __future__ import annotations

import heapq
import selectors
import socket
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Final

from bench.client.meter import Meter
from bench.client.pipelined import produce_request
from bench.client.wire import Wire
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.generated.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
    ShareFetchResponse,
)
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.headers import decode_response_header, encode_request
from shareq.protocol.primitives import Message

_BEAT, _FETCH, _RECORD = range(3)  # what is due, and correlation ids of the answers
_VERSIONS: Final = {_BEAT: 1, _FETCH: 1}
_ACCEPT: Final = [1]
SETTLE_S: Final = 3.0
_BEAT_S: Final = 5.0  # until the first heartbeats after joining, evenly spread


class _Member:
    """One connection: a ShareFetch is always in flight, sometimes a heartbeat."""

    def __init__(self, address: tuple[str, int], group: str, topic: tuple[str, bytes, int], max_wait_ms: int) -> None:
        name, self._topic_id, partitions = topic
        self.socket = socket.create_connection(address, 30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        member_id = str(uuid.uuid4())
        self._beat = ShareGroupHeartbeatRequest(group, member_id, 0, None, [name])
        everything = [FetchTopic(self._topic_id, [FetchPartition(at) for at in range(partitions)])]
        self._fetch = ShareFetchRequest(group, member_id, 0, max_wait_ms, 1, 1 << 20, 500, 500, topics=everything)
        self._data = bytearray()
        self._beats = False
        self.interval_s = _BEAT_S
        self.came: list[int] = []  # when the records that came were sent
        self.answered = 0

    def beat(self) -> None:
        """Send a heartbeat, unless the last is unanswered."""
        if not self._beats:
            self._beats = True
            self._send(_BEAT, self._beat)
            self._beat.subscribed_topic_names = None

    @property
    def has_joined(self) -> bool:
        return self._beat.member_epoch > 0

    def fetch(self) -> None:
        self._send(_FETCH, self._fetch)
        self._fetch.share_session_epoch += 1

    def _send(self, what: int, request: Message) -> None:
        frame = encode_request(_VERSIONS[what], what, "bench", request)
        self.socket.sendall(len(frame).to_bytes(4, "big") + frame)

    def receive(self) -> None:
        """Read answers; an answered fetch is followed by the next, with acknowledgements."""
        part = self.socket.recv(1 << 20)
        assert part, "the broker closed the connection"
        self._data += part
        while len(self._data) >= 4:
            end = 4 + int.from_bytes(self._data[:4], "big")
            if len(self._data) < end:
                return
            frame = bytes(self._data[4:end])
            del self._data[:end]
            self.answered += 1
            self._answered(frame)

    def _answered(self, frame: bytes) -> None:
        what = int.from_bytes(frame[:4], "big")
        request: Message = self._beat if what == _BEAT else self._fetch
        start = decode_response_header(frame, request.API_KEY, _VERSIONS[what]).body_offset
        if what == _BEAT:
            beaten, _ = ShareGroupHeartbeatResponse.decode(frame, _VERSIONS[what], start)
            assert beaten.error_code == 0, f"heartbeat answered error {beaten.error_code}: {beaten.error_message}"
            self._beats = False
            self._beat.member_epoch = beaten.member_epoch
            self.interval_s = beaten.heartbeat_interval_ms / 1000
            return
        fetched, _ = ShareFetchResponse.decode(frame, _VERSIONS[what], start)
        assert fetched.error_code == 0, f"fetch answered error {fetched.error_code}: {fetched.error_message}"
        acked: list[FetchPartition] = []
        for topic in fetched.responses:
            for row in topic.partitions:
                assert row.error_code == row.acknowledge_error_code == 0, row
                if row.acquired_records:
                    ranges = [(each.first_offset, each.last_offset) for each in row.acquired_records]
                    acks = [AcknowledgementBatch(first, last, _ACCEPT) for first, last in ranges]
                    acked.append(FetchPartition(row.partition_index, acks))
                    self.came += _sent(bytes(row.records or b""), ranges)
        self._fetch.topics = [FetchTopic(self._topic_id, acked)] if acked else []
        self.fetch()


def _sent(records: bytes, ranges: list[tuple[int, int]]) -> Iterator[int]:
    """Yield the send time of each of these records, which is the record's value; each batch has one record."""
    at = 0
    while at < len(records):
        offset = int.from_bytes(records[at : at + 8], "big")
        end = at + 12 + int.from_bytes(records[at + 8 : at + 12], "big")
        if any(first <= offset <= last for first, last in ranges):
            yield int.from_bytes(records[end - 9 : end - 1], "big")
        at = end


def run(
    address: str,
    broker_pid: int,
    topic: str,
    groups: list[str],
    members: int,
    seconds: float,
    rate: float = 0.0,
    partitions: int = 1,
    max_wait_ms: int = 500,
    settle_s: float = SETTLE_S,
) -> dict[str, float]:
    """Measure the broker's `share_of_core` with so many members and `rate` records a second.

    `answered_s` are requests answered in a second. `p50_ms` and `p99_ms` are from Produce to the member that receives
    the record.
    """
    host, _, port = address.rpartition(":")
    wire = Wire(address)
    wanted = MetadataRequest([MetadataRequestTopic(name=topic)])
    (described,) = wire.call(wanted, 12, MetadataResponse).topics
    image = (topic, described.topic_id, partitions)
    everyone = [_Member((host, int(port)), groups[at % len(groups)], image, max_wait_ms) for at in range(members)]
    return _Run(everyone, address, topic, partitions, rate).measured(broker_pid, seconds, settle_s)


class _Run:
    """A run with all members and one sender."""

    def __init__(self, members: list[_Member], address: str, topic: str, partitions: int, rate: float) -> None:
        self._members = members
        self._topic, self._partitions, self._rate = topic, partitions, rate
        host, _, port = address.rpartition(":")
        self._sender = socket.create_connection((host, int(port)), 30)
        self._sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._number = 0
        self._due: list[tuple[float, int, int]] = []  # when, what, of which member
        self._selector = selectors.DefaultSelector()
        for member in members:
            self._selector.register(member.socket, selectors.EVENT_READ, member)
        self._selector.register(self._sender, selectors.EVENT_READ, None)

    def measured(self, broker_pid: int, seconds: float, settle_s: float) -> dict[str, float]:
        began = time.perf_counter()
        for at, member in enumerate(self._members):
            member.beat()
            member.fetch()
            heapq.heappush(self._due, (began + _BEAT_S * (1 + at / len(self._members)), _BEAT, at))
        if self._rate:
            heapq.heappush(self._due, (began, _RECORD, 0))
        while not all(member.has_joined for member in self._members):
            self._go_on(time.perf_counter() + 1)
        self._go_on(time.perf_counter() + settle_s)
        for member in self._members:
            member.came.clear()
            member.answered = 0
        meter = Meter.start(broker_pid)
        late = self._go_on(time.perf_counter() + seconds)
        sample = meter.stop(1)
        waited = sorted(late)
        found: Mapping[str, float] = {
            "share_of_core": sample["cpu_us"] / 1e6 / sample["elapsed_s"],
            "own_share": sample["client_us"] / 1e6 / sample["elapsed_s"],
            "answered_s": sum(member.answered for member in self._members) / sample["elapsed_s"],
            "came": float(len(waited)),
            "p50_ms": waited[len(waited) // 2] if waited else 0.0,
            "p99_ms": waited[len(waited) * 99 // 100] if waited else 0.0,
        }
        return dict(found)

    def _go_on(self, until: float) -> list[float]:
        late: list[float] = []
        while (now := time.perf_counter()) < until:
            while self._due and self._due[0][0] <= now:
                self._act(*heapq.heappop(self._due))
            wait_s = min([until, *(each[0] for each in self._due[:1])]) - time.perf_counter()
            for key, _ in self._selector.select(max(wait_s, 0)):
                if key.data is None:
                    self._sender.recv(1 << 16)
                    continue
                key.data.receive()
                came = time.perf_counter_ns()
                late += [(came - sent) / 1e6 for sent in key.data.came]
                key.data.came.clear()
        return late

    def _act(self, due: float, what: int, at: int) -> None:
        if what == _BEAT:
            self._members[at].beat()
            heapq.heappush(self._due, (due + self._members[at].interval_s, what, at))
            return
        self._number += 1
        value = time.perf_counter_ns().to_bytes(8, "big")
        self._sender.sendall(produce_request(self._topic, self._number * 7919 % self._partitions, value))
        heapq.heappush(self._due, (due + 1 / self._rate, what, at))
