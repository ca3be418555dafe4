"""Every RPC of the operation table, with all rights it needs and without each of them.

KIP-932, access control; for older RPCs, Apache Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from devtools.clients.requests import batch, produce_request
from shareq.broker.dispatch.response_errors import error_reader
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.security import rights as r
from shareq.broker.security.acls import Acl, Operation, PatternType, Permission, ResourceKind
from shareq.broker.security.authorizer import Authorizer
from shareq.broker.security.rights import RIGHTS, Right
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)
from shareq.protocol.generated.describe_transactions import DescribeTransactionsResponse
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.generated.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.primitives import ZERO_UUID, Message
from tests.support.clients.access import ALICE, TOPIC, AccessWorld, Case, acl, send
from tests.support.clients.access_cases import CASES
from tests.support.each import for_each

REFUSALS: Final = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
APART: Final[dict[ApiKey, set[Right]]] = {  # what one of the tests below is about
    ApiKey.CREATE_TOPICS: {r.CREATE_CLUSTER, r.CREATE_TOPIC, r.DESCRIBE_TOPIC_CONFIGS},
    ApiKey.DELETE_TOPICS: {r.DELETE_CLUSTER, r.DESCRIBE_TOPIC},
    ApiKey.METADATA: {r.CREATE_CLUSTER, r.CREATE_TOPIC},
    ApiKey.INIT_PRODUCER_ID: {r.WRITE_TOPIC},
    ApiKey.DESCRIBE_TRANSACTIONS: {r.DESCRIBE_TOPIC},
}


TOPICS_OF_OTHERS: Final = "The group has described topic(s) that the client is not authorized to describe."
REASONS: Final[dict[tuple[ApiKey, ErrorCode], str | None]] = {  # where a refusal is not explained by its error's text
    (ApiKey.DELETE_TOPICS, ErrorCode.TOPIC_AUTHORIZATION_FAILED): None,
    (ApiKey.CREATE_PARTITIONS, ErrorCode.TOPIC_AUTHORIZATION_FAILED): None,
    (ApiKey.DESCRIBE_PRODUCERS, ErrorCode.TOPIC_AUTHORIZATION_FAILED): None,
    (ApiKey.DELETE_GROUPS, ErrorCode.GROUP_AUTHORIZATION_FAILED): None,
    (ApiKey.DESCRIBE_GROUPS, ErrorCode.GROUP_AUTHORIZATION_FAILED): None,
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, ErrorCode.GROUP_AUTHORIZATION_FAILED): None,
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, ErrorCode.TOPIC_AUTHORIZATION_FAILED): None,
    (ApiKey.CONSUMER_GROUP_DESCRIBE, ErrorCode.GROUP_AUTHORIZATION_FAILED): None,
    (ApiKey.CONSUMER_GROUP_DESCRIBE, ErrorCode.TOPIC_AUTHORIZATION_FAILED): TOPICS_OF_OTHERS,
    (ApiKey.SHARE_GROUP_HEARTBEAT, ErrorCode.GROUP_AUTHORIZATION_FAILED): None,
    (ApiKey.SHARE_GROUP_HEARTBEAT, ErrorCode.TOPIC_AUTHORIZATION_FAILED): None,
    (ApiKey.SHARE_GROUP_DESCRIBE, ErrorCode.GROUP_AUTHORIZATION_FAILED): None,
    (ApiKey.SHARE_GROUP_DESCRIBE, ErrorCode.TOPIC_AUTHORIZATION_FAILED): TOPICS_OF_OTHERS,
    (ApiKey.SHARE_FETCH, ErrorCode.GROUP_AUTHORIZATION_FAILED): None,
    (ApiKey.SHARE_FETCH, ErrorCode.TOPIC_AUTHORIZATION_FAILED): None,
    (ApiKey.SHARE_ACKNOWLEDGE, ErrorCode.GROUP_AUTHORIZATION_FAILED): None,
    (ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, ErrorCode.GROUP_AUTHORIZATION_FAILED): None,
    **{
        (key, right.error): None
        for key in (ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS)
        for right in (r.ALTER_TOPIC_CONFIGS, r.ALTER_GROUP_CONFIGS, r.ALTER_CLUSTER_CONFIGS)
    },
}


class Listening(Authorizer):
    def __init__(self) -> None:
        super().__init__(("User:admin",))
        self.heard: set[tuple[int, int]] = set()

    def allows(self, principal: str, host: str, operation: int, kind: int, name: str) -> bool:
        if principal == ALICE:
            self.heard.add((operation, kind))
        return super().allows(principal, host, operation, kind, name)


def refusals(response: Message) -> set[int]:
    return {code for code in error_reader(type(response))(response) if code in REFUSALS}


def reasons(part: object) -> Iterator[tuple[ErrorCode, str | None]]:
    if isinstance(part, list):
        for each in part:
            yield from reasons(each)
    elif hasattr(part, "__slots__"):
        if hasattr(part, "error_message") and getattr(part, "error_code", 0) in REFUSALS:
            yield ErrorCode(part.error_code), part.error_message  # type: ignore[attr-defined]
        for name in part.__slots__:
            yield from reasons(getattr(part, name))


def test_every_rpc_that_is_served_has_its_row() -> None:
    assert not set(HANDLERS) - set(RIGHTS), "a row in RIGHTS says what the RPC asks for"


@for_each("key", HANDLERS)
def test_every_right_of_an_rpc_is_walked(key: ApiKey) -> None:
    walked = {right for case in CASES if case.key == key for right in case.needs} | APART.get(key, set())
    assert walked == set(RIGHTS[key])


@pytest.mark.parametrize("case", [case for case in CASES if case.key in HANDLERS], ids=str)
def test_with_all_rights_nothing_is_refused_and_without_one_it_is(case: Case) -> None:
    for missing in (None, *case.needs):
        world = AccessWorld()
        world.grant(case.acl(right) for right in case.needs if right is not missing)
        response = send(world, world.alice, case)
        if missing is None:
            assert not refusals(response), response
            assert case.hides is None or not case.hides(response), response
        elif case.hides is not None:
            assert case.hides(response), response
        else:
            assert refusals(response) == {case.refused_without(missing)}, response
        for error, text in reasons(response):
            assert text == REASONS.get((case.key, error), text_of(error)), response


@pytest.mark.parametrize("case", [case for case in CASES if case.key in HANDLERS], ids=str)
def test_no_rpc_asks_for_more_than_its_row_names(case: Case, world: AccessWorld) -> None:
    listening = world.services.authorizer = Listening()
    send(world, world.alice, case)
    named = {(right.operation, right.kind) for right in RIGHTS[case.key]}
    if case.hides is None:  # operations that are returned on request are all asked for
        assert listening.heard <= named
    assert listening.heard & named


@pytest.mark.parametrize("case", [case for case in CASES if case.key in HANDLERS], ids=str)
def test_a_refusal_wins(case: Case) -> None:
    for refused in case.needs:
        world = AccessWorld()
        deny = case.acl(refused)._replace(permission=Permission.DENY)
        world.grant([*(case.acl(right) for right in case.needs), deny])
        response = send(world, world.alice, case)
        assert case.hides(response) if case.hides is not None else refusals(response) == {case.refused_without(refused)}


@pytest.mark.parametrize("right", [r.CREATE_CLUSTER, r.CREATE_TOPIC], ids=str)
def test_topics_are_created_with_create_on_the_cluster_or_on_the_topic(right: Right, world: AccessWorld) -> None:
    request = CreateTopicsRequest([CreatableTopic("new", 1, 1)])
    (row,) = world.alice.call(request, 7, CreateTopicsResponse).topics
    assert (row.error_code, row.error_message) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
    name = "new" if right.kind == ResourceKind.TOPIC else None
    world.grant([acl(right, name)])
    (row,) = world.alice.call(request, 7, CreateTopicsResponse).topics
    assert (row.error_code, row.num_partitions, row.replication_factor, row.configs) == (0, -1, -1, [])
    assert row.topic_config_error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    world.grant([acl(right, name), acl(r.DESCRIBE_TOPIC_CONFIGS, "second"), acl(r.CREATE_TOPIC, "second")])
    request = CreateTopicsRequest([CreatableTopic("second", 1, 1)])
    (row,) = world.alice.call(request, 7, CreateTopicsResponse).topics
    assert (row.error_code, row.num_partitions, row.topic_config_error_code) == (0, 1, 0)
    assert row.configs


@pytest.mark.parametrize("right", [r.CREATE_CLUSTER, r.CREATE_TOPIC], ids=str)
def test_asking_for_a_topic_creates_it_only_for_those_who_may(right: Right) -> None:
    request = MetadataRequest([MetadataRequestTopic(name="new")], True)
    world = AccessWorld()
    describe = acl(r.DESCRIBE_TOPIC, "new")
    world.grant([describe])
    (row,) = world.alice.call(request, 12, MetadataResponse).topics
    assert row.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert world.services.metadata.topic("new") is None
    world.grant([describe, acl(right, "new" if right.kind == ResourceKind.TOPIC else None)])
    (row,) = world.alice.call(request, 12, MetadataResponse).topics
    assert row.error_code == ErrorCode.NONE
    world.grant([acl(right, "new2" if right.kind == ResourceKind.TOPIC else None)])
    request = MetadataRequest([MetadataRequestTopic(name="new2")], True)
    (row,) = world.alice.call(request, 12, MetadataResponse).topics
    assert row.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED, "what one may not describe one does not create"


def test_delete_on_the_cluster_deletes_any_topic(world: AccessWorld) -> None:
    """Apache Kafka 4.3.1: ALL on the cluster includes DELETE, although it is no operation of the cluster."""
    world.grant([acl(r.DELETE_CLUSTER)])
    response = world.alice.call(DeleteTopicsRequest(topic_names=[TOPIC, "no"]), 5, DeleteTopicsResponse)
    assert {row.name: row.error_code for row in response.responses} == {
        TOPIC: ErrorCode.NONE,
        "no": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_whether_a_topic_exists_is_returned_only_to_those_who_may_describe_it(world: AccessWorld) -> None:
    both = DeleteTopicsRequest(topic_names=[TOPIC, "no"])
    hidden = {row.name: row.error_code for row in world.alice.call(both, 5, DeleteTopicsResponse).responses}
    assert hidden == dict.fromkeys((TOPIC, "no"), ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    by_id = DeleteTopicsRequest([DeleteTopicState(None, world.topic_id)])
    (row,) = world.alice.call(by_id, 6, DeleteTopicsResponse).responses
    assert (row.name, row.error_code) == (None, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    world.grant([acl(r.DESCRIBE_TOPIC), acl(r.DESCRIBE_TOPIC, "no")])
    seen = {row.name: row.error_code for row in world.alice.call(both, 5, DeleteTopicsResponse).responses}
    assert seen == {TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED, "no": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    (row,) = world.alice.call(by_id, 6, DeleteTopicsResponse).responses
    assert (row.name, row.error_code) == (TOPIC, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    request = MetadataRequest([MetadataRequestTopic(name="hidden")], False)
    (topic,) = world.alice.call(request, 12, MetadataResponse).topics
    assert (topic.error_code, topic.topic_id) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ZERO_UUID)


def test_of_a_transaction_those_topics_are_reported_that_may_be_described() -> None:
    (case,) = [case for case in CASES if case.key == ApiKey.DESCRIBE_TRANSACTIONS]
    for rights, topics in (((), []), ((r.DESCRIBE_TOPIC,), [TOPIC])):
        world = AccessWorld()
        world.grant([acl(r.DESCRIBE_TRANSACTION), *map(acl, rights)])
        response = send(world, world.alice, case)
        assert isinstance(response, DescribeTransactionsResponse)
        assert [topic.topic for topic in response.transaction_states[0].topics] == topics


def test_nobody_adds_an_internal_topic_to_a_transaction(world: AccessWorld) -> None:
    """Apache Kafka 4.3.1: only AddOffsetsToTxn adds offsets."""
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="p",
        v3_and_below_producer_id=1,
        v3_and_below_topics=[AddPartitionsToTxnTopic("__consumer_offsets", [0])],
    )
    response = world.admin.call(request, 3, AddPartitionsToTxnResponse)
    (row,) = response.results_by_topic_v3_and_below[0].results_by_partition
    assert row.partition_error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_a_principal_that_may_write_some_topic_may_be_idempotent(world: AccessWorld) -> None:
    """KIP-679."""
    world.grant([acl(r.WRITE_TOPIC)])
    assert world.alice.call(InitProducerIdRequest(None), 4, InitProducerIdResponse).error_code == ErrorCode.NONE
    world.grant([acl(r.READ_TOPIC)])
    refused = world.alice.call(InitProducerIdRequest(None), 4, InitProducerIdResponse)
    assert (refused.error_code, refused.producer_id) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, -1)


def test_a_right_that_is_taken_away_is_gone_at_once_on_the_short_way_of_produce(world: AccessWorld) -> None:
    request = produce_request(batch(b"x"), topic=TOPIC)

    def error() -> int:
        response = world.alice.call(request, 9, ProduceResponse)
        return response.responses[0].partition_responses[0].error_code

    world.grant([acl(r.WRITE_TOPIC)])
    assert [error() for _ in range(3)] == [ErrorCode.NONE] * 3
    world.grant([])
    assert [error() for _ in range(3)] == [ErrorCode.TOPIC_AUTHORIZATION_FAILED] * 3
    world.grant([acl(r.WRITE_TOPIC)])
    assert [error() for _ in range(3)] == [ErrorCode.NONE] * 3
    assert world.folder.logs.get(TOPIC, 0).log_end_offset == 6


def test_of_all_offsets_those_are_reported_whose_topics_may_be_described(world: AccessWorld) -> None:
    """KIP-88 (null topics); the start offsets of a share group are reported likewise."""
    world.grant([acl(r.DESCRIBE_GROUP)])
    group = DescribeShareGroupOffsetsRequestGroup("g", None)
    request = DescribeShareGroupOffsetsRequest([group])
    (row,) = world.alice.call(request, 1, DescribeShareGroupOffsetsResponse).groups
    assert (row.error_code, row.topics) == (ErrorCode.NONE, [])
    world.grant([acl(r.DESCRIBE_GROUP), acl(r.DESCRIBE_TOPIC)])
    (row,) = world.alice.call(request, 1, DescribeShareGroupOffsetsResponse).groups
    assert [topic.topic_name for topic in row.topics] == [TOPIC]


def test_offset_fetch_has_a_place_for_the_group_from_version_2_on(world: AccessWorld) -> None:
    """KIP-88: the group's error has a field from version 2 on."""
    response = world.alice.call(OffsetFetchRequest("classic", topics=None), 2, OffsetFetchResponse)
    assert (response.error_code, response.topics) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, [])


