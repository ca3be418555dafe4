"""Every request that changes metadata: one commit per turn of the loop and no other sync, counted on a disk in memory.

So other clients wait for the disk only once.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from devtools.in_memory.mock_transport import DATA, BrokerWorld, MockConnection
from shareq.broker.handlers.shared.config_resources import ResourceType
from shareq.broker.handlers.topics.delete_topics import DELETED_TOGETHER
from shareq.broker.log.append import AppendInfo, Origin
from shareq.broker.log.folders import REMOVED_AT_ONCE, RENAMED_AT_ONCE
from shareq.broker.metadata.changes import PutConfig, ResourceName
from shareq.broker.metadata.store import NewTopic
from shareq.broker.share.dlq.broker_queues import BrokerQueues
from shareq.protocol.errors import NO_ERROR, ErrorCode
from shareq.protocol.generated.add_offsets_to_txn import AddOffsetsToTxnRequest
from shareq.protocol.generated.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    OpData,
)
from shareq.protocol.generated.alter_configs import AlterableConfig as Replaced
from shareq.protocol.generated.alter_configs import AlterConfigsRequest
from shareq.protocol.generated.alter_configs import AlterConfigsResource as ReplacedResource
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from shareq.protocol.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from shareq.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from shareq.protocol.generated.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from shareq.protocol.generated.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from shareq.protocol.generated.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicState
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest
from shareq.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest
from shareq.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest
from shareq.protocol.generated.start_redrive import StartRedriveRequest
from shareq.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from shareq.protocol.generated.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from shareq.protocol.primitives import Message, uuid_to_text
from tests.support.worlds.log_world import batch_of

ACLS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
FINE = (ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.MEMBER_ID_REQUIRED)
LOCK = "share.record.lock.duration.ms"


class Syncs:
    def __init__(self, world: BrokerWorld, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = world
        self.turns: list[tuple[int, int]] = []
        self._loop_syncs = 0
        fs = world.fs
        write_atomic, sync_dir = fs.write_atomic, fs.sync_dir

        def atomic(path: str, data: bytes, *, sync: bool = False) -> None:
            self._loop_syncs += 2 * sync
            write_atomic(path, data, sync=sync)

        def folder(path: str) -> None:
            self._loop_syncs += 1
            sync_dir(path)

        monkeypatch.setattr(fs, "write_atomic", atomic)
        monkeypatch.setattr(fs, "sync_dir", folder)

    def of(self, requests: Sequence[tuple[Message, int]], *clients: MockConnection) -> list[Message]:
        self.turns.clear()
        asked: list[MockConnection] = []
        before = self._now()
        for at, (request, version) in enumerate(requests):
            asked.append(clients[at % len(clients)])
            asked[-1].send(request, version)
        while True:  # what was read was handled in a turn of its own
            commits, syncs = self._now()
            self.turns.append((commits - before[0], syncs - before[1]))
            before = commits, syncs
            if not self.world.clock.run_tick():
                break
        return [client.requests.response(client.frames.popleft()) for client in asked]

    def _now(self) -> tuple[int, int]:
        return self.world.db.commits, self._loop_syncs

    @property
    def commits(self) -> int:
        return sum(commits for commits, _ in self.turns)


def configs_of(kind: ResourceType, names: Sequence[str], key: str, value: str) -> tuple[Message, int]:
    resources = [AlterConfigsResource(kind, name, [AlterableConfig(key, 0, value)]) for name in names]
    return IncrementalAlterConfigsRequest(resources), 1


def topics(count: int) -> list[str]:
    return [f"t{number}" for number in range(count)]


def everything() -> dict[str, tuple[tuple[Message, int], int]]:
    """Return, by name, a request of many elements with its version and allowed number of commits."""
    new = CreateTopicsRequest([CreatableTopic(f"n{number}", 1, 1) for number in range(1_200)], 60_000)
    grown = CreatePartitionsRequest([CreatePartitionsTopic(name, 2, None) for name in topics(1_200)], 60_000)
    doomed = DeleteTopicsRequest(topics=[DeleteTopicState(name) for name in topics(1_200)], timeout_ms=60_000)
    replaced = AlterConfigsRequest(
        [ReplacedResource(ResourceType.GROUP, f"g{number}", [Replaced(LOCK, "40000")]) for number in range(1_000)]
    )
    acls = CreateAclsRequest([AclCreation(2, f"a{number}", 3, "User:x", "*", 3, 3) for number in range(2_500)])
    no_acls = DeleteAclsRequest([DeleteAclsFilter(2, None, 1, None, None, 1, 1)])
    users = AlterUserScramCredentialsRequest(
        [], [ScramCredentialUpsertion(f"u{number}", 1, 4096, b"salt", b"password") for number in range(1_200)]
    )
    quotas = AlterClientQuotasRequest(
        [
            AlterClientQuotasRequestEntryData(
                [AlterClientQuotasRequestEntityData("client-id", f"c{number}")], [OpData("request_percentage", 200.0)]
            )
            for number in range(1_200)
        ]
    )
    asked = MetadataRequest([MetadataRequestTopic(name=f"auto{number}") for number in range(50)])
    return {
        "CreateTopics": ((new, 7), 3),
        "CreatePartitions": ((grown, 3), 3),
        "DeleteTopics": ((doomed, 6), 7),
        "IncrementalAlterConfigs of groups": (
            configs_of(ResourceType.GROUP, [f"g{number}" for number in range(5_000)], LOCK, "40000"),
            56,
        ),
        "IncrementalAlterConfigs of topics": (
            configs_of(ResourceType.TOPIC, topics(1_000), "retention.ms", "100000"),
            12,
        ),
        "AlterConfigs": ((replaced, 2), 12),
        "CreateAcls": ((acls, 3), 3),
        "DeleteAcls": ((no_acls, 3), 3),
        "AlterUserScramCredentials": ((users, 0), 3),
        "AlterClientQuotas": ((quotas, 1), 5),
        "Metadata": ((asked, 12), 10),
    }


def errors_in(response: Message) -> set[int]:
    rows = [
        row
        for field in ("responses", "results", "topics", "entries", "filter_results", "coordinators")
        for row in getattr(response, field, ())
    ]
    assert rows
    return {row.error_code for row in rows}


@pytest.mark.parametrize("name", everything())
def test_a_request_of_many_elements_commits_once_in_a_turn(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (request, most_commits) = everything()[name]
    world = BrokerWorld(ACLS)
    client = world.connect()
    world.folder.metadata.create_topics([NewTopic(topic, 1) for topic in topics(1_200)])
    world.clock.run_until_idle()
    if name == "DeleteAcls":
        client.call(*everything()["CreateAcls"][0], CreateAclsResponse)
    syncs = Syncs(world, monkeypatch)
    (response,) = syncs.of([request], client)
    assert errors_in(response) == {ErrorCode.NONE}
    assert max(commits for commits, _ in syncs.turns) == 1
    assert max(others for _, others in syncs.turns) == 0
    assert 1 <= syncs.commits <= most_commits


@pytest.mark.parametrize("connections", [1, 20])
@pytest.mark.parametrize(
    "kind", ["configs", "topics", "acls", "users", "quotas", "auto-created", "features", "producer ids"]
)
def test_many_requests_at_once_commit_one_after_the_other(
    kind: str, connections: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The requests are pipelined on one connection, or sent on many."""
    world = BrokerWorld(ACLS)
    clients = [world.connect() for _ in range(connections)]
    world.clock.run_until_idle()
    syncs = Syncs(world, monkeypatch)
    responses = syncs.of([small(kind, number) for number in range(20)], *clients)
    assert len(responses) == 20
    assert max(commits for commits, _ in syncs.turns) == 1
    assert syncs.commits == (1 if kind == "producer ids" else 20)


