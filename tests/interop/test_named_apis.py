"""The APIs that ApiVersions names, and the answers of those that a single broker without their features has no use for.

Both brokers answer the same, so tools that infer a version from the APIs are right about ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from devtools.clients.admin import create_topic
from devtools.clients.wire import WireClient
from devtools.kafka.apache_kafka import KAFKA_VERSION
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import alter_replica_log_dirs as log_dirs
from shareq.protocol.generated import alter_user_scram_credentials as scram
from shareq.protocol.generated.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse, Listener
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.protocol.generated.streams_group_describe import StreamsGroupDescribeRequest, StreamsGroupDescribeResponse
from shareq.protocol.generated.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from shareq.protocol.generated.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from shareq.protocol.generated.unregister_controller import UnregisterControllerRequest, UnregisterControllerResponse
from shareq.protocol.generated.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.share_wire import NOT_READY, eventually, find_group

pytestmark = pytest.mark.interop

UPGRADE, SAFE_DOWNGRADE = 1, 2


@pytest.fixture
def client(broker: BrokerUnderTest) -> Iterator[WireClient]:
    with WireClient(("127.0.0.1", broker.port)) as client:
        yield client


def test_names_and_versions(client: WireClient) -> None:
    """All of Apache Kafka's are named, and one version range is wider than in its schema."""
    named = client.call(ApiVersionsRequest("test", "1"), 4, ApiVersionsResponse).api_keys
    versions = {ApiKey(row.api_key): (row.min_version, row.max_version) for row in named}
    of_4_4 = KAFKA_VERSION >= "4.4"
    assert len(versions) == (77 if of_4_4 else 75)
    assert versions[ApiKey.PRODUCE] == (0, 13)
    assert versions[ApiKey.ADD_PARTITIONS_TO_TXN] == (0, 5)
    assert versions[ApiKey.ALTER_REPLICA_LOG_DIRS] == (1, 2)
    assert versions[ApiKey.STREAMS_GROUP_HEARTBEAT] == (0, 1 if of_4_4 else 0)
    assert versions[ApiKey.API_VERSIONS] == (0, 5 if of_4_4 else 4)
    assert versions[ApiKey.TXN_OFFSET_COMMIT] == (0, 6 if of_4_4 else 5)


@pytest.mark.skipif(KAFKA_VERSION < "4.4", reason="new in Apache Kafka 4.4")
def test_a_client_that_is_at_the_wrong_broker_starts_over(client: WireClient) -> None:
    """KIP-1242: a client that names no cluster is not checked."""
    own = client.call(MetadataRequest([]), 12, MetadataResponse).cluster_id
    for cluster_id, node_id, error in (
        (None, -1, ErrorCode.NONE),
        (None, 1, ErrorCode.INVALID_REQUEST),
        (own, 1, ErrorCode.NONE),
        (own, -1, ErrorCode.INVALID_REQUEST),
        (own, 2, ErrorCode.REBOOTSTRAP_REQUIRED),
        ("other", 1, ErrorCode.REBOOTSTRAP_REQUIRED),
    ):
        answer = client.call(ApiVersionsRequest("test", "1", cluster_id, node_id), 5, ApiVersionsResponse)
        assert (answer.error_code, bool(answer.api_keys)) == (error, error == ErrorCode.NONE)


@pytest.mark.skipif(KAFKA_VERSION < "4.4", reason="new in Apache Kafka 4.4")
def test_the_controller_stays(client: WireClient) -> None:
    unknown = client.call(UnregisterControllerRequest(77), 0, UnregisterControllerResponse)
    assert unknown.error_code == ErrorCode.CONTROLLER_ID_NOT_REGISTERED
    assert unknown.error_message == "Controller ID 77 is not currently registered."
    own = client.call(UnregisterControllerRequest(1), 0, UnregisterControllerResponse)
    assert own.error_code == ErrorCode.INVALID_REQUEST
    assert own.error_message == "Controller cannot unregister itself while it is active."


@pytest.mark.skipif(KAFKA_VERSION < "4.4", reason="new in Apache Kafka 4.4")
def test_groups_are_deleted_without_a_message(client: WireClient, unique: Callable[[str], str]) -> None:
    group = unique("group")
    find_group(client, group)

    def deleted() -> tuple[str, int, str | None] | None:
        (row,) = client.call(DeleteGroupsRequest([group]), 3, DeleteGroupsResponse).results
        return None if row.error_code in NOT_READY else (row.group_id, row.error_code, row.error_message)

    assert eventually(deleted) == (group, ErrorCode.GROUP_ID_NOT_FOUND, None)


