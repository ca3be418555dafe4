"""The take-over of a slot: a new producer, a record that announces it, and from there on a log to read.

    1  InitProducerId, with the slot's transactional id: the brokers then refuse the batches of all earlier owners
    2  the take-over record with acks=all, at offset T
    3  read up to T by rule (a) (`SlotLog.read`), then serve: the next batch must get T+1

Nothing may be read before step 2: records that an earlier owner writes until then still count. If no producer is
available for the transactional id (no right, no coordinator, or not in time), one without an id is used: the log still
decides who the owner is. Each try has a new producer, so that no two tries can be confused.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import sleep
from shareq.broker.foundation.pending import Pending
from shareq.cluster.link.ports import Failure
from shareq.cluster.state.fencing import Producer, take_over_batch
from shareq.cluster.state.log import Attempt, Owned, SlotLog
from shareq.cluster.state.slot import Refused, Slot
from shareq.protocol.errors import is_retriable

logger = logging.getLogger(__name__)

T = TypeVar("T")


class TakeOverSettings(NamedTuple):
    """The settings for taking slots over. Times in milliseconds.

    `transactional_ids`: the prefix of the slots' transactional ids; None if none are used. `patience_ms`: the time
    after which a producer without such an id is used instead. `limit_ms`: the longest duration of a take-over.
    """

    node_id: int
    transactional_ids: str | None = "shareq-"
    patience_ms: int = 5_000
    limit_ms: int = 60_000
    retry_ms: int = 100
    append_timeout_ms: int = 30_000


class TakeOver:
    """The take-overs of one slot by this node, one after the other."""

    def __init__(self, env: Environment, slot: Slot, settings: TakeOverSettings) -> None:
        self._env = env
        self._slot = slot
        self._settings = settings

    async def run(self, attempt: Attempt, still_wanted: Callable[[], bool]) -> SlotLog | Refused:
        """Return the slot's log, not read yet, or the reason why the take-over failed.

        `still_wanted` is asked before each try, and again before the take-over record is written: a slot that the
        membership has given to another node by then must not be taken from it.
        """
        give_up_ms = self._now_ms() + self._settings.limit_ms
        while True:
            if not still_wanted():
                return self._anothers()
            proved = attempt()
            owned = await self._try(still_wanted)
            if isinstance(owned, Owned):
                proved()
                return SlotLog(
                    self._env,
                    self._slot,
                    owned,
                    node_id=self._settings.node_id,
                    attempt=attempt,
                    append_timeout_ms=self._settings.append_timeout_ms,
                )
            if self._now_ms() >= give_up_ms or not _may_change(owned):
                return owned
            logger.info("%s; the take-over goes on", owned.text)
            await sleep(self._env.clock, self._settings.retry_ms)

    def _anothers(self) -> Refused:
        return Refused(f"{self._slot.name}: another node's by now")

    async def _try(self, still_wanted: Callable[[], bool]) -> Owned | Refused:
        leader = await self._slot.find_leader()
        if isinstance(leader, Refused):
            return leader
        producer = await self.new_producer()
        if isinstance(producer, Refused):
            return producer
        if not still_wanted():  # the process may have stood still since, and another node have taken it over
            return self._anothers()
        record = take_over_batch(
            producer, node_id=self._settings.node_id, sequence=0, now_wall_ms=self._env.clock.wall_ms()
        )
        produced = await self._slot.produce(record, self._settings.append_timeout_ms)
        if isinstance(produced, Refused):
            return produced
        start = produced.log_start_offset
        if start < 0:
            found = await self._slot.find_start()
            if isinstance(found, Refused):
                return found
            start = found
        logger.debug("%s: taken over as %s at offset %d", self._slot.name, producer, produced.base_offset)
        return Owned(producer, produced.base_offset, start)

    async def new_producer(self) -> Producer | Refused:
        """Return an unused producer: that of the slot's transactional id if possible."""
        prefix = self._settings.transactional_ids
        if prefix is not None:
            found = await self._of_transactional_id(f"{prefix}{self._slot.name}")
            if isinstance(found, Producer):
                return found
            logger.warning("%s; the brokers will not refuse what an earlier owner writes, readers skip it", found.text)
        return await self._slot.init_producer_id(None, None)

    async def _of_transactional_id(self, transactional_id: str) -> Producer | Refused:
        give_up_ms = self._now_ms() + self._settings.patience_ms
        while True:
            answer: Producer | Refused | int = await self._within(
                self._slot.find_transaction_coordinator(transactional_id), give_up_ms
            )
            if isinstance(answer, int):
                answer = await self._within(self._slot.init_producer_id(answer, transactional_id), give_up_ms)
            if isinstance(answer, Producer):
                return answer
            if self._now_ms() + self._settings.retry_ms >= give_up_ms or not _may_change(answer):
                return answer
            await sleep(self._env.clock, self._settings.retry_ms)

    async def _within(self, answer: Pending[T | Refused], by_ms: int) -> T | Refused:
        """Return an answer, or a refusal if there is none by `by_ms`."""
        first: Pending[T | Refused] = Pending()

        def arrived(value: T | Refused) -> None:
            if not first.done:
                first.complete(value)

        late = Refused(f"{self._slot.name}: no producer for its transactional id in {self._settings.patience_ms} ms")
        timer = self._env.clock.call_at(by_ms, lambda: arrived(late))
        answer.on_complete(arrived)
        value = await first
        timer.cancel()
        return value

    def _now_ms(self) -> int:
        return self._env.clock.now_ms()


def _may_change(refused: Refused) -> bool:
    """Return True if the same request may succeed later."""
    if refused.error is not None:
        return is_retriable(refused.error)
    return refused.failure in (Failure.NOT_SENT, Failure.LOST)
