"""A link that counts requests by purpose, their answers, and the causes of failures."""

from __future__ import annotations

import pytest

from shareq.cluster.link.counted import CountedLink
from shareq.cluster.link.ports import Failure, LinkFailure, Purpose
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from tests.support.cluster.world import ClusterWorld


@pytest.fixture
def world() -> ClusterWorld:
    return ClusterWorld()


@pytest.fixture
def link(world: ClusterWorld) -> CountedLink:
    return CountedLink(world.clock, world.link)


def test_answers_are_counted_with_their_time(world: ClusterWorld, link: CountedLink) -> None:
    world.cluster.delay("node", 1, 20)
    answer = link.send(1, MetadataRequest([]), purpose=Purpose.TAIL)
    assert link.counts[Purpose.TAIL].under_way == 1
    assert isinstance(world.wait(answer), MetadataResponse)
    counts = link.counts[Purpose.TAIL]
    assert (counts.under_way, counts.answered.count) == (0, 1)
    assert counts.answered.total_ns >= 20_000_000
    assert link.counts[Purpose.GENERAL].answered.count == 0


def test_failures_and_lost_connections_are_counted(world: ClusterWorld, link: CountedLink) -> None:
    world.wait(link.send(1, MetadataRequest([])))
    world.cluster.lose_answer("node", 1, MetadataRequest)
    assert isinstance(world.wait(link.send(1, MetadataRequest([]))), LinkFailure)
    counts = link.counts[Purpose.GENERAL]
    assert counts.failed == {**dict.fromkeys(Failure, 0), Failure.LOST: 1}
    assert link.lost[Purpose.GENERAL] == 1
    assert link.brokers == world.link.brokers
