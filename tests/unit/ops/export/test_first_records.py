"""The times of first records: a topic that may not be read hides no other topic's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from shareq.client.config import ClientConfig
from shareq.client.errors import BrokerError
from shareq.client.network import Network
from shareq.client.reader import ReadRecord
from shareq.ops.export import sample
from shareq.ops.export.sample import PartitionSample, Sampler
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.record_codec import Record


class ForbiddenReader:
    def __init__(self, _: Network, positions: Mapping[tuple[str, int], int], **_more: int) -> None:
        self._positions = positions

    def read(self, _max_wait_ms: int) -> Iterator[ReadRecord]:
        if any(topic == "b" for topic, _ in self._positions):
            raise BrokerError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "topic b")
        for (topic, number), offset in self._positions.items():
            yield ReadRecord(topic, number, Record(offset, -1 if topic == "c" else 5_000, None, b""))


def test_a_topic_that_may_not_be_read_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "Reader", ForbiddenReader)
    sampler = Sampler(Network(ClientConfig.from_properties({"bootstrap.servers": "127.0.0.1:9"})))
    partitions = {("g", topic, 0): PartitionSample(3, 1, None, {}, {}) for topic in "bacd"}
    sampler._look_at_first_records(partitions)
    assert {topic: sampler._first(("g", topic, 0), partitions["g", topic, 0]) for topic in "abcd"} == {
        "a": 5.0,
        "b": None,
        "c": None,
        "d": 5.0,
    }