def test_replicas_stay_in_the_one_folder(
    broker: BrokerUnderTest, client: WireClient, unique: Callable[[str], str]
) -> None:
    topic = unique("moved")
    create_topic(broker.bootstrap, topic, 2)
    home = client.call(DescribeLogDirsRequest(None), 4, DescribeLogDirsResponse).results[0].log_dir

    def moved(path: str, name: str, *partitions: int) -> dict[int, int]:
        topics = [log_dirs.AlterReplicaLogDirTopic(name, list(partitions))]
        request = log_dirs.AlterReplicaLogDirsRequest([log_dirs.AlterReplicaLogDir(path, topics)])
        (row,) = client.call(request, 2, log_dirs.AlterReplicaLogDirsResponse).results
        assert row.topic_name == name
        return {each.partition_index: each.error_code for each in row.partitions}

    assert moved(home, topic, 0, 1, 2) == {0: 0, 1: 0, 2: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert moved(f"{home}/", topic, 0) == {0: ErrorCode.LOG_DIR_NOT_FOUND}
    assert moved("/elsewhere", "x" * 213, 0, 10) == {
        0: ErrorCode.LOG_DIR_NOT_FOUND,
        10: ErrorCode.INVALID_TOPIC_EXCEPTION,
    }


def test_any_salt_is_taken(client: WireClient, unique: Callable[[str], str]) -> None:
    users = {unique(f"salt{len(salt)}"): salt for salt in (b"", b"s", b"short")}
    upsertions = [scram.ScramCredentialUpsertion(user, 1, 4096, salt, b"p" * 32) for user, salt in users.items()]
    deletions = [scram.ScramCredentialDeletion(user, 1) for user in users]
    for request in (
        scram.AlterUserScramCredentialsRequest([], upsertions),
        scram.AlterUserScramCredentialsRequest(deletions, []),
    ):
        answer = client.call(request, 0, scram.AlterUserScramCredentialsResponse)
        assert {row.user: row.error_code for row in answer.results} == dict.fromkeys(users, ErrorCode.NONE)


@pytest.fixture
def without_streams_groups(client: WireClient) -> Iterator[None]:
    """Set level 0 of `streams.version`, our only one; Apache Kafka 4.4.0 begins with 1."""

    def level() -> int:
        answer = client.call(ApiVersionsRequest("test", "1"), 3, ApiVersionsResponse)
        levels = {feature.name: feature.max_version_level for feature in answer.finalized_features}
        return levels.get("streams.version", 0)

    def set_level(wanted: int) -> None:
        if level() != wanted:
            way = SAFE_DOWNGRADE if wanted < level() else UPGRADE
            request = UpdateFeaturesRequest(30_000, [FeatureUpdateKey("streams.version", wanted, upgrade_type=way)])
            assert client.call(request, 1, UpdateFeaturesResponse).error_code == ErrorCode.NONE
            eventually(lambda: level() == wanted or None)

    before = level()
    set_level(0)
    yield
    set_level(before)


@pytest.mark.usefixtures("without_streams_groups")
@pytest.mark.parametrize("version", [0, 1] if KAFKA_VERSION >= "4.4" else [0])
def test_groups_of_streams_are_off(client: WireClient, version: int) -> None:
    """KIP-1071: the heartbeat and every described group get the error."""
    described = client.call(StreamsGroupDescribeRequest(["g", "h"]), version, StreamsGroupDescribeResponse)
    assert [(group.group_id, group.error_code) for group in described.groups] == [
        ("g", ErrorCode.UNSUPPORTED_VERSION),
        ("h", ErrorCode.UNSUPPORTED_VERSION),
    ]
    heartbeat = client.call(StreamsGroupHeartbeatRequest("g", "m"), version, StreamsGroupHeartbeatResponse)
    assert heartbeat.error_code == ErrorCode.UNSUPPORTED_VERSION


def test_what_is_switched_off(client: WireClient) -> None:
    token = client.call(CreateDelegationTokenRequest(None, None, [], -1), 3, CreateDelegationTokenResponse)
    assert token.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert (token.principal_name, token.expiry_timestamp_ms) == ("ANONYMOUS", -1)
    gone = client.call(UnregisterBrokerRequest(99), 0, UnregisterBrokerResponse)
    assert (gone.error_code, gone.error_message) == (
        ErrorCode.BROKER_ID_NOT_REGISTERED,
        "Broker ID 99 is not currently registered",
    )
    voter = AddRaftVoterRequest(None, 1000, 2, b"x" * 16, [Listener("CONTROLLER", "nowhere", 1)])
    added = client.call(voter, 0, AddRaftVoterResponse)
    assert (added.error_code, added.error_message) == (
        ErrorCode.UNSUPPORTED_VERSION,
        "Cluster doesn't support adding voter because the kraft.version feature is 0",
    )
