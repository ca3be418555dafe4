"""Long requests whose answers wait for a write: the request is freed meanwhile, and every partition still answered."""

from __future__ import annotations

from typing import Any

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.foundation.loop.coroutines import sleep
from shareq.broker.groups.offsets import GroupOffsetsService
from shareq.broker.handlers.groups.consumer_group_heartbeat import MOST_NAMES
from shareq.broker.handlers.shared.alter_resource import MOST_PROPERTIES
from shareq.broker.security.acls import MOST_CHANGED
from shareq.broker.transactions.admission import Refusals, TransactionAdmission
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import incremental_alter_configs
from shareq.protocol.generated.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
)
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from shareq.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from shareq.protocol.generated.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from shareq.protocol.generated.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from shareq.protocol.generated.incremental_alter_configs import AlterableConfig as IncrementalConfig
from shareq.protocol.generated.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generated.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from shareq.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from tests.support.clients.access import STANDARD
from tests.support.coroutines import paused_everywhere
from tests.support.kafka.group_requests import consumer_heartbeat
from tests.support.kafka.transactions import numbered

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
        """Return a request of topics, partitions and metadata; neighbours of one topic are grouped."""
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
    """If a partition is named twice, its last row counts."""
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


def test_topics_without_partitions_have_their_turns_too(monkeypatch: pytest.MonkeyPatch) -> None:
    committing = Committing()
    pauses = paused_everywhere(monkeypatch)
    topics = [TxnOffsetCommitRequestTopic(f"none{n}") for n in range(30)]
    request = TxnOffsetCommitRequest("tx", "g", *committing.producer, topics=topics)
    answer = committing.client.call(request, 5, TxnOffsetCommitResponse)
    assert len(answer.topics) == 30
    assert len(pauses) >= 60, "when they are looked at, and when they are answered"


def test_a_topic_that_goes_meanwhile_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    committing = Committing()
    prepare = GroupOffsetsService.prepare

    def and_delete(service: GroupOffsetsService, *, short: bool) -> object:
        prepared = prepare(service, short=short)
        committing.world.clock.call_soon(lambda: committing.world.folder.metadata.delete_topics(["u"]))
        return prepared

    monkeypatch.setattr(GroupOffsetsService, "prepare", and_delete)
    rows = [*(("t", each, "") for each in range(COUNT)), ("u", 0, ""), ("u", 1, "")]
    answer = committing.commit(rows, 6)
    assert answer[-3:] == [("t", COUNT - 1, NONE), *(("u", each, ErrorCode.UNKNOWN_TOPIC_ID) for each in range(2))]
    pending = committing.world.services.groups.coordinator.partition("g").shard.offsets.store.pending("g")
    assert {topic for topic, _ in pending} == {"t"}


