"""A short request next to a long one: it waits at most for the turn that is running when it arrives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TypeVar

import pytest

from devtools.clients.requests import batch, fetch_request, produce_request
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.protocol.generated.fetch import FetchResponse
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.generated.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
    ShareFetchResponse,
)
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.primitives import Message
from tests.support.coroutines import by_turns

MEMBER = "mmmmmmmmmmmmmmmmmmmmmm"
R = TypeVar("R", bound=Message)


class LongWork:
    def __init__(self, world: BrokerWorld) -> None:
        self.world = world
        self.had = 0
        world.services.turns.run(by_turns(self._turns()), self._failed)

    def one_turn(self) -> None:
        before = self.had
        while self.had == before:
            assert self.world.clock.run_tick()

    def answered(
        self, client: MockConnection, request: Message, version: int, response_class: type[R], ticks: int
    ) -> tuple[R, int]:
        """Send a request so many ticks after the last answer; return its answer, and the turns until it came."""
        for _ in range(ticks):
            assert self.world.clock.run_tick()
        before = self.had
        client.send(request, version)
        while not client.frames:
            assert self.world.clock.run_tick()
        had, response = self.had - before, client.requests.response(client.frames.popleft())
        assert isinstance(response, response_class)
        return response, had

    def _turns(self) -> Iterator[None]:
        while True:
            self.had += 1
            yield

    @staticmethod
    def _failed(error: Exception) -> None:
        raise error


@pytest.mark.parametrize("ticks", range(6))
def test_what_a_good_client_asks_meets_one_turn_at_most(ticks: int, world: BrokerWorld) -> None:
    topic = world.create_topic("t")
    client = world.connect()
    beat = ShareGroupHeartbeatRequest("g", MEMBER, 0, subscribed_topic_names=["t"])
    assert client.call(beat, 1, ShareGroupHeartbeatResponse).error_code == 0
    first = ShareFetchRequest(
        "g", MEMBER, 0, 0, 0, 1 << 20, 500, 500, topics=[FetchTopic(topic.topic_id, [FetchPartition(0)])]
    )
    assert client.call(first, 1, ShareFetchResponse).error_code == 0
    got: list[AcknowledgementBatch] = []
    acknowledged = 0
    with closing(world.services.turns):
        work = LongWork(world)
        for epoch in range(1, 5):
            work.one_turn()
            produced, turns = work.answered(client, produce_request(batch(b"x"), topic="t"), 9, ProduceResponse, ticks)
            assert produced.responses[0].partition_responses[0].base_offset == epoch - 1
            fetched, more = work.answered(client, fetch_request("t", epoch - 1), 12, FetchResponse, ticks)
            assert fetched.responses
            topics = [FetchTopic(topic.topic_id, [FetchPartition(0, got)])] if got else []
            request = ShareFetchRequest("g", MEMBER, epoch, 1000, 1, 1 << 20, 500, 500, topics=topics)
            answer, most = work.answered(client, request, 1, ShareFetchResponse, ticks)
            assert turns + more + most <= (ticks > 1), "three requests, whose acknowledgements are written, too"
            (part,) = answer.responses[0].partitions
            acknowledged += len(got)
            got = [AcknowledgementBatch(rows.first_offset, rows.last_offset, [1]) for rows in part.acquired_records]
            assert got
    assert acknowledged == 3
