"""All states of a topic are in one slot, which never changes."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.cluster.node.routes import BY_TOPIC, slot_of
from shareq.coordinator.routing import group_partition_for
from shareq.coordinator.share.keys import SharePartitionKey


@pytest.mark.parametrize(
    ("topic_id", "slot"),
    [
        ("00000000000000000000000000000001", 19),
        ("4a0f7f3c9d1b4f6e8a5512c3d4e5f607", 27),
        ("ffffffffffffffffffffffffffffffff", 10),
    ],
)
def test_a_topics_slot_is_the_same_for_ever(topic_id: str, slot: int) -> None:
    assert slot_of(bytes.fromhex(topic_id), 48) == slot


@given(st.binary(min_size=16, max_size=16), st.text(min_size=1), st.integers(0, 2**31 - 1), st.integers(1, 1000))
def test_all_groups_and_partitions_of_a_topic_are_in_its_slot(
    topic_id: bytes, group: str, partition: int, slots: int
) -> None:
    route = BY_TOPIC.share_partition(SharePartitionKey(group, topic_id, partition), slots)
    assert route == slot_of(topic_id, slots)
    assert 0 <= route < slots


@given(st.text(), st.integers(1, 1000))
def test_groups_are_where_apache_kafka_has_them(group: str, slots: int) -> None:
    assert BY_TOPIC.group(group, slots) == group_partition_for(group, slots)


def test_topics_spread_over_the_slots_evenly() -> None:
    chance = Random(1)
    of_random_ids = [0] * 48
    of_counted_ids = [0] * 48
    for number in range(4800):
        of_random_ids[slot_of(chance.randbytes(16), 48)] += 1
        of_counted_ids[slot_of(number.to_bytes(16, "big"), 48)] += 1
    for counts in (of_random_ids, of_counted_ids):
        assert min(counts) > 60
        assert max(counts) < 140
