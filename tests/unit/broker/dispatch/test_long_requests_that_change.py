"""Long requests whose answers come after something was written: the request is given back meanwhile, and every
partition is answered all the same.
"""

from __future__ import annotations

from typing import Any

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.foundation.pending import Pending
from shareq.broker.groups.offsets import GroupOffsetsService
from shareq.broker.transactions.admission import Refusals, TransactionAdmission
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generated.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from shareq.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from shareq.protocol.records.batch import RecordData, build_batch

COUNT = 3_000
NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def world_of(*names: str) -> BrokerWorld:
    properties = {"offsets.topic.num.partitions": "1", "share.coordinator.state.topic.num.partitions": "1"}
    world = BrokerWorld(properties | {"transaction.state.log.num.partitions": "1"})
    for name in names:
        world.create_topic(name, COUNT)
    return world


def test_share_offsets_that_are_altered() -> None:
    client = world_of("t").connect()
    partitions = [AlterShareGroupOffsetsRequestPartition(each, 0) for each in range(COUNT + 1)]
    request = AlterShareGroupOffsetsRequest("g", [AlterShareGroupOffsetsRequestTopic("t", partitions)])
    (topic,) = client.call(request, 0, AlterShareGroupOffsetsResponse).responses
    errors = [(row.partition_index, row.error_code) for row in topic.partitions]
    assert errors == [*((each, NONE) for each in range(COUNT)), (COUNT, UNKNOWN)]


Rows = list[tuple[str, int, str]]
"""Topic, partition and metadata."""


class Committing:
    """A client with an open transaction and offsets of t and u to commit in it."""

    def __init__(self) -> None:
        self.world = world_of("t", "u")
        self.client = self.world.connect()
        self.ids = {name: self._id_of(name) for name in ("t", "u")}
        answer = self.client.call(InitProducerIdRequest("tx", 60_000), 4, InitProducerIdResponse)
        self.producer = answer.producer_id, answer.producer_epoch

    def _id_of(self, name: str) -> bytes:
        image = self.world.services.metadata.topic(name)
        assert image is not None
        return image.topic_id

    def request(
        self, rows: list[tuple[str, int, str]], version: int, *, generation: int = -1
    ) -> TxnOffsetCommitRequest:
        """Topics, partitions and metadata; neighbours of one topic together."""
        topics: list[TxnOffsetCommitRequestTopic] = []
        for name, partition, metadata in rows:
            topic_id = self.ids.get(name, b"x" * 16)
            named = TxnOffsetCommitRequestTopic("" if version >= 6 else name, topic_id if version >= 6 else bytes(16))
            if not topics or (topics[-1].name, topics[-1].topic_id) != (named.name, named.topic_id):
                topics.append(named)
            topics[-1].partitions.append(TxnOffsetCommitRequestPartition(partition, 7, -1, metadata))
        return TxnOffsetCommitRequest("tx", "g", *self.producer, generation, "", None, topics)

    def commit(
        self, rows: list[tuple[str, int, str]], version: int, *, generation: int = -1
    ) -> list[tuple[str, int, int]]:
        answer = self.client.call(self.request(rows, version, generation=generation), version, TxnOffsetCommitResponse)
        names = {topic_id: name for name, topic_id in self.ids.items()}
        return [
            (topic.name or names.get(topic.topic_id, "none"), row.partition_index, row.error_code)
            for topic in answer.topics
            for row in topic.partitions
        ]


ROWS: Rows = [
    *(("t", each, "") for each in range(0, COUNT, 2)),
    ("none", 0, ""),
    ("u", COUNT, ""),
    ("u", 1, "m" * 5_000),
    ("u", 2, "m" * 5_000),
    ("u", 2, ""),
    ("u", 3, ""),
    ("u", 3, "m" * 5_000),
]


@pytest.mark.parametrize("version", [5, 6])
def test_offsets_in_a_transaction_are_answered_as_those_of_short_requests(version: int) -> None:
    """Of a partition that is named twice the last row counts."""
    unknown = ErrorCode.UNKNOWN_TOPIC_ID if version >= 6 else UNKNOWN
    too_long = ErrorCode.OFFSET_METADATA_TOO_LARGE
    long, short = Committing(), Committing()
    answer = long.commit(ROWS, version)
    assert answer == [
        *(("t", each, NONE) for each in range(0, COUNT, 2)),
        ("none", 0, unknown),
        ("u", COUNT, UNKNOWN),
        *(
            ("u", partition, error)
            for partition, error in ((1, too_long), (2, NONE), (2, NONE), (3, too_long), (3, too_long))
        ),
    ]
    assert short.commit(ROWS[-7:], version) == answer[-7:], "and those of a short one"
    store = long.world.services.groups.coordinator.partition("g").shard.offsets.store
    assert len(store.pending("g")) == COUNT // 2 + 2


def test_an_error_of_the_group_is_that_of_all_that_exists() -> None:
    committing = Committing()
    refused = ErrorCode.GROUP_ID_NOT_FOUND
    answer = committing.commit(ROWS, 6, generation=3)
    assert {error for name, partition, error in answer if name == "t"} == {refused}
    assert answer[-7:] == committing.commit(ROWS[-7:], 6, generation=3)
    assert not committing.world.services.groups.coordinator.partition("g").shard.offsets.store.pending("g")


def test_a_topic_that_goes_meanwhile_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    committing = Committing()
    prepare = GroupOffsetsService.prepare

    def and_delete(service: GroupOffsetsService, group_id: str) -> object:
        prepared = prepare(service, group_id)
        committing.world.clock.call_soon(lambda: committing.world.services.metadata.delete_topics(["u"]))
        return prepared

    monkeypatch.setattr(GroupOffsetsService, "prepare", and_delete)
    rows = [*(("t", each, "") for each in range(COUNT)), ("u", 0, ""), ("u", 1, "")]
    answer = committing.commit(rows, 6)
    assert answer[-3:] == [("t", COUNT - 1, NONE), *(("u", each, ErrorCode.UNKNOWN_TOPIC_ID) for each in range(2))]
    pending = committing.world.services.groups.coordinator.partition("g").shard.offsets.store.pending("g")
    assert {topic for topic, _ in pending} == {"t"}


def test_batches_of_a_transaction_that_the_coordinator_takes_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transaction version 2: the broker adds the partitions, again after 20 ms while the last transaction ends."""
    committing = Committing()
    admit, clock = TransactionAdmission.admit, committing.world.clock

    def admit_later(*arguments: Any) -> Pending[Refusals]:
        later: Pending[Refusals] = Pending()
        clock.call_at(clock.now_ms() + 20, lambda: admit(*arguments).on_complete(later.complete))
        return later

    monkeypatch.setattr(TransactionAdmission, "admit", admit_later)
    producer_id, epoch = committing.producer
    records = bytes(
        build_batch(
            [RecordData(b"k", b"v")],
            timestamp_ms=0,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=0,
            transactional=True,
        )
    )
    rows = [PartitionProduceData(each, records) for each in range(1_200)]
    request = ProduceRequest("tx", -1, 1_000, [TopicProduceData("t", partition_data=rows)])
    committing.client.send(request, 12)
    clock.advance(100)
    (topic,) = committing.client.receive(ProduceResponse).responses
    assert [(row.index, row.error_code) for row in topic.partition_responses] == [(at, NONE) for at in range(1_200)]
