"""The status of an in-flight record; records with the same status share one object.

A transition in progress ("pending") already shows its new state; it also keeps the status to return to when the state
write fails, and the one to settle into when it succeeds.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.share.core.window.record_state import transition
from shareq.protocol.share import TERMINAL, RecordState

NO_DEADLINE: Final = 1 << 62
NO_DELAY: Final = 0


class DeliveryStatus:
    """State, delivery count and lock of a record. Never changed after creation; equal only to itself.

    `owner` is the member that acquired it, "" when none did, and `since_ms` when. `deadline_ms` is when the acquisition
    lock runs out, `NO_DEADLINE` without a lock. `not_before_ms` is when a record that failed may be delivered again,
    `NO_DELAY` when it need not wait. `write_id` is the state write that is awaited, 0 when the status is settled.
    """

    __slots__ = (
        "after",
        "available",
        "before",
        "deadline_ms",
        "delivery_count",
        "done",
        "not_before_ms",
        "owner",
        "since_ms",
        "state",
        "terminal",
        "write_id",
    )

    def __init__(
        self,
        state: RecordState,
        delivery_count: int,
        owner: str = "",
        deadline_ms: int = NO_DEADLINE,
        write_id: int = 0,
        before: DeliveryStatus | None = None,
        after: DeliveryStatus | None = None,
        not_before_ms: int = NO_DELAY,
        since_ms: int = 0,
    ) -> None:
        self.state = state
        self.delivery_count = delivery_count
        self.owner = owner
        self.deadline_ms = deadline_ms
        self.write_id = write_id
        self.before = before
        self.after = after
        self.not_before_ms = not_before_ms
        self.since_ms = since_ms
        self.terminal = state in TERMINAL
        self.done = self.terminal and not write_id  # terminal, and nothing can take that back
        self.available = state is RecordState.AVAILABLE and not write_id and not not_before_ms  # may be acquired

    def __repr__(self) -> str:
        pending = f", write {self.write_id}" if self.write_id else ""
        return f"DeliveryStatus({self.state.name}, count {self.delivery_count}, owner {self.owner!r}{pending})"

    @property
    def lock_deadline_ms(self) -> int:
        """The time when the lock expires that this status has, or will have again if its state write fails."""
        return self.deadline_ms if self.before is None else self.before.deadline_ms

    def acquired(self, owner: str, deadline_ms: int, now_ms: int) -> DeliveryStatus:
        """Return the status of a record delivered once more, to `owner` at `now_ms`, locked until `deadline_ms`."""
        state = transition(self.state, RecordState.ACQUIRED)
        return DeliveryStatus(state, self.delivery_count + 1, owner, deadline_ms, since_ms=now_ms)

    def renewed(self, deadline_ms: int) -> DeliveryStatus:
        """Return the status of a record that its owner still holds, with a new lock deadline (KIP-1222)."""
        return DeliveryStatus(self.state, self.delivery_count, self.owner, deadline_ms, since_ms=self.since_ms)

    def pending(self, state: RecordState, write_id: int, not_before_ms: int = NO_DELAY) -> DeliveryStatus:
        """Return a status with `state` pending: it is final once the state write is durable. An available record then
        waits until `not_before_ms`.
        """
        after = self.moved(state, not_before_ms)
        return DeliveryStatus(state, self.delivery_count, write_id=write_id, before=self, after=after)

    def moved(self, state: RecordState, not_before_ms: int = NO_DELAY) -> DeliveryStatus:
        """Return a status in `state`, effective at once, as after lock expiry.

        An available record waits until `not_before_ms`.
        """
        state = transition(self.state, state)
        if not_before_ms and state is RecordState.AVAILABLE:
            return delayed(self.delivery_count, not_before_ms)
        return settled(state, self.delivery_count)

    def archived(self) -> DeliveryStatus:
        """Return the status of a record that is archived, whatever its state, because it has left the log; a pending
        write cannot undo it.
        """
        gone = settled(RecordState.ARCHIVED, self.delivery_count)
        if not self.write_id:
            return gone
        return DeliveryStatus(gone.state, gone.delivery_count, write_id=self.write_id, before=gone, after=gone)


SETTLED: Final[dict[tuple[RecordState, int], DeliveryStatus]] = {}
"""The statuses that `settled` has returned."""


def settled(state: RecordState, delivery_count: int) -> DeliveryStatus:
    """Return the one status that all unowned records in this state with this delivery count share, so that neighbours
    merge.
    """
    key = (state, delivery_count)
    found = SETTLED.get(key)
    if found is None:
        found = SETTLED[key] = DeliveryStatus(state, delivery_count)
    return found


def delayed(delivery_count: int, not_before_ms: int) -> DeliveryStatus:
    """Return the status of a record that is available from `not_before_ms` on, and then becomes `settled`.

    All records of one event should share one object, so that they merge.
    """
    return DeliveryStatus(RecordState.AVAILABLE, delivery_count, not_before_ms=not_before_ms)
