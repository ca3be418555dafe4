"""Limits on the size of answers with records, so that clients which do not take theirs cannot fill the memory.

Records are read into memory before they are sent, up to `fetch.max.bytes` for each connection. Answers that sockets
have not taken are counted over all connections, each whole until its last byte is taken: so long its memory is held.

* An answer may fill one half of the remaining total. So a few slow clients get whole answers, many get smaller ones.
* When three quarters are held, nothing more is read for anybody (`has_room`): fetches wait, and connections that
  took
  less than `LEAST_BYTES` in `STALL_MS` are closed. They are looked at only then, and not all at once.
* The last quarter is for answers of other kinds. When more than the total is held, the connection checked least
  recently is closed, first those that accepted nothing.

So never more is held than the total and one answer.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final, Protocol

from shareq.broker.foundation.environment import Clock

TOTAL_BYTES: Final = 256 * 1024 * 1024
LEAST_BYTES: Final = 64 * 1024  # the least that is granted; also the least that an active client accepts
STALL_MS: Final = 1_000
ROOM_WAIT_MS: Final = 100  # the interval at which fetches without room look again, and connections are checked
LARGE_BYTES: Final = 32 * 1024 * 1024  # freed memory of so much is worth giving back
LOOKS: Final = 256  # connections that are looked at in one go


class Holder(Protocol):
    """A connection, as the budget sees it."""

    def untaken(self) -> int:
        """Return the bytes that its client has not accepted."""

    def give_way(self, reason: str) -> None:
        """Close the connection at once, without sending the rest. The reason is logged."""


class Count(Protocol):
    """A budget that reports when it is large."""

    was_large: bool
    on_large: Callable[[], None] | None


def note_large(budget: Count) -> None:
    """Note that more than `LARGE_BYTES` are held."""
    budget.was_large = True
    if budget.on_large is not None:
        budget.on_large()


class _Look:
    """The last check of one connection's answers. `untaken` is None before the first one; `since_ms` is its time."""

    __slots__ = ("held", "since_ms", "untaken")

    def __init__(self, held: int, untaken: int | None = None, since_ms: int = 0) -> None:
        self.held = held
        self.untaken = untaken
        self.since_ms = since_ms


class AnswerBudget:
    """The count of bytes read for clients that have not accepted them. Owned by the broker, on the loop's thread."""

    __slots__ = (
        "_clock",
        "_collected",
        "_for_records",
        "_holders",
        "_next_look_ms",
        "_read",
        "_total",
        "_untaken",
        "on_large",
        "was_large",
    )

    def __init__(self, clock: Clock, total_bytes: int = TOTAL_BYTES) -> None:
        self._clock = clock
        self._total = total_bytes
        self._for_records = total_bytes // 4 * 3
        self._untaken = 0
        self._read = 0
        self._collected = 0  # for answers that are read in several turns
        self._holders: dict[Holder, _Look] = {}  # those that were not looked at, or longest ago, come first
        self._next_look_ms = 0
        self.was_large = False
        self.on_large: Callable[[], None] | None = None  # called while much is held

    @property
    def held(self) -> int:
        """The bytes held for clients that have not accepted them."""
        return self._untaken + self._read + self._collected

    def has_room(self) -> bool:
        """Return True if another answer with records may be read.

        If not, the caller asks again `ROOM_WAIT_MS` later.
        """
        if self.held < self._for_records:
            return True
        self._close_stalled()
        return self.held < self._for_records

    def grant(self) -> int:
        """Return how many bytes of records the next answer may have. The first batch is sent whatever its size."""
        return max(LEAST_BYTES, (self._total - self.held) // 2)

    def collect(self, change: int) -> None:
        """Add `change` bytes, which may be negative, to those read for answers that are completed in later turns."""
        self._collected += change

    def note_read(self, size: int) -> None:
        """Count bytes read for an answer, until its socket reports how many of them it accepted."""
        if size > LEAST_BYTES:
            if not self._read:
                self._clock.call_soon(self._forget_read)
            self._read += size
            if self.held >= LARGE_BYTES:
                note_large(self)

    def note_unsent(self, holder: Holder, held: int) -> None:
        """Note that a connection holds answers of that many bytes that its client has not accepted. Others may be
        closed.
        """
        look = self._holders.get(holder)
        if look is None:
            if held:
                self._untaken += held
                self._holders[holder] = _Look(held)
        else:
            change = held - look.held
            self._untaken += change
            if not held:
                del self._holders[holder]
            elif look.untaken is not None:
                look.untaken += change
            look.held = held
        while self._untaken > self._total and self._close_first(holder):
            pass

    def _forget_read(self) -> None:
        self._read = 0

    def _close_stalled(self) -> None:
        """Check connections that hold answers, beginning with those never checked, and close the stalled ones."""
        now = self._clock.now_ms()
        if now < self._next_look_ms:
            return
        self._next_look_ms = now + ROOM_WAIT_MS
        for holder in list(islice(self._holders, LOOKS)):
            look = self._holders[holder]
            if look.untaken is not None and now - look.since_ms < STALL_MS:
                return  # the others were looked at later
            untaken = holder.untaken()
            if look.untaken is not None and look.untaken - untaken < LEAST_BYTES:
                self._close(holder, f"{look.untaken - untaken} taken in {now - look.since_ms} ms")
            else:
                del self._holders[holder]
                self._holders[holder] = _Look(look.held, untaken, now)

    def _close_first(self, but: Holder) -> bool:
        """Close one connection other than `but`. Return False if there is none."""
        others = [holder for holder in islice(self._holders, 9) if holder is not but]
        if not others:
            return False
        looks = ((holder, self._holders[holder].untaken) for holder in others)
        idle = (holder for holder, untaken in looks if untaken is not None and holder.untaken() >= untaken)
        self._close(next(idle, others[0]), "all answers together are too many")
        return True

    def _close(self, holder: Holder, why: str) -> None:
        held = self._holders.pop(holder).held
        self._untaken -= held
        holder.give_way(f"answers of {held} bytes that its client does not take give way to others: {why}")
