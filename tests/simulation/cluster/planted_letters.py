"""Faults to plant in a node's dead letters: each must be noticed by a known seed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from shareq.broker.share.core.effects import DeadLetter
from shareq.broker.share.dlq import letter_batches, queues
from shareq.broker.share.dlq.letter_batches import Burial, Done, Lane
from shareq.broker.share.dlq.queues import DeadLetterQueues
from shareq.broker.share.dlq.source import Reading
from shareq.cluster.forward.dead_letter_queues import ClusterQueues
from shareq.cluster.forward.produce_by_leader import Batches
from shareq.protocol.errors import ApiError, ErrorCode
from tests.support.planting import Fault, Function, in_place_of, replaced

# -- reading


@in_place_of(letter_batches, "read_dead")
def what_is_not_here_is_not_there(original: Function, log: Any, first: int, last: int, budget: int) -> Reading:
    reading: Reading = original(log, first, last, budget)
    return reading if reading.error or reading.upto > first else Reading({}, last + 1)


@in_place_of(letter_batches, "read_dead")
def letters_hold_the_next_record(original: Function, *arguments: Any) -> Reading:
    reading: Reading = original(*arguments)
    moved = {offset - 1: record for offset, record in reading.records.items()}
    return reading._replace(records={**reading.records, **moved})


def what_is_not_here_is_looked_for_once() -> AbstractContextManager[object]:
    def wait(self: DeadLetterQueues, waiting: Lane, *_: object) -> None:
        waiting.fetches = False

    return replaced((DeadLetterQueues, "_unread", wait))


# -- writing


@in_place_of(ClusterQueues, "append")
def letters_whose_answer_is_lost_are_written(
    original: Function, self: ClusterQueues, name: str, partition: int, batch: bytearray, on_durable: Function
) -> Any:
    def done(error: ErrorCode) -> None:
        on_durable(ErrorCode.NONE if error is ErrorCode.REQUEST_TIMED_OUT else error)

    return original(self, name, partition, batch, done)


@in_place_of(Batches, "add")
def letters_need_no_follower(original: Function, self: Batches, batch: Any) -> None:
    original(self, batch._replace(acks=1))


@in_place_of(Lane, "add")
def the_last_to_die_come_first(_original: Function, self: Lane, letters: Sequence[DeadLetter], done: Done) -> None:
    for letter in letters:
        self.burials.insert(1, Burial(letter, done))
        self.waiting += letter.last_offset - letter.first_offset + 1


def letters_of_all_partitions_go_to_one() -> AbstractContextManager[object]:
    return replaced((queues, "partition_for", lambda *_: 0))


@in_place_of(DeadLetterQueues, "_failed")
def kept_dead_are_given_up(_original: Function, self: DeadLetterQueues, of: Any, made: Any, error: ErrorCode) -> None:
    for part in made.parts:
        self._give_up(of, part.burial, part.upto, error.name)
    self._soon(of)


# -- the cluster's topics


def what_was_known_of_queues_stays_so() -> AbstractContextManager[object]:
    original = ClusterQueues._look_up

    async def look_up(self: ClusterQueues, name: str) -> Any:
        known = seen.get((self, name))
        if known is None:
            known = await original(self, name)
            if known is not None and not isinstance(known, ApiError):
                seen[self, name] = known
        return known

    seen: dict[tuple[ClusterQueues, str], Any] = {}
    return replaced((ClusterQueues, "_look_up", look_up))


def a_missing_queue_is_never_created() -> AbstractContextManager[object]:
    async def make(_self: ClusterQueues, _name: str) -> ApiError:
        return ApiError(ErrorCode.LEADER_NOT_AVAILABLE)

    return replaced((ClusterQueues, "_make", make))


FAULTS: Final[tuple[Fault, ...]] = (
    what_is_not_here_is_not_there,
    letters_hold_the_next_record,
    what_is_not_here_is_looked_for_once,
    letters_whose_answer_is_lost_are_written,
    letters_need_no_follower,
    the_last_to_die_come_first,
    letters_of_all_partitions_go_to_one,
    kept_dead_are_given_up,
    what_was_known_of_queues_stays_so,
    a_missing_queue_is_never_created,
)
