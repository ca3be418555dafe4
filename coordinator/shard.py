"""The shape of every coordinator: decide, append, replay.

An operation looks at the state and returns `CoordinatorResult(records, response)` without changing anything; the
runtime appends the records and calls `replay` for each; only `replay` changes state, so recovery is the same code.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import RecordData

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Steps = Generator[None, None, T]
"""A decision that takes long. It pauses, so that others have their turn, and returns the result at the end. The state
that it depends on must not change meanwhile.
"""


def at_once(steps: Steps[T]) -> T:
    """Run all steps without a pause; return their result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


class InconsistentRecords(RuntimeError):
    """The error for a record that no coordinator writes, or that contradicts earlier ones. The load of a log skips
    it.
    """


class RecordsTooLarge(Exception):
    """The error for an operation whose records do not fit into one batch of the coordinator's log. Only this operation
    fails; it has changed nothing.
    """


class CoordinatorRecord(NamedTuple):  # a tuple, as the result: each state write makes both
    """One record for the coordinator's log, as typed messages. A None value is a tombstone.

    `value_version` is the version in which the value is written.
    """

    key: Message
    value: Message | None
    value_version: int = 0


@dataclass(frozen=True, slots=True)
class LateAnswer:
    """The answer to a request that has waited for others, or for a time. `token` is the one that the runtime gave with
    it.
    """

    token: int
    response: Message


class CoordinatorResult(NamedTuple, Generic[T_co]):
    """Records to append, in order; the response, and answers to waiting requests, which are sent once the records are
    durable.

    `atomic`: all records go into one batch, so that a crash leaves all or none; an operation whose records are too
    large for one batch fails. Without it the records may be spread over batches, so every prefix of them has to make
    sense.

    `encoded`: keys and values of all records as the log's serde writes them, if they were encoded before.
    """

    response: T_co
    records: tuple[CoordinatorRecord, ...] = ()
    answers: tuple[LateAnswer, ...] = ()
    atomic: bool = True
    encoded: tuple[RecordData, ...] = ()


class LogRoom(Protocol):
    """The room for one operation in the coordinator's log.

    Operations that change state outside of `replay` have to check it first.
    """

    def room_bytes(self) -> int:
        """Return how many bytes of uncompressed keys and values fit into a batch, if there are few records."""

    def most_bytes(self) -> int:
        """Return the bytes of keys and values beyond which they never fit, however well they are compressed."""

    def fits(self, records: Sequence[CoordinatorRecord], *, spare_bytes: int = 0) -> bool:
        """Return True if the records fit into one batch together with `spare_bytes`."""

    def encoded(self, records: Sequence[CoordinatorRecord]) -> Steps[tuple[RecordData, ...] | None]:
        """Encode the records for `CoordinatorResult.encoded`, each in a step of its own; return None if they do not
        fit.
        """

    def written(self, records: Sequence[CoordinatorRecord]) -> Steps[tuple[RecordData, ...]]:
        """Encode the records for `CoordinatorResult.encoded`, whether or not they fit, long ones in several steps."""


class AmpleRoom:
    """A `LogRoom` for tests, in which everything fits."""

    def room_bytes(self) -> int:
        return 1_000_000

    def most_bytes(self) -> int:
        return 1 << 62

    def fits(self, records: Sequence[CoordinatorRecord], *, spare_bytes: int = 0) -> bool:
        return True

    def encoded(self, records: Sequence[CoordinatorRecord]) -> Steps[tuple[RecordData, ...] | None]:
        yield
        return () if self.fits(records) else None

    def written(self, records: Sequence[CoordinatorRecord]) -> Steps[tuple[RecordData, ...]]:
        yield from ()
        return ()


class CoordinatorShard(Protocol):
    """The state machine of one partition of a coordinator's topic."""

    def replay(self, record: CoordinatorRecord, offset: int) -> None:
        """Apply one record, live or at load. The only method that changes durable state."""

    def on_loaded(self, now_ms: int) -> Steps[None]:
        """Start timers, after the log was replayed. All steps are run before the first operation."""

    def next_deadline_ms(self) -> int | None:
        """Return when to call `on_deadline`, in monotonic ms, or None."""

    def on_deadline(self, now_ms: int) -> CoordinatorResult[None]:
        """Do the work that is due, such as ending sessions and writing snapshots."""


@runtime_checkable
class TransactionalShard(Protocol):
    """A shard whose log also has records of producers' transactions, and the markers that end these."""

    def replay_transactional(self, record: CoordinatorRecord, offset: int, producer_id: int) -> None:
        """Replay a record that counts only if the producer's transaction is committed."""

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """End the producer's transaction, live or at load. Harmless if there is none."""


class RecordSerde(Protocol):
    """The encoding and decoding of the records of one coordinator's topic."""

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]: ...

    def encode_in_steps(self, record: CoordinatorRecord) -> Steps[tuple[bytes, bytes | None]]:
        """Return the result of `encode`, with pauses if the value is long."""

    def decode(self, key: bytes, value: bytes | None) -> CoordinatorRecord | None:
        """Decode a record; None for an unknown record type, which the caller skips with a warning.

        Raise MalformedMessage for an unknown value version, InconsistentRecords for records that no coordinator writes.
        """
