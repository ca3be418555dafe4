"""What must be true of a topic and its share groups, kept apart from the broker: every answer is entered and judged.

The invariants: one owner per acquired record; the start offset never moves back; the delivery count grows and stays
within the limit while that is not lowered; an answered ACCEPT or REJECT is never delivered again; what was acquired
once is delivered until it is terminal; what was answered to producers is in the log, once, and is what is delivered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

Place = tuple[int, int]  # partition, offset


class InvariantBroken(AssertionError):
    """The broker did what it must never do."""


@dataclass
class TopicLedger:
    """All that producers and consumers know of one topic's records."""

    sent: set[bytes] = field(default_factory=set)  # every value that was ever sent; no two records have the same
    values: dict[Place, bytes] = field(default_factory=dict)  # answered or delivered: cannot change any more
    answered: set[Place] = field(default_factory=set)

    def on_produced(self, partition: int, base_offset: int, values: list[bytes]) -> None:
        """The produce request was answered: these records exist from now on."""
        for index, value in enumerate(values):
            self.answered.add((partition, base_offset + index))
            self._at((partition, base_offset + index), value)

    def on_delivered(self, place: Place, value: bytes | None) -> None:
        """A consumer has been given the record."""
        if value is None:
            raise InvariantBroken(f"{place} was delivered without a value")
        self._at(place, value)

    def on_read(self, partition: int, log_start: int, end: int, found: Mapping[int, bytes | None]) -> None:
        """All that the partition's log holds, from `log_start` to `end` (exclusive)."""
        if sorted(found) != list(range(log_start, end)):
            raise InvariantBroken(f"partition {partition} has offsets {sorted(found)}, not {log_start} to {end}")
        for offset, value in found.items():
            if value not in self.sent:
                raise InvariantBroken(f"{(partition, offset)} holds {value!r}, which nobody sent")
        twice = [value for value, times in Counter(found.values()).items() if times > 1]
        if twice:
            raise InvariantBroken(f"partition {partition} holds {twice} more than once")
        for place, value in self.values.items():
            if place[0] == partition and place[1] >= log_start and found.get(place[1]) != value:
                raise InvariantBroken(f"{place} holds {found.get(place[1])!r}, answered or delivered was {value!r}")

    def _at(self, place: Place, value: bytes) -> None:
        if value not in self.sent:
            raise InvariantBroken(f"{place} is {value!r}, which nobody sent")
        if self.values.setdefault(place, value) != value:
            raise InvariantBroken(f"{place} is {value!r} now, it was {self.values[place]!r}")


@dataclass
class Hold:
    """A record in a member's hands, until `deadline_ms` at the latest."""

    member_id: str
    deadline_ms: int


