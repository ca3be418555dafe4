from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from shareq.client.admin import Admin
from shareq.client.config import ClientConfig
from shareq.client.fetch import RangeFetcher
from shareq.client.network import Network
from shareq.client.producer import Producer
from shareq.client.share.range_consumer import AckRange, AcquiredRange, ShareRangeConsumer
from shareq.protocol.records.batch import batch_headers, decode_records
from shareq.protocol.records.record_codec import RecordData
from shareq.protocol.share import AcknowledgeType
from tests.interop.support.clients.commands import java_security

TIMEOUT_S: Final = 30
Record = tuple[int, str]


class OurClient:
    """A client with the commands `produce`, `fetch` and `share`, and only topic, group, count and values."""

    def call(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Run a command. Raise ClientError or TimeoutError."""
        given = java_security(arguments.get("login"), arguments.get("tls"))
        given |= {"bootstrap.servers": arguments["bootstrap"], "default.api.timeout.ms": str(TIMEOUT_S * 1000)}
        config = ClientConfig.from_properties(given)
        if do == "produce":
            _produce(config, arguments["topic"], arguments["values"])
            return {}
        if do == "fetch":
            records = _fetch(config, arguments["topic"], arguments["count"])
            return {"records": [{"offset": offset, "value": value} for offset, value in records]}
        assert do == "share"
        return {"deliveries": _share(config, arguments["topic"], arguments["group"], arguments["count"])}

    def close(self) -> None:
        """Do nothing: nothing stays open between commands."""


def _produce(config: ClientConfig, topic: str, values: Sequence[str]) -> None:
    network = Network(config)
    try:
        records = [RecordData(None, value.encode()) for value in values]
        Producer(network, topic).write(records, now_ms=int(time.time() * 1000))
    finally:
        network.close()


def _fetch(config: ClientConfig, topic: str, count: int) -> list[Record]:
    network = Network(config)
    try:
        topic_id = network.topic_ids([topic])[topic]
        assert Admin(network).topics.log_ranges({topic: range(1)})[topic, 0].end >= count
    finally:
        network.close()
    return _records(config, topic_id, topic, 0, count - 1)


def _records(config: ClientConfig, topic_id: bytes, topic: str, first: int, last: int) -> list[Record]:
    fetcher = RangeFetcher(config)
    found: list[Record] = []
    try:
        for fetched in fetcher.fetch(topic_id, topic, 0, first, last):
            for position, header in batch_headers(fetched.data):
                batch = fetched.data[position : position + header.size]
                found += [(record.offset, (record.value or b"").decode()) for record in decode_records(batch)]
    finally:
        fetcher.close()
    return [(offset, value) for offset, value in found if first <= offset <= last]


def _share(config: ClientConfig, topic: str, group: str, count: int) -> list[list[object]]:
    deliveries: list[list[object]] = []
    deadline = time.monotonic() + TIMEOUT_S
    with ShareRangeConsumer(config, group, [topic]) as consumer:
        while len(deliveries) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(deliveries)} of {count} records")
            acquired = consumer.poll(max_records=count, max_wait_ms=500)
            for one in acquired:
                deliveries += _values(config, one)
            ranges = [AckRange(one.topic_id, one.partition, one.first, one.last) for one in acquired]
            for _, error in consumer.acknowledge(ranges, AcknowledgeType.ACCEPT):
                assert error == 0, error
    return deliveries


def _values(config: ClientConfig, one: AcquiredRange) -> list[list[object]]:
    records = _records(config, one.topic_id, one.topic, one.first, one.last)
    return [[value, one.delivery_count] for _, value in records]
