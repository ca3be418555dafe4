from __future__ import annotations

from collections.abc import Mapping

import pytest

from devtools.clients.offsets_client import OffsetsClient
from devtools.clients.transactor import JAVA_TV1, JAVA_TV2, LIBRDKAFKA, Transactor, Versions
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.coordinator.routing import group_partition_for
from shareq.coordinator.transaction.metadata import TransactionState
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.control import ControlType
from tests.support.kafka.transactions import batches_of

NONE = ErrorCode.NONE
PROFILES = [
    pytest.param(LIBRDKAFKA, id="librdkafka"),
    pytest.param(JAVA_TV1, id="java-tv1"),
    pytest.param(JAVA_TV2, id="java-tv2"),
]


class World:
    """A broker with topics `a` (2 partitions) and `b`, and one connection."""

    def __init__(self, properties: Mapping[str, str] | None = None) -> None:
        self.world = BrokerWorld(properties)
        self.ids = {name: self.world.create_topic(name, count).topic_id for name, count in (("a", 2), ("b", 1))}
        self.client = self.world.connect()

    def producer(self, versions: Versions = JAVA_TV2, transactional_id: str = "t") -> Transactor:
        producer = Transactor(self.client, versions, transactional_id)
        assert producer.init() is NONE
        return producer

    def offsets(self) -> OffsetsClient:
        return OffsetsClient(self.client, self.ids)

    def markers(self, topic: str = "a", partition: int = 0) -> list[ControlType | None]:
        log = self.world.folder.logs.get(topic, partition)
        return [marker for header, marker in batches_of(log) if header.is_control]

    def stable(self, topic: str = "a", partition: int = 0) -> bool:
        log = self.world.folder.logs.get(topic, partition)
        return log.last_stable_offset == log.high_watermark

    def state(self, transactional_id: str = "t") -> TransactionState:
        coordinator = self.world.folder.transactions.coordinator
        at = group_partition_for(transactional_id, coordinator.partitions.count)
        found = coordinator.partitions.get(at).shard.get(transactional_id)
        assert found is not None
        return found.state

    def crash(self) -> None:
        self.world.crash()
        self.client = self.world.connect()

    def restart(self) -> None:
        self.world.restart()
        self.client = self.world.connect()