def test_acls_survive_a_restart(world: AccessWorld) -> None:
    world.grant([acl(r.WRITE_TOPIC), acl(r.READ_TOPIC)])
    world.restart()
    authorizer = world.services.authorizer
    assert authorizer is not None
    assert list(world.services.metadata.acls) == [acl(r.WRITE_TOPIC), acl(r.READ_TOPIC)]
    assert authorizer.allows(ALICE, "127.0.0.1", Operation.WRITE, ResourceKind.TOPIC, TOPIC)
    assert not authorizer.allows(ALICE, "127.0.0.1", Operation.ALTER, ResourceKind.TOPIC, TOPIC)


def test_a_prefix_and_a_wildcard_grant_over_frames(world: AccessWorld) -> None:
    for pattern, name in ((PatternType.PREFIXED, "t"), (PatternType.LITERAL, "*")):
        granted = Acl(ResourceKind.TOPIC, name, pattern, "User:*", "127.0.0.1", Operation.WRITE, Permission.ALLOW)
        world.grant([granted])
        response = world.alice.call(produce_request(batch(b"x"), topic=TOPIC), 9, ProduceResponse)
        assert response.responses[0].partition_responses[0].error_code == ErrorCode.NONE


def test_a_topic_that_may_not_be_altered_holds_no_other_back(world: AccessWorld) -> None:
    """The other topics are altered (AlterShareGroupOffsets), in any order of the request."""
    world.grant([acl(r.READ_GROUP, "other"), acl(r.READ_TOPIC, TOPIC)])
    rows = [AlterShareGroupOffsetsRequestPartition(0, 0)]
    topics = [AlterShareGroupOffsetsRequestTopic(name, rows) for name in ("hidden", TOPIC)]
    request = AlterShareGroupOffsetsRequest("other", topics)
    answer = world.alice.call(request, 0, AlterShareGroupOffsetsResponse)
    assert {each.topic_name: each.partitions[0].error_code for each in answer.responses} == {
        "hidden": ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        TOPIC: ErrorCode.NONE,
    }
