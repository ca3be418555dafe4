"""Every request that changes metadata: a turn of the loop makes one commit, and no other sync, so that neighbours wait
for the disk once. Counted on a disk in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from devtools.in_memory.mock_transport import DATA, BrokerWorld, MockConnection
from shareq.broker.handlers.shared.config_resources import ResourceType
from shareq.broker.handlers.topics.delete_topics import TURN_FOLDERS
from shareq.broker.log.append import AppendInfo, Origin
from shareq.broker.log.folders import REMOVED_AT_ONCE
from shareq.broker.metadata.store import NewTopic
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    OpData,
)
from shareq.protocol.generated.alter_configs import AlterableConfig as Replaced
from shareq.protocol.generated.alter_configs import AlterConfigsRequest
from shareq.protocol.generated.alter_configs import AlterConfigsResource as ReplacedResource
from shareq.protocol.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from shareq.protocol.generated.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from shareq.protocol.generated.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from shareq.protocol.generated.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicState
from shareq.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic
from shareq.protocol.generated.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from shareq.protocol.primitives import Message
from tests.support.worlds.log_world import batch_of

ACLS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
LOCK = "share.record.lock.duration.ms"


class Syncs:
    """Commits, and syncs on the loop, in each turn of it."""

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
        """Send the requests, one after the other to each of the clients, and return what comes."""
        self.turns.clear()
        asked: list[MockConnection] = []
        before = self._now()
        for at, (request, version) in enumerate(requests):
            asked.append(clients[at % len(clients)])
            asked[-1].send(request, version)
        while self.world.clock.run_tick():
            commits, syncs = self._now()
            self.turns.append((commits - before[0], syncs - before[1]))
            before = commits, syncs
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
    """By name a request of many elements, with its version, and the commits that it may take."""
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
        for field in ("responses", "results", "topics", "entries", "filter_results")
        for row in getattr(response, field, ())
    ]
    assert rows
    return {row.error_code for row in rows}


@pytest.mark.parametrize("name", everything())
def test_a_request_of_many_elements_commits_once_in_a_turn(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (request, most_commits) = everything()[name]
    world = BrokerWorld(ACLS)
    client = world.connect()
    world.services.metadata.create_topics([NewTopic(topic, 1) for topic in topics(1_200)])
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
    """Pipelined on one connection, or from many."""
    world = BrokerWorld(ACLS)
    clients = [world.connect() for _ in range(connections)]
    world.clock.run_until_idle()
    syncs = Syncs(world, monkeypatch)
    responses = syncs.of([small(kind, number) for number in range(20)], *clients)
    assert len(responses) == 20
    assert max(commits for commits, _ in syncs.turns) == 1
    assert syncs.commits == (1 if kind == "producer ids" else 20)


def small(kind: str, number: int) -> tuple[Message, int]:
    """A request with one commit."""
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


def test_what_a_waiting_request_looks_at_is_what_the_one_before_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two clients create one topic, and two set and append to one property, in the same turn."""
    world = BrokerWorld()
    clients = [world.connect(), world.connect()]
    world.clock.run_until_idle()
    syncs = Syncs(world, monkeypatch)
    answers = syncs.of([(CreateTopicsRequest([CreatableTopic("t", 1, 1)], 60_000), 7)] * 2, *clients)
    assert [errors_in(answer) for answer in answers] == [{ErrorCode.NONE}, {ErrorCode.TOPIC_ALREADY_EXISTS}]
    both = [AlterConfigsResource(ResourceType.TOPIC, "t", [AlterableConfig("cleanup.policy", 0, "compact")])]
    more = [AlterConfigsResource(ResourceType.TOPIC, "t", [AlterableConfig("cleanup.policy", 2, "delete")])]
    syncs.of([(IncrementalAlterConfigsRequest(both), 1), (IncrementalAlterConfigsRequest(more), 1)], *clients)
    assert world.services.metadata.configs("topic", "t") == {"cleanup.policy": "compact,delete"}


def test_a_newcomer_does_not_overtake_a_commit_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that came in each turn would keep the others waiting for ever."""
    world = BrokerWorld()
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
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is wrong with one of them is its own affair."""
    world = BrokerWorld()
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


def test_a_group_is_checked_by_what_the_same_request_has_set_for_the_broker() -> None:
    world = BrokerWorld()
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


def test_folders_of_deleted_topics_are_removed_some_in_a_turn_with_one_sync_off_the_loop() -> None:
    """1,000 topics were 1,000 syncs of the data folder, and all of their files were removed in one turn."""
    world = BrokerWorld()
    client = world.connect()
    names = topics(300)
    made = world.services.metadata.create_topics([NewTopic(name, 1) for name in names])
    for topic in made:
        log = world.services.logs.get(topic.name, 0)
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
    assert max(renamed) <= TURN_FOLDERS + 3  # and checkpoints
    assert world.fs.history[begin:].count(("sync_dir", DATA)) <= 3
    world.services.metadata.create_topic(NewTopic("next", 1))
    assert not world.services.metadata.deleted_topics()
