"""The slots that this node takes over and gives up, according to its events.

    the map (`slots.py`) names a slot as its   -> take it over
    the map names it as another's              -> give it up
    its log is over, or a take-over failed     -> wait for a heartbeat; if the map still names this node: take it over

The last rule is for a zombie, a node that was suspended while the others continued without it. If it trusted the map in
its memory, it would take the slot back from its successor, which would notice only at its next append, take it over
again, and so on. Only a successful heartbeat that was sent after the loss shows that the node is a member of the
generation whose map it has. A SyncGroup shows it, too, because it brings the map.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import Final, Protocol

from shareq.cluster.membership.lease import Leases
from shareq.cluster.membership.nodes import NodeMap, SlotId


class Slots(Protocol):
    """The part of a node that takes slots over and gives them up."""

    def take_over(self, slot: SlotId) -> None:
        """Begin a take-over. `Ownership.taken_over` or `Ownership.lost` is called at its end."""

    def give_up(self, slot: SlotId) -> None:
        """Stop serving the slot, and end a take-over that is under way. Nothing is called back."""

    def hear_soon(self) -> None:
        """Have a heartbeat sent now, because a lost slot waits for its success."""


class _Stage(Enum):
    TAKING = 0
    OWNED = 1
    LOST = 2  # to be taken over again once the membership was heard of


class Ownership:
    """The slots that the last map assigns to this node, and the stage of each: being taken over, owned, or lost."""

    def __init__(self, slots: Slots, leases: Leases) -> None:
        self.leases: Final = leases
        self._slots = slots
        self._stages: dict[SlotId, _Stage] = {}
        self._generations: dict[SlotId, int] = {}  # of the slots that are owned
        self._beats = 0
        self._lost_at: dict[SlotId, int] = {}  # number of the last heartbeat that was sent before it was lost

    # -- what is heard

    def on_map(self, member_id: str, node_map: NodeMap, heard: Callable[[], None]) -> None:
        """Apply the map of a new generation. `heard` is what `attempt` returned before the map was requested."""
        mine = node_map.slots_of(member_id)
        for slot in [slot for slot in self._stages if slot not in mine]:
            stage = self._stages.pop(slot)
            self._forget(slot)
            if stage is not _Stage.LOST:
                self._slots.give_up(slot)
        heard()
        for slot in sorted(mine - self._stages.keys()):
            self._begin(slot)

    def attempt(self) -> Callable[[], None]:
        """Note that a Heartbeat or SyncGroup is sent now; return a function to call if it succeeds."""
        self._beats += 1
        beat = self._beats
        proved = self.leases.attempt()

        def heard() -> None:
            proved()
            for slot, lost_at in list(self._lost_at.items()):
                if beat > lost_at:
                    self._begin(slot)

        return heard

    def taken_over(self, slot: SlotId, generation: int) -> None:
        """Note that a slot was taken over and is served."""
        if self._stages.get(slot) is _Stage.TAKING:
            self._stages[slot] = _Stage.OWNED
            self._generations[slot] = generation

    def lost(self, slot: SlotId) -> None:
        """Note that a slot's log is over, or that its take-over has failed."""
        if slot in self._stages and self._stages[slot] is not _Stage.LOST:
            self._stages[slot] = _Stage.LOST
            self._forget(slot)
            self._lost_at[slot] = self._beats
            self._slots.hear_soon()

    # -- what follows

    @property
    def holds(self) -> Mapping[SlotId, int]:
        """The owned slots with their generations. The node reports them when it joins."""
        return self._generations

    @property
    def mine(self) -> Collection[SlotId]:
        """The slots that the last map assigns to this node."""
        return self._stages.keys()

    def still_wanted(self, slot: SlotId) -> bool:
        """Return True if a take-over under way may continue: the map still assigns the slot to this node, and a
        successful heartbeat was sent within the last lease.
        """
        return self._stages.get(slot) is _Stage.TAKING and self.leases.is_member

    def may_hand_out(self, slot: SlotId) -> bool:
        """Return True if records of a slot may be handed out."""
        return slot in self._generations and self.leases.may_hand_out(slot)

    def _begin(self, slot: SlotId) -> None:
        self._lost_at.pop(slot, None)
        self._stages[slot] = _Stage.TAKING
        self._slots.take_over(slot)

    def _forget(self, slot: SlotId) -> None:
        self._generations.pop(slot, None)
        self._lost_at.pop(slot, None)
        self.leases.forget(slot)
