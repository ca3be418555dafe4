"""DescribeLogDirs, DescribeQuorum, elections, reassignments and AlterConfigs over frames, in every version."""

from __future__ import annotations

import os

import pytest

from devtools.in_memory.mem_fs import DISK_BYTES
from devtools.in_memory.mock_transport import DATA, BrokerWorld, MockConnection
from shareq.broker.dispatch.response_errors import error_reader
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.handlers.shared.config_resources import ResourceType
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from shareq.protocol.generated.alter_partition_reassignments import AlterPartitionReassignmentsResponse
from shareq.protocol.generated.alter_replica_log_dirs import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse
from shareq.protocol.generated.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from shareq.protocol.generated.describe_quorum import DescribeQuorumResponse
from shareq.protocol.generated.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from shareq.protocol.generated.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)
from shareq.protocol.primitives import ZERO_UUID
from tests.support.clients.access import AccessWorld
from tests.support.clients.administration import (
    RIGHT_CASES,
    alter_configs_request,
    alter_replica_log_dirs_request,
    elect_leaders_request,
    quorum_request,
    reassign_request,
)
from tests.support.clients.share_client import append

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.fixture
def world() -> BrokerWorld:
    world = BrokerWorld()
    world.create_topic("t", 2, retention_ms="5000", segment_ms="7000")
    world.create_topic("u")
    append(world, "t", 5)
    return world


@pytest.fixture
def client(world: BrokerWorld) -> MockConnection:
    return world.connect()


# -- DescribeLogDirs


def log_dir(
    client: MockConnection, asked: dict[str, list[int]] | None = None, version: int = 5
) -> DescribeLogDirsResult:
    topics = None if asked is None else [DescribableLogDirTopic(*row) for row in asked.items()]
    answer = client.call(DescribeLogDirsRequest(topics), version, DescribeLogDirsResponse)
    assert answer.error_code == ErrorCode.NONE
    (result,) = answer.results
    return result


def sizes(result: DescribeLogDirsResult) -> dict[str, dict[int, int]]:
    return {
        topic.name: {row.partition_index: row.partition_size for row in topic.partitions} for topic in result.topics
    }


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_all_partitions_with_their_sizes(world: BrokerWorld, client: MockConnection, version: int) -> None:
    result = log_dir(client, version=version)
    written = sum(len(world.fs.content(path)) for path in world.fs.paths() if path.endswith(".log"))
    assert written > 0
    assert sizes(result) == {"t": {0: written, 1: 0}, "u": {0: 0}}
    assert (result.error_code, result.log_dir) == (ErrorCode.NONE, os.path.abspath(DATA))
    assert {(row.offset_lag, row.is_future_key) for topic in result.topics for row in topic.partitions} == {(0, False)}
    assert (result.total_bytes, result.usable_bytes) == ((DISK_BYTES, DISK_BYTES) if version >= 4 else (-1, -1))
    assert not result.is_cordoned


def test_the_partitions_that_were_asked_for_as_far_as_they_exist(client: MockConnection) -> None:
    assert sizes(log_dir(client, {"t": [1, 1, 9, -1], "nobody": [0]})) == {"t": {1: 0}}
    assert sizes(log_dir(client, {"u": [1]})) == {}
    assert sizes(log_dir(client, {})) == {}


def test_usable_bytes_are_what_may_still_be_written(world: BrokerWorld, client: MockConnection) -> None:
    world.fs.space_left = 12345
    assert (log_dir(client).total_bytes, log_dir(client).usable_bytes) == (DISK_BYTES, 12345)


def test_a_disk_that_does_not_answer(world: BrokerWorld, client: MockConnection) -> None:
    world.fs.fail_reads = True
    result = log_dir(client)
    assert (result.error_code, result.topics) == (ErrorCode.KAFKA_STORAGE_ERROR, [])
    assert (result.log_dir, result.total_bytes) == (os.path.abspath(DATA), -1)


# -- AlterReplicaLogDirs


def moved(
    client: MockConnection, request: AlterReplicaLogDirsRequest, version: int = 2
) -> dict[tuple[str, int], ErrorCode]:
    answer = client.call(request, version, AlterReplicaLogDirsResponse)
    return {
        (topic.topic_name, row.partition_index): ErrorCode(row.error_code)
        for topic in answer.results
        for row in topic.partitions
    }


@pytest.mark.parametrize("version", [1, 2])
def test_moving_replicas_to_where_they_are(client: MockConnection, version: int) -> None:
    """KIP-113, and Apache Kafka's ReplicaManager with one folder."""
    request = alter_replica_log_dirs_request(os.path.abspath(DATA), "t", [0, 1, 2])
    assert moved(client, request, version) == {
        ("t", 0): ErrorCode.NONE,
        ("t", 1): ErrorCode.NONE,
        ("t", 2): UNKNOWN,
    }


