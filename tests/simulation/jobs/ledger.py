"""The ledger of a job's committed offsets and copies, kept apart from the broker.

A partition's committed offset is a register: it holds the last answered commit, or a later one whose outcome is
unknown. A transaction's offset counts as sent when its producer asks for the commit; until its end is known it may
still take effect after other commits. Deleting an offset commits none, and drops what transactions had pending there.
An expired one may be gone.

Readers of committed records see the copies of the records below that offset, each once. A job that starts over after
its offset was deleted or expired copies again: that is another generation of copies.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

from tests.simulation.ledger import InvariantBroken, Place

NO_OFFSET: Final = -1

Source = tuple[int, int, int]  # slot, offset, generation of the register by which its copying began


@dataclass(eq=False)
class Attempt:
    """One transaction of a job. `outcome` None: it is open, or its commit has an unknown result."""

    number: int
    group_id: str
    producer: tuple[str, int, int]  # transactional id, producer id, epoch
    commit_asked: bool = False
    outcome: bool | None = None
    offsets: dict[int, int] = field(default_factory=dict)  # by slot: the next one to consume
    pending: bool = False  # its offsets were accepted, and it was not asked to end
    open: bool = True
    sent_ms: int | None = None  # the offsets, time of day
    wiped: set[int] = field(default_factory=set)  # slots whose offset was deleted while it was pending
    doubts: dict[int, dict[object, bool]] = field(default_factory=dict)  # deletions by slot: was it pending then?

    @property
    def may_show(self) -> bool:
        return self.commit_asked and self.outcome is not False

    def still_has(self, slot: int) -> bool:
        return slot not in self.wiped and not self.doubts.get(slot)


@dataclass
class _Sent:
    """A commit whose answer is pending or was lost."""

    order: int
    token: object
    offset: int
    at_ms: int

    @property
    def lasts(self) -> bool:
        """Return True if the commit may still take effect later, as a transaction's end can be requested again."""
        return isinstance(self.token, Attempt)


