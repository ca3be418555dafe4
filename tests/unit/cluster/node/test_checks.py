"""A node's checks at start, on a simulated cluster: reachable brokers, APIs, permissions, state topics."""

from __future__ import annotations

import pytest

from shareq.broker.foundation.loop.coroutines import beginner, in_ticks
from shareq.cluster.link.versions import Served
from shareq.cluster.node.checks import (
    PATIENCE_MS,
    Checked,
    Reached,
    Unreachable,
    Wanted,
    check_cluster,
    lacks,
    reach,
)
from shareq.cluster.node.options import Replication
from shareq.cluster.state.topics import WantedTopic
from shareq.protocol.api_keys import ApiKey
from tests.support.cluster.rights import Operation, Resource
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.versions import KAFKA_3_9, KAFKA_4_3, KafkaRelease
from tests.support.cluster.world import ClusterWorld

STATES, GROUPS = "__shareq_state", "__shareq_groups"
USUAL = Replication(3, 2, given=False)
TOPICS = (WantedTopic(STATES, 4, compacted=False), WantedTopic(GROUPS, 4, compacted=True))
EVERYTHING = {int(key): versions for key, versions in KAFKA_4_3.apis.items()}


@pytest.fixture
def world() -> ClusterWorld:
    return ClusterWorld()


def reached(world: ClusterWorld) -> Reached | Unreachable:
    begin = beginner(world.env.budget, in_ticks(world.clock.call_soon))
    return world.wait(begin(reach(world.env, world.link)))


def checked(world: ClusterWorld, replication: Replication = USUAL, served: Served | None = None) -> Checked:
    cluster = reached(world)
    assert isinstance(cluster, Reached)
    if served is not None:
        cluster = cluster._replace(served=served)
    begin = beginner(world.env.budget, in_ticks(world.clock.call_soon))
    wanted = Wanted(TOPICS, replication, "__shareq", slotted=(STATES, GROUPS))
    return world.wait(begin(check_cluster(world.env, world.link, wanted, cluster)))


# -- who answers


@pytest.mark.parametrize("release", [KAFKA_3_9, KAFKA_4_3])
def test_a_sound_cluster_is_taken_without_a_word(release: KafkaRelease) -> None:
    world = ClusterWorld(ClusterSettings(release=release))
    found = checked(world)
    assert (found.refusals, found.warnings) == ([], [])
    assert (found.cluster.cluster_id, found.cluster.brokers) == ("simulated-cluster-id-0", 3)
    assert {name: topic.partitions for name, topic in found.topics.items()} == {STATES: 4, GROUPS: 4}
    assert world.cluster.topic(STATES).configs["min.insync.replicas"] == "2"