def small(kind: str, number: int) -> tuple[Message, int]:
    match kind:
        case "configs":
            return configs_of(ResourceType.GROUP, [f"g{number}"], LOCK, "40000")
        case "topics":
            return CreateTopicsRequest([CreatableTopic(f"n{number}", 1, 1)], 60_000), 7
        case "acls":
            return CreateAclsRequest([AclCreation(2, f"a{number}", 3, "User:x", "*", 3, 3)]), 3
        case "users":
            return AlterUserScramCredentialsRequest(
                [], [ScramCredentialUpsertion(f"u{number}", 1, 4096, b"salt", b"password")]
            ), 0
        case "quotas":
            entity = AlterClientQuotasRequestEntityData("client-id", f"c{number}")
            entry = AlterClientQuotasRequestEntryData([entity], [OpData("request_percentage", 200.0)])
            return AlterClientQuotasRequest([entry]), 1
        case "auto-created":
            return MetadataRequest([MetadataRequestTopic(name=f"auto{number}")]), 12
        case "features":
            level, update = (0, 2) if number % 2 == 0 else (1, 1)
            return UpdateFeaturesRequest(60_000, [FeatureUpdateKey("share.version", level, False, update)]), 1
        case _:
            return InitProducerIdRequest(None), 4


def test_what_a_waiting_request_looks_at_is_what_the_one_before_has_left(
    monkeypatch: pytest.MonkeyPatch, world: BrokerWorld
) -> None:
    """Two clients create one topic, and set and append to one property, in the same turn."""
    clients = [world.connect(), world.connect()]
    world.clock.run_until_idle()
    syncs = Syncs(world, monkeypatch)
    answers = syncs.of([(CreateTopicsRequest([CreatableTopic("t", 1, 1)], 60_000), 7)] * 2, *clients)
    assert [errors_in(answer) for answer in answers] == [{ErrorCode.NONE}, {ErrorCode.TOPIC_ALREADY_EXISTS}]
    both = [AlterConfigsResource(ResourceType.TOPIC, "t", [AlterableConfig("cleanup.policy", 0, "compact")])]
    more = [AlterConfigsResource(ResourceType.TOPIC, "t", [AlterableConfig("cleanup.policy", 2, "delete")])]
    syncs.of([(IncrementalAlterConfigsRequest(both), 1), (IncrementalAlterConfigsRequest(more), 1)], *clients)
    assert world.services.metadata.configs("topic", "t") == {"cleanup.policy": "compact,delete"}


