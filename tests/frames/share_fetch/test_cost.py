"""The cost of share groups in disk operations: reads, writes, bytes. `make bench` measures time."""

from __future__ import annotations

from collections import Counter

import pytest

from devtools.clients.requests import fetch, fetch_request
from devtools.in_memory.mock_transport import DATA, BrokerWorld
from shareq.protocol.names import SHARE_GROUP_STATE
from tests.support.clients.share_client import ACCEPT, ShareClient, append, from_the_start


def work_of_others(world: BrokerWorld) -> tuple[Counter[tuple[str, str]], int]:
    """Produce and fetch without a share group; return the operations by path, and the number of reads."""
    world.create_topic("t")
    for _ in range(20):
        append(world, "t", 10)
        assert fetch(world.connect(), fetch_request("t", 0)).records
    world.clock.advance(60_000)
    return Counter(world.fs.history), world.fs.reads


def test_where_nobody_uses_share_groups_they_cost_nothing() -> None:
    """A minute of other work needs not one operation more than with the feature off."""
    off = work_of_others(BrokerWorld({"group.share.enable": "false"}))
    on = work_of_others(BrokerWorld())
    assert on == off
    assert not [path for _, path in on[0] if SHARE_GROUP_STATE in path]


class Consumed:
    def __init__(self, batches: int, records: int, at_once: int = 1) -> None:
        world = BrokerWorld({"share.coordinator.state.topic.num.partitions": "1"})
        place = (world.create_topic("t").topic_id, 0)
        from_the_start(world)
        append(world, "t", records, batches=batches)
        member = ShareClient(world)
        member.join("t")
        assert member.acquire(place, max_records=records * at_once)[0][0] == 0
        self.rounds = batches // at_once
        before, reads, size = len(world.fs.history), world.fs.reads, self.state_bytes(world)
        for number in range(self.rounds):
            first = number * records * at_once
            assert member.acknowledge(place, (first, first + records * at_once - 1, ACCEPT)) == 0
            member.fetch(place, max_records=records * at_once)
        self.history = Counter(world.fs.history[before:])
        self.reads = world.fs.reads - reads
        self.bytes = self.state_bytes(world) - size

    @staticmethod
    def state_bytes(world: BrokerWorld) -> int:
        return len(world.fs.content(f"{DATA}/{SHARE_GROUP_STATE}-0/00000000000000000000.log"))


@pytest.mark.parametrize(("batches", "records", "at_once"), [(50, 10, 1), (50, 1000, 1), (500, 10, 10)])
def test_a_round_of_fetching_and_accepting(batches: int, records: int, at_once: int) -> None:
    """The records are read once, and some 140 bytes of state are written, whatever their number.

    Nothing is written to their own log, and no file is opened, renamed or synced.
    """
    found = Consumed(batches, records, at_once)
    assert found.history == {("write", f"{DATA}/{SHARE_GROUP_STATE}-0/00000000000000000000.log"): found.rounds}
    assert found.reads <= found.rounds
    assert found.bytes <= 160 * found.rounds
