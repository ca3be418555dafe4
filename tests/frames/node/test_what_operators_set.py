"""Rights, users, quotas and group properties set at one node: stored in the cluster, effective at all nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from shareq.broker.foundation.loop.coroutines import beginner, in_ticks
from shareq.cluster.state.config_log import CONFIG_TOPIC, ConfigLog, wanted_config_topic
from shareq.cluster.state.topics import check_topic
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import alter_client_quotas as quotas
from shareq.protocol.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from shareq.protocol.generated.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from shareq.protocol.generated.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from shareq.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from shareq.protocol.generated.produce import ProduceRequest
from tests.support.cluster.node_world import NODE_ID, NodeWorld
from tests.support.cluster.rights import Operation, Resource
from tests.support.cluster.world import ClusterWorld

AUTHORIZED: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
GROUP, TOPIC, BROKER, READ, ALLOW, LITERAL = 32, 2, 4, 3, 3, 3
ACL: Final = AclCreation(TOPIC, "orders", LITERAL, "User:alice", "*", READ, ALLOW)


def config_log(behind: ClusterWorld, name: str) -> ConfigLog:
    link = behind.new_link(name)
    begin = beginner(behind.env.budget, in_ticks(behind.clock.call_soon))
    checked = behind.wait(begin(check_topic(behind.env, link, wanted_config_topic(3, 2))))
    assert checked.topic is not None
    log = ConfigLog(behind.env, link, checked.topic, begin)
    assert behind.wait(begin(log.open())) is None
    return log


class Node(NodeWorld):
    """A node that stores settings in the cluster, and an operator's connection to it."""

    def __init__(self, behind: ClusterWorld, number: int = 0) -> None:
        self.log = config_log(behind, f"config-{number}")
        super().__init__(None, AUTHORIZED, behind=behind, kept=self.log, node_id=NODE_ID + number)
        self.operator = self.connect()

    def set_order(self, order: str) -> ErrorCode:
        config = AlterableConfig("shareq.order", 0, order)
        request = IncrementalAlterConfigsRequest([AlterConfigsResource(GROUP, "g", [config])], False)
        (row,) = self.operator.call(request, 1, IncrementalAlterConfigsResponse).responses
        return ErrorCode(row.error_code)

    def add_acl(self) -> ErrorCode:
        (row,) = self.operator.call(CreateAclsRequest([ACL]), 3, CreateAclsResponse).results
        return ErrorCode(row.error_code)

    def delete_acls(self) -> ErrorCode:
        request = DeleteAclsRequest([DeleteAclsFilter(TOPIC, None, LITERAL, None, None, READ, ALLOW)])
        (row,) = self.operator.call(request, 3, DeleteAclsResponse).filter_results
        return ErrorCode(row.error_code)

    def add_user(self) -> ErrorCode:
        upsert = ScramCredentialUpsertion("alice", 1, 4096, b"salt", b"p" * 32)
        return self._alter_users(AlterUserScramCredentialsRequest([], [upsert]))

    def delete_user(self) -> ErrorCode:
        return self._alter_users(AlterUserScramCredentialsRequest([ScramCredentialDeletion("alice", 1)], []))

    def _alter_users(self, request: AlterUserScramCredentialsRequest) -> ErrorCode:
        (row,) = self.operator.call(request, 0, AlterUserScramCredentialsResponse).results
        return ErrorCode(row.error_code)

    def set_quota(self) -> ErrorCode:
        entity = quotas.AlterClientQuotasRequestEntityData("user", "alice")
        entry = quotas.AlterClientQuotasRequestEntryData([entity], [quotas.OpData("producer_byte_rate", 1e6, False)])
        request = quotas.AlterClientQuotasRequest([entry], False)
        (row,) = self.operator.call(request, 1, quotas.AlterClientQuotasResponse).entries
        return ErrorCode(row.error_code)


@pytest.fixture
def node() -> Node:
    return Node(ClusterWorld())


CHANGES: Final[tuple[Callable[[Node], ErrorCode], ...]] = (
    lambda node: node.set_order("key"),
    Node.add_acl,
    Node.add_user,
    Node.set_quota,
)
IDS: Final = ("configs", "acls", "users", "quotas")


