"""The records in the coordinators' topics of a broker."""

from __future__ import annotations

from collections.abc import Iterator

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.coordinator.shard import CoordinatorRecord, RecordSerde
from tests.support.worlds.log_world import read_all


def records(world: BrokerWorld, topic: str, partition: int, serde: RecordSerde) -> Iterator[CoordinatorRecord]:
    for record in read_all(world.folder.logs.get(topic, partition)):
        assert record.key is not None
        decoded = serde.decode(record.key, record.value)
        assert decoded is not None
        yield decoded
