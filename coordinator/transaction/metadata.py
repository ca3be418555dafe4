"""The state of one transactional id: its producer id and epoch, and the stage of its transaction.

Every change is a transition from one `Transaction` to the next, and the log has the state after each transition (Apache
Kafka 4.3.1: TransactionMetadata). With transaction version 2 (KIP-890) the end of a transaction raises the epoch, so
that a late record of the transaction before cannot become part of the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final, NamedTuple

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_TIMESTAMP: Final = -1
MAX_EPOCH: Final = 2**15 - 1
LAST_EPOCH: Final = MAX_EPOCH - 1  # the last one a producer gets: the one behind it is for fencing it
BUMPING_VERSION: Final = 2  # the first transaction version in which the end of a transaction raises the epoch


class TransactionState(IntEnum):
    """The states, with their numbers in the log. Two of Apache Kafka's are never in a log: 6, Dead, is a tombstone
    here, and 7, PrepareEpochFence, is one transition with the PrepareAbort that follows it.
    """

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5


STATE_NAMES: Final[Mapping[TransactionState, str]] = {
    TransactionState.EMPTY: "Empty",
    TransactionState.ONGOING: "Ongoing",
    TransactionState.PREPARE_COMMIT: "PrepareCommit",
    TransactionState.PREPARE_ABORT: "PrepareAbort",
    TransactionState.COMPLETE_COMMIT: "CompleteCommit",
    TransactionState.COMPLETE_ABORT: "CompleteAbort",
}
"""The names of the states in DescribeTransactions and ListTransactions."""

RESTING: Final = frozenset((TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT))
"""The states without a transaction under way: another one may begin, and the id may expire."""

PREPARING: Final = frozenset((TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT))
"""The states in which the outcome is decided and markers are being written. Until these are written, all other requests
wait.
"""

LEGAL: Final[Mapping[TransactionState, frozenset[TransactionState]]] = {
    TransactionState.EMPTY: frozenset(
        # Version 2: ending a transaction that has no partition yet raises the epoch all the same.
        (TransactionState.EMPTY, TransactionState.ONGOING, TransactionState.PREPARE_ABORT)
    ),
    TransactionState.ONGOING: frozenset(
        (TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
    ),
    TransactionState.PREPARE_COMMIT: frozenset((TransactionState.COMPLETE_COMMIT,)),
    TransactionState.PREPARE_ABORT: frozenset((TransactionState.COMPLETE_ABORT,)),
    TransactionState.COMPLETE_COMMIT: frozenset(
        (TransactionState.EMPTY, TransactionState.ONGOING, TransactionState.PREPARE_ABORT)
    ),
    TransactionState.COMPLETE_ABORT: frozenset(
        (TransactionState.EMPTY, TransactionState.ONGOING, TransactionState.PREPARE_ABORT)
    ),
}
"""The states that may follow each state."""


class TopicPartition(NamedTuple):
    """A partition that a transaction writes to."""

    topic: str
    partition: int


def is_exhausted(epoch: int) -> bool:
    """Return True if a producer id in this epoch cannot get a further one."""
    return epoch >= LAST_EPOCH


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transactional id's state. Times are ms since the epoch.

    `previous_producer_id` is the id before the last transition, `next_producer_id` the id after the markers are written
    (-1: the same). `last_producer_epoch` is the epoch before its last change, if the producer in it may still repeat
    its request (-1: it may not); it is not in the log. `client_version` is the producer's transaction version.
    """

    transactional_id: str
    producer_id: int
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    timeout_ms: int = 0
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    start_ms: int = NO_TIMESTAMP
    last_update_ms: int = NO_TIMESTAMP
    client_version: int = 0

    @property
    def is_preparing(self) -> bool:
        return self.state in PREPARING

    @property
    def is_exhausted(self) -> bool:
        return is_exhausted(self.producer_epoch)

    @property
    def bumps_epoch(self) -> bool:
        """True if the end of a transaction raises the epoch, by the producer's transaction version."""
        return self.client_version >= BUMPING_VERSION

    def has_timed_out(self, now_ms: int) -> bool:
        """Return True if the transaction has been open for longer than its producer's timeout."""
        return self.state is TransactionState.ONGOING and self.start_ms + self.timeout_ms < now_ms

    def has_expired(self, expiration_ms: int, now_ms: int) -> bool:
        """Return True if the id was not used for `transactional.id.expiration.ms`."""
        return self.state in RESTING and self.last_update_ms <= now_ms - expiration_ms

    # -- transitions: ValueError for one that is not legal: the caller has to have looked

    def initialized(self, epoch: int, last_epoch: int, timeout_ms: int, now_ms: int) -> Transaction:
        """Return the state after an InitProducerId that keeps the producer id."""
        return self._to(
            TransactionState.EMPTY,
            now_ms,
            producer_epoch=epoch,
            last_producer_epoch=last_epoch,
            timeout_ms=timeout_ms,
            partitions=frozenset(),
            start_ms=NO_TIMESTAMP,
        )

    def rotated(self, producer_id: int, last_epoch: int, timeout_ms: int, now_ms: int) -> Transaction:
        """Return the state after an InitProducerId with a new producer id, because the epochs of the old one are used
        up.
        """
        return replace(self.initialized(0, last_epoch, timeout_ms, now_ms), producer_id=producer_id)

    def with_partitions(self, partitions: frozenset[TopicPartition], client_version: int, now_ms: int) -> Transaction:
        """Return the transaction with these partitions added; it begins now if none was open."""
        return self._to(
            TransactionState.ONGOING,
            now_ms,
            partitions=self.partitions | partitions,
            start_ms=self.start_ms if self.state is TransactionState.ONGOING else now_ms,
            client_version=client_version,
        )

    def prepared(self, state: TransactionState, client_version: int, next_producer_id: int, now_ms: int) -> Transaction:
        """Return the transaction with its outcome decided: PREPARE_COMMIT or PREPARE_ABORT.

        `next_producer_id` -1: the producer id stays.
        """
        epoch, last_epoch = self.producer_epoch, self.last_producer_epoch
        if client_version >= BUMPING_VERSION:
            last_epoch = epoch
            epoch = min(epoch + 1, MAX_EPOCH)  # beyond it is only what some error brought there, and has to get out
        return self._to(
            state,
            now_ms,
            producer_epoch=epoch,
            last_producer_epoch=last_epoch,
            next_producer_id=next_producer_id,
            start_ms=self.start_ms if self.state is TransactionState.ONGOING else now_ms,
            client_version=client_version,
        )

    def fenced(self, now_ms: int) -> Transaction:
        """Return the transaction as aborted, with a new epoch that is given to no producer. For versions 0 and 1."""
        bumped = replace(
            self,
            producer_epoch=min(self.producer_epoch + 1, MAX_EPOCH),
            last_producer_epoch=NO_PRODUCER_EPOCH,
        )
        return bumped.prepared(TransactionState.PREPARE_ABORT, 0, NO_PRODUCER_ID, now_ms)

    def completed(self, now_ms: int) -> Transaction:
        """Return the transaction after all markers are written."""
        commits = self.state is TransactionState.PREPARE_COMMIT
        done = self._to(
            TransactionState.COMPLETE_COMMIT if commits else TransactionState.COMPLETE_ABORT,
            now_ms,
            partitions=frozenset(),
            next_producer_id=NO_PRODUCER_ID,
        )
        if self.bumps_epoch and self.next_producer_id != NO_PRODUCER_ID:
            # The last epoch stays the last that the producer has seen, so that it may ask for the end once more.
            return replace(done, producer_id=self.next_producer_id, producer_epoch=0)
        return done

    def _to(self, state: TransactionState, now_ms: int, **changes: object) -> Transaction:
        if state not in LEGAL[self.state]:
            raise ValueError(f"transactional id {self.transactional_id}: {state.name} cannot follow {self.state.name}")
        return replace(
            self,
            state=state,
            last_update_ms=now_ms,
            previous_producer_id=self.producer_id,
            **changes,  # type: ignore[arg-type]
        )
