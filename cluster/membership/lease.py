"""The time for which a node may hand out records of a slot without a proof that it owns it.

The log decides what is confirmed; a lease only bounds what a deposed node, which does not know that it is, hands out.
Any proof renews it: a heartbeat to the membership that succeeded, or an append of the slot that got its expected
offset. With heartbeats alone, all deliveries would stop whenever the broker that coordinates the membership is
replaced; with appends alone, those of idle slots. So an idle slot without heartbeats appends a record that has no other
meaning.

A proof is as old as its request, not as its answer: an answer may have lain in a socket while the process stood still.

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

    CLOCK_MONOTONIC there, which `Clock.now_ms` is, stops during a suspension, and a node would wake up with valid
    leases. For a stopped process (SIGSTOP) both clocks continue. No clock notices that a hypervisor stopped the whole
    machine; safety does not depend on leases.
    """

    def now_ms(self) -> int:
        """Milliseconds from an arbitrary start, never backwards."""


class Leases:
    """The proofs of one node. `lease_ms`: `shareq.cluster.lease.ms`. `on_proof` is called behind each of them."""

    def __init__(self, clock: LeaseClock, lease_ms: int = LEASE_MS) -> None:
        self.lease_ms: Final = lease_ms
        self.on_proof: Callable[[], None] = lambda: None
        self._clock = clock
        self._member_at: int | None = None  # when the last heartbeat was sent that succeeded
        self._owner_at: dict[SlotId, int] = {}  # when the last append was sent that got its offset
        self._last: int | None = None  # of all proofs
        self._begins_by = clock.now_ms() + lease_ms  # a node that begins has two leases for its first proof

    def attempt(self, slot: SlotId | None = None) -> Callable[[], None]:
        """Note the time before an append of a slot, or a heartbeat, is sent; call the result if it is a proof."""
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
        """Let appends of a slot that is no longer owned prove nothing."""
        self._owner_at.pop(slot, None)

    def may_hand_out(self, slot: SlotId) -> bool:
        """Return whether the slot has a proof that is younger than a lease."""
        age = self.age_ms(slot)
        return age is not None and age < self.lease_ms

    def age_ms(self, slot: SlotId) -> int | None:
        """Return the age of the slot's youngest proof; None without any."""
        proofs = [each for each in (self._member_at, self._owner_at.get(slot)) if each is not None]
        return self._clock.now_ms() - max(proofs) if proofs else None

    @property
    def is_member(self) -> bool:
        """Return whether a heartbeat that succeeded was sent within a lease."""
        return self._member_at is not None and self._clock.now_ms() - self._member_at < self.lease_ms

    @property
    def is_cut_off(self) -> bool:
        """Return whether there was no proof of any kind for a lease."""
        return self.left_ms <= 0

    @property
    def left_ms(self) -> int:
        """Return the milliseconds until the node is cut off unless a proof comes; zero or negative once it is."""
        last = self._begins_by if self._last is None else self._last
        return last + self.lease_ms - self._clock.now_ms()


class LeaseWatch:
    """The timer of the leases, which has slots without heartbeats append a sign of life.

    It notes the end of the node's lease, which cuts the node off, and the return of the lease, before anything else
    that follows from the proof, because the node leads the slots that it takes over then. `Leases` is asked before each
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
        """Arm the watch. `on_cut_off` is called with true when the node is cut off, with false when it is back."""
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
