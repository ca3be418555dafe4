"""Handlers that pause at every opportunity, which must answer as without pauses."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.generated import alter_client_quotas as quota
from shareq.protocol.generated import alter_configs as replacing
from shareq.protocol.generated import alter_partition_reassignments as reassigning
from shareq.protocol.generated import alter_replica_log_dirs as moving
from shareq.protocol.generated import alter_share_group_offsets as altering
from shareq.protocol.generated import alter_user_scram_credentials as scram
from shareq.protocol.generated import create_acls as creating
from shareq.protocol.generated import create_partitions as growing
from shareq.protocol.generated import delete_acls as deleting
from shareq.protocol.generated import delete_share_group_offsets as forgetting
from shareq.protocol.generated import delete_topics as removing
from shareq.protocol.generated import describe_acls as acls
from shareq.protocol.generated import describe_client_quotas as quotas
from shareq.protocol.generated import describe_log_dirs as folder
from shareq.protocol.generated import describe_share_group_offsets as describing
from shareq.protocol.generated import describe_user_scram_credentials as users
from shareq.protocol.generated import elect_leaders as electing
from shareq.protocol.generated import incremental_alter_configs as setting
from shareq.protocol.generated import list_config_resources as listing
from shareq.protocol.primitives import Message
from tests.support.clients.access import STANDARD
from tests.support.coroutines import paused_everywhere


class Request(NamedTuple):
    message: Message
    version: int
    answer: type[Message]


def share_offsets_described() -> Request:
    topic = describing.DescribeShareGroupOffsetsRequestTopic
    groups = [
        describing.DescribeShareGroupOffsetsRequestGroup(
            f"g{at}", [topic("t", [*range(40), 3]), topic("u", [1]), topic("t", [50, 2]), topic("none", [0])]
        )
        for at in range(5)
    ]
    groups += [describing.DescribeShareGroupOffsetsRequestGroup(name, None) for name in ("g1", "nobody")]
    return Request(describing.DescribeShareGroupOffsetsRequest(groups), 1, describing.DescribeShareGroupOffsetsResponse)


def share_offsets_altered() -> Request:
    partition, topic = altering.AlterShareGroupOffsetsRequestPartition, altering.AlterShareGroupOffsetsRequestTopic
    rows = [partition(each, each - 2) for each in (*range(32), 3)]
    topics = [topic("t", rows), topic("none", rows), topic("u", rows), topic("t", [partition(4, 9)]), topic("none", [])]
    return Request(altering.AlterShareGroupOffsetsRequest("g1", topics), 0, altering.AlterShareGroupOffsetsResponse)


def share_offsets_forgotten() -> Request:
    topics = [forgetting.DeleteShareGroupOffsetsRequestTopic(name) for name in ("u", "none", "t", "u")]
    request = forgetting.DeleteShareGroupOffsetsRequest("g1", topics)
    return Request(request, 0, forgetting.DeleteShareGroupOffsetsResponse)


def replicas_moved() -> Request:
    """Return the request; the last path of a repeated partition counts."""
    topic = moving.AlterReplicaLogDirTopic
    folders = [
        moving.AlterReplicaLogDir("/nowhere", [topic("t", [*range(20)]), topic("u", [1, 40])]),
        moving.AlterReplicaLogDir("data", [topic("t", [3, 5]), topic("none", []), topic("u", [2])]),
    ]
    return Request(moving.AlterReplicaLogDirsRequest(folders), 2, moving.AlterReplicaLogDirsResponse)


def folders_described() -> Request:
    topics = [folder.DescribableLogDirTopic("t", [3, 1, 99, 3]), folder.DescribableLogDirTopic("none", [0])]
    return Request(folder.DescribeLogDirsRequest(topics), 4, folder.DescribeLogDirsResponse)


def leaders_elected() -> Request:
    topics = [electing.TopicPartitions("t", [0, 40]), electing.TopicPartitions("none", [])]
    return Request(electing.ElectLeadersRequest(0, topics, 1_000), 2, electing.ElectLeadersResponse)


def partitions_reassigned() -> Request:
    part = reassigning.ReassignablePartition
    topics = [reassigning.ReassignableTopic("t", [part(0, [1]), part(1, [7]), part(2, None)])]
    request = reassigning.AlterPartitionReassignmentsRequest(1_000, topics=topics)
    return Request(request, 0, reassigning.AlterPartitionReassignmentsResponse)


def configs_altered() -> Request:
    resource, config = setting.AlterConfigsResource, setting.AlterableConfig
    resources = [
        resource(2, "t", [config("retention.ms", 0, "1000"), config("segment.ms", 0, "1000")]),
        resource(2, "u", [config("retention.ms", 0, "never")]),
        resource(2, "none", []),
        resource(4, "1", [config("log.retention.ms", 0, "5000")]),
        *[resource(32, f"g{each}", [config("share.auto.offset.reset", 0, "earliest")]) for each in range(120)],
        resource(2, "u", []),
    ]
    return Request(setting.IncrementalAlterConfigsRequest(resources), 1, setting.IncrementalAlterConfigsResponse)


def configs_replaced() -> Request:
    resources = [
        replacing.AlterConfigsResource(2, name, [replacing.AlterableConfig("segment.ms", "7000")])
        for name in ("t", "none")
    ]
    return Request(replacing.AlterConfigsRequest(resources), 2, replacing.AlterConfigsResponse)


def resources_listed() -> Request:
    return Request(listing.ListConfigResourcesRequest([32, 2]), 1, listing.ListConfigResourcesResponse)


def quotas_altered() -> Request:
    entries = [
        quota.AlterClientQuotasRequestEntryData(
            [quota.AlterClientQuotasRequestEntityData("user", f"u{each % 9}")],
            [quota.OpData("producer_byte_rate", float(each), False)],
        )
        for each in range(12)
    ]
    return Request(quota.AlterClientQuotasRequest(entries, False), 1, quota.AlterClientQuotasResponse)


def quotas_described() -> Request:
    return Request(quotas.DescribeClientQuotasRequest([], False), 1, quotas.DescribeClientQuotasResponse)


def credentials_altered() -> Request:
    made = [scram.ScramCredentialUpsertion(f"u{each}", 1, 8192, b"salt", b"password") for each in (*range(5), 3)]
    request = scram.AlterUserScramCredentialsRequest([scram.ScramCredentialDeletion("nobody", 1)], made)
    return Request(request, 0, scram.AlterUserScramCredentialsResponse)


def credentials_described() -> Request:
    return Request(users.DescribeUserScramCredentialsRequest(None), 0, users.DescribeUserScramCredentialsResponse)


def acls_created() -> Request:
    entries = [creating.AclCreation(2, f"t{each}", 3, "User:a", "*", 3, 3) for each in range(12)]
    entries.append(creating.AclCreation(2, "", 3, "User:a", "*", 3, 3))
    return Request(creating.CreateAclsRequest(entries), 3, creating.CreateAclsResponse)


def acls_described() -> Request:
    return Request(acls.DescribeAclsRequest(1, None, 1, None, None, 1, 1), 3, acls.DescribeAclsResponse)


def acls_deleted() -> Request:
    filters = [
        deleting.DeleteAclsFilter(2, "t3", 2, None, None, 1, 1),
        deleting.DeleteAclsFilter(99, None, 1, None, None, 1, 1),
        *[deleting.DeleteAclsFilter(2, f"t{each}", 3, "User:a", None, 1, 1) for each in (3, 4, 77)],
    ]
    return Request(deleting.DeleteAclsRequest(filters), 3, deleting.DeleteAclsResponse)


def partitions_created() -> Request:
    topic = growing.CreatePartitionsTopic
    topics = [
        topic("t", 31, None),
        topic("u", 3, None),
        topic("none", 4, None),
        topic("v", 4, None),
        topic("v", 5, None),
    ]
    return Request(growing.CreatePartitionsRequest(topics, 1_000, False), 3, growing.CreatePartitionsResponse)


def topics_deleted() -> Request:
    names = [removing.DeleteTopicState(name=name) for name in ("u", "none", "v", "t", "v")]
    return Request(removing.DeleteTopicsRequest(names, timeout_ms=1_000), 6, removing.DeleteTopicsResponse)


REQUESTS = (
    share_offsets_altered,
    share_offsets_described,
    share_offsets_forgotten,
    share_offsets_described,
    replicas_moved,
    folders_described,
    leaders_elected,
    partitions_reassigned,
    configs_altered,
    configs_replaced,
    resources_listed,
    quotas_altered,
    quotas_described,
    credentials_altered,
    credentials_described,
    acls_created,
    acls_described,
    acls_deleted,
    acls_described,
    partitions_created,
    topics_deleted,
)


def answers() -> list[Message]:
    partitions = dict.fromkeys(("offsets.topic.num.partitions", "share.coordinator.state.topic.num.partitions"), "1")
    world = BrokerWorld({**partitions, "authorizer.class.name": STANDARD, "super.users": "User:root"})
    for name in ("t", "u", "v"):
        world.create_topic(name, 30)
    client = world.connect()
    client.side.principal = "User:root"
    return [client.call(each.message, each.version, each.answer) for each in (make() for make in REQUESTS)]


def test_paused_answers_are_those_of_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = answers()
    paused_everywhere(monkeypatch)
    for make, one, other in zip(REQUESTS, whole, answers(), strict=True):
        assert other == one, make.__name__


def test_each_partition_is_described_once_where_it_is_named_first() -> None:
    described = answers()[1]
    assert isinstance(described, describing.DescribeShareGroupOffsetsResponse)
    topics = described.groups[0].topics
    assert [topic.topic_name for topic in topics] == ["t", "u", "none"]
    assert [row.partition_index for row in topics[0].partitions] == [*range(40), 50]
    rows = {row.partition_index: row.start_offset for row in described.groups[1].topics[0].partitions}
    assert (rows[2], rows[3], rows[4], rows[39]) == (0, 1, 9, -1)
