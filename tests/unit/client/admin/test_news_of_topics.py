"""Creating a topic waits for all brokers, not only the controller: the next command may ask any of them."""

from __future__ import annotations

import pytest

from shareq.client.admin import Admin
from shareq.client.admin.news_of_topics import PATIENCE_MS
from shareq.client.admin.topics import NewTopic
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.create_topics import CreatableTopicResult, CreateTopicsResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from shareq.protocol.primitives import Message
from tests.support.fakes.scripted_peer import HangUp, ScriptedBroker
from tests.support.fakes.scripted_world import ID, World, topic

TOPIC = NewTopic("t", 1, 1)


def creating(world: World, broker: ScriptedBroker, error: ErrorCode = ErrorCode.NONE) -> None:
    """Let the broker create any topic and know it at once; the other brokers are scripted."""

    def answer(_: Message) -> Message:
        world.topics = [] if error else [topic(1)]
        return CreateTopicsResponse(topics=[CreatableTopicResult("t", ID, error)])

    broker.scripts[ApiKey.CREATE_TOPICS] = answer


def behind(world: World, broker: ScriptedBroker, answers: int, without_leader: bool = False) -> list[int]:
    """Let the broker not know the topic in its first `answers` answers; return a list that grows with each of these."""
    given: list[int] = []

    def answer(request: Message) -> Message:
        found = world.metadata(request)
        assert isinstance(request, MetadataRequest)
        assert isinstance(found, MetadataResponse)
        if not request.topics or len(given) >= answers:
            return found
        given.append(len(given))
        row = topic(-1) if without_leader else MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "t")
        for each in row.partitions:
            each.error_code = ErrorCode.LEADER_NOT_AVAILABLE
        return MetadataResponse(brokers=found.brokers, topics=[row])

    broker.scripts[ApiKey.METADATA] = answer
    return given


@pytest.mark.parametrize("without_leader", [False, True])
def test_it_waits_for_the_broker_that_hears_last(world: World, without_leader: bool) -> None:
    one, two = world.broker(1), world.broker(2)
    creating(world, one)
    given = behind(world, two, 3, without_leader)
    made = Admin(world.network(one)).topics.create([TOPIC])
    assert not isinstance(made["t"], Exception)
    assert len(given) == len(world.clock.slept) == 3


def test_it_does_not_wait_for_longer_than_a_person_does(world: World) -> None:
    one = world.broker(1)
    creating(world, one)
    behind(world, one, 10_000)
    made = Admin(world.network(one)).topics.create([TOPIC])
    assert not isinstance(made["t"], Exception)
    assert PATIENCE_MS / 1000 - 1.2 < sum(world.clock.slept) <= PATIENCE_MS / 1000


def test_it_does_not_wait_for_a_broker_that_is_away(world: World) -> None:
    one, two = world.broker(1), world.broker(2)
    creating(world, one)

    def gone(_: Message) -> Message:
        raise HangUp

    two.scripts[ApiKey.METADATA] = gone
    Admin(world.network(one)).topics.create([TOPIC])
    assert world.clock.slept == []


def test_a_refused_topic_is_not_waited_for(world: World) -> None:
    one = world.broker(1)
    creating(world, one, ErrorCode.TOPIC_ALREADY_EXISTS)
    Admin(world.network(one)).topics.create([TOPIC])
    assert world.clock.slept == []
