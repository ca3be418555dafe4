"""A transactional producer without checks, in any version of each RPC."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from devtools.clients.requests import produce_request
from devtools.clients.wire import Caller
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from shareq.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from shareq.protocol.generated.end_txn import EndTxnRequest, EndTxnResponse
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generated.produce import ProduceRequest, ProduceResponse
from shareq.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from shareq.protocol.primitives import ZERO_UUID
from shareq.protocol.records.batch import RecordData, build_batch

NOBODY = -1


def transactional_batch(producer_id: int, epoch: int, sequence: int, values: Iterable[bytes]) -> bytes:
    records = [RecordData(None, value) for value in values]
    return bytes(
        build_batch(
            records,
            timestamp_ms=1_700_000_000_000,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=True,
        )
    )


@dataclass(frozen=True, slots=True)
class Versions:
    """The version of each RPC."""

    init: int
    produce: int
    add: int
    add_offsets: int
    commit: int
    end: int


LIBRDKAFKA = Versions(init=4, produce=10, add=0, add_offsets=0, commit=3, end=1)
JAVA_TV1 = Versions(init=5, produce=11, add=3, add_offsets=4, commit=4, end=4)
JAVA_TV2 = Versions(init=5, produce=12, add=3, add_offsets=4, commit=5, end=5)
JAVA_4_4 = Versions(init=5, produce=12, add=3, add_offsets=4, commit=6, end=5)


class Transactor:
    """One producer: its id and epoch from the broker, and a sequence for each partition by topic name."""

    def __init__(self, client: Caller, versions: Versions = JAVA_TV2, transactional_id: str = "t") -> None:
        self.client = client
        self.versions = versions
        self.transactional_id = transactional_id
        self.producer_id = self.epoch = NOBODY
        self.sequences: dict[tuple[str, int], int] = {}

    @property
    def bumps(self) -> bool:
        return self.versions.end >= 5

    def init(self, *, timeout_ms: int = 60_000, goes_on: bool = False) -> ErrorCode:
        request = InitProducerIdRequest(self.transactional_id, timeout_ms)
        if goes_on:
            request.producer_id, request.producer_epoch = self.producer_id, self.epoch
        response = self.client.call(request, self.versions.init, InitProducerIdResponse)
        if not response.error_code:
            self._now(response.producer_id, response.producer_epoch)
        return ErrorCode(response.error_code)

    def add(self, topic: str, *partitions: int) -> list[ErrorCode]:
        """Return the errors of the partitions, in order."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(topic, list(partitions))],
        )
        response = self.client.call(request, self.versions.add, AddPartitionsToTxnResponse)
        (row,) = response.results_by_topic_v3_and_below
        return [ErrorCode(each.partition_error_code) for each in row.results_by_partition]

    def produce_request(
        self, topic: str, *values: bytes, partition: int = 0, epoch: int | None = None
    ) -> ProduceRequest:
        """Return the next batch of the partition, by the topic's name: versions up to 12."""
        sequence = self.sequences.get((topic, partition), 0)
        records = transactional_batch(self.producer_id, self.epoch if epoch is None else epoch, sequence, values)
        return produce_request(
            records, topic=topic, partition=partition, acks=-1, transactional_id=self.transactional_id
        )

    def produce(self, topic: str, *values: bytes, partition: int = 0, epoch: int | None = None) -> ErrorCode:
        """Send a batch, which advances the sequence if accepted."""
        request = self.produce_request(topic, *values, partition=partition, epoch=epoch)
        response = self.client.call(request, self.versions.produce, ProduceResponse)
        error = ErrorCode(response.responses[0].partition_responses[0].error_code)
        if not error:
            self.sequences[topic, partition] = self.sequences.get((topic, partition), 0) + len(values)
        return error

    def write(self, topic: str, *values: bytes, partition: int = 0) -> ErrorCode:
        """Write as a real producer does: with older versions, add the partition first."""
        if not self.bumps:
            (error,) = self.add(topic, partition)
            if error:
                return error
        return self.produce(topic, *values, partition=partition)

    def add_offsets(self, group: str) -> ErrorCode:
        request = AddOffsetsToTxnRequest(self.transactional_id, self.producer_id, self.epoch, group)
        response = self.client.call(request, self.versions.add_offsets, AddOffsetsToTxnResponse)
        return ErrorCode(response.error_code)

    def commit_offsets(
        self,
        group: str,
        offsets: Mapping[tuple[str, int], int],
        *,
        generation: int = -1,
        member: str = "",
        ids: Mapping[str, bytes] = MappingProxyType({}),
    ) -> list[ErrorCode]:
        """Return the errors of the partitions, in order, from one request.

        `ids` are the topics', sent from version 6 on.
        """
        topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
        for (topic, partition), offset in offsets.items():
            topics.setdefault(topic, []).append(TxnOffsetCommitRequestPartition(partition, offset))
        request = TxnOffsetCommitRequest(
            self.transactional_id,
            group,
            self.producer_id,
            self.epoch,
            topics=[
                TxnOffsetCommitRequestTopic(topic, ids.get(topic, ZERO_UUID), rows) for topic, rows in topics.items()
            ],
        )
        if self.versions.commit >= 3:
            request.generation_id_or_member_epoch, request.member_id = generation, member
        response = self.client.call(request, self.versions.commit, TxnOffsetCommitResponse)
        return [ErrorCode(each.error_code) for topic in response.topics for each in topic.partitions]

    def end(self, *, commit: bool) -> ErrorCode:
        request = EndTxnRequest(self.transactional_id, self.producer_id, self.epoch, commit)
        response = self.client.call(request, self.versions.end, EndTxnResponse)
        if not response.error_code and self.bumps:
            self._now(response.producer_id, response.producer_epoch)
        return ErrorCode(response.error_code)

    def commit(self) -> ErrorCode:
        return self.end(commit=True)

    def abort(self) -> ErrorCode:
        return self.end(commit=False)

    def _now(self, producer_id: int, epoch: int) -> None:
        """Restart the sequences for a new epoch."""
        self.producer_id, self.epoch = producer_id, epoch
        self.sequences.clear()
