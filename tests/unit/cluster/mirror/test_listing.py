"""Listing all topics of a simulated cluster, in pages or in one answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.foundation.loop.coroutines import beginner, in_ticks
from shareq.cluster.link.ports import LinkFailure
from shareq.cluster.mirror import listing
from shareq.cluster.mirror.listing import list_topics
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generated.metadata import MetadataResponse, MetadataResponseTopic
from tests.support.cluster.rights import Operation, Resource
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.versions import KAFKA_4_3
from tests.support.cluster.world import ClusterWorld
from tests.support.planting import replaced

WITHOUT_PAGES: Final = ClusterSettings(
    release=KAFKA_4_3._replace(
        apis={key: each for key, each in KAFKA_4_3.apis.items() if key is not ApiKey.DESCRIBE_TOPIC_PARTITIONS}
    )
)

Rows = list[MetadataResponseTopic]


def world_with(topics: Mapping[str, int], settings: ClusterSettings | None = None) -> ClusterWorld:
    world = ClusterWorld(settings)
    for name, partitions in topics.items():
        world.cluster.create_topic(name, partitions)
    return world


def listed(world: ClusterWorld, most: int = 1 << 30) -> tuple[list[Rows], LinkFailure | None]:
    pages: list[Rows] = []
    begin = beginner(world.env.budget, in_ticks(world.clock.call_soon))

    async def take(rows: Sequence[MetadataResponseTopic], answer: MetadataResponse) -> bool:
        assert {broker.node_id for broker in answer.brokers} == {1, 2, 3}
        pages.append(list(rows))
        return sum(map(len, pages)) < most

    return pages, world.wait(begin(list_topics(world.link, 1, take)))


@given(
    st.dictionaries(
        st.text("abc.-", min_size=1, max_size=3).map(lambda text: f"t{text}"), st.integers(1, 9), max_size=12
    ),
    st.integers(1, 12),
)
def test_every_topic_comes_once_and_whole_however_large_pages_are(topics: dict[str, int], size: int) -> None:
    world = world_with(topics)
    with replaced((listing, "MOST_PARTITIONS", size)):  # type: ignore[arg-type]
        pages, failure = listed(world)
    assert failure is None
    rows = [row for page in pages for row in page]
    assert [(row.name, len(row.partitions)) for row in rows] == sorted(topics.items())
    for row in rows:
        topic = world.cluster.topic(row.name or "")
        assert row.topic_id == topic.topic_id
        assert [each.partition_index for each in row.partitions] == list(range(len(topic.partitions)))
        assert [each.leader_id for each in row.partitions] == [state.leader for state in topic.partitions]
        assert [each.replica_nodes for each in row.partitions] == [list(state.replicas) for state in topic.partitions]
    # A topic larger than a page is assembled; apart from that, at most one page is in memory.
    assert all(sum(len(row.partitions) for row in page) <= size + max(topics.values()) for page in pages if page)


def test_an_older_broker_names_all_in_one_answer() -> None:
    topics = {f"t{number}": 1 + number % 3 for number in range(20)}
    pages, failure = listed(world_with(topics, WITHOUT_PAGES))
    assert failure is None
    assert [{row.name: len(row.partitions) for row in page} for page in pages] == [topics]


def test_no_more_pages_are_asked_for_than_are_wanted() -> None:
    world = world_with({f"t{number:02}": 1 for number in range(20)})
    with replaced((listing, "MOST_PARTITIONS", 4)):  # type: ignore[arg-type]
        pages, failure = listed(world, most=6)
    assert (len(pages), failure) == (2, None)


def test_what_may_not_be_described_is_left_out() -> None:
    world = world_with({"a": 1, "b": 1, "c": 1})
    world.cluster.rights.deny(Resource.TOPIC, "b", Operation.DESCRIBE)
    pages, _ = listed(world)
    assert [row.name for page in pages for row in page] == ["a", "c"]


@pytest.mark.parametrize("settings", [ClusterSettings(), WITHOUT_PAGES])
def test_a_broker_that_does_not_answer_is_a_failure(settings: ClusterSettings) -> None:
    world = world_with({"a": 1}, replace(settings))
    world.cluster.kill(1)
    pages, failure = listed(world)
    assert pages == []
    assert isinstance(failure, LinkFailure)
