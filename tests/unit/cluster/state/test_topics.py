from __future__ import annotations

import pytest

from shareq.broker.foundation.loop.coroutines import beginner, in_ticks
from shareq.cluster.state.topics import WANTED_MESSAGE_BYTES, Checked, WantedTopic, check_topic
from tests.support.cluster.rights import Operation, Resource
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.world import ClusterWorld

STATES = WantedTopic("__shareq_state", 48, compacted=False)
GROUPS = WantedTopic("__shareq_groups", 48, compacted=True)


@pytest.fixture
def world() -> ClusterWorld:
    return ClusterWorld()


def checked(world: ClusterWorld, wanted: WantedTopic) -> Checked:
    begin = beginner(world.env.budget, in_ticks(world.clock.call_soon))
    return world.wait(begin(check_topic(world.env, world.link, wanted)))


@pytest.mark.parametrize("wanted", [STATES, GROUPS])
def test_a_topic_that_is_missing_is_made_as_it_should_be(world: ClusterWorld, wanted: WantedTopic) -> None:
    for _ in range(2):
        found = checked(world, wanted)
        assert (found.refusals, found.warnings) == ([], [])
        assert found.topic is not None
        assert (found.topic.partitions, found.topic.max_message_bytes) == (48, WANTED_MESSAGE_BYTES)
        assert found.topic.compacted is wanted.compacted
        assert found.topic.topic_id == world.cluster.topic(wanted.name).topic_id
    made = world.cluster.topic(wanted.name).configs
    assert made["cleanup.policy"] == ("compact" if wanted.compacted else "delete")


@pytest.mark.parametrize(
    ("wanted", "name", "value"),
    [
        (STATES, "cleanup.policy", "compact"),
        (STATES, "cleanup.policy", "compact,delete"),
        (STATES, "retention.ms", "604800000"),
        (STATES, "retention.bytes", "1000000"),
        (GROUPS, "cleanup.policy", "delete"),
        (GROUPS, "cleanup.policy", "compact,delete"),
    ],
)
def test_a_topic_that_would_lose_what_was_confirmed_is_refused(
    world: ClusterWorld, wanted: WantedTopic, name: str, value: str
) -> None:
    world.cluster.create_topic(wanted.name, 48, 3, wanted.configs() | {name: value})
    found = checked(world, wanted)
    assert found.topic is None
    assert [name in each and value in each for each in found.refusals] == [True]
    due = wanted.configs().get(name, "-1")
    assert found.refusals[0].endswith(f"Mend: shareq configs alter topic {wanted.name} --set {name}={due}")


@pytest.mark.parametrize(
    ("wanted", "name", "value", "loss"),
    [
        (STATES, "unclean.leader.election.enable", "true", "delivered again"),
        (STATES, "min.insync.replicas", "1", "lost with it"),
        (STATES, "max.message.bytes", "1048588", "fewer records in flight"),
        (GROUPS, "min.compaction.lag.ms", "0", "take the place"),
    ],
)
def test_less_than_wanted_is_a_warning_that_names_what_can_be_lost(
    world: ClusterWorld, wanted: WantedTopic, name: str, value: str, loss: str
) -> None:
    world.cluster.create_topic(wanted.name, 48, 3, wanted.configs() | {name: value})
    found = checked(world, wanted)
    assert found.topic is not None
    assert [name in each and value in each and loss in each for each in found.warnings] == [True]
    mend = f"Mend: shareq configs alter topic {wanted.name} --set {name}={wanted.configs()[name]}"
    assert found.warnings[0].endswith(mend)


def test_fewer_replicas_than_wanted_are_a_warning(world: ClusterWorld) -> None:
    world.cluster.create_topic(STATES.name, 6, 1, STATES.configs())
    found = checked(world, STATES)
    assert found.topic is not None
    assert found.topic.partitions == 6
    assert [("on 1 broker," in each, "lost with it" in each) for each in found.warnings] == [(True, True)]


def test_too_few_brokers_are_waited_for() -> None:
    world = ClusterWorld(ClusterSettings(brokers=(1, 2)))
    found = checked(world, STATES)
    assert found.topic is None
    assert ["INVALID_REPLICATION_FACTOR" in each for each in found.refusals] == [True]


def test_what_may_not_be_asked_is_a_warning(world: ClusterWorld) -> None:
    world.cluster.create_topic(STATES.name, 48, 3, STATES.configs())
    world.cluster.rights.deny(Resource.TOPIC, STATES.name, Operation.DESCRIBE_CONFIGS)
    found = checked(world, STATES)
    assert found.topic is not None
    assert found.topic.max_message_bytes == 1_048_588
    assert ["cannot be checked" in each for each in found.warnings] == [True]
    assert found.warnings[0].endswith("--resource topic --name __shareq_state --operation describe-configs")


def test_a_topic_that_may_not_be_made_is_refused_with_the_command_that_makes_it(world: ClusterWorld) -> None:
    world.cluster.rights.deny(Resource.TOPIC, GROUPS.name, Operation.CREATE)
    found = checked(world, GROUPS)
    assert found.topic is None
    (refusal,) = found.refusals
    made = "Mend: shareq topics create __shareq_groups --partitions 48 --replication-factor 3 --set cleanup.policy="
    assert "there is none, and no right to create it" in refusal
    assert made in refusal


def test_a_topic_that_may_not_be_seen_is_refused(world: ClusterWorld) -> None:
    world.cluster.rights.deny(Resource.TOPIC, STATES.name, Operation.DESCRIBE)
    found = checked(world, STATES)
    assert found.topic is None
    assert [each.endswith("--name __shareq_state --operation read --operation write") for each in found.refusals] == [
        True
    ]


def test_a_cluster_that_cannot_be_reached_is_a_refusal(world: ClusterWorld) -> None:
    for broker in world.cluster.brokers:
        world.cluster.kill(broker)
    found = checked(world, STATES)
    assert found.topic is None
    assert ["Metadata" in each for each in found.refusals] == [True]


def test_brokers_that_hear_of_a_new_topic_late_are_waited_for(world: ClusterWorld) -> None:
    def hear() -> None:
        for broker in world.cluster.brokers:
            world.cluster.release_news(broker)

    for broker in world.cluster.brokers:
        world.cluster.hold_news(broker)
    world.clock.call_at(world.clock.now_ms() + 3_000, hear)
    found = checked(world, STATES)
    assert found.topic is not None
    assert found.refusals == []
