"""The time for which a node may hand out records of a slot without a proof that it owns it.

The log decides what is confirmed; a lease only limits how long a node that was deposed without knowing it hands out
records. Any proof renews the lease: a successful heartbeat to the membership, or an append of the slot that got its
expected offset. If only heartbeats counted, all deliveries would stop while the broker that coordinates the membership
is replaced; if only appends counted, deliveries of idle slots would stop. So an idle slot without heartbeats appends a
record without any other meaning.

The age of a proof counts from its request, not from its answer: an answer may have lain in a socket while the process
was suspended.

    a slot without a proof for a lease   none of its records is handed out; acknowledgements still work
    a node without any for a lease       it is cut off: its clients are sent away, to the node that took over meanwhile
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Protocol

from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.loop.timer import Timer
from shareq.cluster.membership.nodes import SlotId

LEASE_MS: Final = 6_000


class LeaseClock(Protocol):
    """A clock that also counts the time in which the machine was suspended: CLOCK_BOOTTIME on Linux.

    `Clock.now_ms` reads CLOCK_MONOTONIC, which stops during a suspension on Linux: with it a node would wake up with
    valid leases. For a stopped process (SIGSTOP) both clocks continue. No clock notices that a hypervisor stopped the
    whole machine; safety does not depend on leases.
    """

    def now_ms(self) -> int:
        """Return milliseconds from an arbitrary start; the value never decreases."""


class Leases:
    """The proofs of ownership of one node. `lease_ms`: `shareq.cluster.lease.ms`. `on_proof` is called after each
    proof.
    """

    def __init__(self, clock: LeaseClock, lease_ms: int = LEASE_MS) -> None:
        self.lease_ms: Final = lease_ms
        self.on_proof: Callable[[], None] = lambda: None
        self._clock = clock
        self._member_at: int | None = None  # when the last heartbeat was sent that succeeded
        self._owner_at: dict[SlotId, int] = {}  # when the last append was sent that got its offset
        self._last: int | None = None  # of all proofs
        self._begins_by = clock.now_ms() + lease_ms  # a node that begins has two leases for its first proof

    def attempt(self, slot: SlotId | None = None) -> Callable[[], None]:
        """Note the time before an append of a slot, or a heartbeat, is sent; return a function to call if it
        succeeds.
        """
        sent = self._clock.now_ms()

        def proved() -> None:
            self._last = sent if self._last is None else max(self._last, sent)
            if slot is None:
                self._member_at = sent if self._member_at is None else max(self._member_at, sent)
            else:
                self._owner_at[slot] = max(self._owner_at.get(slot, sent), sent)
            self.on_proof()

        return proved

    def forget(self, slot: SlotId) -> None:
        """Drop the youngest proof of a slot that is no longer owned."""
        self._owner_at.pop(slot, None)

    def may_hand_out(self, slot: SlotId) -> bool:
        """Return True if the slot has a proof that is younger than a lease."""
        age = self.age_ms(slot)
        return age is not None and age < self.lease_ms

    def age_ms(self, slot: SlotId) -> int | None:
        """Return the milliseconds since the slot's youngest proof; None if it has none."""
        proofs = [each for each in (self._member_at, self._owner_at.get(slot)) if each is not None]
        return self._clock.now_ms() - max(proofs) if proofs else None

    @property
    def is_member(self) -> bool:
        """Return True if a successful heartbeat was sent within the last `lease_ms`."""
        return self._member_at is not None and self._clock.now_ms() - self._member_at < self.lease_ms

    @property
    def is_cut_off(self) -> bool:
        """Return True if there was no proof of any kind within the last `lease_ms`."""
        return self.left_ms <= 0

    @property
    def left_ms(self) -> int:
        """Return the milliseconds until the node counts as cut off if no proof comes; zero or negative once it does."""
        last = self._begins_by if self._last is None else self._last
        return last + self.lease_ms - self._clock.now_ms()


class LeaseWatch:
    """The timer of the leases, which has slots append a sign of life if heartbeats are missing.

    When the node's lease ends, it calls `on_cut_off`; when a proof renews the lease, it does so before anything else
    that the proof allows, because the node leads the slots that it takes over then. `Leases` is asked before each
    delivery.
    """

    def __init__(
        self,
        clock: Clock,
        leases: Leases,
        owned: Callable[[], Iterable[SlotId]],
        say_alive: Callable[[SlotId], None],
        on_cut_off: Callable[[bool], None],
    ) -> None:
        """Start the timer. `on_cut_off` is called with True when the node is cut off, with False when it has a lease
        again.
        """
        self.is_cut_off = False
        self._clock = clock
        self._leases = leases
        self._owned = owned
        self._say_alive = say_alive
        self._on_cut_off = on_cut_off
        self._timer = Timer(clock)
        leases.on_proof = self._proved
        self._arm()

    def close(self) -> None:
        """Stop the timer."""
        self._timer.stop()

    def _arm(self) -> None:
        quarter, left = self._leases.lease_ms // 4, self._leases.left_ms
        self._timer.after(min(left, quarter) if left > 0 else quarter, self._look)

    def _look(self) -> None:
        self._arm()
        for slot in list(self._owned()):
            age = self._leases.age_ms(slot)
            if age is None or age * 2 >= self._leases.lease_ms:
                self._say_alive(slot)
        self._compare()

    def _proved(self) -> None:
        if self.is_cut_off:
            self._compare()

    def _compare(self) -> None:
        if self._leases.is_cut_off is not self.is_cut_off:
            self.is_cut_off = not self.is_cut_off
            self._on_cut_off(self.is_cut_off)
