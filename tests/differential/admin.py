"""The requests around the share RPCs: for topics, records, group configs, members, offsets, persisted state."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from devtools.clients.requests import batch, produce_request
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import read_share_group_state_summary
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
)
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.generated.read_share_group_state import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateData,
)
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from tests.differential.answers import Answer, PartitionAnswer
from tests.differential.steps import PARTITIONS, MemberEpoch
from tests.differential.wire import Connection
from tests.interop.support.share_wire import ARCHIVING, NOT_READY

T = TypeVar("T")

GROUP_RESOURCE = 32
GROUP_CONFIG = 8
"""The config source of a value that was set on a group."""
VALUE = b"x" * 20
READY_WITHIN_S = 30


def member_id(member: int) -> str:
    return f"member-{member}"


async def eventually(attempt: Callable[[], Awaitable[T | None]], pause_s: float = 0.02) -> T:
    """Return the first result that is not None; raise AssertionError if none comes in time."""
    deadline = time.monotonic() + READY_WITHIN_S
    while True:
        result = await attempt()
        if result is not None:
            return result
        assert time.monotonic() < deadline, f"nothing within {READY_WITHIN_S} s"
        await asyncio.sleep(pause_s)


async def served(connection: Connection) -> set[int]:
    answer = await connection.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    return {one.api_key for one in answer.api_keys}


async def has_dead_letters(connection: Connection) -> bool:
    answer = await connection.call(ApiVersionsRequest("differential", "1"), 4, ApiVersionsResponse)
    return any(one.name == "share.version" and one.max_version_level >= 2 for one in answer.finalized_features)


# -- topics and records


async def create_topic(connection: Connection, name: str, configs: Mapping[str, str] | None = None) -> bytes:
    rows = [CreatableTopicConfig(*each) for each in (configs or {}).items()]
    request = CreateTopicsRequest([CreatableTopic(name, PARTITIONS, 1, [], rows)], 20_000)
    topic = (await connection.call(request, 7, CreateTopicsResponse)).topics[0]
    assert topic.error_code == ErrorCode.NONE, topic
    return topic.topic_id


async def delete_topic(connection: Connection, name: str) -> None:
    await connection.call(DeleteTopicsRequest([DeleteTopicState(name)], [], 20_000), 6, DeleteTopicsResponse)


async def produce(connection: Connection, topic: str, partition: int, sizes: Sequence[int], written_ms: int) -> Answer:
    for size in sizes:
        records = batch(*[VALUE] * size, timestamp_ms=written_ms)

        async def attempt(records: bytes = records) -> int | None:
            request = produce_request(records, topic=topic, partition=partition)
            answer = await connection.call(request, 9, ProduceResponse)
            error = answer.responses[0].partition_responses[0].error_code
            return None if error in NOT_READY else error

        error = await eventually(attempt)
        if error:
            return Answer(error)
    return Answer()


async def delete_records(connection: Connection, topic: str, partition: int, before: int) -> Answer:
    request = DeleteRecordsRequest([DeleteRecordsTopic(topic, [DeleteRecordsPartition(partition, before)])], 20_000)
    row = (await connection.call(request, 2, DeleteRecordsResponse)).topics[0].partitions[0]
    return Answer(row.error_code, {partition: PartitionAnswer(start_offset=row.low_watermark)})


# -- the group


async def configure(connection: Connection, group: str, configs: Sequence[tuple[str, str]]) -> Answer:
    changes = [AlterableConfig(name, 0, value) for name, value in configs]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(GROUP_RESOURCE, group, changes)])
    answer = await connection.call(request, 1, IncrementalAlterConfigsResponse)
    error = answer.responses[0].error_code
    if error:
        return Answer(error)
    wanted = dict(configs)
    describe = DescribeConfigsRequest([DescribeConfigsResource(GROUP_RESOURCE, group, list(wanted))])

    async def attempt() -> bool | None:
        result = (await connection.call(describe, 4, DescribeConfigsResponse)).results[0]
        reported = {row.name: row.value for row in result.configs if row.config_source == GROUP_CONFIG}
        return reported == wanted or None

    await eventually(attempt)
    return Answer()


async def find_group(connection: Connection, key: str, *, share: bool = False) -> bool:
    """Return True if a group's coordinator, or with `share` a share partition's, is available.

    The request also creates the coordinator's topic.
    """
    request = FindCoordinatorRequest(key_type=2 if share else 0, coordinator_keys=[key])
    answer = await connection.call(request, 6 if share else 4, FindCoordinatorResponse)
    return answer.coordinators[0].error_code == ErrorCode.NONE


async def until_there(connection: Connection, group: str) -> None:
    async def attempt() -> bool | None:
        return await find_group(connection, group) or None

    await eventually(attempt, 0.1)


async def begin_at(connection: Connection, group: str, topic: str, offsets: Sequence[int]) -> None:
    """Call `alter_offsets` until it succeeds, which waits for the coordinators."""

    async def attempt() -> bool | None:
        await find_group(connection, group)
        answer = await alter_offsets(connection, group, topic, offsets)
        errors = {answer.error} | {row.error for row in answer.partitions.values()}
        if errors & NOT_READY:
            return None
        assert errors == {ErrorCode.NONE}, answer
        return True

    await eventually(attempt)


async def alter_offsets(connection: Connection, group: str, topic: str, offsets: Sequence[int]) -> Answer:
    partitions = [AlterShareGroupOffsetsRequestPartition(index, offset) for index, offset in enumerate(offsets)]
    request = AlterShareGroupOffsetsRequest(group, [AlterShareGroupOffsetsRequestTopic(topic, partitions)])
    answer = await connection.call(request, 0, AlterShareGroupOffsetsResponse)
    rows = {row.partition_index: row.error_code for topic in answer.responses for row in topic.partitions}
    return Answer(answer.error_code, {number: PartitionAnswer(error) for number, error in rows.items()})


async def describe_offsets(connection: Connection, group: str, topic: str) -> Answer:
    wanted = DescribeShareGroupOffsetsRequestTopic(topic, list(range(PARTITIONS)))
    request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group, [wanted])])
    described = (await connection.call(request, 1, DescribeShareGroupOffsetsResponse)).groups[0]
    rows = [row for topic in described.topics for row in topic.partitions]
    reported = {
        row.partition_index: PartitionAnswer(row.error_code, start_offset=row.start_offset, lag=row.lag) for row in rows
    }
    return Answer(described.error_code, reported)


async def read_state(connection: Connection, group: str, topic_id: bytes) -> Answer:
    """Return the persisted state of all partitions.

    The requests carry the leader epochs from the summary, so that they change nothing. For a partition whose offsets
    were altered after its leader read it, Apache Kafka's summary has epoch 0, which its read then refuses: such a
    partition is read with the leader's own epoch.
    """
    known = await _persisted_epochs(connection, group, topic_id)
    rows = await _stored(connection, group, topic_id, known)
    fenced = [row.partition for row in rows if row.error_code == ErrorCode.FENCED_LEADER_EPOCH]
    if fenced:
        current = await _leader_epochs(connection, topic_id)
        rows = await _stored(connection, group, topic_id, known | {one: current[one] for one in fenced})
    partitions = {row.partition: PartitionAnswer(row.error_code, start_offset=row.start_offset) for row in rows}
    return Answer(0, partitions)


async def until_buried(connection: Connection, group: str, topic_id: bytes) -> None:
    """Wait until no record is archiving: each dead record has its letter, or is given up. Raise TimeoutError."""
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        known = await _persisted_epochs(connection, group, topic_id)
        rows = await _stored(connection, group, topic_id, known)
        if not any(each.delivery_state == ARCHIVING for row in rows for each in row.state_batches):
            return
        await asyncio.sleep(0.02)
    raise TimeoutError("records are still archiving")


async def _persisted_epochs(connection: Connection, group: str, topic_id: bytes) -> dict[int, int]:
    peeked = [read_share_group_state_summary.PartitionData(partition) for partition in range(PARTITIONS)]
    summary = read_share_group_state_summary.ReadShareGroupStateSummaryRequest(
        group, [read_share_group_state_summary.ReadStateSummaryData(topic_id, peeked)]
    )
    seen = await connection.call(summary, 1, read_share_group_state_summary.ReadShareGroupStateSummaryResponse)
    return {row.partition: row.leader_epoch for result in seen.results for row in result.partitions}


async def _leader_epochs(connection: Connection, topic_id: bytes) -> dict[int, int]:
    seen = await connection.call(MetadataRequest([MetadataRequestTopic(topic_id, None)]), 12, MetadataResponse)
    del connection.heard[MetadataResponse]  # no part of the answer
    return {row.partition_index: row.leader_epoch for topic in seen.topics for row in topic.partitions}


async def _stored(
    connection: Connection, group: str, topic_id: bytes, epochs: Mapping[int, int]
) -> list[PartitionResult]:
    wanted = [PartitionData(partition, epoch) for partition, epoch in epochs.items()]
    request = ReadShareGroupStateRequest(group, [ReadStateData(topic_id, wanted)])
    seen = await connection.call(request, 0, ReadShareGroupStateResponse)
    return [row for result in seen.results for row in result.partitions]


async def until_ready(connection: Connection, group: str, topic: str, topic_id: bytes) -> None:
    """Wait, after a start, until the coordinators have loaded their state, and the topic has leaders."""

    async def attempt() -> bool | None:
        try:
            if not await find_group(connection, group):
                return None
            state = await read_state(connection, group, topic_id)
            described = await describe_offsets(connection, group, topic)
        except (OSError, EOFError):
            await connection.close()
            return None
        errors = {described.error} | {row.error for answer in (state, described) for row in answer.partitions.values()}
        return None if errors & NOT_READY or not described.partitions else True

    await eventually(attempt, 0.1)


# -- members


async def join_all(members: Sequence[Connection], group: str, topic: str, epochs: dict[int, int]) -> None:
    """Join all members, and wait until their assignments show that every partition's share state is initialised."""
    assigned: dict[int, set[int]] = {}

    async def beat(member: int, connection: Connection) -> None:
        await find_group(connection, group)
        request = ShareGroupHeartbeatRequest(group, member_id(member), epochs.get(member, 0), None, [topic])
        answer = await connection.call(request, 1, ShareGroupHeartbeatResponse)
        if answer.error_code in NOT_READY:
            return
        assert answer.error_code == ErrorCode.NONE, answer
        epochs[member] = answer.member_epoch
        if answer.assignment is not None:
            assigned[member] = {each for one in answer.assignment.topic_partitions for each in one.partitions}

    async def attempt() -> bool | None:
        for member, connection in enumerate(members):
            await beat(member, connection)
        return set().union(*assigned.values()) == set(range(PARTITIONS)) or None

    await eventually(attempt, 0.1)


async def heartbeat(
    connection: Connection, group: str, topic: str, member: int, epoch: MemberEpoch, epochs: dict[int, int]
) -> Answer:
    """Send one heartbeat. Return only its error, because the brokers count epochs differently."""
    known = epochs.get(member, 0)
    sent = {
        MemberEpoch.CURRENT: known,
        MemberEpoch.AHEAD: known + 1000,
        MemberEpoch.JOIN: 0,
        MemberEpoch.LEAVE: -1,
    }[epoch]
    request = ShareGroupHeartbeatRequest(group, member_id(member), sent, None, [topic] if sent <= 0 else None)
    answer = await connection.call(request, 1, ShareGroupHeartbeatResponse)
    if answer.error_code == ErrorCode.NONE:
        if epoch is MemberEpoch.LEAVE:
            epochs.pop(member, None)
        else:
            epochs[member] = answer.member_epoch
    return Answer(answer.error_code)
