"""Leases: proofs of ownership, and their expiry without proofs."""

from __future__ import annotations

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.cluster.membership.lease import LEASE_MS, Leases, LeaseWatch
from shareq.cluster.membership.nodes import SlotId

SLOT, OTHER = SlotId("__shareq_state", 0), SlotId("__shareq_state", 1)


class World:
    """A node's leases, on a clock that counts suspension, and its slots."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.suspended_ms = 0
        self.leases = Leases(self)
        self.owned = [SLOT]
        self.alive: list[SlotId] = []
        self.cut_off: list[bool] = []
        self.watch = LeaseWatch(self.clock, self.leases, lambda: self.owned, self.alive.append, self.cut_off.append)

    def now_ms(self) -> int:
        return self.clock.now_ms() + self.suspended_ms

    def prove(self, slot: SlotId | None = None) -> None:
        self.leases.attempt(slot)()


def test_nothing_is_handed_out_before_a_proof() -> None:
    assert not World().leases.may_hand_out(SLOT)


def test_a_heartbeat_proves_all_slots_and_an_append_its_own() -> None:
    world = World()
    world.prove(SLOT)
    assert world.leases.may_hand_out(SLOT)
    assert not world.leases.may_hand_out(OTHER)
    world.prove()
    assert world.leases.may_hand_out(OTHER)
    assert world.leases.is_member


def test_a_lease_ends_without_proofs_and_either_kind_renews_it() -> None:
    world = World()
    world.prove()
    world.clock.advance(LEASE_MS - 1)
    assert world.leases.may_hand_out(SLOT)
    world.prove(SLOT)
    world.clock.advance(1)
    assert world.leases.may_hand_out(SLOT)
    assert not world.leases.may_hand_out(OTHER)
    assert not world.leases.is_member
    world.clock.advance(LEASE_MS - 1)
    assert not world.leases.may_hand_out(SLOT)


def test_a_proof_is_as_old_as_its_request() -> None:
    """The process may have stopped while the answer lay in its socket."""
    world = World()
    for slot in (None, SLOT):
        proved = world.leases.attempt(slot)
        world.clock.advance(LEASE_MS)
        proved()
        assert not world.leases.may_hand_out(SLOT)
        assert not world.leases.is_member


def test_answers_in_another_order_make_no_proof_older() -> None:
    world = World()
    first, member = world.leases.attempt(SLOT), world.leases.attempt()
    world.clock.advance(LEASE_MS - 1)
    world.prove(SLOT)
    world.prove()
    first()
    member()
    world.clock.advance(1)
    assert world.leases.may_hand_out(SLOT)
    assert world.leases.is_member


def test_a_machine_that_was_suspended_has_no_lease() -> None:
    world = World()
    world.prove()
    world.prove(SLOT)
    world.suspended_ms += LEASE_MS
    assert not world.leases.may_hand_out(SLOT)


def test_a_slot_that_was_lost_is_proved_by_nothing_that_it_appended() -> None:
    world = World()
    world.prove(SLOT)
    world.leases.forget(SLOT)
    assert not world.leases.may_hand_out(SLOT)


def test_an_idle_slot_without_heartbeats_says_that_it_is_alive() -> None:
    world = World()
    for _ in range(10):
        world.prove()
        world.clock.advance(500)
    assert world.alive == []
    world.clock.advance(LEASE_MS // 2)
    assert world.alive == [SLOT]


def test_a_node_without_any_proof_for_a_lease_is_cut_off_until_one_comes() -> None:
    world = World()
    world.clock.advance(100)
    world.prove()
    world.clock.advance(LEASE_MS - 1)
    assert world.cut_off == []
    assert not world.leases.is_cut_off
    world.clock.advance(1)
    assert world.cut_off == [True], "when the lease ends, for another has the slots by now"
    late = world.leases.attempt(OTHER)
    world.clock.advance(3 * LEASE_MS)
    late()
    assert world.cut_off == [True], "it is as old as its request"
    world.prove(OTHER)
    assert world.cut_off == [True, False]
    world.clock.advance(LEASE_MS // 4)
    assert world.cut_off == [True, False]


def test_a_node_that_begins_is_not_cut_off_at_once() -> None:
    world = World()
    world.clock.advance(2 * LEASE_MS - 1)
    assert world.cut_off == []
    world.clock.advance(1)
    assert world.cut_off == [True]


def test_a_watch_that_is_closed_looks_no_more() -> None:
    world = World()
    world.watch.close()
    world.clock.advance(10 * LEASE_MS)
    assert world.cut_off == []
    assert world.alive == []
