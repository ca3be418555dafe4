from __future__ import annotations

from collections.abc import Callable

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.cluster.membership.lease import LEASE_MS, Leases
from shareq.cluster.membership.nodes import NodeMap, SlotId
from shareq.cluster.membership.ownership import Ownership

A, B = SlotId("__shareq_state", 0), SlotId("__shareq_state", 1)


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.done: list[tuple[str, SlotId | None]] = []
        self.ownership = Ownership(self, Leases(self.clock))

    def take_over(self, slot: SlotId) -> None:
        self.done.append(("take over", slot))

    def give_up(self, slot: SlotId) -> None:
        self.done.append(("give up", slot))

    def hear_soon(self) -> None:
        self.done.append(("hear", None))

    def news(self) -> list[tuple[str, SlotId | None]]:
        done, self.done = self.done, []
        return done

    def map(self, heard: Callable[[], None] | None = None, **owners: str) -> None:
        """Deliver a map. `heard`: the attempt that requested it, if it began earlier."""
        node_map = NodeMap({}, {{"a": A, "b": B}[slot]: owner for slot, owner in owners.items()})
        self.ownership.on_map("me", node_map, heard or self.ownership.attempt())


def owning() -> World:
    world = World()
    world.map(a="me", b="other")
    world.ownership.taken_over(A, 3)
    world.news()
    return world


def test_the_map_decides() -> None:
    world = World()
    world.map(a="me", b="other")
    assert world.news() == [("take over", A)]
    assert world.ownership.holds == {}
    world.ownership.taken_over(A, 3)
    assert world.ownership.holds == {A: 3}
    world.map(a="me", b="me")
    assert world.news() == [("take over", B)]
    world.map(a="other", b="other")
    assert world.news() == [("give up", A), ("give up", B)]
    assert world.ownership.holds == {}


def test_a_slot_that_was_lost_is_taken_over_after_a_heartbeat() -> None:
    world = owning()
    world.ownership.lost(A)
    assert world.news() == [("hear", None)]
    assert world.ownership.holds == {}
    world.ownership.attempt()()
    assert world.news() == [("take over", A)]
    world.ownership.taken_over(A, 4)
    assert world.ownership.holds == {A: 4}


def test_a_heartbeat_that_was_sent_before_the_loss_says_nothing() -> None:
    world = owning()
    heard = world.ownership.attempt()
    world.ownership.lost(A)
    world.news()
    heard()
    assert world.news() == []


def test_a_zombie_does_not_take_back_what_the_map_gives_to_another() -> None:
    world = owning()
    world.ownership.lost(A)
    world.news()
    world.map(a="other", b="other")
    world.ownership.attempt()()
    assert world.news() == []


def test_a_map_that_was_asked_for_after_the_loss_is_as_good() -> None:
    world = owning()
    heard = world.ownership.attempt()
    world.ownership.lost(A)
    world.news()
    world.map(heard, a="me", b="other")
    assert world.news() == []
    world.map(a="me", b="other")
    assert world.news() == [("take over", A)]


def test_a_take_over_that_failed_is_tried_again_after_a_heartbeat() -> None:
    world = World()
    world.map(a="me")
    world.ownership.lost(A)
    world.ownership.lost(A)
    assert world.news() == [("take over", A), ("hear", None)]
    world.ownership.attempt()()
    assert world.news() == [("take over", A)]


def test_news_of_a_slot_that_is_another_nodes_by_now_change_nothing() -> None:
    world = owning()
    world.map(a="other")
    world.ownership.taken_over(A, 9)
    world.ownership.lost(A)
    assert world.news() == [("give up", A)]
    assert world.ownership.holds == {}


def test_a_take_over_does_not_go_on_after_the_process_stood_still() -> None:
    world = World()
    world.map(a="me")
    assert world.ownership.still_wanted(A)
    assert not world.ownership.still_wanted(B)
    world.clock.advance(LEASE_MS)
    assert not world.ownership.still_wanted(A)


def test_records_are_handed_out_by_owners_with_a_lease() -> None:
    world = owning()
    assert world.ownership.may_hand_out(A)
    assert not world.ownership.may_hand_out(B)
    world.clock.advance(LEASE_MS)
    assert not world.ownership.may_hand_out(A)
    world.ownership.attempt()()
    assert world.ownership.may_hand_out(A)
    world.ownership.lost(A)
    assert not world.ownership.may_hand_out(A)