@pytest.mark.parametrize("path", ["/elsewhere", os.path.abspath(DATA) + "/", "data", ""])
def test_moving_replicas_to_another_folder(client: MockConnection, path: str) -> None:
    """A wrong folder is reported before a wrong partition."""
    request = alter_replica_log_dirs_request(path, "t", [0, 7])
    assert set(moved(client, request).values()) == {ErrorCode.LOG_DIR_NOT_FOUND}


def test_a_topic_whose_folder_could_not_be_moved(client: MockConnection) -> None:
    request = alter_replica_log_dirs_request("/elsewhere", "x" * 213, [0, 10])
    assert moved(client, request) == {
        ("x" * 213, 0): ErrorCode.LOG_DIR_NOT_FOUND,
        ("x" * 213, 10): ErrorCode.INVALID_TOPIC_EXCEPTION,
    }


def test_the_last_folder_of_a_partition_counts(client: MockConnection) -> None:
    request = alter_replica_log_dirs_request(os.path.abspath(DATA), "t", [0])
    request.dirs += alter_replica_log_dirs_request("/elsewhere", "t", [0]).dirs
    assert moved(client, request) == {("t", 0): ErrorCode.LOG_DIR_NOT_FOUND}


# -- DescribeQuorum


@pytest.mark.parametrize("version", [0, 1, 2])
def test_this_broker_is_the_quorum(world: BrokerWorld, client: MockConnection, version: int) -> None:
    answer = client.call(quorum_request(), version, DescribeQuorumResponse)
    (topic,) = answer.topics
    (quorum,) = topic.partitions
    (voter,) = quorum.current_voters
    assert (answer.error_code, topic.topic_name, quorum.partition_index) == (0, "__cluster_metadata", 0)
    assert (quorum.error_code, quorum.leader_id, quorum.observers) == (0, 1, [])
    assert (voter.replica_id, voter.replica_directory_id) == (1, ZERO_UUID)
    assert voter.log_end_offset == quorum.high_watermark == world.services.metadata.features_epoch
    now = world.clock.wall_ms() if version >= 1 else -1
    assert (voter.last_fetch_timestamp, voter.last_caught_up_timestamp) == (now, now)
    nodes = {node.node_id: [(each.name, each.host, each.port) for each in node.listeners] for node in answer.nodes}
    assert nodes == ({1: [("PLAINTEXT", "127.0.0.1", 9092)]} if version >= 2 else {})


@pytest.mark.parametrize(("topic", "partitions"), [("t", (0,)), ("__cluster_metadata", (1,)), ("t", (0, 1))])
def test_other_quorums_are_unknown(client: MockConnection, topic: str, partitions: tuple[int, ...]) -> None:
    answer = client.call(quorum_request(topic, *partitions), 2, DescribeQuorumResponse)
    rows = answer.topics[0].partitions
    assert [(row.partition_index, row.error_code) for row in rows] == [(each, UNKNOWN) for each in partitions]
    assert rows[0].error_message
    assert answer.nodes == []


# -- ElectLeaders


def elected(client: MockConnection, request: ElectLeadersRequest, version: int) -> dict[tuple[str, int], int]:
    answer = client.call(request, version, ElectLeadersResponse)
    assert answer.error_code == ErrorCode.NONE
    return {
        (topic.topic, row.partition_id): row.error_code
        for topic in answer.replica_election_results
        for row in topic.partition_result
    }


@pytest.mark.parametrize("version", [0, 1, 2])
def test_no_election_is_needed(client: MockConnection, version: int) -> None:
    needless = ErrorCode.ELECTION_NOT_NEEDED
    assert elected(client, elect_leaders_request("t", 0, 1, 2), version) == {
        ("t", 0): needless,
        ("t", 1): needless,
        ("t", 2): UNKNOWN,
    }
    assert elected(client, elect_leaders_request("nobody", 0), version) == {("nobody", 0): UNKNOWN}
    assert elected(client, ElectLeadersRequest(topic_partitions=None), version) == {}
    if version >= 1:
        assert elected(client, elect_leaders_request("t", 0, unclean=True), version) == {("t", 0): needless}


def test_an_election_that_does_not_exist(client: MockConnection) -> None:
    request = elect_leaders_request("t", 0)
    request.election_type = 2
    answer = client.call(request, 2, ElectLeadersResponse)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert answer.replica_election_results[0].partition_result[0].error_code == ErrorCode.INVALID_REQUEST


# -- Reassignments


