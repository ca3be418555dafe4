from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

from shareq.broker.log.append import OnDurable
from shareq.broker.share.core import load, partition
from shareq.broker.share.core.effects import StateBatch
from shareq.broker.share.core.partition import SharePartition
from shareq.broker.share.core.window.delivery_status import DeliveryStatus
from shareq.broker.share.core.writes import StateChange
from shareq.broker.share.dlq import letter_batches, source
from shareq.broker.share.dlq.broker_queues import BrokerQueues
from shareq.broker.share.dlq.queues import DeadLetterQueues
from shareq.broker.share.dlq.source import Reading
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import RecordState
from tests.simulation.planted import LOST
from tests.support.planting import Fault, Function, in_place_of, replaced
from tests.support.statuses import new_statuses

# -- phase 1: the death is durable before its letter is written


@in_place_of(SharePartition, "_write")
def death_persisted_as_archived(
    original: Function, self: SharePartition, write_id: int, batches: tuple[StateBatch, ...], *others: Any
) -> Any:
    """Plant the fault that a death is persisted before its letter: a crash between the two loses the letter."""
    rows = tuple(
        row._replace(delivery_state=RecordState.ARCHIVED.value) if row.delivery_state == 3 else row for row in batches
    )
    return original(self, write_id, rows, *others)


@contextmanager
def start_offset_passes_the_dead() -> Iterator[None]:
    original = DeliveryStatus.__init__

    def init(self: DeliveryStatus, *arguments: Any, **named: Any) -> None:
        original(self, *arguments, **named)
        self.done = self.done or (self.state is RecordState.ARCHIVING and not self.write_id)

    with new_statuses(), replaced((DeliveryStatus, "__init__", init)):
        yield


def last_lock_that_runs_out_has_no_letter() -> AbstractContextManager[object]:
    return replaced((partition, "_expired_dead", lambda _write: []))


@in_place_of(StateChange, "commit")
def accepted_records_have_letters(original: Function, self: StateChange, window: Any) -> Any:
    """Plant the fault that all records named by a request get letters if one of them is rejected."""
    if self.dead and self.state_batches:
        last = self.state_batches[-1].last_offset
        self.dead = [self.dead[0]._replace(first_offset=self.state_batches[0].first_offset, last_offset=last)]
    return original(self, window)


# -- what a load finds


def load_forgets_the_dead() -> AbstractContextManager[object]:
    return replaced((SharePartition, "unfinished_dead_letters", lambda _self: ()))


def load_takes_the_dead_for_archived() -> AbstractContextManager[object]:
    persisted = {**load._PERSISTED, RecordState.ARCHIVING.value: RecordState.ARCHIVED}
    return replaced((load, "_PERSISTED", persisted))  # type: ignore[arg-type]


# -- phase 2: what the letter says, and when it counts


@in_place_of(BrokerQueues, "append")
def letters_count_before_they_are_durable(
    original: Function, self: BrokerQueues, name: str, partition: int, batch: bytearray, on_durable: OnDurable
) -> Any:
    error = original(self, name, partition, batch, lambda _error: None)
    if not error:
        on_durable(ErrorCode.NONE)
    return error


@in_place_of(DeadLetterQueues, "_failed")
def kept_dead_are_given_up(_original: Function, self: DeadLetterQueues, lane: Any, made: Any, error: ErrorCode) -> None:
    """Plant the fault that a failed write loses the letters, as without `shareq.dlq.keep`."""
    for part in made.parts:
        self._give_up(lane, part.burial, part.upto, error.name)
    self._soon(lane)


@in_place_of(DeadLetterQueues, "_failed_before")
def refused_queue_costs_the_letters(
    original: Function, self: DeadLetterQueues, lane: Any, settings: Any, reason: str
) -> None:
    original(self, lane, settings._replace(keep_dead_records=False), reason)


@in_place_of(letter_batches, "read_dead")
def letters_hold_the_next_record(_original: Function, *arguments: Any) -> Reading:
    reading = source.read_dead(*arguments)
    moved = {offset - 1: record for offset, record in reading.records.items()}
    return reading._replace(records={**reading.records, **moved})


NO_LETTER: Final = "has died without a dead letter"
STILL: Final = "are still archiving"
WRONG: Final = "a dead letter says"

FAULTS: Final[dict[Fault, tuple[str, ...]]] = {
    death_persisted_as_archived: (NO_LETTER,),
    start_offset_passes_the_dead: (NO_LETTER, "delivery complete count"),
    last_lock_that_runs_out_has_no_letter: (NO_LETTER, STILL),
    accepted_records_have_letters: ("cannot have died",),
    load_forgets_the_dead: (NO_LETTER, STILL, LOST),
    load_takes_the_dead_for_archived: (NO_LETTER,),
    letters_count_before_they_are_durable: (NO_LETTER,),
    kept_dead_are_given_up: (NO_LETTER,),
    refused_queue_costs_the_letters: (NO_LETTER,),
    letters_hold_the_next_record: (WRONG,),
}