def test_a_cluster_that_starts_with_its_nodes_is_waited_for(world: ClusterWorld) -> None:
    for broker in world.cluster.brokers:
        world.cluster.kill(broker)

    def start() -> None:
        for broker in world.cluster.brokers:
            world.cluster.start(broker)

    world.clock.call_at(world.clock.now_ms() + PATIENCE_MS // 2, start)
    assert isinstance(reached(world), Reached)


def test_patience_with_a_cluster_that_is_not_there_ends(world: ClusterWorld) -> None:
    for broker in world.cluster.brokers:
        world.cluster.kill(broker)
    began_ms = world.clock.now_ms()
    found = reached(world)
    assert isinstance(found, Unreachable)
    assert not found.refused
    assert "broker" in found.text
    assert PATIENCE_MS - 5_000 <= world.clock.now_ms() - began_ms <= PATIENCE_MS + 10_000


def test_some_brokers_are_enough_after_a_while(world: ClusterWorld) -> None:
    world.cluster.cut("node", 2)
    began_ms = world.clock.now_ms()
    found = reached(world)
    assert isinstance(found, Reached)
    assert world.clock.now_ms() - began_ms >= PATIENCE_MS - 10_000
    assert found.brokers == 3
    (warning,) = checked(world).warnings
    assert "broker 2" in warning
    assert warning.endswith("; what it leads is neither read nor written until it is reached")


# -- what is served


def test_nothing_is_missing_in_apache_kafka() -> None:
    for release in (KAFKA_3_9, KAFKA_4_3):
        served = {int(key): versions for key, versions in release.apis.items()}
        assert lacks(Served(served, {})) == []


@pytest.mark.parametrize(
    ("api", "version", "since", "needed"),
    [
        (ApiKey.METADATA, 11, "2.8", True),
        (ApiKey.FIND_COORDINATOR, 3, "3.0", True),
        (ApiKey.JOIN_GROUP, 4, "2.3", True),
        (ApiKey.FETCH, 6, "1.1", True),
        (ApiKey.LEAVE_GROUP, 2, "2.4", False),
        (ApiKey.DELETE_RECORDS, None, "0.11", False),
    ],
)
def test_an_api_that_is_too_old_is_named_with_what_it_means(
    world: ClusterWorld, api: ApiKey, version: int | None, since: str, needed: bool
) -> None:
    versions = {key: value for key, value in EVERYTHING.items() if key != api}
    if version is not None:
        versions[api] = (0, version)
    served = Served(versions, {})
    (lack,) = lacks(served)
    assert api.name.title().replace("_", "") in lack.text
    assert f"Apache Kafka has since {since}" in lack.text
    assert lack.needed is needed
    found = checked(world, served=served)
    assert (found.refusals, found.warnings) == (([lack.text], []) if needed else ([], [lack.text]))
    assert bool(found.topics) is not needed


def test_a_cluster_with_share_groups_of_its_own_is_a_warning(world: ClusterWorld) -> None:
    versions = {**EVERYTHING, int(ApiKey.SHARE_GROUP_HEARTBEAT): (1, 1)}
    (warning,) = checked(world, served=Served(versions, {"share.version": 1})).warnings
    assert warning.startswith("the cluster has share groups of its own (feature share.version 1)")
    assert checked(world, served=Served(versions, {"share.version": 0})).warnings == []


# -- what the node may do


@pytest.mark.parametrize(
    ("operation", "says"),
    [(Operation.READ, "could not be loaded"), (Operation.WRITE, "nothing could be confirmed")],
)
def test_a_right_that_is_missing_on_a_state_topic_is_refused(
    world: ClusterWorld, operation: Operation, says: str
) -> None:
    world.cluster.rights.deny(Resource.TOPIC, STATES, operation)
    (refusal,) = checked(world).refusals
    assert refusal.startswith(f"topic {STATES}: no right to {operation.name.lower()} it: ")
    assert says in refusal
    mend = f"--resource topic --name {STATES} --operation {operation.name.lower()}"
    assert refusal.endswith(f"Mend: shareq acls create --principal User:NODE {mend}")


def test_a_topic_that_cannot_be_pruned_is_a_warning(world: ClusterWorld) -> None:
    for topic in (STATES, GROUPS):  # the second one is compacted by the cluster
        world.cluster.rights.deny(Resource.TOPIC, topic, Operation.DELETE)
    found = checked(world)
    assert found.refusals == []
    assert [each.startswith(f"topic {STATES}: no right to delete") for each in found.warnings] == [True]


def test_nodes_that_may_not_be_a_group_are_refused(world: ClusterWorld) -> None:
    world.cluster.rights.deny(Resource.GROUP, "__shareq", Operation.READ)
    (refusal,) = checked(world).refusals
    assert refusal.startswith("group __shareq: GROUP_AUTHORIZATION_FAILED: ")
    assert refusal.endswith("--resource group --name __shareq --operation read")


def test_a_node_without_transactional_ids_says_what_is_missing(world: ClusterWorld) -> None:
    world.cluster.rights.deny(Resource.TRANSACTIONAL_ID, "shareq-check", Operation.DESCRIBE)
    found = checked(world)
    assert found.refusals == []
    (warning,) = found.warnings
    assert warning.startswith("transactional ids shareq-*: ")
    assert "nothing is lost" in warning


# -- state topics


def test_few_brokers_get_as_many_replicas_as_there_are_with_a_warning() -> None:
    world = ClusterWorld(ClusterSettings(brokers=(1,)))
    found = checked(world)
    assert found.refusals == []
    (warning,) = found.warnings
    assert warning.startswith("the cluster has 1 broker: ")
    assert world.cluster.topic(STATES).configs["min.insync.replicas"] == "1"


def test_replicas_that_the_operator_gave_are_not_made_fewer() -> None:
    found = checked(ClusterWorld(ClusterSettings(brokers=(1, 2))), Replication(3, 2, given=True))
    assert [("INVALID_REPLICATION_FACTOR" in each, "3" in each) for each in found.refusals] == [(True, True)] * 2


def test_a_topic_that_loses_what_was_confirmed_refuses_the_start(world: ClusterWorld) -> None:
    world.cluster.create_topic(STATES, 4, 3, TOPICS[0].configs() | {"cleanup.policy": "compact"})
    found = checked(world)
    assert ["cleanup.policy" in each for each in found.refusals] == [True]
    assert set(found.topics) == {GROUPS}


def test_partitions_that_were_added_refuse_the_start(world: ClusterWorld) -> None:
    """Every state would be looked for in the wrong slot, and taken for missing."""
    world.cluster.create_topic(STATES, 5, 3, TOPICS[0].configs())
    (refusal,) = checked(world).refusals
    assert refusal.startswith(f"topic {STATES}: it has 5 partitions, and shareq.cluster.slots is 4: ")
    assert refusal.endswith("mend: --set shareq.cluster.slots=5, on every node")
