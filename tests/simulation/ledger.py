"""The ledger of records and share groups, kept apart from the broker: every answer is entered and judged.

The invariants: one owner per acquired record; the start offset never moves back; the delivery count grows, within the
limit unless that is lowered; an answered ACCEPT or REJECT is never delivered again; an acquired record is delivered
until it is terminal; what was confirmed to producers is in the log once, and is delivered unchanged. An answered
alteration of offsets restarts a partition from its offset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from tests.simulation.errors import InvariantBroken as InvariantBroken
from tests.simulation.key_ledger import KeyLedger
from tests.simulation.waits import Waits

Place = tuple[int, int]  # slot (a partition of one incarnation of a topic), offset

T = TypeVar("T")

CONTROL: Final = b"(control)"  # stands for the record of a control batch


@dataclass(eq=False)
class Transaction:
    """A transaction in one slot. `commits`: the decision, None while it is open; it never changes."""

    slot: int
    commits: bool | None = None
    first_offset: int | None = None  # None: nothing of it was answered yet

    def begins_at(self, offset: int) -> None:
        self.first_offset = offset if self.first_offset is None else min(self.first_offset, offset)


@dataclass
class RecordLedger:
    sent: dict[bytes, int] = field(default_factory=dict)  # every value that was sent, to its slot; no two are the same
    values: dict[int, dict[int, bytes]] = field(default_factory=dict)  # answered or delivered: cannot change any more
    transactions: list[Transaction] = field(default_factory=list)
    transaction_of: dict[bytes, Transaction] = field(default_factory=dict)  # by value
    hit: dict[int, set[int]] = field(default_factory=dict)  # offsets by slot that damage may have cost
    refused: set[bytes] = field(default_factory=set)  # values whose header has no time, or one too far ahead, or over
    expires: Callable[[bytes], bool] = field(default=lambda _value: False)  # the broker may have rejected it as too old

    def on_produced(self, slot: int, base_offset: int, values: list[bytes]) -> None:
        """Record an answered produce request: these records exist from now on."""
        for index, value in enumerate(values):
            self._at((slot, base_offset + index), value)

    def on_delivered(self, place: Place, value: bytes | None) -> None:
        if value is None:
            raise InvariantBroken(f"{place} was delivered without a value")
        self._at(place, value)

    def on_read(
        self,
        slot: int,
        log_start: int,
        end: int,
        found: Mapping[int, bytes | None],
        reported: Sequence[tuple[int, int]],
    ) -> None:
        """Check a slot's whole log, from `log_start` to `end` (exclusive).

        `reported` are the ranges (end exclusive) that reads refused as damaged; records there may be missing.
        """
        hit = self.hit.get(slot, set())
        due = log_start
        for first, after in sorted([*((offset, offset + 1) for offset in found), *reported]):
            if first > due:
                break
            due = max(due, after)
        if due != end:
            raise InvariantBroken(
                f"slot {slot} has offsets {sorted(found)}, not {log_start} to {end}; reported: {reported}"
            )
        for offset, value in found.items():
            if value is not CONTROL and (value is None or self.sent.get(value) != slot):
                raise InvariantBroken(f"{(slot, offset)} holds {value!r}, which nobody sent there")
        twice = [value for value, times in Counter(found.values()).items() if times > 1 and value is not CONTROL]
        if twice:
            raise InvariantBroken(f"slot {slot} holds {twice} more than once")
        for offset, value in self.values.get(slot, {}).items():
            if offset >= log_start and found.get(offset) != value and (offset in found or offset not in hit):
                raise InvariantBroken(
                    f"{(slot, offset)} holds {found.get(offset)!r}, answered or delivered was {value!r}"
                )

    def forget(self, slot: int) -> None:
        self.values.pop(slot, None)
        self.transactions = [transaction for transaction in self.transactions if transaction.slot != slot]

    def check_committed(self, place: Place, value: bytes | None) -> None:
        """Check a delivery to a read_committed group: the record and all before it are committed."""
        transaction = None if value is None else self.transaction_of.get(value)
        if transaction is not None and not transaction.commits:
            state = "open" if transaction.commits is None else "aborted"
            raise InvariantBroken(f"{place} was delivered to a read_committed group, its transaction is {state}")
        for other in self.transactions:
            is_open = other.slot == place[0] and other.commits is None and other.first_offset is not None
            if is_open and other.first_offset is not None and other.first_offset < place[1]:
                raise InvariantBroken(f"{place} was delivered behind the transaction open at {other.first_offset}")

    def is_committed(self, value: bytes) -> bool:
        transaction = self.transaction_of.get(value)
        return transaction is None or bool(transaction.commits)

    def _at(self, place: Place, value: bytes) -> None:
        slot, offset = place
        if self.sent.get(value) != slot:
            raise InvariantBroken(f"{place} is {value!r}, which nobody sent there")
        known = self.values.setdefault(slot, {}).setdefault(offset, value)
        if known != value:
            raise InvariantBroken(f"{place} is {value!r} now, it was {known!r}")


@dataclass
class Hold:
    """A record held by a member, until `deadline_ms` at the latest."""

    member_id: str
    deadline_ms: int


@dataclass
class Begin:
    """A slot's start after an alteration of offsets: nothing below `floor` is delivered, all from `due` on is."""

    floor: int
    due: int | None  # None: what the group's reset mode makes of it