def test_a_newcomer_does_not_overtake_a_commit_that_waits(monkeypatch: pytest.MonkeyPatch, world: BrokerWorld) -> None:
    """A new commit in each turn would starve those that wait."""
    many, newcomer = world.connect(), world.connect()
    world.clock.run_until_idle()
    many.send(*configs_of(ResourceType.GROUP, [f"g{number}" for number in range(1_000)], LOCK, "40000"))
    for turn in range(500):
        if many.frames:
            break
        newcomer.send(*configs_of(ResourceType.GROUP, ["other"], LOCK, str(20_000 + turn)))
        world.clock.run_tick()
    assert errors_in(many.receive(IncrementalAlterConfigsResponse)) == {ErrorCode.NONE}


def test_the_elements_of_a_slice_fail_together_where_the_disk_fails_and_only_they(
    monkeypatch: pytest.MonkeyPatch, world: BrokerWorld
) -> None:
    client = world.connect()
    world.clock.run_until_idle()

    def fails(_changes: object) -> None:
        if world.db.commits == before + 1:
            raise OSError("no")

    before = world.db.commits
    world.db.before_commit = fails
    names = [f"g{number}" for number in range(300)]
    request, version = configs_of(ResourceType.GROUP, names, LOCK, "40000")
    assert isinstance(request, IncrementalAlterConfigsRequest)
    request.resources[0].configs[0].value = "wrong"
    rows = client.call(request, version, IncrementalAlterConfigsResponse).responses
    codes = [row.error_code for row in rows]
    assert codes[0] == ErrorCode.INVALID_CONFIG
    stored = [name for name in names if world.services.metadata.configs("group", name)]
    assert stored == [row.resource_name for row in rows if row.error_code == ErrorCode.NONE]
    assert 50 < len(stored) < 100
    assert set(codes[1:]) == {ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR}


def test_a_group_is_checked_by_what_the_same_request_has_set_for_the_broker(world: BrokerWorld) -> None:
    client = world.connect()
    world.clock.run_until_idle()
    request = IncrementalAlterConfigsRequest(
        [
            AlterConfigsResource(
                ResourceType.BROKER, "", [AlterableConfig("group.share.max.record.lock.duration.ms", 0, "50000")]
            ),
            AlterConfigsResource(ResourceType.GROUP, "g", [AlterableConfig(LOCK, 0, "60000")]),
        ]
    )
    rows = client.call(request, 1, IncrementalAlterConfigsResponse).responses
    alone = client.call(IncrementalAlterConfigsRequest(request.resources[1:]), 1, IncrementalAlterConfigsResponse)
    assert rows[1].error_code == alone.responses[0].error_code


def test_folders_of_deleted_topics_are_removed_some_in_a_turn_with_one_sync_off_the_loop(world: BrokerWorld) -> None:
    """1,000 topics once took as many syncs of the data folder, and all files were removed in one turn."""
    client = world.connect()
    names = topics(300)
    made = world.folder.metadata.create_topics([NewTopic(name, 1) for name in names])
    for topic in made:
        log = world.folder.logs.get(topic.name, 0)
        assert isinstance(
            log.append(batch_of(b"x"), origin=Origin.CLIENT, now_wall_ms=world.clock.wall_ms()), AppendInfo
        )
    world.clock.advance(5_000)
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name) for name in names], timeout_ms=60_000)
    removed: list[int] = []
    renamed: list[int] = []
    begin = at = len(world.fs.history)
    client.send(request, 6)
    while world.clock.run_tick():
        kinds = [kind for kind, _ in world.fs.history[at:]]
        at = len(world.fs.history)
        removed.append(kinds.count("rmdir"))
        renamed.append(kinds.count("rename"))
    assert (sum(removed), max(removed)) == (len(names), REMOVED_AT_ONCE)
    assert max(renamed) <= DELETED_TOGETHER + 3  # and checkpoints
    assert world.fs.history[begin:].count(("sync_dir", DATA)) <= 3
    world.folder.metadata.create_topic(NewTopic("next", 1))
    assert not world.services.metadata.deleted_topics()


