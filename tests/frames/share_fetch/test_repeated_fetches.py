"""Share fetches that repeat the last one and can only wait: the fast path answers as the ordinary path does."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.handlers.share.repeated_share_fetch import RepeatedShareFetch
from shareq.broker.metadata.changes import PutQuota
from shareq.broker.network.answers import FALL_BACK
from shareq.broker.quotas.entity import DEFAULT, QuotaEntity
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_fetch import ShareFetchResponse
from tests.support.clients.share_client import (
    ACCEPT,
    REJECT,
    RELEASE,
    Ack,
    Place,
    ShareClient,
    acquired_of,
    append,
    configure,
    fetch_errors,
    from_the_start,
)
from tests.support.each import for_each

WAIT_MS = 1_000


class _Way:
    """A switch that sends all fetches the ordinary way, or counts those on the fast path."""

    def __init__(self, patch: pytest.MonkeyPatch, *, short: bool = True) -> None:
        self.went = 0
        handle = RepeatedShareFetch.handle

        def patched(path: RepeatedShareFetch, frame: bytes, correlation_id: int) -> Any:
            reply = handle(path, frame, correlation_id) if short else FALL_BACK
            self.went += reply is not FALL_BACK
            return reply

        patch.setattr(RepeatedShareFetch, "handle", patched)


class _Member:
    """A member that fetches as soon as it is answered, acknowledging what it received."""

    def __init__(self, world: BrokerWorld, number: int, places: list[Place]) -> None:
        self.client, self._world, self._places = ShareClient(world, f"m{number}"), world, places
        self._held: dict[Place, list[Ack]] = {}
        self.answers: list[tuple[int, ShareFetchResponse]] = []
        self._fetches = False

    def go_on(self, random: Random) -> None:
        client = self.client
        if self._fetches and client.connection.frames:
            answer = client.fetch_answer()
            self._fetches = False
            self.answers.append((self._world.clock.now_ms(), answer))
            if answer.error_code:
                client.session_epoch, self._held = 0, {}
            for topic in answer.responses:
                for row in topic.partitions:
                    self._held[topic.topic_id, row.partition_index] = [
                        (each.first_offset, each.last_offset, random.choice((ACCEPT, ACCEPT, RELEASE, REJECT)))
                        for each in row.acquired_records
                    ]
        if not self._fetches:
            acks = {} if random.random() < 0.1 or not client.session_epoch else self._held
            places = [] if client.session_epoch else self._places
            client.send_fetch(*places, acks=acks, max_wait_ms=WAIT_MS, max_records=1 if random.random() < 0.05 else 5)
            self._held, self._fetches = {}, True

    def connect_again(self) -> None:
        self.client.connection.disconnect()
        self.client.reconnect()
        self._held, self._fetches = {}, False


def _run(seed: int) -> tuple[list[tuple[int, ShareFetchResponse]], object]:
    random, world = Random(seed), BrokerWorld()
    topics = [world.create_topic(name, 2) for name in ("t", "u")]
    from_the_start(world)
    configure(world, share_record_lock_duration_ms="15000")
    places = [(topic.topic_id, partition) for topic in topics for partition in range(2)]
    members = [_Member(world, number, places[: 1 if seed % 2 else 4]) for number in range(3)]
    for member in members:
        member.client.join("t", "u")
    metadata = world.services.metadata
    for _ in range(150):
        chance = random.random()
        if chance < 0.05:
            append(world, "t", random.randint(1, 8), partition=random.randrange(2))
        elif chance < 0.07:
            random.choice(members).connect_again()
        elif chance < 0.09:
            configure(world, share_record_lock_duration_ms=str(random.randint(15, 30) * 1_000))
        elif chance < 0.10:
            configure(world, share_isolation_level=random.choice(("read_committed", "read_uncommitted")))
        elif chance < 0.11:
            random.choice(members).client.session_epoch += 1
        elif chance < 0.115 and metadata.topic("u") is not None:
            world.folder.metadata.delete_topics(["u"])
        for member in members:
            member.go_on(random)
        world.clock.advance(random.choice((100, 700, 1_000, 1_000, 5_000)))
    counters = world.services.share.partitions.counters
    group = counters.of_group("g")
    counted = (group.answered, round(group.ratio_sum, 6), group.waited_ns, counters.expired_fetches)
    requests = [(topic_id, each.fetches, each.failed_fetches) for topic_id, each in counters.topics.items()]
    return [answer for member in members for answer in member.answers], (counted, requests)


@for_each("seed", range(6))
def test_both_ways_answer_and_count_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        _Way(patch, short=False)
        ordinary = _run(seed)
    with monkeypatch.context() as patch:
        way = _Way(patch)
        assert _run(seed) == ordinary
    assert way.went > 20


def _waiting(world: BrokerWorld) -> ShareClient:
    place = (world.create_topic("t").topic_id, 0)
    from_the_start(world)
    member = ShareClient(world)
    member.join("t")
    member.fetch(place)
    for _ in range(2):
        member.send_fetch(max_wait_ms=WAIT_MS)
        world.clock.advance(WAIT_MS)
        assert acquired_of(member.fetch_answer()) == []
    return member


def test_a_repeated_fetch_waits_for_its_time_and_no_longer(world: BrokerWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    way, member = _Way(monkeypatch), _waiting(world)
    went = way.went
    member.send_fetch(max_wait_ms=WAIT_MS)
    world.clock.advance(WAIT_MS - 1)
    assert not member.connection.frames
    world.clock.advance(1)
    assert member.fetch_answer().responses == []
    assert way.went == went + 1


def test_a_record_ends_the_wait_of_a_repeated_fetch(world: BrokerWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    way, member = _Way(monkeypatch), _waiting(world)
    went = way.went
    member.send_fetch(max_wait_ms=WAIT_MS)
    append(world, "t", 3)
    assert acquired_of(member.fetch_answer()) == [(0, 2, 1)]
    assert way.went == went + 1


def test_a_deleted_topic_ends_the_wait_of_a_repeated_fetch(world: BrokerWorld) -> None:
    member = _waiting(world)
    member.send_fetch(max_wait_ms=WAIT_MS)
    world.folder.metadata.delete_topics(["t"])
    errors = fetch_errors(member.fetch_answer())
    assert list(errors.values()) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_a_client_that_is_gone_gets_no_records(world: BrokerWorld) -> None:
    member = _waiting(world)
    member.send_fetch(max_wait_ms=WAIT_MS)
    member.connection.disconnect()
    append(world, "t", 1)
    member.reconnect()
    place = next((topic.topic_id, 0) for topic in world.services.metadata.topics() if topic.name == "t")
    assert member.acquire(place) == [(0, 0, 1)]


def test_a_stop_answers_a_repeated_fetch(world: BrokerWorld) -> None:
    member = _waiting(world)
    member.send_fetch(max_wait_ms=WAIT_MS)
    world.services.share.stop_waiting()
    assert member.fetch_answer().responses == []


def test_with_quotas_fetches_go_the_ordinary_way(world: BrokerWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quotas have to meter each request."""
    way, member = _Way(monkeypatch), _waiting(world)
    went = way.went
    world.services.metadata.alter_quotas([PutQuota(QuotaEntity(client_id=DEFAULT), "request_percentage", 50.0)])
    member.send_fetch(max_wait_ms=WAIT_MS)
    world.clock.advance(WAIT_MS)
    assert member.fetch_answer().responses == []
    assert way.went == went
