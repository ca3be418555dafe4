"""The coordinator runtime: one queue for each partition of an internal topic; decide, append, replay, answer.

Operations of one loop tick are decided one after the other on the replayed state and share one append. They are
answered when that append is durable, so a crash undoes nothing that was answered. If an append fails, the shard is
discarded and its log replayed, so that the state is exactly the one written before. If the log has another owner by
then, or waits for a later take-over, the partition resigns instead.

A request may wait for other requests, or for time: it is parked here under a token until a later operation answers
it (`LateAnswer`). When a shard is discarded, all its parked requests are refused; the clients look for the
coordinator and ask again.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Generic, NamedTuple, TypeVar, cast

from shareq.broker.coordinator_runtime.batches import BatchLimit, CoordinatorLogSettings, encoded_bytes, parts_of
from shareq.broker.coordinator_runtime.one_in_steps import LoadTurns, OneInSteps, Waiting
from shareq.broker.coordinator_runtime.ports import LOG_IS_OVER, CoordinatorLog
from shareq.broker.coordinator_runtime.replay import CoordinatorLoadError, replay_log, replay_one
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.collector import COLLECTOR
from shareq.broker.foundation.loop.coroutines import in_steps, result_of
from shareq.broker.foundation.loop.timer import Timer
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.foundation.turn_budget import LOOK, PAUSE, Breathe, unpaused
from shareq.broker.log.append import Origin
from shareq.broker.log.markers import MarkedLog, TransactionMarker, append_marker
from shareq.coordinator.shard import (
    CoordinatorRecord,
    CoordinatorResult,
    CoordinatorShard,
    LateAnswer,
    RecordSerde,
    RecordsTooLarge,
    Steps,
    TransactionalShard,
)
from shareq.protocol.errors import ErrorCode
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import NO_PRODUCER_ID, RecordData, build_batch
from shareq.protocol.records.compression import Compression

logger = logging.getLogger(__name__)

T = TypeVar("T")
M = TypeVar("M", bound=Message)
ShardT = TypeVar("ShardT", bound=CoordinatorShard)


class ProducerEpoch(NamedTuple):
    """The id and epoch of the producer that writes in a transaction."""

    producer_id: int
    epoch: int


@dataclass(slots=True)
class _Parked:
    """One parked request, which waits for other requests or for time."""

    complete: Callable[[Message], None]
    fail: Callable[[ErrorCode], None]


class CoordinatorPartition(Generic[ShardT]):
    """One partition of a coordinator's topic: its shard, its log, and its pending operations.

    Owns the shard; everything runs on the loop's thread. `loaded` completes at the end of the last load, with False
    if the log cannot be read, or the partition resigned before.
    """

    def __init__(
        self,
        env: Environment,
        log: CoordinatorLog,
        new_shard: Callable[[], ShardT],
        serde: RecordSerde,
        settings: CoordinatorLogSettings,
        turns: LoadTurns,
        *,
        leads: bool = True,
    ) -> None:
        """Create the partition without a state; a load must follow.

        With `leads` False, another broker leads it, and every operation is refused.
        """
        self._env = env
        self._log = log
        self._new_shard = new_shard
        self._serde = serde
        self._settings = settings
        self._turns = turns
        self._limited_to = log.max_message_bytes
        self._limited = BatchLimit.of(settings, self._limited_to)  # with that
        self._records: list[RecordData] = []
        self._records_bytes = 0
        self._producer: ProducerEpoch | None = None  # the collected records are part of its transaction
        self._collected: list[Waiting] = []  # decided, records not yet handed to the log
        self._in_flight: deque[list[Waiting]] = deque()  # one list for each append that is not yet durable
        self._parked: dict[int, _Parked] = {}  # by token
        self._in_steps = OneInSteps(env)
        self._tokens = count(1)
        self._hooked = False
        self._generation = 0
        self._lost = not leads  # led elsewhere; or the log is offline: what is durable is known at the next start
        self._refuses_until_loaded = False
        self._timer = Timer(env.clock)
        self.shard = new_shard()
        self.loaded: Pending[bool] = completed(False) if self._lost else Pending()

    def load_now(self) -> None:
        """Load the log in one turn, during a start, when nothing else waits for the loop."""
        self._reloaded(result_of(self._load_or_resign(unpaused)))

    def load(self, *, refuses: bool = False) -> None:
        """Load the log in steps, after loads of other partitions that began before.

        Operations wait for the end of the load or, with `refuses`, get COORDINATOR_LOAD_IN_PROGRESS until then.
        """
        self._refuses_until_loaded = refuses
        if self.loaded.done:
            self.loaded = Pending()
        self._in_steps.run(self._load_in_turn(self._turns.take(self.loaded)), self._reloaded)

    async def _load_in_turn(self, turn: Pending[None]) -> ShardT:
        await turn
        return await self._load_or_resign(self._env.budget.breathe)

    def schedule(
        self,
        operation: Callable[[], CoordinatorResult[T] | Steps[CoordinatorResult[T]]],
        failed: Callable[[ErrorCode], T],
        *,
        producer: ProducerEpoch | None = None,
    ) -> Pending[T]:
        """Run the operation now; its response comes when its records, and all earlier ones, are durable.

        `failed` returns the response if the append fails. Its error is the one that Apache Kafka's coordinators
        return: NOT_COORDINATOR for a log that cannot be written, UNKNOWN_SERVER_ERROR for records that do not fit
        into a batch, which affects no other operation; see also `load`. If `producer` is given, the records are part
        of its transaction.

        An operation in steps may pause, but nothing else of the partition is decided until it ends.
        """
        if self._lost:
            return completed(failed(ErrorCode.NOT_COORDINATOR))
        if self._in_steps.busy:
            return self._behind(lambda: self.schedule(operation, failed, producer=producer), failed)
        pending: Pending[T] = Pending()
        answers: tuple[LateAnswer, ...] = ()

        def fail(error: ErrorCode) -> None:
            pending.complete(failed(error))
            self._refuse([late.token for late in answers], error)

        try:
            begun = operation()
            result = begun if isinstance(begun, CoordinatorResult) else _step(begun)
            if result is None:
                self._go_on(cast(Steps[CoordinatorResult[T]], begun), failed, producer, pending)
                return pending
        except RecordsTooLarge:
            self._refuse_too_large(Waiting(lambda: None, fail))
            return pending
        answers = result.answers

        def answer() -> None:
            pending.complete(result.response)
            if answers:
                self._answer_late(answers)

        waiting = Waiting(answer, fail)
        if result.records:
            self._collect(result, waiting, producer)
        elif self._collected:
            self._collected.append(waiting)  # it has read state that is not durable yet, so it waits for that
        elif self._in_flight:
            self._in_flight[-1].append(waiting)
        else:
            answer()
        self._arm()
        return pending

    def run(
        self,
        operation: Callable[[ShardT], CoordinatorResult[T] | Steps[CoordinatorResult[T]]],
        failed: Callable[[ErrorCode], T],
    ) -> Pending[T]:
        """Schedule an operation on the shard that exists when its turn comes."""
        return self.schedule(lambda: operation(self.shard), failed)

    def notify(self, operation: Callable[[ShardT], CoordinatorResult[None] | Steps[CoordinatorResult[None]]]) -> None:
        """Run an operation that no client has requested, as `run` does.

        It always waits for the end of a load, even one that refuses operations, because the loaded state needs the
        news.
        """

        def run() -> Pending[None]:
            return self.run(operation, _nothing)

        if self._in_steps.busy and not self._lost:
            self._wait(run, _nothing)
        else:
            run()

    def _go_on(
        self,
        steps: Steps[CoordinatorResult[T]],
        failed: Callable[[ErrorCode], T],
        producer: ProducerEpoch | None,
        pending: Pending[T],
    ) -> None:
        """Run the remaining steps of a decision in later ticks, and `schedule` the decision at the end."""

        def done(decided: CoordinatorResult[T] | RecordsTooLarge | None) -> None:
            if decided is None:
                pending.complete(failed(ErrorCode.UNKNOWN_SERVER_ERROR))
            else:
                self.schedule(lambda: _result_of(decided), failed, producer=producer).on_complete(pending.complete)

        self._in_steps.run(self._decide(steps), done, lambda error: pending.complete(failed(error)))

    async def _decide(self, steps: Steps[CoordinatorResult[T]]) -> CoordinatorResult[T] | RecordsTooLarge | None:
        """Run the remaining steps and return the decision; None after a fault, which is logged."""
        await PAUSE
        try:
            return await in_steps(steps)
        except RecordsTooLarge as error:
            return error
        except Exception:
            logger.exception("%s: an operation failed", self._name)
            return None

    def _behind(self, again: Callable[[], Pending[T]], failed: Callable[[ErrorCode], T]) -> Pending[T]:
        """Repeat the operation once the running steps have ended, unless they refuse other operations."""
        if self._refuses_until_loaded:
            return completed(failed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
        return self._wait(again, failed)

    def _wait(self, again: Callable[[], Pending[T]], failed: Callable[[ErrorCode], T]) -> Pending[T]:
        pending: Pending[T] = Pending()

        def answer() -> None:
            try:
                done = again()
            except Exception:
                logger.exception("%s: an operation that waited failed", self._name)
                done = completed(failed(ErrorCode.UNKNOWN_SERVER_ERROR))
            done.on_complete(pending.complete)

        self._in_steps.wait(Waiting(answer, lambda error: pending.complete(failed(error))))
        return pending

    @property
    def _name(self) -> str:
        return f"{self._log.topic}-{self._log.partition}"

    def schedule_waiting(
        self,
        operation: Callable[[int], CoordinatorResult[None] | Steps[CoordinatorResult[None]]],
        failed: Callable[[ErrorCode], M],
    ) -> Pending[M]:
        """Schedule an operation whose answer may have to wait for other requests.

        The operation gets a token; a `LateAnswer` with this token, in its own result or a later one, has the answer.
        `failed` returns the answer if that append fails, and with NOT_COORDINATOR if the shard is discarded
        meanwhile, or the broker stops.
        """
        if self._lost:
            return completed(failed(ErrorCode.NOT_COORDINATOR))
        pending: Pending[M] = Pending()
        token = next(self._tokens)
        self._parked[token] = _Parked(
            lambda response: pending.complete(cast(M, response)), lambda error: pending.complete(failed(error))
        )
        try:
            self.schedule(lambda: operation(token), lambda error: self._refuse((token,), error))
        except BaseException:
            del self._parked[token]
            raise
        return pending

    def refuse_parked(self) -> None:
        """Fail every parked request with NOT_COORDINATOR."""
        self._refuse(list(self._parked), ErrorCode.NOT_COORDINATOR)

    def _answer_late(self, answers: Iterable[LateAnswer]) -> None:
        for late in answers:
            parked = self._parked.pop(late.token, None)
            if parked is not None:
                parked.complete(late.response)

    def _refuse(self, tokens: Iterable[int], error: ErrorCode) -> None:
        for token in tokens:
            parked = self._parked.pop(token, None)
            if parked is not None:
                parked.fail(error)

    @property
    def is_lost(self) -> bool:
        """True if every operation is refused until the broker starts again, or until a later owner loads the
        partition.
        """
        return self._lost

    @property
    def is_at_rest(self) -> bool:
        """True if the shard's whole state is durable, and nothing is being decided."""
        return not (self._lost or self._collected or self._in_flight or self._in_steps.busy)

    @property
    def waiting(self) -> int:
        """The number of operations that are not durable yet."""
        return len(self._collected) + sum(map(len, self._in_flight)) + len(self._in_steps)

    def resign(self) -> None:
        """End pending operations, and all later ones, with NOT_COORDINATOR, because the partition was deleted, its
        log was closed, or another broker leads it.
        """
        self._lost = True
        self._generation += 1
        taken = self._take_waiting()
        self.close()
        self._end_load(loaded=False)
        for waiting in taken:
            waiting.fail(ErrorCode.NOT_COORDINATOR)
        self.refuse_parked()

    def close(self) -> None:
        """Stop the timer and the decisions in progress; pending operations get no answer."""
        self._in_steps.give_up()
        self._timer.stop()

    def end_transaction(self, marker: TransactionMarker, log: MarkedLog) -> Pending[ErrorCode]:
        """Append the marker that ends a producer's transaction in this partition's `log`; the answer comes when it
        is durable.

        After INVALID_PRODUCER_EPOCH or TRANSACTION_COORDINATOR_FENCED, nothing is appended, and the transaction
        stays open.
        """
        if self._lost:
            return completed(ErrorCode.NOT_COORDINATOR)
        if self._in_steps.busy:
            return self._behind(lambda: self.end_transaction(marker, log), lambda error: error)
        if self._records:
            self._append()
            if self._lost or self._in_steps.busy:  # that was refused
                return self.end_transaction(marker, log)
        pending: Pending[ErrorCode] = Pending()
        self._in_flight.append([Waiting(lambda: pending.complete(ErrorCode.NONE), pending.complete)])
        generation = self._generation
        now = self._env.clock.wall_ms()
        outcome = append_marker(
            log, marker, now_wall_ms=now, on_durable=lambda error: self._on_durable(generation, error)
        )
        if outcome is LOG_IS_OVER:
            self._fail(outcome)
        elif isinstance(outcome, ErrorCode):
            self._in_flight.pop()
            pending.complete(outcome)
        else:
            shard: object = self.shard
            if isinstance(shard, TransactionalShard):
                shard.end_transaction(marker.producer_id, commit=marker.commit)
        return pending

    def _collect(self, result: CoordinatorResult[T], waiting: Waiting, producer: ProducerEpoch | None) -> None:
        records = result.records
        encoded = result.encoded or tuple([RecordData(*self._serde.encode(record)) for record in records])
        limit = self._limit()
        parts = (encoded,) if result.atomic else tuple(parts_of(encoded, limit.shared_bytes))
        sizes = tuple(map(encoded_bytes, parts))
        for part, size in zip(parts, sizes, strict=True):
            if not limit.takes(part, size):
                self._refuse_too_large(waiting)
                return
        done = 0
        for part, size in zip(parts, sizes, strict=True):
            if not self._make_room(size, limit, producer):
                waiting.fail(ErrorCode.NOT_COORDINATOR)  # it was decided on a state that has been discarded
                return
            if not self._replay(records[done : done + len(part)], producer):
                waiting.fail(ErrorCode.UNKNOWN_SERVER_ERROR)
                return
            self._records += part
            self._records_bytes += size
            done += len(part)
        self._collected.append(waiting)
        if not self._hooked:
            self._hooked = True
            self._log.before_append(self._on_ready)

    def _make_room(self, size: int, limit: BatchLimit, producer: ProducerEpoch | None) -> bool:
        """Append the collected records if `size` bytes of `producer` cannot be in the same batch. Return False if
        the append was refused.
        """
        if self._records and (self._producer != producer or self._records_bytes + size > limit.shared_bytes):
            generation = self._generation
            self._append()
            if generation != self._generation:
                return False
        self._producer = producer
        return True

    def _replay(self, records: Sequence[CoordinatorRecord], producer: ProducerEpoch | None) -> bool:
        """Replay decided records. Return False if the state machine could not replay them, and was reloaded."""
        offset = self._log.log_end_offset + len(self._records)
        producer_id = producer.producer_id if producer is not None else NO_PRODUCER_ID
        shard = self.shard
        try:
            for record in records:
                replay_one(shard, record, offset, producer_id)
                offset += 1
        except Exception:
            logger.exception("%s-%d: a decided record was not replayed", self._log.topic, self._log.partition)
            self._fail(ErrorCode.UNKNOWN_SERVER_ERROR)
            return False
        return True

    def _limit(self) -> BatchLimit:
        most = self._log.max_message_bytes
        if most != self._limited_to:
            self._limited_to, self._limited = most, BatchLimit.of(self._settings, most)
        return self._limited

    def _refuse_too_large(self, waiting: Waiting) -> None:
        """Fail one operation whose records are too large, before any of them is replayed. Others are not affected."""
        logger.warning(
            "%s-%d: an operation is refused: its records do not fit into a batch of %d bytes (max.message.bytes)",
            self._log.topic,
            self._log.partition,
            self._limit().max_bytes,
        )
        waiting.fail(coordinator_error(ErrorCode.MESSAGE_TOO_LARGE))

    def _on_ready(self) -> None:
        self._hooked = False
        if self._records:
            self._append()

    def _append(self) -> None:
        records, self._records, self._records_bytes = self._records, [], 0
        self._in_flight.append(self._collected)
        self._collected = []
        now = self._env.clock.wall_ms()
        compression = self._settings.compression
        outcome = self._log.append(
            build_batch(records, timestamp_ms=now, compression=compression)
            if self._producer is None
            else _transactional_batch(records, self._producer, compression, now),
            origin=Origin.COORDINATOR,
            now_wall_ms=now,
            on_durable=partial(self._on_durable, self._generation),
        )
        if isinstance(outcome, ErrorCode):
            self._fail(outcome)

    def _on_durable(self, generation: int, error: ErrorCode) -> None:
        if generation != self._generation:
            return  # failed and reloaded already
        if error is not ErrorCode.NONE:
            self._fail(error)
            return
        for waiting in self._in_flight.popleft():  # appends become durable in order
            waiting.answer()

    def _fail(self, error: ErrorCode) -> None:
        """Refuse all waiting operations; replay the log, if it accepts appends again."""
        if error is LOG_IS_OVER:
            logger.warning(
                "%s: the log is over; the partition resigns, %d operations refused", self._name, self.waiting
            )
            self.resign()
            return
        self._generation += 1
        failed = self._take_waiting()
        parked = list(self._parked)
        logger.error(
            "%s-%d: coordinator append failed (%s); replaying the log, %d operations refused",
            self._log.topic,
            self._log.partition,
            error.name,
            len(failed),
        )
        self.load()
        surfaced = coordinator_error(error)
        for waiting in failed:
            waiting.fail(surfaced)
        self._refuse(parked, ErrorCode.NOT_COORDINATOR)

    def _take_waiting(self) -> list[Waiting]:
        """Return every waiting operation; none of their records will be written to the log."""
        taken = [waiting for group in self._in_flight for waiting in group] + self._collected + self._in_steps.give_up()
        self._in_flight.clear()
        self._collected, self._records, self._records_bytes = [], [], 0
        return taken

    def _reloaded(self, shard: ShardT) -> None:
        """Use the shard that was replayed from the log, and exempt its objects from garbage collection."""
        self.shard = shard
        COLLECTOR.keep()
        self._arm()  # members that send nothing any more have a deadline, too
        self._end_load(loaded=not self._lost)

    def _end_load(self, *, loaded: bool) -> None:
        self._refuses_until_loaded = False
        if not self.loaded.done:
            self.loaded.complete(loaded)

    async def _load_or_resign(self, breathe: Breathe) -> ShardT:
        """Return the shard loaded from its log. If the log cannot be read, return an empty one and refuse all
        operations.

        The rest of the broker works without it (Apache Kafka answers NOT_COORDINATOR for such a partition).
        """
        shard = self._new_shard()
        try:
            await replay_log(self._log, shard, self._serde, breathe, self._settings.load_buffer_bytes)
            for _ in shard.on_loaded(self._env.clock.now_ms()):
                await breathe(LOOK)
        except Exception as failure:
            what, until = f"{self._log!r}: {failure!r}", "the broker starts again"
            if isinstance(failure, CoordinatorLoadError):
                what, until = str(failure), "another load" if failure.log_is_over else until
            logger.error("%s; operations are refused until %s", what, until)
            self._lost = True
            self._timer.stop()
            return self._new_shard()
        return shard

    def _arm(self) -> None:
        """Keep one timer at the shard's next deadline."""
        if self._lost:
            return
        deadline = self.shard.next_deadline_ms()
        due_ms = self._timer.due_ms
        if deadline is None:
            if due_ms is not None:
                self._timer.stop()
        elif due_ms is None or deadline < due_ms:  # otherwise the timer looks again: heartbeats move deadlines on
            self._timer.at(deadline, self._on_timer)

    def _on_timer(self) -> None:
        now = self._env.clock.now_ms()
        deadline = self.shard.next_deadline_ms()
        if deadline is not None and deadline <= now:
            self.schedule(lambda: self.shard.on_deadline(now), lambda _error: None)
        else:
            self._arm()


def _nothing(_error: ErrorCode) -> None: ...


def _step(steps: Steps[CoordinatorResult[T]]) -> CoordinatorResult[T] | None:
    """Take one step of a decision; return the decision if this step was the last."""
    try:
        next(steps)
    except StopIteration as end:
        return cast(CoordinatorResult[T], end.value)
    return None


def _result_of(decided: CoordinatorResult[T] | RecordsTooLarge) -> CoordinatorResult[T]:
    if isinstance(decided, RecordsTooLarge):
        raise decided
    return decided


def coordinator_error(error: ErrorCode) -> ErrorCode:
    """Return the error that the coordinator returns for a failed append (Apache Kafka:
    CoordinatorOperationExceptionHelper).
    """
    if error in (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER):
        return ErrorCode.NOT_COORDINATOR
    if error in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return ErrorCode.COORDINATOR_NOT_AVAILABLE


def _transactional_batch(
    records: list[RecordData], producer: ProducerEpoch, compression: Compression, now_wall_ms: int
) -> bytearray:
    """Return a batch of records of a transaction. It has no sequence, since only the coordinator writes such
    batches.
    """
    return build_batch(
        records,
        timestamp_ms=now_wall_ms,
        compression=compression,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=0,
        transactional=True,
    )
