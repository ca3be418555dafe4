"""Share partitions with records and groups on a rig, and a fetch that waits for them."""

from __future__ import annotations

from collections.abc import Callable

from shareq.broker.share.leader import LeaderState, SharePartitionLeader
from shareq.protocol.share import RecordState
from tests.support.fakes.share_rig import ShareRig
from tests.support.fakes.share_states import KeptState


class Waiter:
    def __init__(self, group_id: str = "g") -> None:
        self.group_id = group_id
        self.looks = 0
        self.finished = 0
        self.is_eager = False
        self.on_look: Callable[[], None] = lambda: None

    def look_again(self, at: SharePartitionLeader | None = None) -> None:
        self.looks += 1
        self.on_look()

    def finish(self) -> None:
        self.finished += 1


def filled(records: int = 3, *, believes_absence: bool = True) -> ShareRig:
    rig = ShareRig(believes_absence=believes_absence)
    for partition in (0, 1):
        for number in range(records):
            rig.source(partition).fill(str(number).encode())
    return rig


def state(rig: ShareRig, offset: int = 0, partition: int = 0) -> tuple[RecordState, int]:
    (run,) = rig.leader(partition).core.snapshot(offset, offset)
    return run.state, run.delivery_count


# -- what takes share partitions out of memory


def both(rig: ShareRig) -> list[LeaderState]:
    leaders = [rig.leader(0), rig.leader(1)]
    rig.manager.get_or_load(rig.key(0, "h"), "t")
    return [leader.state for leader in leaders]


def in_memory(rig: ShareRig) -> list[tuple[str, int]]:
    return [(group, number) for group in "gh" for number in (0, 1) if rig.manager.get(rig.key(number, group))]


def with_two_groups() -> ShareRig:
    rig = filled()
    rig.states.states[rig.key(0, "h")] = KeptState(1, 0)
    assert both(rig) == [LeaderState.ACTIVE] * 2
    assert in_memory(rig) == [("g", 0), ("g", 1), ("h", 0)]
    return rig