@dataclass
class GroupLedger:
    """All that clients know of one share group on one topic."""

    topic: TopicLedger
    earliest: bool  # the group starts at the log start, so every record is due; else only what follows the first one
    limit: int  # deliveries of a record, as configured now
    highest_limit: int = 0  # that it ever was
    holds: dict[Place, Hold] = field(default_factory=dict)
    finished: set[Place] = field(default_factory=set)  # an ACCEPT or REJECT was answered
    maybe_finished: Counter[Place] = field(default_factory=Counter)  # those sent of which the outcome is not known
    at_limit: set[Place] = field(default_factory=set)  # delivered as often as it may be, so perhaps archived
    times: Counter[Place] = field(default_factory=Counter)  # how often each was delivered
    counts: dict[Place, int] = field(default_factory=dict)  # the last delivery count
    counted_by: dict[Place, object] = field(default_factory=dict)  # the leader that counted it
    start_offsets: dict[int, int] = field(default_factory=dict)
    persisted: dict[int, int] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.highest_limit = self.limit

    # -- delivery

    def on_limit(self, limit: int) -> None:
        """The delivery count limit was changed; what has been delivered so often already may be archived."""
        self.limit = limit
        self.highest_limit = max(self.highest_limit, limit)
        self.at_limit.update(place for place, count in self.counts.items() if count >= limit)

    def on_delivered(
        self,
        member_id: str,
        place: Place,
        count: int,
        value: bytes | None,
        *,
        now_ms: int,
        deadline_ms: int,
        leader: object,
        certain: bool,
    ) -> None:
        """The record is in an answer to `member_id`, for the `count`-th time.

        `leader` counted it; None: not known. `certain`: no failed state write can turn out to be durable after all.
        """
        self.topic.on_delivered(place, value)
        if place in self.finished:
            raise InvariantBroken(f"{place} was delivered to {member_id} after an answered ACCEPT or REJECT")
        if not 1 <= count <= self.highest_limit:
            raise InvariantBroken(f"{place} has delivery count {count}, the limit is {self.highest_limit}")
        if leader is not None and self.counted_by.get(place) is leader and count <= self.counts[place]:
            raise InvariantBroken(f"{place} has delivery count {count} after {self.counts[place]}")
        hold = self.holds.get(place)
        if hold is not None and now_ms < hold.deadline_ms:
            raise InvariantBroken(
                f"{place} was delivered to {member_id} at {now_ms}, held by {hold.member_id} until {hold.deadline_ms}"
            )
        self.seen["locks that ran out"] += hold is not None
        self.seen["deliveries"] += 1
        self.seen["redeliveries"] += place in self.times
        self.holds[place] = Hold(member_id, deadline_ms)
        self.times[place] += 1
        self.counts[place] = count
        self.counted_by[place] = leader
        if certain:
            self.maybe_finished.pop(place, None)  # whatever was sent before has had no effect
        if count >= self.limit:
            self.at_limit.add(place)
        else:
            self.at_limit.discard(place)

    def on_delivery_lost(self, place: Place, count: int) -> None:
        """A member holds the record for the `count`-th time, perhaps without ever having got the answer."""
        self.counts[place] = count
        if count >= self.limit:
            self.at_limit.add(place)

    # -- acknowledging

    def on_sent(self, place: Place, finishes: bool, renews: bool) -> int:
        """An acknowledgement is on its way: it may take effect from now on, answered or not. Returns what its outcome
        is to be told with."""
        if not renews:
            self.holds.pop(place, None)
        if finishes:
            self.maybe_finished[place] += 1
        return self.times[place]

    def on_acknowledged(self, place: Place, finishes: bool, sent: int) -> None:
        """The acknowledgement was answered without an error."""
        if finishes:
            if self.times[place] != sent:
                raise InvariantBroken(f"{place} was delivered again before its ACCEPT or REJECT was answered")
            self.finished.add(place)

    def on_refused(self, place: Place, finishes: bool, sent: int) -> None:
        """It was answered with an error of the client's making: it had no effect."""
        if finishes and self.times[place] == sent:
            self.maybe_finished[place] -= 1

    def on_renewed(self, place: Place, member_id: str, deadline_ms: int) -> None:
        """The lock runs anew."""
        self.seen["renewals"] += 1
        hold = self.holds.get(place)
        if hold is not None and hold.member_id == member_id:
            hold.deadline_ms = deadline_ms

    def on_given_back(self, member_id: str) -> None:
        """The member's session ends: it may lose what it holds at any time."""
        self.holds = {place: hold for place, hold in self.holds.items() if hold.member_id != member_id}

    def on_restart(self) -> None:
        """Locks are not durable."""
        self.holds.clear()
        self.start_offsets.clear()
        self.counted_by.clear()

    # -- looking inside

    def on_start_offset(self, partition: int, start_offset: int) -> None:
        """The leader's start offset, seen after a step."""
        before = max(self.start_offsets.get(partition, -1), self.persisted.get(partition, -1))
        if start_offset < before:
            raise InvariantBroken(f"start offset of partition {partition} moved back from {before} to {start_offset}")
        self.start_offsets[partition] = start_offset

    def on_leader_gone(self, partition: int) -> None:
        """The next leader begins at what is persisted."""
        self.start_offsets.pop(partition, None)

    def on_persisted_start(self, partition: int, start_offset: int) -> None:
        """The start offset that is durable, or that a restart found."""
        before = self.persisted.get(partition, -1)
        if start_offset < before:
            raise InvariantBroken(f"persisted start of partition {partition} went back from {before} to {start_offset}")
        self.persisted[partition] = start_offset

    # -- the end

    def check_all_finished(self, log_starts: Mapping[int, int]) -> None:
        """After everything was drained: nothing that was due is missing."""
        first: dict[int, int] = {}
        for partition, offset in self.times:
            first[partition] = min(offset, first.get(partition, offset))
        for place in self.topic.values:
            partition, offset = place
            due = offset >= log_starts[partition] and (
                self.earliest or (partition in first and offset >= first[partition])
            )
            if due and not (place in self.finished or self.maybe_finished[place] > 0 or place in self.at_limit):
                seen = "delivered before" if place in self.times else "never delivered"
                raise InvariantBroken(f"{place} is lost: not finished, not at the delivery limit, {seen}")
        self.seen["given up at the limit"] += len(self.at_limit - self.finished)
