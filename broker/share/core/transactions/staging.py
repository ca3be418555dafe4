"""Acknowledgements in a producer's transaction (KIP-1289's draft, ADR 23): they are staged, and take effect at its end.

A staged record is TX_PENDING: it has no lock any more, no member gets it, and no plain acknowledgement changes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shareq.broker.share.core.acknowledge import Acknowledgement
from shareq.broker.share.core.locks import AcquisitionLocks
from shareq.broker.share.core.values import Acknowledged
from shareq.broker.share.core.window.delivery_status import DeliveryStatus, settled
from shareq.broker.share.core.window.record_state import transition
from shareq.broker.share.core.window.window import InFlightWindow
from shareq.broker.share.core.writes import StateChange
from shareq.coordinator.ports import ShareGroupSettings
from shareq.coordinator.share.staged import NONE_STAGED, Staged
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import RecordState


class StagedStatus(DeliveryStatus):
    """The status of a TX_PENDING record: it was acknowledged with type `kind`, by this member, in the transaction of
    this producer.
    """

    __slots__ = ("kind", "member_id", "producer_epoch", "producer_id")

    def __init__(
        self,
        delivery_count: int,
        kind: int,
        producer_id: int,
        producer_epoch: int,
        member_id: str = "",
        write_id: int = 0,
        before: DeliveryStatus | None = None,
        after: DeliveryStatus | None = None,
    ) -> None:
        super().__init__(RecordState.TX_PENDING, delivery_count, write_id=write_id, before=before, after=after)
        self.kind = kind
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.member_id = member_id

    def row(self, first: int, last: int) -> Staged:
        """Return the acknowledgement of `first..last` (inclusive) as it is persisted."""
        return Staged(first, last, self.delivery_count, self.kind, self.producer_id, self.producer_epoch)


class Staging(Acknowledgement):
    """One transaction's acknowledgements of one share partition. The caller has checked that `kind` can be staged."""

    __slots__ = ("_producer",)

    def __init__(
        self,
        window: InFlightWindow,
        locks: AcquisitionLocks,
        settings: ShareGroupSettings,
        member_id: str,
        change: StateChange,
        now_ms: int,
        producer: tuple[int, int],
    ) -> None:
        super().__init__(window, locks, settings, member_id, change, now_ms)
        self._producer = producer

    def _apply_one(self, ack: Acknowledged) -> ErrorCode:
        """Refuse records below the start offset, too: they are finished, perhaps by another member, so the output of
        this transaction would be theirs twice.
        """
        below = ack.first_offset < self._window.start_offset
        return ErrorCode.INVALID_RECORD_STATE if below else super()._apply_one(ack)

    def _accept_runs(self, numbers: list[int], at: int) -> int:
        """Return `at`: the pass that accepts many runs also counts them as finished."""
        return at

    def _target(self, status: DeliveryStatus, kind: int, first: int) -> DeliveryStatus:
        target = self._memo.get((status, kind))
        if target is None:
            transition(status.state, RecordState.TX_PENDING)
            count, member = status.delivery_count, self._member_id
            after = StagedStatus(count, kind, *self._producer, member)
            target = StagedStatus(count, kind, *self._producer, member, self._change.write_id, status, after)
            self._memo[status, kind] = target
        return target

    def complete(self) -> None:
        """Let the change contain what is to be persisted: the records as available, and their acknowledgements."""
        change = self._change
        change.acknowledged, change.delays, change.state_batches = {}, [], []
        rows: list[Staged] = []
        for batch, first, last in change.touched:
            for run_first, run_last, status in batch.runs(first, last):
                if status.write_id == change.write_id and isinstance(status, StagedStatus):
                    change.persist_run(run_first, run_last, settled(RecordState.AVAILABLE, status.delivery_count))
                    rows.append(status.row(run_first, run_last))
        change.staged = rows


def stage_loaded(window: InFlightWindow, rows: Iterable[Staged]) -> None:
    """Make records of a loaded window TX_PENDING: those of `rows` that are available with the same delivery count."""
    for row in rows:
        staged = StagedStatus(row.delivery_count, row.acknowledge_type, row.producer_id, row.producer_epoch)

        def pending(status: DeliveryStatus, row: Staged = row, staged: StagedStatus = staged) -> DeliveryStatus:
            return staged if status is settled(RecordState.AVAILABLE, row.delivery_count) else status

        for batch in window.batches.overlapping(row.first_offset, row.last_offset):
            window.remap(batch, row.first_offset, row.last_offset, pending)


def staged_in(window: InFlightWindow) -> Sequence[Staged]:
    """Return the acknowledgements that are staged in the window, ascending."""
    rows = [
        status.row(first, last)
        for batch in window.batches
        for first, last, status in batch.runs(batch.first_offset, batch.last_offset)
        if isinstance(status, StagedStatus)
    ]
    return rows or NONE_STAGED
