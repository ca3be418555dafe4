"""Writes records, each once: an idempotent producer that waits for its batches. Pure but for its `Network`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from shareq.client.admin.calls import Calls, Outcome, Partition
from shareq.client.errors import BrokerError, ClientError
from shareq.client.network import Network
from shareq.client.partitioner import partition_of_key
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import build_batch
from shareq.protocol.records.compression import Compression
from shareq.protocol.records.record_codec import RecordData

_BY_NAME: Final = 12
"""The last version of Produce that names topics."""
_BATCHES: Final = 3
"""The first version of Produce with record batches of magic 2."""
_ALL: Final = -1


class Written(NamedTuple):
    """Where a record is. `offset` is None where the broker only knows that it has the record already."""

    partition: int
    offset: int | None


class Producer:
    """Writes to one topic. Records of one key go to one partition, the one that Java's producer takes.

    A batch is sent again until it is answered, and counts once, whatever became of the answers.
    """

    def __init__(self, network: Network, topic: str, compression: Compression = Compression.NONE) -> None:
        self._calls = Calls(network)
        self._topic = topic
        self._compression = compression
        self._producer: InitProducerIdResponse | None = None
        self._sequences: dict[int, int] = {}
        self._turn = 0

    def write(self, records: Sequence[RecordData], now_ms: int, partition: int | None = None) -> list[Written]:
        """Write records as one batch for each partition, and return where they are, in their order.

        Without a key, and without `partition`, they go to one partition after the other, call by call. Raises
        BrokerError for what is refused; what went to other partitions is written then.
        """
        if self._producer is None:
            self._producer = self._calls.any(InitProducerIdRequest(None), InitProducerIdResponse, "producer id")
        partitions = self._partitions()
        if partition is not None and partition not in partitions:
            raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"partition {self._topic}-{partition}")
        self._turn += 1
        chosen = [partition if partition is not None else self._partition_of(each, partitions) for each in records]
        batches: dict[Partition, list[RecordData]] = {}
        for number, record in zip(chosen, records, strict=True):
            batches.setdefault((self._topic, number), []).append(record)
        written = self._send(batches, now_ms)
        nexts: dict[int, int | None] = {}
        for (_, number), outcome in written.items():
            if isinstance(outcome, ClientError):
                raise outcome
            nexts[number] = None if outcome < 0 else outcome
        found = []
        for number in chosen:
            offset = nexts[number]
            found.append(Written(number, offset))
            nexts[number] = None if offset is None else offset + 1
        return found

    def _partitions(self) -> list[int]:
        network = self._calls.network
        ids = network.topic_ids([self._topic])
        if self._topic not in ids:
            raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {self._topic}")
        return network.partitions(ids[self._topic])

    def _partition_of(self, record: RecordData, partitions: Sequence[int]) -> int:
        if record.key is None:
            return partitions[self._turn % len(partitions)]
        return partition_of_key(record.key, partitions)

    def _send(self, records: dict[Partition, list[RecordData]], now_ms: int) -> dict[Partition, Outcome[int]]:
        producer = self._producer
        assert producer is not None
        batches = {}
        for (name, number), rows in records.items():
            sequence = self._sequences.get(number, 0)
            self._sequences[number] = sequence + len(rows)
            batches[name, number] = build_batch(
                rows,
                timestamp_ms=now_ms,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                base_sequence=sequence,
                compression=self._compression,
            )

        def ask(partitions: list[Partition]) -> Message:
            data = [PartitionProduceData(number, memoryview(batches[name, number])) for name, number in partitions]
            timeout_ms = self._calls.network.config.request_timeout_ms
            return ProduceRequest(None, _ALL, timeout_ms, [TopicProduceData(self._topic, partition_data=data)])

        return self._calls.each_partition(batches, ask, _written, min_version=_BATCHES, max_version=_BY_NAME)


def _written(answer: Message, _: Sequence[Partition]) -> dict[Partition, Outcome[int]]:
    assert isinstance(answer, ProduceResponse)
    found: dict[Partition, Outcome[int]] = {}
    for topic in answer.responses:
        for row in topic.partition_responses:
            error: ClientError | None = None
            if row.error_code and row.error_code != ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                said = next((each.batch_index_error_message for each in row.record_errors), None)
                error = BrokerError(row.error_code, f"partition {topic.name}-{row.index}", row.error_message or said)
            found[topic.name, row.index] = error or (-1 if row.error_code else row.base_offset)
    return found
