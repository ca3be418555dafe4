"""Transaction markers on a log that records appends: their contents, and which are refused before an append."""

from __future__ import annotations

import pytest

from shareq.broker.log.append import AppendInfo, Batch, OnDurable, Origin
from shareq.broker.log.markers import TransactionMarker, append_marker
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.control import build_end_transaction_marker

NOW = 1_700_000_000_000
WENT = AppendInfo(7, 7, -1, 0, duplicate=False)


class NotedLog:
    """A `MarkedLog`; `open` holds the producer ids and epochs with an open transaction."""

    def __init__(self, *under_way: tuple[int, int]) -> None:
        self.under_way = under_way
        self.appended: list[tuple[bytes, Origin, int, OnDurable | None]] = []

    @property
    def producers(self) -> NotedLog:
        return self

    def is_open(self, producer_id: int, epoch: int) -> bool:
        return (producer_id, epoch) in self.under_way

    def append(
        self, batch: Batch, *, origin: Origin, now_wall_ms: int, on_durable: OnDurable | None = None
    ) -> AppendInfo | ErrorCode:
        self.appended.append((bytes(batch), origin, now_wall_ms, on_durable))
        return WENT


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_is_the_brokers_own_batch_of_this_moment(commit: bool) -> None:
    log, durable = NotedLog(), lambda _error: None
    marker = TransactionMarker(9, 3, 5, commit, 1)
    assert append_marker(log, marker, now_wall_ms=NOW, on_durable=durable) is WENT
    batch = build_end_transaction_marker(
        commit=commit, producer_id=9, producer_epoch=3, coordinator_epoch=5, timestamp_ms=NOW
    )
    assert log.appended == [(bytes(batch), Origin.COORDINATOR, NOW, durable)]


@pytest.mark.parametrize(
    ("version", "epoch", "under_way", "refused"),
    [
        (2, 3, (9, 3), True),  # KIP-890: it began after the one this is to end
        (3, 3, (9, 3), True),
        (1, 3, (9, 3), False),  # the epoch is the producer's own
        (2, 3, (9, 2), False),
        (2, 3, (8, 3), False),
        (2, 32767, (9, 32767), False),  # what some error brought there has to get out
        (2, 32766, (9, 32766), True),
    ],
)
def test_a_marker_of_the_epoch_that_writes_ends_nothing(
    version: int, epoch: int, under_way: tuple[int, int], refused: bool
) -> None:
    log = NotedLog(under_way)
    answer = append_marker(log, TransactionMarker(9, epoch, 5, True, version), now_wall_ms=NOW)
    assert answer == (ErrorCode.INVALID_PRODUCER_EPOCH if refused else WENT)
    assert len(log.appended) == (0 if refused else 1)
