"""The completion of a decided transaction: markers in every partition, then the coordinator's last record.

The appends are local, so one attempt takes two flushes. Markers that cannot be written are tried again until the
broker stops, and again after its next start: the outcome of a transaction never changes once it is decided.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from shareq.broker.coordinator_runtime.partition import CoordinatorPartition
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import Begin, sleep
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.log.markers import MarkedLog, TransactionMarker, append_marker
from shareq.broker.topics.lookup import PartitionLookup
from shareq.broker.transactions.ports import TransactionLog
from shareq.coordinator.transaction.metadata import TopicPartition
from shareq.coordinator.transaction.outcome import WriteMarkers
from shareq.coordinator.transaction.shard import TransactionCoordinatorShard
from shareq.protocol.errors import ErrorCode
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE

logger = logging.getLogger(__name__)

RETRY_MS: Final = 1_000

MARKER_ELEMENTS: Final = 10
"""The number of elements that a marker counts as: it takes 40 µs, or 0.2 ms if its log has to be created."""

COORDINATOR_EPOCH: Final = 0
"""The coordinator epoch of every partition of `__transaction_state`, which has always been led by one broker."""

# The partition was deleted, with its part of the transaction; or the producer has begun a later transaction.
_NOTHING_TO_END: Final = frozenset(
    (
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.TRANSACTION_COORDINATOR_FENCED,
    )
)

Partition = CoordinatorPartition[TransactionCoordinatorShard]


class MarkerWriter:
    """The writer of the markers that end decided transactions. Everything runs on the loop's thread.

    `commits` and `aborts` count its transactions, except empty ones, which have no partition. `markers_to_retry`
    could not be written and are tried again; `ends_to_retry` are transactions whose last record could not be
    written. `end_in_group` ends a transaction in a partition of the group coordinator's topic, which has the log;
    `end_in_share` in one of the share coordinator's topic, where no marker is needed. None: it has no transactions.
    """

    def __init__(
        self,
        lookup: PartitionLookup[TransactionLog],
        env: Environment,
        begin: Begin,
        end_in_group: Callable[[int, TransactionMarker, MarkedLog], Pending[ErrorCode]],
        end_in_share: Callable[[int, TransactionMarker], Pending[ErrorCode] | None],
    ) -> None:
        self._lookup = lookup
        self._clock = env.clock
        self._breathe = env.budget.breathe
        self._begin = begin
        self._end_in_group = end_in_group
        self._end_in_share = end_in_share
        self._stopped = False
        self.commits = 0
        self.aborts = 0
        self.markers_to_retry = 0
        self.ends_to_retry = 0

    def stop(self) -> None:
        """Stop retrying. The next start finds unfinished transactions."""
        self._stopped = True

    def write(self, at: TopicPartition, marker: TransactionMarker) -> Pending[ErrorCode]:
        """End a producer's transaction in one partition; the answer comes when that is durable.

        Errors: UNKNOWN_TOPIC_OR_PARTITION, and those of `append_marker`. In a partition with groups' offsets, the
        group coordinator ends the transaction.
        """
        log = self._lookup.log(at.topic, at.partition)
        if isinstance(log, ErrorCode):
            return completed(log)
        if at.topic == CONSUMER_OFFSETS:
            return self._end_in_group(at.partition, marker, log)
        if at.topic == SHARE_GROUP_STATE and (ended := self._end_in_share(at.partition, marker)) is not None:
            return ended
        pending: Pending[ErrorCode] = Pending()
        outcome = append_marker(log, marker, now_wall_ms=self._clock.wall_ms(), on_durable=pending.complete)
        if isinstance(outcome, ErrorCode):
            pending.complete(outcome)
        return pending

    def carry_out(self, partition: Partition, markers: WriteMarkers, *, again: bool = False) -> Pending[None]:
        """Write the markers, then have the coordinator record the end.

        The result completes after the first attempt, even if that failed and is repeated later. `again`: some
        markers may have been written before a crash; a second one has no effect.
        """
        attempt: Pending[None] = Pending()
        self._begin(self._end(partition, markers, attempt, again=again))
        return attempt

    async def _end(self, partition: Partition, markers: WriteMarkers, attempt: Pending[None], *, again: bool) -> None:
        left = sorted(markers.partitions)
        if again:
            left = [at for at in left if not self._has_ended(at, markers)]
        while failed := await self._write(markers, left):
            self.markers_to_retry += len(failed)
            await self._later(attempt)
            if self._stopped:
                return
            self.markers_to_retry -= len(failed)
            left = failed
        while not await self._complete(partition, markers):
            self.ends_to_retry += 1
            await self._later(attempt)
            if self._stopped:
                return
            self.ends_to_retry -= 1
        if not attempt.done:
            attempt.complete(None)

    def _has_ended(self, at: TopicPartition, markers: WriteMarkers) -> bool:
        log = self._lookup.log(at.topic, at.partition)
        if isinstance(log, ErrorCode):
            return False
        return log.producers.has_ended(markers.producer_id, markers.producer_epoch)

    async def _write(self, markers: WriteMarkers, order: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Write a marker into each partition. Return the partitions where the marker is still missing."""
        marker = TransactionMarker(
            markers.producer_id,
            markers.producer_epoch,
            COORDINATOR_EPOCH,
            markers.commit,
            markers.transaction_version,
        )
        written: list[Pending[ErrorCode]] = []
        for at in order:
            written.append(self.write(at, marker))  # all before the first is awaited: they become durable together
            await self._breathe(MARKER_ELEMENTS)
        errors = [await each for each in written]
        self._report(markers, order, errors)
        return [at for at, error in zip(order, errors, strict=True) if error not in _NOTHING_TO_END]

    async def _complete(self, partition: Partition, markers: WriteMarkers) -> bool:
        """Have the coordinator record the end; return False if that must be tried again."""
        error = await partition.schedule(lambda: partition.shard.complete(markers), lambda error: error)
        # INVALID_TXN_STATE: the completion was recorded before, but the answer got lost.
        if error in (ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE):
            self._count(markers)
            return True
        return partition.is_lost

    def _count(self, markers: WriteMarkers) -> None:
        if not markers.partitions:
            return
        if markers.commit:
            self.commits += 1
        else:
            self.aborts += 1

    async def _later(self, attempt: Pending[None]) -> None:
        if not attempt.done:
            attempt.complete(None)
        await sleep(self._clock, RETRY_MS)

    def _report(self, markers: WriteMarkers, order: Sequence[TopicPartition], errors: Sequence[ErrorCode]) -> None:
        for at, error in zip(order, errors, strict=True):
            if error is not ErrorCode.NONE:
                logger.warning(
                    "transactional id %s, producer %d, epoch %d: no %s marker in %s-%d: %s",
                    markers.transactional_id,
                    markers.producer_id,
                    markers.producer_epoch,
                    "commit" if markers.commit else "abort",
                    at.topic,
                    at.partition,
                    error.name,
                )