@dataclass
class GroupLedger:
    """The clients' knowledge of one share group's records, from its creation to its deletion."""

    records: RecordLedger
    earliest: bool  # the group starts at the log start, so every record is due; else only what follows the first one
    limit: int  # deliveries of a record, as configured now
    committed: bool = False  # isolation level read_committed, as configured now
    order: KeyLedger | None = None  # the group has order by key
    was_committed: bool = False  # it has been at some time: what was aborted then never comes
    holds: dict[Place, Hold] = field(default_factory=dict)
    finished: set[Place] = field(default_factory=set)  # an ACCEPT or REJECT was answered
    maybe_finished: Counter[Place] = field(default_factory=Counter)  # those sent of which the outcome is not known
    perhaps_over: set[Place] = field(default_factory=set)  # finished in a state that may have been deleted
    at_limit: set[Place] = field(default_factory=set)  # delivered as often as it may be, so perhaps archived
    times: Counter[Place] = field(default_factory=Counter)  # how often each was delivered
    counts: dict[Place, int] = field(default_factory=dict)  # the last delivery count
    over_limit: dict[Place, int] = field(default_factory=dict)  # counts that were legal before the limit was lowered
    counted_by: dict[Place, object] = field(default_factory=dict)  # the leader that counted it
    start_offsets: dict[int, int] = field(default_factory=dict)
    persisted: dict[int, int] = field(default_factory=dict)
    begins: dict[int, Begin] = field(default_factory=dict)
    generations: Counter[int] = field(default_factory=Counter)  # how often each slot was started over
    seen: Counter[str] = field(default_factory=Counter)
    waits: Waits = field(default_factory=Waits)

    # -- delivery

    def on_isolation(self, committed: bool) -> None:
        self.committed = committed
        self.was_committed = self.was_committed or committed

    def on_limit(self, limit: int) -> None:
        """Handle a change of the delivery count limit: records already at it may be archived."""
        if limit < self.limit:
            for place, count in self.counts.items():
                self.over_limit[place] = max(count, self.over_limit.get(place, 0))
        self.limit = limit
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
        committed: bool,
    ) -> None:
        """Record the `count`-th delivery of a record, to `member_id`.

        `leader` counted it; None: not known. `certain`: no failed state write can turn out to be durable. `committed`:
        the group reads committed records only.
        """
        self.records.on_delivered(place, value)
        if committed and self.committed:
            self.records.check_committed(place, value)
        if place in self.finished:
            raise InvariantBroken(f"{place} was delivered to {member_id} after an answered ACCEPT or REJECT")
        begin = self.begins.get(place[0])
        if begin is not None and place[1] < begin.floor:
            raise InvariantBroken(f"{place} was delivered to {member_id}, the offset was altered to {begin.floor}")
        # What was available when the limit was lowered is delivered once more before anybody looks at its count.
        if not 1 <= count <= max(self.limit, self.over_limit.get(place, -1) + 1):
            raise InvariantBroken(f"{place} has delivery count {count}, the limit is {self.limit}")
        if leader is not None and self.counted_by.get(place) is leader and count <= self.counts[place]:
            raise InvariantBroken(f"{place} has delivery count {count} after {self.counts[place]}")
        hold = self.holds.get(place)
        if hold is not None and now_ms < hold.deadline_ms:
            raise InvariantBroken(
                f"{place} was delivered to {member_id} at {now_ms}, held by {hold.member_id} until {hold.deadline_ms}"
            )
        self.waits.on_delivered(place, count, now_ms, deadline_ms)
        if self.order is not None and value is not None:
            self._check_order(self.order, place, value, now_ms)
        self.seen["locks that ran out"] += hold is not None
        self.seen["deliveries"] += 1
        self.seen["redeliveries"] += place in self.times
        self.holds[place] = Hold(member_id, deadline_ms)
        self.times[place] += 1
        self.counts[place] = count
        self.counted_by[place] = leader
        if certain:
            self.maybe_finished.pop(place, None)  # whatever was sent before has had no effect
            self.perhaps_over.discard(place)
        if count >= self.limit:
            self.at_limit.add(place)
        else:
            self.at_limit.discard(place)

    def _check_order(self, order: KeyLedger, place: Place, value: bytes, now_ms: int) -> None:
        values = self.records.values.get(place[0], {})
        held = {
            other: values[other[1]] for other, hold in self.holds.items() if self._is_held(place, other, hold, now_ms)
        }
        order.on_delivered(place, value, held, self.at_limit | self.perhaps_over | self._uncommitted(place, value))
        self.seen["deliveries in the order of keys"] += 1

    @staticmethod
    def _is_held(place: Place, other: Place, hold: Hold, now_ms: int) -> bool:
        return other[0] == place[0] and other != place and now_ms < hold.deadline_ms

    def _uncommitted(self, place: Place, value: bytes) -> set[Place]:
        """Return the record if it is uncommitted.

        A read_committed group may have archived it in memory only, and receive it after a change to read_uncommitted.
        """
        return set() if self.records.is_committed(value) else {place}

    def on_delivery_lost(self, place: Place, count: int) -> None:
        """Record the `count`-th delivery to a member that may not have received it."""
        self.counts[place] = count
        self.waits.on_lost(place)
        if count >= self.limit:
            self.at_limit.add(place)

    # -- acknowledging

    def on_sent(self, place: Place, finishes: bool, renews: bool, now_ms: int) -> int:
        """Record an acknowledgement that may take effect from now on; return its token."""
        if not renews:
            self.holds.pop(place, None)
            self.waits.on_failed(place, now_ms)
        if finishes:
            self.maybe_finished[place] += 1
        return self.times[place]

    def on_acknowledged(self, place: Place, finishes: bool, sent: int) -> None:
        """Record an answer without an error.

        For a record never delivered it means nothing: offsets were altered meanwhile, and it is below the start offset.
        """
        if finishes and self.times[place]:
            if self.times[place] != sent:
                raise InvariantBroken(f"{place} was delivered again before its ACCEPT or REJECT was answered")
            self.finished.add(place)

    def on_refused(self, place: Place, finishes: bool, sent: int) -> None:
        """Record a client error: the acknowledgement had no effect."""
        if finishes and self.times[place] == sent:
            self.maybe_finished[place] -= 1

    def on_renewed(self, place: Place, member_id: str, deadline_ms: int) -> None:
        self.seen["renewals"] += 1
        hold = self.holds.get(place)
        if place[1] < self.start_offsets.get(place[0], 0):
            return  # it is over, and such acknowledgements succeed without an effect
        if hold is not None and hold.member_id == member_id:
            hold.deadline_ms = deadline_ms

    def on_given_back(self, member_id: str, now_ms: int) -> None:
        """Record the end of the member's session: it may lose its records at any time."""
        for place, hold in self.holds.items():
            if hold.member_id == member_id:
                self.waits.on_failed(place, now_ms)
        self.holds = {place: hold for place, hold in self.holds.items() if hold.member_id != member_id}

    def on_lock_lost(self, slot: int) -> None:
        """Record that the slot's leader was dropped after a failed state change."""
        self.holds = _others(self.holds, slot)
        self.counted_by = _others(self.counted_by, slot)
        self.waits.forget(slot)

    def on_restart(self) -> None:
        self.holds.clear()
        self.start_offsets.clear()
        self.counted_by.clear()

    # -- looking inside

    def on_start_offset(self, slot: int, start_offset: int) -> None:
        before = self._lowest_start(slot, max(self.start_offsets.get(slot, -1), self.persisted.get(slot, -1)))
        if start_offset < before:
            raise InvariantBroken(f"start offset of slot {slot} moved back from {before} to {start_offset}")
        self.start_offsets[slot] = start_offset

    def on_leader_gone(self, slot: int) -> None:
        self.start_offsets.pop(slot, None)

    def on_persisted_start(self, slot: int, start_offset: int) -> None:
        before = self._lowest_start(slot, self.persisted.get(slot, -1))
        if start_offset < before:
            raise InvariantBroken(f"persisted start of slot {slot} went back from {before} to {start_offset}")
        self.persisted[slot] = start_offset

    def _lowest_start(self, slot: int, before: int) -> int:
        begin = self.begins.get(slot)
        if begin is not None and begin.due is not None and begin.due > begin.floor:
            return begin.floor  # altered to beyond the log's end: the leader takes that back to the end
        return before

    # -- administration

    def on_begun_again(self, slot: int, begin: Begin | None) -> None:
        """Forget the slot's history: its state was altered (`begin`) or deleted (None)."""
        self.forget(slot)
        if begin is not None:
            self.begins[slot] = begin

    def on_left_over(self, slot: int) -> None:
        """Record a state that was to be deleted and still exists: the next member may continue it or start over."""
        places = {*self.finished, *self.maybe_finished, *self.at_limit, *self.perhaps_over}
        over = {place for place in places if place[0] == slot and self._may_be_over(place)}
        begin = self.begins.get(slot)
        if begin is not None and begin.due is not None:
            over.update((slot, offset) for offset in range(begin.due))
        counts, over_limit = self.counts, self.over_limit
        self.forget(slot)
        self.perhaps_over |= over
        self.counts, self.over_limit = counts, over_limit

    def on_left_over_gone(self, slot: int) -> None:
        self.perhaps_over = {place for place in self.perhaps_over if place[0] != slot}

    def forget(self, slot: int) -> None:
        self.waits.forget(slot)
        self.on_left_over_gone(slot)
        self.generations[slot] += 1
        if self.order is not None:
            self.order.forget(slot)
        self.finished = {place for place in self.finished if place[0] != slot}
        self.at_limit = {place for place in self.at_limit if place[0] != slot}
        self.maybe_finished = Counter(_others(self.maybe_finished, slot))
        self.times = Counter(_others(self.times, slot))
        self.holds = _others(self.holds, slot)
        self.counts = _others(self.counts, slot)
        self.over_limit = _others(self.over_limit, slot)
        self.counted_by = _others(self.counted_by, slot)
        for by_slot in (self.start_offsets, self.persisted, self.begins):
            by_slot.pop(slot, None)

    # -- the end

    def due(self, slot: int, log_start: int) -> list[int]:
        return [
            offset
            for offset, value in self.written(slot, log_start)
            if value not in self.records.refused
            and not self.records.expires(value)
            and offset not in self.records.hit.get(slot, ())
            and not self._may_be_over((slot, offset))
            and (not self.was_committed or self.records.is_committed(value))
        ]

    def written(self, slot: int, log_start: int) -> list[tuple[int, bytes]]:
        """Return the offsets and values that the group may get, regardless of their outcome, ascending."""
        begin = self.begins.get(slot)
        if begin is not None and begin.due is not None:
            first = begin.due
        elif self.earliest:
            first = 0
        else:
            delivered = [offset for place_slot, offset in self.times if place_slot == slot]
            if not delivered:
                return []
            first = min(delivered)
        first = max(first, log_start)
        return [each for each in sorted(self.records.values.get(slot, {}).items()) if each[0] >= first]

    def _may_be_over(self, place: Place) -> bool:
        known = place in self.finished or place in self.at_limit or place in self.perhaps_over
        return known or self.maybe_finished[place] > 0

    def check_all_finished(self, log_starts: Mapping[int, int]) -> None:
        for slot, log_start in log_starts.items():
            for offset in self.due(slot, log_start):
                seen = "delivered before" if (slot, offset) in self.times else "never delivered"
                raise InvariantBroken(f"{(slot, offset)} is lost: not finished, not at the delivery limit, {seen}")
        self.seen["given up at the limit"] += len(self.at_limit - self.finished)


def _others(entries: Mapping[Place, T], slot: int) -> dict[Place, T]:
    return {place: entry for place, entry in entries.items() if place[0] != slot}