def made_by_the_broker(kind: str, world: BrokerWorld) -> tuple[Message, int, int]:
    """Return a request for which the broker itself creates something, its version, and the number of commits."""
    offset = [OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(0, 0)])]
    topic = world.services.metadata.topic("t")
    assert topic is not None
    match kind:
        case "FindCoordinator":
            return FindCoordinatorRequest("g"), 3, 1
        case "FindCoordinator of many":
            keys = [f"{number}" for number in range(2_500)]
            return FindCoordinatorRequest(key_type=1, coordinator_keys=keys), 6, 1
        case "JoinGroup":
            protocol = [JoinGroupRequestProtocol("range", b"")]
            return JoinGroupRequest("g", 10_000, 10_000, "", None, "consumer", protocol), 4, 1
        case "ConsumerGroupHeartbeat":
            return (
                ConsumerGroupHeartbeatRequest(
                    "g", "m", 0, rebalance_timeout_ms=5_000, subscribed_topic_names=["t"], topic_partitions=[]
                ),
                1,
                1,
            )
        case "ShareGroupHeartbeat":
            return ShareGroupHeartbeatRequest("g", "m", 0, None, ["t"]), 1, 1
        case "AlterShareGroupOffsets":
            altered = [AlterShareGroupOffsetsRequestTopic("t", [AlterShareGroupOffsetsRequestPartition(0, 0)])]
            return AlterShareGroupOffsetsRequest("g", altered), 0, 1
        case "OffsetCommit":
            return OffsetCommitRequest("g", -1, "", topics=offset), 8, 1
        case "OffsetCommit of many":
            many = [OffsetCommitRequestPartition(number, 0) for number in range(3_000)]
            return OffsetCommitRequest("g", -1, "", topics=[OffsetCommitRequestTopic("t", partitions=many)]), 8, 1
        case "TxnOffsetCommit":
            txn = [TxnOffsetCommitRequestTopic("t", partitions=[TxnOffsetCommitRequestPartition(0, 0)])]
            return TxnOffsetCommitRequest("x", "g", 1, 0, topics=txn), 5, 2
        case "AddOffsetsToTxn":
            return AddOffsetsToTxnRequest("x", 1, 0, "g"), 3, 2
        case "InitProducerId":
            return InitProducerIdRequest("x", 60_000), 4, 2
        case _:
            # The topic of the group, the own secret, producer ids, and the topic that keeps the progress.
            return StartRedriveRequest("r", "t", target=1, group_id="g"), 0, 4


@pytest.mark.parametrize(
    "kind",
    [
        "FindCoordinator",
        "FindCoordinator of many",
        "JoinGroup",
        "ConsumerGroupHeartbeat",
        "ShareGroupHeartbeat",
        "AlterShareGroupOffsets",
        "OffsetCommit",
        "OffsetCommit of many",
        "TxnOffsetCommit",
        "AddOffsetsToTxn",
        "InitProducerId",
        "StartRedrive",
    ],
)
def test_what_the_broker_makes_for_a_request_is_one_commit_in_a_turn(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another client's commit in the same turn counts, too, and so do further ones of one request."""
    world = BrokerWorld({"group.initial.rebalance.delay.ms": "0"})
    world.create_topic("t", 3_000)
    world.services.metadata.alter_configs(
        [PutConfig(ResourceName("group", "g"), "share.auto.offset.reset", "earliest")]
    )
    other, client = world.connect(), world.connect()
    world.clock.run_until_idle()
    request, version, commits = made_by_the_broker(kind, world)
    syncs = Syncs(world, monkeypatch)
    created, answer = syncs.of([small("topics", 1), (request, version)], other, client)
    assert errors_in(created) == {ErrorCode.NONE}
    assert getattr(answer, "error_code", 0) in FINE
    assert max(made for made, _ in syncs.turns) == 1
    assert syncs.commits == 1 + commits


def test_topics_of_coordinators_wanted_by_many_at_once_are_made_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, world: BrokerWorld
) -> None:
    clients = [world.connect() for _ in range(6)]
    world.clock.run_until_idle()
    syncs = Syncs(world, monkeypatch)
    topic_id = world.create_topic("t").topic_id
    world.clock.run_until_idle()
    keys = {0: "g", 1: "x", 2: f"g:{uuid_to_text(topic_id)}:0"}
    asked = [(FindCoordinatorRequest(key_type=kind, coordinator_keys=[key]), 6) for kind, key in keys.items()]
    answers = syncs.of(asked * 2, *clients)
    assert [errors_in(answer) for answer in answers] == [{ErrorCode.NONE}] * 6
    assert max(commits for commits, _ in syncs.turns) == 1
    assert syncs.commits == 3


