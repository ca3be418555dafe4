"""Transactions over frames: fencing, timeouts, crashes in every phase, unwritable markers."""

from __future__ import annotations

import pytest

from devtools.clients.offsets_client import Row
from devtools.clients.transactor import Transactor
from shareq.coordinator.routing import group_partition_for
from shareq.coordinator.transaction.metadata import TransactionState
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.end_txn import EndTxnRequest
from shareq.protocol.names import CONSUMER_OFFSETS
from shareq.protocol.records.control import ControlType
from tests.support.worlds.transactions import World

NONE = ErrorCode.NONE
ABORT, COMMIT = ControlType.ABORT, ControlType.COMMIT


# -- crashes and disks


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("ticks", range(8))
def test_a_crash_at_every_step_of_the_end(commit: bool, ticks: int, world: World, producer: Transactor) -> None:
    """Nothing shows before the decision is logged; then each partition's marker is written exactly once."""
    for topic, partition in (("a", 0), ("a", 1), ("b", 0)):
        assert producer.write(topic, b"x", partition=partition) is NONE
    assert producer.commit_offsets("g", {("a", 0): 1}) == [NONE]
    world.client.send(end_request(producer, commit=commit), 5)
    for _ in range(ticks):
        world.world.clock.run_tick()
    world.crash()
    world.world.clock.run_until_idle()
    marks = [world.markers(*at) for at in (("a", 0), ("a", 1), ("b", 0))]
    in_offsets = world.markers(CONSUMER_OFFSETS, group_partition_for("g", 50))
    assert [*marks, in_offsets] in ([[]] * 4, [[COMMIT if commit else ABORT]] * 4)
    if marks[0]:
        assert world.state() is (TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT)
        found = Row(1) if commit else Row(-1)
        assert world.offsets().fetch([("a", 0)], stable=True) == (NONE, {("a", 0): found})
    else:
        assert world.state() is TransactionState.ONGOING


def end_request(producer: Transactor, *, commit: bool) -> EndTxnRequest:
    return EndTxnRequest(producer.transactional_id, producer.producer_id, producer.epoch, commit)