@pytest.mark.parametrize("version", [0, 1])
def test_a_partition_can_only_go_where_it_is(client: MockConnection, version: int) -> None:
    wrong = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    for target, error in (
        ([1], ErrorCode.NONE),
        ([2], wrong),
        ([1, 2], wrong),
        ([1, 1], wrong),
        ([], wrong),
        (None, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
    ):
        answer = client.call(reassign_request("t", target), version, AlterPartitionReassignmentsResponse)
        (row,) = answer.responses[0].partitions
        assert (answer.error_code, row.error_code, bool(row.error_message)) == (0, error, bool(error)), target


def test_reassigning_what_is_not_there(client: MockConnection) -> None:
    answer = client.call(reassign_request("u", [1], [1]), 1, AlterPartitionReassignmentsResponse)
    assert [row.error_code for row in answer.responses[0].partitions] == [ErrorCode.NONE, UNKNOWN]
    answer = client.call(reassign_request("nobody", [1]), 1, AlterPartitionReassignmentsResponse)
    assert answer.responses[0].partitions[0].error_code == UNKNOWN


@pytest.mark.parametrize("topics", [None, [ListPartitionReassignmentsTopics("t", [0])]])
def test_nothing_is_being_reassigned(
    client: MockConnection, topics: list[ListPartitionReassignmentsTopics] | None
) -> None:
    answer = client.call(ListPartitionReassignmentsRequest(topics=topics), 0, ListPartitionReassignmentsResponse)
    assert (answer.error_code, answer.error_message, answer.topics) == (ErrorCode.NONE, None, [])


# -- AlterConfigs


def alter(client: MockConnection, request: AlterConfigsRequest, version: int = 2) -> list[ErrorCode]:
    return [ErrorCode(row.error_code) for row in client.call(request, version, AlterConfigsResponse).responses]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_what_is_not_named_goes_back_to_its_default(world: BrokerWorld, client: MockConnection, version: int) -> None:
    request = alter_configs_request(ResourceType.TOPIC, "t", {"segment.ms": "8000", "max.message.bytes": "100"})
    assert alter(client, request, version) == [ErrorCode.NONE]
    assert world.services.metadata.configs("topic", "t") == {"segment.ms": "8000", "max.message.bytes": "100"}
    assert world.services.configs.log_settings("t").roll_ms == 8000
    assert alter(client, alter_configs_request(ResourceType.TOPIC, "t", {}), version) == [ErrorCode.NONE]
    assert not world.services.metadata.configs("topic", "t")


def test_groups_and_brokers(world: BrokerWorld, client: MockConnection) -> None:
    group = alter_configs_request(ResourceType.GROUP, "g", {"share.auto.offset.reset": "earliest"})
    broker = alter_configs_request(ResourceType.BROKER, "1", {"log.retention.ms": "9000"})
    assert [alter(client, each) for each in (group, broker)] == [[ErrorCode.NONE]] * 2
    assert world.services.metadata.configs("group", "g") == {"share.auto.offset.reset": "earliest"}
    assert world.services.configs.broker.values["log.retention.ms"] == 9000
    assert alter(client, alter_configs_request(ResourceType.BROKER, "1", {})) == [ErrorCode.NONE]
    assert not world.services.metadata.configs("broker", "1")


def test_refused_properties_change_nothing(world: BrokerWorld, client: MockConnection) -> None:
    before = dict(world.services.metadata.configs("topic", "t"))
    topic, invalid = ResourceType.TOPIC, ErrorCode.INVALID_REQUEST
    for kind, name, configs, error in (
        (topic, "t", {"segment.ms": "x"}, ErrorCode.INVALID_CONFIG),
        (topic, "t", {"segment.ms": None}, invalid),
        (topic, "t", {"no.such.property": "1"}, ErrorCode.INVALID_CONFIG),
        (topic, "nobody", {}, UNKNOWN),
        (topic, "", {}, invalid),
        (ResourceType.GROUP, "", {}, invalid),
        (ResourceType.BROKER, "2", {}, invalid),
        (ResourceType.BROKER_LOGGER, "1", {}, invalid),
        (99, "x", {}, invalid),
    ):
        assert alter(client, alter_configs_request(kind, name, dict(configs))) == [error], (kind, name, configs)
    twice = AlterConfigsRequest(alter_configs_request(topic, "t", {}).resources * 2)
    assert alter(client, twice) == [invalid, invalid]
    only_checked = alter_configs_request(topic, "t", {"segment.ms": "8000"}, validate_only=True)
    assert alter(client, only_checked) == [ErrorCode.NONE]
    assert world.services.metadata.configs("topic", "t") == before


# -- Refusals


@pytest.mark.parametrize("key", sorted({case[0] for case in RIGHT_CASES}), ids=lambda key: key.name)
def test_a_refusal_can_be_said_in_every_version(key: ApiKey) -> None:
    """Early versions have no field for the error, so they get none."""
    world = AccessWorld()
    served = HANDLERS[key].served
    for _, _, request, right in (case for case in RIGHT_CASES if case[0] is key):
        for version in range(served.first, served.last + 1):
            answer = world.alice.call(request, version, codec(key).response_class)
            errors = error_reader(type(answer))(answer)
            reported_by_silence = key is ApiKey.DESCRIBE_LOG_DIRS and version < 3
            assert set(errors) == (set() if reported_by_silence else {right.error}), version
            assert not getattr(answer, "results", None)