def test_queues_of_dead_letters_are_made_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The letters of five groups are written in one turn."""
    world = BrokerWorld({"errors.deadletterqueue.auto.create.topics.enable": "true"})
    world.clock.run_until_idle()
    syncs = Syncs(world, monkeypatch)
    queues = BrokerQueues(
        world.services.env,
        world.folder.metadata,
        world.services.configs,
        world.folder.logs,
        world.services.leaders,
        world.services.turns,
    )
    made = [queues.create(f"dlq.{number % 5}") for number in range(10)]
    commits = world.db.commits
    syncs.of([])
    assert [each.value for each in made] == [NO_ERROR] * 10
    assert max(commits for commits, _ in syncs.turns) == 1
    assert syncs.commits == world.db.commits - commits == 4  # and the first one at once


def with_records(world: BrokerWorld, name: str, partitions: int) -> None:
    world.create_topic(name, partitions)
    for partition in range(partitions):
        log = world.folder.logs.get(name, partition)
        log.append(batch_of(b"x"), origin=Origin.CLIENT, now_wall_ms=world.clock.wall_ms())
    world.clock.advance(5_000)


def test_folders_of_one_topic_with_many_partitions_get_other_names_some_in_a_turn(world: BrokerWorld) -> None:
    """10,000 folders once took 0.5 s in the turn of the commit."""
    with_records(world, "t", 1_000)
    at = len(world.fs.history)
    renamed: list[int] = []
    world.folder.metadata.delete_topics(["t"])
    while True:
        renamed.append([kind for kind, _ in world.fs.history[at:]].count("rename"))
        at = len(world.fs.history)
        if not world.clock.run_tick():
            break
    assert sum(renamed) >= 1_000
    assert max(renamed) <= RENAMED_AT_ONCE + 3  # and checkpoints
    assert not [name for name in world.fs.list_dir(DATA) if name.startswith("t-")]
    world.folder.metadata.create_topic(NewTopic("next", 1))
    assert not world.services.metadata.deleted_topics()


def test_a_topic_made_again_keeps_its_folders_while_those_of_the_old_one_get_other_names(world: BrokerWorld) -> None:
    with_records(world, "t", 500)
    world.folder.metadata.delete_topics(["t"])
    assert [name for name in world.fs.list_dir(DATA) if name.startswith("t-499")] == ["t-499"]
    world.create_topic("t", 500)
    log = world.folder.logs.get("t", 499)
    log.append(batch_of(b"new"), origin=Origin.CLIENT, now_wall_ms=world.clock.wall_ms())
    world.clock.advance(5_000)
    assert log.log_end_offset == log.high_watermark == 1
    assert [name for name in world.fs.list_dir(DATA) if name.startswith("t-")] == ["t-499"]
    world.restart()
    assert world.folder.logs.get("t", 499).log_end_offset == 1


def test_a_broker_that_dies_between_the_renames_finds_no_record_of_the_deleted_topic(world: BrokerWorld) -> None:
    with_records(world, "t", 500)
    world.folder.metadata.delete_topics(["t"])
    world.crash()
    assert not [name for name in world.fs.list_dir(DATA) if name.startswith("t-")]


def test_checkpoints_are_written_one_in_a_turn_after_deletions_where_each_write_is_synced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = BrokerWorld({"log.flush.interval.messages": "1"})
    with_records(world, "t", 3)
    client = world.connect()
    world.clock.run_until_idle()
    syncs = Syncs(world, monkeypatch)
    syncs.of([(DeleteTopicsRequest(topics=[DeleteTopicState("t")], timeout_ms=60_000), 6)], client)
    assert max(2 * commits + others for commits, others in syncs.turns) == 2
    assert sum(others for _, others in syncs.turns) >= 4
