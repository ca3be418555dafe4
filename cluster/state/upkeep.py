"""The records that an owner writes so that the brokers do not forget its producer.

They forget a producer that has written nothing for a day (`producer.id.expiration.ms`): they would then accept batches
of the epoch before it. They also forget a transactional id that has begun no transaction for a week, whatever was
written (`transactional.id.expiration.ms`): its next owner would get a producer id that fences no owner before it. So an
owner appends a sign of life to a slot that has been idle for half an hour. Every owner, idle or busy, changes to a new
producer once a day, because a transactional id without a new transaction expires even while its producer writes.
Neither affects which records count.

An idle owner notices by the same record that another node has taken the slot over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.loop.timer import Timer
from shareq.broker.foundation.pending import Pending
from shareq.cluster.state.fencing import Producer
from shareq.cluster.state.log import SlotLog
from shareq.cluster.state.slot import Refused

ALIVE_INTERVAL_MS: Final = 1_800_000
"""The time between two signs of life: half of the least age of compacted records (`topics.py`), so that a zombie's
records in an idle slot are noticed in time.
"""
PRODUCER_INTERVAL_MS: Final = 86_400_000


class Upkeep:
    """The timer of one log, until the log ends. `new_producer` is that of the slot's `TakeOver`."""

    def __init__(
        self,
        clock: Clock,
        log: SlotLog,
        new_producer: Callable[[], Pending[Producer | Refused]],
        *,
        alive_interval_ms: int = ALIVE_INTERVAL_MS,
        producer_interval_ms: int = PRODUCER_INTERVAL_MS,
    ) -> None:
        self._clock = clock
        self._log = log
        self._new_producer = new_producer
        self._alive_interval_ms = alive_interval_ms
        self._producer_interval_ms = producer_interval_ms
        self._producer_due_ms = clock.now_ms() + producer_interval_ms
        self._asks = False
        self._timer = Timer(clock)
        log.over.on_complete(lambda _reason: self._timer.stop())
        self._arm()

    def _arm(self) -> None:
        if not self._log.is_over:
            self._timer.after(self._alive_interval_ms, self._look)

    def _look(self) -> None:
        self._arm()
        now = self._clock.now_ms()
        if now >= self._producer_due_ms and not self._asks:
            self._asks = True
            self._new_producer().on_complete(self._go_on)
        elif now - self._log.last_append_ms >= self._alive_interval_ms:
            self._log.say_alive()

    def _go_on(self, producer: Producer | Refused) -> None:
        self._asks = False
        if isinstance(producer, Refused):
            self._log.say_alive()  # and asked for again at the next look
            return
        self._producer_due_ms = self._clock.now_ms() + self._producer_interval_ms
        self._log.go_on_as(producer)
