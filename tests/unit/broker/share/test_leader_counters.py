"""The counters of share groups by share partition, topic and group, and their totals after these end."""

from __future__ import annotations

from shareq.broker.share.core.counters import SharePartitionCounters
from shareq.broker.share.leader_counters import ShareCounters
from shareq.coordinator.share.keys import SharePartitionKey

ONE, TWO = b"1" * 16, b"2" * 16


def test_requests_count_by_topic() -> None:
    counters = ShareCounters()
    for _ in range(2):
        counters.fetched([ONE, TWO], [TWO])
    for _ in range(3):
        counters.acknowledged([ONE, TWO], [ONE])
    rows = [
        (each.fetches, each.failed_fetches, each.acknowledgements, each.failed_acknowledgements)
        for each in (counters.of_topic(ONE), counters.of_topic(TWO))
    ]
    assert rows == [(2, 0, 3, 3), (2, 2, 3, 0)]
    assert counters.of_topic(ONE) is counters.of_topic(ONE)


def test_what_ends_is_added_to_what_has_ended() -> None:
    counters = ShareCounters()
    keys = [SharePartitionKey("g", ONE, 0), SharePartitionKey("g", TWO, 0), SharePartitionKey("h", ONE, 0)]
    for number, key in enumerate(keys, 1):
        counters.partitions[key] = SharePartitionCounters()
        counters.partitions[key].lock_timeouts = number
        counters.of_group(key.group_id).answered = number
    counters.of_topic(ONE)
    counters.of_topic(TWO)
    counters.end([keys[0], SharePartitionKey("nobody", ONE, 5)])
    assert (counters.ended.lock_timeouts, set(counters.partitions), set(counters.groups)) == (1, set(keys[1:]), {"h"})
    counters.end_topics([ONE])
    assert (counters.ended.lock_timeouts, set(counters.partitions), set(counters.topics)) == (4, {keys[1]}, {TWO})
    counters.end_topics([ONE])
    assert counters.ended.lock_timeouts == 4
