from __future__ import annotations

from collections.abc import Sequence

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.metadata.changes import MetaChange
from shareq.broker.topics.creation import (
    AUTO_CREATED_BURST_S,
    AUTO_CREATED_PER_SECOND,
    AUTO_CREATED_TOGETHER,
    MOST_AUTO_CREATED,
)
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse


class Commits:
    def __init__(self, world: BrokerWorld) -> None:
        self.sizes: list[int] = []
        world.db.before_commit = self._note

    def _note(self, changes: Sequence[MetaChange]) -> None:
        self.sizes.append(len(changes))


def ask(world: BrokerWorld, names: Sequence[str], version: int = 12) -> dict[str | None, int]:
    request = MetadataRequest([MetadataRequestTopic(bytes(16), name) for name in names])
    answer = world.connect().call(request, version, MetadataResponse)
    return {topic.name: topic.error_code for topic in answer.topics}


@pytest.mark.parametrize("version", [1, 12])
def test_as_many_as_allowed_are_created_some_in_a_commit(version: int, world: BrokerWorld) -> None:
    """Fifty topics in one commit once blocked the loop for 8 ms."""
    commits = Commits(world)
    names = [f"t{i:05}" for i in range(20_000)]
    codes = ask(world, names, version)
    assert commits.sizes == [AUTO_CREATED_TOGETHER] * (MOST_AUTO_CREATED // AUTO_CREATED_TOGETHER)
    created = [name for name, code in codes.items() if code == ErrorCode.NONE]
    assert created == names[:MOST_AUTO_CREATED]
    assert set(codes.values()) == {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert list(codes) == names


def test_each_commit_has_a_turn_of_its_own(world: BrokerWorld) -> None:
    commits, client = Commits(world), world.connect()
    names = [f"t{i}" for i in range(MOST_AUTO_CREATED)]
    client.send(MetadataRequest([MetadataRequestTopic(bytes(16), name) for name in names]), 12)
    in_turns = [len(commits.sizes)]
    while world.clock.run_tick():
        in_turns.append(len(commits.sizes) - sum(in_turns))
    assert max(in_turns) == 1
    assert [topic.error_code for topic in client.receive(MetadataResponse).topics] == [0] * MOST_AUTO_CREATED


def test_the_others_are_created_when_the_client_asks_again(world: BrokerWorld) -> None:
    names = [f"t{i}" for i in range(4 * MOST_AUTO_CREATED)]
    rounds = 0
    while any(ask(world, names).values()):
        rounds += 1
        world.clock.advance(1000 * MOST_AUTO_CREATED // AUTO_CREATED_PER_SECOND)
    assert rounds == 3
    assert len(world.services.metadata.topics()) == len(names)


def test_a_client_that_goes_on_asking_has_few_topics_created_in_time(world: BrokerWorld) -> None:
    """Each commit syncs two files in the loop, which raised another client's p99 sevenfold."""
    commits, client = Commits(world), world.connect()
    for number in range(600):  # a minute
        topics = [MetadataRequestTopic(bytes(16), f"t{number}-{index}") for index in range(200)]
        client.call(MetadataRequest(topics), 12, MetadataResponse)
        world.clock.advance(100)
    burst = AUTO_CREATED_BURST_S * AUTO_CREATED_PER_SECOND
    assert len(world.services.metadata.topics()) == sum(commits.sizes)
    assert burst <= sum(commits.sizes) <= burst + 60 * AUTO_CREATED_PER_SECOND
    assert ask(world, ["t0-0"]) == {"t0-0": ErrorCode.NONE}


def test_one_user_does_not_keep_another_from_having_topics_created(world: BrokerWorld) -> None:
    for number in range(4):
        ask(world, [f"t{number}-{index}" for index in range(MOST_AUTO_CREATED)])
    assert ask(world, ["mine"]) == {"mine": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    other = world.connect()
    other.side.principal = "User:other"
    answer = other.call(MetadataRequest([MetadataRequestTopic(bytes(16), "mine")]), 12, MetadataResponse)
    assert answer.topics[0].error_code == ErrorCode.NONE


def test_names_that_collide_with_each_other_are_not_both_created(world: BrokerWorld) -> None:
    assert ask(world, ["a.b", "c", "a_b"]) == {"a.b": 0, "c": 0, "a_b": ErrorCode.INVALID_TOPIC_EXCEPTION}


def test_a_commit_that_fails_is_answered_for_all_of_them(world: BrokerWorld) -> None:

    def full(_changes: object) -> None:
        raise OSError("no space")

    world.create_topic("old")
    world.db.before_commit = full
    assert ask(world, ["a", "old", "b"]) == {
        "a": ErrorCode.KAFKA_STORAGE_ERROR,
        "old": 0,
        "b": ErrorCode.KAFKA_STORAGE_ERROR,
    }
