"""Transaction markers: the control batches that end a producer's transaction in one partition."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from shareq.broker.log.append import AppendInfo, Batch, OnDurable, Origin
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.control import build_end_transaction_marker

_NEW_EPOCH_FROM: Final = 2
_MAX_EPOCH: Final = 2**15 - 1


class TransactionMarker(NamedTuple):
    """The end of a transaction. From `transaction_version` 2 on, `producer_epoch` is one in which the producer did
    not write.
    """

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    commit: bool
    transaction_version: int


class OpenTransactions(Protocol):
    """The producers that have an open transaction in a log."""

    def is_open(self, producer_id: int, epoch: int) -> bool: ...


class MarkedLog(Protocol):
    """A log to which markers are appended, as `PartitionLog` is."""

    @property
    def producers(self) -> OpenTransactions: ...

    def append(
        self, batch: Batch, *, origin: Origin, now_wall_ms: int, on_durable: OnDurable | None = None
    ) -> AppendInfo | ErrorCode: ...


def append_marker(
    log: MarkedLog, marker: TransactionMarker, *, now_wall_ms: int, on_durable: OnDurable | None = None
) -> AppendInfo | ErrorCode:
    """Append a marker to the buffer for this tick's flush, as `PartitionLog.append` does.

    INVALID_PRODUCER_EPOCH: the producer has a later epoch or, from transaction version 2 on, an open transaction
    that began after the one to end (KIP-890). TRANSACTION_COORDINATOR_FENCED: the marker is from an older
    coordinator.
    """
    if (
        marker.transaction_version >= _NEW_EPOCH_FROM
        and marker.producer_epoch != _MAX_EPOCH  # a transaction in the last epoch must still be able to end
        and log.producers.is_open(marker.producer_id, marker.producer_epoch)
    ):
        return ErrorCode.INVALID_PRODUCER_EPOCH
    batch = build_end_transaction_marker(
        commit=marker.commit,
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        coordinator_epoch=marker.coordinator_epoch,
        timestamp_ms=now_wall_ms,
    )
    return log.append(batch, origin=Origin.COORDINATOR, now_wall_ms=now_wall_ms, on_durable=on_durable)