class Register:
    """The committed offset of one group in one partition.

    `since_ms`: the earliest time of day of the commit. `generation` grows whenever the offset may have gone; the caller
    sets `may_have_expired`.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self.base = NO_OFFSET
        self.since_ms = 0
        self.generation = 0
        self.may_have_expired = False
        self._before = NO_OFFSET
        self._maybe: list[_Sent] = []

    def sent(self, order: int, token: object, offset: int, at_ms: int) -> None:
        """Record a commit that counts from now on, if it takes effect. NO_OFFSET stands for a deletion."""
        self._maybe.append(_Sent(order, token, offset, at_ms))
        self.generation += offset == NO_OFFSET

    def confirmed(self, token: object) -> None:
        """Record the answer to a commit: it supersedes everything sent before."""
        for sent in self._maybe:
            if sent.token is token:
                self._settle(sent.offset, sent.order, sent.at_ms)
                return

    def dropped(self, token: object) -> None:
        self._maybe = [sent for sent in self._maybe if sent.token is not token]

    def on_read(self, offset: int, order: int, *, stable: bool, torn: bool) -> bool:
        """Check the broker's answer, requested at `order`; return whether the offset has expired.

        `torn`: the markers of some transaction are not all written yet.
        """
        before = [sent for sent in self._maybe if sent.order < order]
        same = [sent for sent in before if sent.offset == offset]
        if not same and offset != self.base:
            return self._on_surprise(offset, order, torn=torn)
        coming = [] if stable else self._coming(offset, before)
        later = [sent for sent in self._maybe if sent.order >= order]
        if same:
            self.generation += offset == NO_OFFSET
            since = [self.since_ms] if offset == self.base else []  # which of them it is cannot be known
            self._settle(offset, order, min([*since, *(sent.at_ms for sent in same)]))
        self._maybe = coming + later
        return False

    def _coming(self, offset: int, before: list[_Sent]) -> list[_Sent]:
        """Return earlier commits that may show later, or in a read of unstable offsets."""
        may_be_old = offset == self.base or (offset == NO_OFFSET and self.may_have_expired)
        if not may_be_old:  # transactions sent before the first that can be it are superseded, or deleted with it
            first = next(sent.order for sent in before if sent.offset == offset)
            before = [sent for sent in before if sent.order > first]
        lasting = [sent.order for sent in before if sent.lasts and sent.offset != offset]
        # What is the same behind one that may still come may have made an end of it, or not.
        return [
            sent
            for sent in before
            if sent.order in lasting or (sent.offset == offset and lasting and sent.order > lasting[0])
        ]

    def _on_surprise(self, offset: int, order: int, *, torn: bool) -> bool:
        """Handle an offset that is neither the last answered one nor one that was sent. See `on_read`."""
        if offset == NO_OFFSET and self.may_have_expired:
            self.generation += 1
            self._settle(offset, order - 1, self.since_ms)
            return True
        if not (torn and offset == self._before):
            maybe = [sent.offset for sent in self._maybe]
            raise InvariantBroken(f"{self._what}: committed is {offset}, answered was {self.base}, perhaps {maybe}")
        return False

    def _settle(self, offset: int, order: int, at_ms: int) -> None:
        self._before, self.base = self.base, offset
        self.since_ms, self.may_have_expired = at_ms, False
        self._maybe = [sent for sent in self._maybe if sent.order > order]


class OffsetLedger:
    """The clients' knowledge of one group's offsets, by slot. `wall_ms` gives the time of day."""

    def __init__(self, group_id: str, wall_ms: Callable[[], int]) -> None:
        self._group_id = group_id
        self._wall_ms = wall_ms
        self._registers: dict[int, Register] = {}
        self._order = 0
        self.attempts: list[Attempt] = []

    def register(self, slot: int) -> Register:
        return self._registers.setdefault(slot, Register(f"{self._group_id}, slot {slot}"))

    def registers(self) -> dict[int, Register]:
        return self._registers

    def next_order(self) -> int:
        """Return the next number: requests take effect in the order they are sent."""
        self._order += 1
        return self._order

    # -- plain commits

    def on_sent(self, offsets: dict[int, int]) -> object:
        """Record a commit outside of transactions; return its token."""
        token = object()
        order, now = self.next_order(), self._wall_ms()
        for slot, offset in offsets.items():
            self.register(slot).sent(order, token, offset, now)
        return token

    def on_answered(self, token: object, slot: int, *, committed: bool) -> None:
        if committed:
            self.register(slot).confirmed(token)
        else:
            self.register(slot).dropped(token)

    # -- deletions

    def on_deletion_sent(self, slots: Collection[int]) -> object:
        token = self.on_sent(dict.fromkeys(slots, NO_OFFSET))
        for attempt in self.attempts:
            if attempt.sent_ms is not None and attempt.open and not attempt.commit_asked:
                for slot in attempt.offsets.keys() & set(slots):
                    attempt.doubts.setdefault(slot, {})[token] = attempt.pending
        return token

    def on_deletion_answered(self, token: object, slots: Collection[int], *, deleted: bool) -> int:
        """Record the answer; return how many offsets of open transactions were deleted as well.

        A refused deletion has no effect; one without an answer may have.
        """
        wiped = 0
        for slot in slots:
            self.on_answered(token, slot, committed=deleted)
            for attempt in self.attempts:
                doubts = attempt.doubts.get(slot, {})
                if token in doubts and (doubts[token] or not deleted):
                    was_pending = doubts.pop(token)
                    if deleted and was_pending:
                        attempt.wiped.add(slot)
                        wiped += 1
                        self.register(slot).dropped(attempt)
        return wiped

    # -- transactions

    def begin(self, number: int, producer: tuple[str, int, int]) -> Attempt:
        attempt = Attempt(number, self._group_id, producer)
        self.attempts.append(attempt)
        return attempt

    def on_offsets_sent(self, attempt: Attempt) -> None:
        attempt.sent_ms = self._wall_ms()

    def on_commit_asked(self, attempt: Attempt) -> None:
        """Record an EndTxn on its way: the transaction may be committed from now on."""
        if not attempt.commit_asked:
            attempt.commit_asked = True
            order = self.next_order()
            for slot, offset in attempt.offsets.items():
                if slot not in attempt.wiped:
                    self.register(slot).sent(order, attempt, offset, attempt.sent_ms or 0)
        attempt.pending = False

    def on_ended(self, attempt: Attempt, outcome: bool | None) -> None:
        """Record the end of the attempt, for its producer. None: the outcome is unknown."""
        attempt.open = attempt.pending = False
        if outcome is None and not attempt.commit_asked:
            outcome = False  # nobody else asks for it
        if attempt.outcome is None:
            attempt.outcome = outcome
        for slot in attempt.offsets:
            if outcome and not attempt.doubts.get(slot):
                self.register(slot).confirmed(attempt)
            elif outcome is False:
                self.register(slot).dropped(attempt)

    def pending(self) -> list[Attempt]:
        return [attempt for attempt in self.attempts if attempt.pending]


@dataclass
class CopyLedger:
    """The source of every copy, and the copies that readers of committed records have seen.

    `cut`: deleted copies, which may never have been read.
    """

    copies: dict[bytes, tuple[Attempt, Source]] = field(default_factory=dict)
    seen: dict[str, dict[Source, bytes]] = field(default_factory=dict)  # by group: source to copy
    cut: set[bytes] = field(default_factory=set)

    def on_sent(self, attempt: Attempt, source: Place, generation: int, value: bytes) -> None:
        """Record a copy. `generation`: the register's when its process began to read."""
        self.copies[value] = (attempt, (*source, generation))

    def on_seen(self, value: bytes) -> None:
        attempt, source = self.copies[value]
        if not attempt.may_show:
            state = "open" if attempt.outcome is None and not attempt.commit_asked else "aborted"
            raise InvariantBroken(
                f"{value!r} was read, read_committed, and transaction {attempt.number} of {attempt.group_id} is {state}"
            )
        seen = self.seen.setdefault(attempt.group_id, {})
        if source in seen:
            raise InvariantBroken(
                f"{attempt.group_id}: the record at {source} is doubled, {seen[source]!r} and {value!r}"
            )
        seen[source] = value

    def on_cut(self, values: Collection[bytes]) -> None:
        self.cut.update(values)

    def check_copied(
        self, group_id: str, place: Place, generation: int, source: set[int], hidden: set[bytes], *, start: int
    ) -> None:
        """Check that exactly the records at `source` below the committed offset of `place` have copies.

        Copies count from the log's `start` on. `hidden`: those that readers of committed records do not see yet.
        """
        slot, offset = place
        seen = [(at, each) for at_slot, at, each in self.seen.get(group_id, {}) if at_slot == slot]
        due = {at for at in source if at < offset}
        coming = [self.copies[value] for value in hidden | self.cut]
        will_be = {
            at
            for attempt, (at_slot, at, _) in coming
            if at_slot == slot and attempt.group_id == group_id and attempt.may_show
        }
        lost = due - {at for at, _ in seen} - will_be
        if lost:
            raise InvariantBroken(f"{group_id}: {sorted(lost)} of slot {slot} are lost, committed is {offset}")
        copied = {at for at, each in seen if each == generation and at >= start}
        if copied - due:
            raise InvariantBroken(
                f"{group_id}: {sorted(copied - due)} of slot {slot} are copied, committed is only {offset}"
            )