def test_batches_of_a_transaction_that_the_coordinator_takes_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker adds partitions (transaction version 2), again after 20 ms while the last transaction ends."""
    committing = Committing()
    admit, clock = TransactionAdmission.admit, committing.world.clock

    async def admit_later(*arguments: Any) -> Refusals:
        await sleep(clock, 20)
        return await admit(*arguments)

    monkeypatch.setattr(TransactionAdmission, "admit", admit_later)
    producer_id, epoch = committing.producer
    records = numbered(b"v", producer_id=producer_id, epoch=epoch, transactional=True)
    rows = [PartitionProduceData(each, records) for each in range(1_200)]
    request = ProduceRequest("tx", -1, 1_000, [TopicProduceData("t", partition_data=rows)])
    committing.client.send(request, 12)
    clock.advance(100)
    (topic,) = committing.client.receive(ProduceResponse).responses
    assert [(row.index, row.error_code) for row in topic.partition_responses] == [(at, NONE) for at in range(1_200)]


# -- what another request does between two turns


def create(names: list[str]) -> CreateTopicsRequest:
    return CreateTopicsRequest([CreatableTopic(name, 1, 1) for name in names], 1_000)


def test_a_topic_that_another_request_has_made_meanwhile_exists(world: BrokerWorld) -> None:
    slow, quick = world.connect(), world.connect()
    slow.send(create([f"t{at}" for at in range(1_500)]), 7)
    for _ in range(6):
        world.clock.run_tick()
    assert not slow.frames
    assert world.services.metadata.topic("t700") is None
    quick.send(create(["t700", "t7.x"]), 7)
    world.clock.run_until_idle()
    answer = slow.receive(CreateTopicsResponse)
    errors = {topic.name: topic.error_code for topic in answer.topics if topic.error_code}
    assert errors == {"t700": ErrorCode.TOPIC_ALREADY_EXISTS}
    assert {topic.error_code for topic in quick.receive(CreateTopicsResponse).topics} == {NONE}
    assert len(world.services.metadata.topics()) == 1_501


def test_a_topic_that_another_request_has_deleted_meanwhile_is_unknown(world: BrokerWorld) -> None:
    for at in range(1_200):
        world.create_topic(f"t{at}", 1)
    slow, quick = world.connect(), world.connect()
    names = [f"t{at}" for at in range(1_200)]
    slow.send(DeleteTopicsRequest(topic_names=names), 5)
    world.clock.run_tick()
    assert not slow.frames
    assert world.services.metadata.topic("t3") is not None
    quick.send(DeleteTopicsRequest(topic_names=["t3"]), 5)
    world.clock.run_until_idle()
    rows = {row.name: row.error_code for row in slow.receive(DeleteTopicsResponse).responses}
    assert rows == {**dict.fromkeys(names, NONE), "t3": UNKNOWN}
    assert [row.error_code for row in quick.receive(DeleteTopicsResponse).responses] == [NONE]
    assert world.services.metadata.topics() == []


# -- more than one turn has room for


def test_a_subscription_of_too_many_names_is_too_large() -> None:
    world = world_of()
    client = world.connect()
    for count, error in ((MOST_NAMES, NONE), (MOST_NAMES + 1, ErrorCode.UNKNOWN_SERVER_ERROR)):
        request = consumer_heartbeat(f"g{count}", topics=[f"t{at}" for at in range(count)])
        answer = client.call(request, 1, ConsumerGroupHeartbeatResponse)
        assert answer.error_code == error
    assert answer.error_message == "The subscription is too large."


def test_too_many_acls_are_neither_added_nor_removed() -> None:
    """The error is POLICY_VIOLATION, as for Apache Kafka's `MAX_RECORDS_PER_USER_OP`."""
    world = BrokerWorld({"authorizer.class.name": STANDARD, "super.users": "User:super"})
    client = world.connect()
    client.side.principal = "User:super"

    def created(first: int, count: int) -> set[int]:
        entries = [AclCreation(2, f"t{at}", 3, "User:x", "*", 3, 3) for at in range(first, first + count)]
        return {row.error_code for row in client.call(CreateAclsRequest(entries), 3, CreateAclsResponse).results}

    def deleted(*names: str | None) -> list[tuple[int, int]]:
        filters = [DeleteAclsFilter(2, name, 3, None, None, 1, 1) for name in names]
        answer = client.call(DeleteAclsRequest(filters), 3, DeleteAclsResponse)
        return [(row.error_code, len(row.matching_acls)) for row in answer.filter_results]

    assert created(0, MOST_CHANGED + 1) == {ErrorCode.POLICY_VIOLATION}
    assert not world.services.metadata.acls
    assert created(0, MOST_CHANGED) == {NONE}
    assert created(MOST_CHANGED, 1) == {NONE}
    assert deleted(None) == [(ErrorCode.POLICY_VIOLATION, 0)]
    assert deleted("t1", "t1", "none") == [(NONE, 1), (NONE, 1), (NONE, 0)]
    assert deleted(None) == [(NONE, MOST_CHANGED)]
    assert not world.services.metadata.acls


@pytest.mark.parametrize("count", [MOST_PROPERTIES, MOST_PROPERTIES + 1])
def test_no_resource_has_so_many_properties(count: int) -> None:
    client = world_of("t").connect()
    error = ErrorCode.INVALID_CONFIG if count == MOST_PROPERTIES else ErrorCode.INVALID_REQUEST
    names = [f"n{at}" for at in range(count)]
    configs = [AlterableConfig(name, "1") for name in names]
    replaced = AlterConfigsRequest([AlterConfigsResource(2, "t", configs)])
    (row,) = client.call(replaced, 2, AlterConfigsResponse).responses
    assert row.error_code == error
    changed = IncrementalAlterConfigsRequest(
        [incremental_alter_configs.AlterConfigsResource(2, "t", [IncrementalConfig(name, 0, "1") for name in names])]
    )
    (changed_row,) = client.call(changed, 1, IncrementalAlterConfigsResponse).responses
    assert changed_row.error_code == error