def test_what_is_set_at_one_node_is_in_force_at_another_and_at_one_that_starts_later(node: Node) -> None:
    other = Node(node.behind, 1)
    for change in CHANGES:
        assert change(node) is ErrorCode.NONE
    node.clock.advance(10)
    later = Node(node.behind, 2)
    for each in (node, other, later):
        services, metadata = each.services, each.services.metadata
        assert services.configs.share_group("g").order_by_key
        assert services.authorizer is not None
        assert [acl.name for acl in metadata.acls] == ["orders"]
        assert services.authorizer.allows("User:alice", "h", Operation.READ.value, TOPIC, "orders")
        assert [key.user for key in metadata.credentials] == ["alice"]
        assert services.quotas.account("alice", "", 0).producer is not None
        assert metadata.own_secret() == node.services.metadata.own_secret()
    assert other.delete_acls() is ErrorCode.NONE
    assert later.delete_user() is ErrorCode.NONE
    assert node.set_order("none") is ErrorCode.NONE
    node.clock.advance(10)
    assert node.log.state == other.log.state == later.log.state
    assert (len(node.log.state.acls), len(node.log.state.scram)) == (0, 0)


@pytest.mark.parametrize("change", CHANGES, ids=IDS)
def test_an_answer_waits_until_the_cluster_has_the_change(node: Node, change: Callable[[Node], ErrorCode]) -> None:
    """KIP-546, KIP-554 and others: an answered change is effective, and durable whatever fails then."""
    node.behind.cluster.hold_replication(CONFIG_TOPIC)
    node.clock.call_at(node.clock.now_ms() + 700, lambda: node.behind.cluster.release_replication(CONFIG_TOPIC))
    before = node.clock.now_ms()
    assert change(node) is ErrorCode.NONE
    assert node.clock.now_ms() >= before + 700
    for broker in (1, 2, 3):
        node.behind.cluster.elect(CONFIG_TOPIC, broker)
    assert config_log(node.behind, "judge").state == node.log.state


@pytest.mark.parametrize("change", CHANGES, ids=IDS)
def test_a_change_that_may_be_lost_is_answered_as_timed_out(node: Node, change: Callable[[Node], ErrorCode]) -> None:
    """Apache Kafka's controller answers so when it does not know the outcome; clients retry."""
    node.behind.cluster.lose_request("config-0", node.behind.cluster.leader(CONFIG_TOPIC), ProduceRequest)
    assert change(node) is ErrorCode.REQUEST_TIMED_OUT
    assert change(node) is ErrorCode.NONE


@pytest.mark.parametrize("change", CHANGES, ids=IDS)
def test_a_change_that_the_cluster_refuses_changes_nothing(node: Node, change: Callable[[Node], ErrorCode]) -> None:
    node.behind.cluster.rights.deny(Resource.TOPIC, CONFIG_TOPIC, Operation.WRITE)
    assert change(node) is ErrorCode.KAFKA_STORAGE_ERROR
    assert (node.log.state.configs, len(node.log.state.acls), node.log.state.quotas) == ({}, 0, {})
    node.behind.cluster.rights.allow(Resource.TOPIC, CONFIG_TOPIC, Operation.WRITE)
    assert change(node) is ErrorCode.NONE


def test_a_property_of_one_node_is_its_own_and_there_after_its_next_start(node: Node) -> None:
    """`shareq configs alter broker` sets the property, with the node's number."""
    other = Node(node.behind, 1)
    config = AlterableConfig("shareq.dlq.topics", 0, "letters")
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(BROKER, str(NODE_ID), [config])], False)
    (row,) = node.operator.call(request, 1, IncrementalAlterConfigsResponse).responses
    assert row.error_code == ErrorCode.NONE
    node.clock.advance(10)
    node.broker.close()
    again = Node(node.behind)
    values = [each.services.configs.broker.values["shareq.dlq.topics"] for each in (again, other)]
    assert values == [("letters",), ()]
