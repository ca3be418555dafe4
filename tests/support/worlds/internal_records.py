"""What stands in the coordinators' topics of a broker."""

from __future__ import annotations

from collections.abc import Iterator

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.coordinator.shard import CoordinatorRecord, RecordSerde
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import decode_records


def records(world: BrokerWorld, topic: str, partition: int, serde: RecordSerde) -> Iterator[CoordinatorRecord]:
    """Everything in one partition of an internal topic, in order."""
    log = world.services.logs.get(topic, partition)
    read = log.read(log.log_start_offset, 1 << 20, upto=log.high_watermark)
    assert not isinstance(read, ErrorCode)
    for span in read.batches:
        for record in decode_records(read.records[span.position : span.position + span.size]):
            assert record.key is not None
            decoded = serde.decode(record.key, record.value)
            assert decoded is not None
            yield decoded
