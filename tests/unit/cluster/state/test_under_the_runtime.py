"""A slot's log under the coordinators' runtime: loads, appends and reloads."""

from __future__ import annotations

import pytest

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.coordinator_runtime.batches import CoordinatorLogSettings
from shareq.broker.coordinator_runtime.one_in_steps import LoadTurns
from shareq.broker.coordinator_runtime.partition import CoordinatorPartition
from shareq.broker.foundation.pending import Pending
from shareq.protocol.errors import ErrorCode
from tests.support.fakes.note_shard import NOTE_SERDE, NoteShard, note, result
from tests.support.fakes.slot_owner import SlotOwner, batch_of
from tests.support.fakes.small_cluster import SmallCluster, SmallLink


class Coordinator:
    def __init__(self, clock: VirtualClock, cluster: SmallCluster, node_id: int = 1) -> None:
        self.link: SmallLink = cluster.link()
        self.clock = clock
        self.owner = SlotOwner(clock, self.link, node_id=node_id)
        taken = self.owner.begin_take_over()
        clock.run_until_idle()
        self.owner.log_or_none = taken.value  # type: ignore[assignment]
        self.partition = CoordinatorPartition(
            self.owner.env, self.owner.log, NoteShard, NOTE_SERDE, CoordinatorLogSettings(), LoadTurns()
        )
        self.partition.load()
        for _ in range(1_000):  # so that a load that never ends does not hang the test
            clock.run_tick()
        assert self.partition.loaded.value

    @property
    def names(self) -> list[str]:
        return self.partition.shard.names

    def write(self, *names: str) -> Pending[str]:
        return self.partition.schedule(lambda: result("", *map(note, names)), lambda error: error.name)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def cluster() -> SmallCluster:
    return SmallCluster()


def test_a_load_replays_each_record_once(clock: VirtualClock, cluster: SmallCluster) -> None:
    first = Coordinator(clock, cluster)
    assert first.names == []
    written = [first.write("a"), first.write("b", "c")]
    clock.run_until_idle()
    assert [each.value for each in written] == ["", ""]
    second = Coordinator(clock, cluster, 2)
    assert second.names == ["a", "b", "c"]
    third = Coordinator(clock, cluster, 3)
    assert third.names == ["a", "b", "c"]


def test_a_deposed_partition_resigns(clock: VirtualClock, cluster: SmallCluster) -> None:
    first = Coordinator(clock, cluster)
    Coordinator(clock, cluster, 2)
    late = first.write("late")
    clock.run_until_idle()
    assert late.value in (ErrorCode.COORDINATOR_NOT_AVAILABLE.name, ErrorCode.NOT_COORDINATOR.name)
    assert first.partition.is_lost
    assert Coordinator(clock, cluster, 3).names == []


def test_stretches_that_do_not_count_are_no_end(clock: VirtualClock, cluster: SmallCluster) -> None:
    first = Coordinator(clock, cluster)
    first.write("a")
    clock.run_until_idle()
    for _ in range(30):
        cluster.append(batch_of([b"z" * 100_000]))
    second = Coordinator(clock, cluster, 2)
    second.write("b")
    clock.run_until_idle()
    assert Coordinator(clock, cluster, 3).names == ["a", "b"]


@pytest.mark.parametrize("before", [0, 1])
def test_a_reload_has_what_was_under_way(clock: VirtualClock, cluster: SmallCluster, before: int) -> None:
    """A record that cannot be replayed is the program's own fault, and makes the partition reload its log."""
    coordinator = Coordinator(clock, cluster)
    for _ in range(before):
        coordinator.write("before")
        clock.run_until_idle()
    coordinator.link.held = True
    coordinator.write("under way")
    clock.run_until_idle()
    broken = coordinator.write("broken")
    coordinator.link.held = False
    coordinator.link.answer_all()
    clock.run_until_idle()
    assert broken.value == ErrorCode.UNKNOWN_SERVER_ERROR.name
    assert coordinator.names == ["before"] * before + ["under way"]
    coordinator.write("behind")
    clock.run_until_idle()
    assert Coordinator(clock, cluster, 2).names == coordinator.names
