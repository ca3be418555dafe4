"""What must be true of share groups, kept apart from the broker: every answer it gives is entered and judged here.

The invariants: one owner per acquired record; the start offset never moves back; the delivery count stays within the
limit; an answered ACCEPT or REJECT is never delivered again; what was acquired once is delivered until it is terminal;
what is delivered is what was produced.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

Place = tuple[int, int]  # partition, offset


class InvariantBroken(AssertionError):
    """The broker did what it must never do."""


@dataclass
class Hold:
    """A record in a member's hands, until `deadline_ms` at the latest."""

    member_id: str
    deadline_ms: int


@dataclass
class Ledger:
    """All that clients know of one share group on one topic."""

    delivery_count_limit: int
    earliest: bool  # the group starts at the log start, so every record is due; else only what follows the first one
    produced: dict[Place, bytes] = field(default_factory=dict)  # answered
    sent: set[bytes] = field(default_factory=set)  # every value that was ever sent
    holds: dict[Place, Hold] = field(default_factory=dict)
    finished: set[Place] = field(default_factory=set)  # an ACCEPT or REJECT was answered
    maybe_finished: Counter[Place] = field(
        default_factory=Counter
    )  # how many were sent, and the answer was lost or an error of the broker's
    at_limit: set[Place] = field(default_factory=set)  # delivered as often as it may be
    delivered: set[Place] = field(default_factory=set)
    start_offsets: dict[int, int] = field(default_factory=dict)
    persisted: dict[int, int] = field(default_factory=dict)
    deliveries: int = 0
    redeliveries: int = 0

    # -- producing

    def on_produced(self, partition: int, base_offset: int, values: list[bytes]) -> None:
        """The produce request was answered: these records exist from now on."""
        for index, value in enumerate(values):
            place = (partition, base_offset + index)
            if self.produced.get(place, value) != value:
                raise InvariantBroken(f"offset {place} was given out twice")
            self.produced[place] = value

    # -- delivery

    def on_delivered(
        self, member_id: str, place: Place, count: int, value: bytes | None, now_ms: int, deadline_ms: int
    ) -> None:
        """The record is in an answer to `member_id`, for the `count`-th time."""
        if value is not None and (value not in self.sent or self.produced.get(place, value) != value):
            raise InvariantBroken(f"{place} was delivered as {value!r}, produced was {self.produced.get(place)!r}")
        if place in self.finished:
            raise InvariantBroken(f"{place} was delivered to {member_id} after an answered ACCEPT or REJECT")
        if not 1 <= count <= self.delivery_count_limit:
            raise InvariantBroken(f"{place} has delivery count {count}, the limit is {self.delivery_count_limit}")
        hold = self.holds.get(place)
        if hold is not None and now_ms < hold.deadline_ms:
            raise InvariantBroken(
                f"{place} was delivered to {member_id} at {now_ms}, held by {hold.member_id} until {hold.deadline_ms}"
            )
        self.holds[place] = Hold(member_id, deadline_ms)
        self.deliveries += 1
        self.redeliveries += place in self.delivered
        self.delivered.add(place)
        if count == self.delivery_count_limit:
            self.at_limit.add(place)

    # -- acknowledging

    def on_sent(self, place: Place, finishes: bool, renews: bool) -> None:
        """An acknowledgement is on its way: it may take effect from now on, answered or not."""
        if not renews:
            self.holds.pop(place, None)
        if finishes:
            self.maybe_finished[place] += 1

    def on_acknowledged(self, place: Place, finishes: bool) -> None:
        """The acknowledgement was answered without an error."""
        if finishes:
            self.finished.add(place)

    def on_refused(self, place: Place) -> None:
        """It was answered with an error of the client's making: it had no effect."""
        self.maybe_finished[place] -= 1

    def on_renewed(self, place: Place, member_id: str, deadline_ms: int) -> None:
        """The lock runs anew."""
        hold = self.holds.get(place)
        if hold is not None and hold.member_id == member_id:
            hold.deadline_ms = deadline_ms

    def on_given_back(self, member_id: str) -> None:
        """The member's session ends, or the group's broker does: it may lose what it holds at any time."""
        self.holds = {place: hold for place, hold in self.holds.items() if hold.member_id != member_id}

    def on_restart(self) -> None:
        """Locks are not durable."""
        self.holds.clear()
        self.start_offsets.clear()

    # -- looking inside

    def on_start_offset(self, partition: int, start_offset: int) -> None:
        """The leader's start offset, seen after a step."""
        before = self.start_offsets.get(partition, self.persisted.get(partition, -1))
        if start_offset < before:
            raise InvariantBroken(f"start offset of partition {partition} moved back from {before} to {start_offset}")
        self.start_offsets[partition] = start_offset

    def on_persisted_start(self, partition: int, start_offset: int) -> None:
        """The start offset that is durable, or that a restart found."""
        before = self.persisted.get(partition, -1)
        if start_offset < before:
            raise InvariantBroken(f"persisted start of partition {partition} went back from {before} to {start_offset}")
        self.persisted[partition] = start_offset

    # -- the end

    def check_all_finished(self, log_starts: dict[int, int]) -> None:
        """After everything was drained: nothing that was due is missing."""
        first = {partition: min(o for p, o in self.delivered if p == partition) for partition, _ in self.delivered}
        for place in self.produced:
            partition, offset = place
            due = offset >= log_starts[partition] and (
                self.earliest or (partition in first and offset >= first[partition])
            )
            if due and not (place in self.finished or self.maybe_finished[place] > 0 or place in self.at_limit):
                seen = "delivered before" if place in self.delivered else "never delivered"
                raise InvariantBroken(f"{place} is lost: not finished, not at the delivery limit, {seen}")
