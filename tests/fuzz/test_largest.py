"""A part of the survey of largest requests: thousands of elements of every RPC that has arrays, some in each turn.

The test counts turns, and each turn's calls of Python functions, which are the same on every machine. A handler that
handled a whole array at once, with fifteen calls for each element, would exceed the bound at this size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pytest

from shareq.protocol.api_keys import ApiKey
from tests.fuzz import largest
from tests.support.metered_clock import CountingClock

ELEMENTS: Final = 3_000
MOST_CALLS: Final = 45_000


HEAVY: Final = {ApiKey.PRODUCE: 300, ApiKey.WRITE_TXN_MARKERS: 900, ApiKey.CREATE_TOPICS: 1_000}
"""The number of elements in requests that make a log or a topic for each."""

IN_TURNS: Final = {
    ApiKey.FETCH: 500,
    ApiKey.LIST_OFFSETS: 500,
    ApiKey.OFFSET_FETCH: 1_000,
    ApiKey.DESCRIBE_GROUPS: 250,
    ApiKey.DELETE_GROUPS: 250,
    ApiKey.SHARE_GROUP_DESCRIBE: 250,
    ApiKey.CONSUMER_GROUP_DESCRIBE: 250,
    ApiKey.DESCRIBE_TRANSACTIONS: 250,
    ApiKey.DESCRIBE_PRODUCERS: 1_000,
    ApiKey.ALTER_REPLICA_LOG_DIRS: 2_000,
    ApiKey.ELECT_LEADERS: 1_000,
    ApiKey.WRITE_TXN_MARKERS: 75,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: 500,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: 250,
}
"""The most elements that may be handled in one turn."""


@pytest.fixture(autouse=True)
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(largest, "MeteredClock", CountingClock)


def deepest() -> dict[ApiKey, tuple[int, largest.Path]]:
    """Return, for each RPC with arrays, the most deeply nested array of its last version."""
    found: dict[ApiKey, tuple[int, largest.Path]] = {}
    for api, version, path in largest.largest():
        if api not in found or (version == found[api][0] and len(path) > len(found[api][1])):
            found[api] = version, path
    return found


@dataclass(frozen=True)
class Long:
    """A request with so many elements in one array, and a bound on the calls in one of its turns.

    The bound is a third above the measured number; all elements in one turn would exceed it.
    """

    api: ApiKey
    version: int
    array: str
    mode: str
    elements: int
    most_calls: int

    def __str__(self) -> str:
        return f"{self.api.name}-{self.array}-{self.mode}"


LONG: Final = (
    # their rights in turns, then a hash, a target and a record in steps
    Long(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, "SubscribedTopicNames", largest.ALLOWS, 9_000, 12_000),
    Long(ApiKey.TXN_OFFSET_COMMIT, 6, "Topics", largest.ALLOWS, 5_000, 17_000),
    Long(ApiKey.TXN_OFFSET_COMMIT, 6, "Topics.Partitions", largest.DENIES, 5_000, 12_000),
    # appended in one turn
    Long(ApiKey.TXN_OFFSET_COMMIT, 6, "Topics.Partitions", largest.OFF, 5_000, 60_000),
    Long(ApiKey.OFFSET_COMMIT, 10, "Topics.Partitions", largest.OFF, 5_000, 60_000),
    Long(ApiKey.OFFSET_FETCH, 1, "Topics.PartitionIndexes", largest.DENIES, 9_000, 13_500),
    Long(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, "Topics", largest.ALLOWS, 9_000, 13_000),
    Long(ApiKey.CREATE_TOPICS, 7, "Topics", largest.ALLOWS, 3_000, 25_000),
    Long(ApiKey.DELETE_TOPICS, 1, "TopicNames", largest.ALLOWS, 9_000, 12_000),
    Long(ApiKey.DELETE_ACLS, 3, "Filters", largest.ALLOWS, 5_000, 17_000),
    # added in one commit
    Long(ApiKey.CREATE_ACLS, 3, "Creations", largest.ALLOWS, 5_000, 40_000),
    Long(ApiKey.OFFSET_DELETE, 0, "Topics", largest.ALLOWS, 5_000, 12_000),
    Long(ApiKey.ADD_PARTITIONS_TO_TXN, 0, "V3AndBelowTopics", largest.ALLOWS, 9_000, 23_000),
    # forty calls for a partition that is read
    Long(ApiKey.FETCH, 18, "Topics.Partitions", largest.OFF, 5_000, 24_000),
    Long(ApiKey.FETCH, 18, "Topics", largest.OFF, 5_000, 14_000),
    Long(ApiKey.LIST_OFFSETS, 11, "Topics", largest.DENIES, 5_000, 13_000),
    Long(ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, "Topics", largest.DENIES, 5_000, 13_000),
)


def longest_turn(mode: str, api: ApiKey, version: int, path: largest.Path, elements: int) -> CountingClock:
    world = largest.world_of(mode)
    clock = world.clock
    assert isinstance(clock, CountingClock)
    client = largest.client_of(world, mode)
    frame = largest.LargestRequests(world).sized(client, api, version, path, elements).frame
    clock.longest = clock.ticks = 0
    clock.measured(lambda: client.send_raw(frame))
    while clock.run_tick():
        pass
    clock.advance(60_000)
    assert client.closed or client.frames
    return clock


@pytest.mark.parametrize("long", LONG, ids=str)
def test_what_is_done_for_each_element_goes_on_in_turns(long: Long) -> None:
    clock = longest_turn(long.mode, long.api, long.version, tuple(long.array.split(".")), long.elements)
    assert clock.longest <= long.most_calls


@pytest.mark.parametrize("api", sorted(deepest()), ids=lambda api: api.name)
def test_no_turn_does_all(api: ApiKey) -> None:
    version, path = deepest()[api]
    elements = HEAVY.get(api, ELEMENTS)
    clock = longest_turn(largest.OFF, api, version, path, elements)
    assert clock.longest <= MOST_CALLS
    if api in IN_TURNS:
        assert clock.ticks >= elements / IN_TURNS[api]
