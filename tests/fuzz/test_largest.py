"""A part of the survey of largest requests: thousands of elements of every RPC that has arrays, some in each turn.

What a turn does is counted, in calls of Python functions, the same on every machine, and the turns taken. A handler
that does a whole array at once, fifteen calls for each element, is over the bound at this size.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Final

import pytest

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.protocol.api_keys import ApiKey
from tests.fuzz import largest
from tests.fuzz.metered_clock import MeteredClock

ELEMENTS: Final = 3_000
MOST_CALLS: Final = 45_000


class CountingClock(MeteredClock):
    """`longest` is the most calls that were made in one tick."""

    longest = 0
    ticks = 0

    def measured(self, call: Callable[[], object]) -> None:
        calls = 0

        def count(_frame: FrameType, event: str, _argument: object) -> None:
            nonlocal calls
            calls += event == "call"

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            call()
        finally:
            sys.setprofile(before)
        self.longest = max(self.longest, calls)
        self.ticks += 1

    def run_tick(self) -> int:
        done: list[int] = []
        self.measured(lambda: done.append(VirtualClock.run_tick(self)))
        return done[0]


HEAVY: Final = {ApiKey.PRODUCE: 300, ApiKey.WRITE_TXN_MARKERS: 900, ApiKey.CREATE_TOPICS: 1_000}
"""Elements of requests that make a log, or a topic, for each."""

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
"""Elements that are handled in one turn, at most."""


@pytest.fixture(autouse=True)
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(largest, "MeteredClock", CountingClock)


def deepest() -> dict[ApiKey, tuple[int, largest.Path]]:
    """Of every RPC with arrays the one in the most others, in the last version."""
    found: dict[ApiKey, tuple[int, largest.Path]] = {}
    for api, version, path in largest.largest():
        if api not in found or (version == found[api][0] and len(path) > len(found[api][1])):
            found[api] = version, path
    return found


@pytest.mark.parametrize("api", sorted(deepest()), ids=lambda api: api.name)
def test_no_turn_does_all(api: ApiKey) -> None:
    version, path = deepest()[api]
    elements = HEAVY.get(api, ELEMENTS)
    world = largest.world_of(largest.OFF)
    clock = world.clock
    assert isinstance(clock, CountingClock)
    client = world.connect()
    frame = largest.LargestRequests(world).sized(client, api, version, path, elements).frame
    clock.longest = clock.ticks = 0
    clock.measured(lambda: client.send_raw(frame))
    while clock.run_tick():
        pass
    clock.advance(60_000)
    assert client.closed or client.frames
    assert clock.longest <= MOST_CALLS
    if api in IN_TURNS:
        assert clock.ticks >= elements / IN_TURNS[api]
