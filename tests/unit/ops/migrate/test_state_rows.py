"""The rows that write states of share groups."""

from __future__ import annotations

from shareq.ops.migrate.broker_groups import row_of
from shareq.ops.migrate.group_ports import ShareState, StateRange
from shareq.protocol.generated.write_share_group_state import StateBatch
from shareq.protocol.share import RecordState


def test_a_record_whose_dead_letter_is_not_written_yet_is_not_complete() -> None:
    """DeliveryCompleteCount counts only terminal states (KIP-1226), and this record is in flight."""
    states = (RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVING, RecordState.ARCHIVED)
    ranges = tuple(StateRange(10 * at, 10 * at + at, state, 1) for at, state in enumerate(states))
    row = row_of(("orders", 2), ShareState(0, ranges), 7, 3)
    assert (row.partition, row.state_epoch, row.leader_epoch, row.start_offset) == (2, 7, 3, 0)
    assert row.delivery_complete_count == 2 + 4
    assert row.state_batches == [StateBatch(*each) for each in ranges]
