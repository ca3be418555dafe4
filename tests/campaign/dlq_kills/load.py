"""The campaign's writes and reads: records of all kinds, redrives, whole topics."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Final

from devtools.clients.requests import fetch, fetch_request, produce
from devtools.clients.transactor import Transactor
from devtools.clients.wire import WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import Compression, Record, RecordData, batch_headers, build_batch, decode_records
from shareq.protocol.records.control import ControlType, read_control_record
from tests.campaign.dlq_kills.judge import Source
from tests.campaign.order_kills.judge import Place

PARTITIONS: Final = 3
TOPIC: Final = "work"
CODECS: Final = tuple(Compression)


class Load:
    """A writer to the topic, once per life of the broker; what a kill cuts off may exist or not."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._values = 0

    def write(self, client: WireClient, batches: int) -> None:
        """Write plain and compressed batches, and a transaction of two that is committed, aborted or left open."""
        for _ in range(batches):
            batch = build_batch(
                [RecordData(b"key", value, self._own()) for value in self._next()],
                timestamp_ms=int(time.time() * 1000) - self._rng.randrange(60_000),
                compression=self._rng.choice(CODECS),
            )
            answer = produce(client, TOPIC, bytes(batch), partition=self._rng.randrange(PARTITIONS))
            assert answer.error_code == ErrorCode.NONE, answer
        transactor = Transactor(client, transactional_id="writer")
        self.end_transactions(client, transactor)
        for _ in range(2):
            error = transactor.write(TOPIC, *self._next(), partition=self._rng.randrange(PARTITIONS))
            assert error is ErrorCode.NONE, error
        end = self._rng.random()
        if end < 0.9:
            transactor.end(commit=end < 0.6)

    def end_transactions(self, client: WireClient, transactor: Transactor | None = None) -> None:
        transactor = transactor or Transactor(client, transactional_id="writer")
        deadline = time.monotonic() + 30
        while (error := transactor.init()) is not ErrorCode.NONE:
            assert time.monotonic() < deadline, error
            time.sleep(0.02)

    def _next(self) -> list[bytes]:
        size = self._rng.choice((1, 3, 8, 15))
        self._values += size
        return [b"value %d" % number for number in range(self._values - size, self._values)]

    def _own(self) -> tuple[tuple[str, bytes | None], ...]:
        return (("own", b"%d" % self._rng.randrange(100)), ("empty", None))[: self._rng.randrange(3)]


def batches(client: WireClient, topic: str, partition: int) -> Iterator[bytes]:
    offset = 0
    while True:
        row = fetch(client, fetch_request(topic, offset, partition=partition, partition_max_bytes=1 << 22))
        if row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return
        assert row.error_code == ErrorCode.NONE, row
        data = bytes(row.records or b"")
        if not data:
            return
        for position, header in batch_headers(data):
            yield data[position : position + header.size]
            offset = header.next_offset


def plain_records(client: WireClient, topic: str, partition: int) -> list[Record]:
    found: list[Record] = []
    for batch in batches(client, topic, partition):
        ((_, header),) = batch_headers(batch)
        if not header.is_control and not header.is_transactional:
            found += decode_records(batch)
    return found


def source(client: WireClient, topic: str = TOPIC, partitions: int = PARTITIONS) -> Source:
    """Return the topic's current content; no transaction is open."""
    found: dict[Place, Record] = {}
    aborted: set[Place] = set()
    markers: set[Place] = set()
    for partition in range(partitions):
        under_way: dict[int, list[Place]] = {}
        for batch in batches(client, topic, partition):
            ((_, header),) = batch_headers(batch)
            if header.is_control:
                markers.add((partition, header.base_offset))
                ended = under_way.pop(header.producer_id, [])
                aborted.update(ended if read_control_record(batch).type is ControlType.ABORT else ())
                continue
            places = {(partition, record.offset): record for record in decode_records(batch)}
            found.update(places)
            if header.is_transactional:
                under_way.setdefault(header.producer_id, []).extend(places)
    return Source(found, aborted, markers)
