"""What must be true of committed offsets and of the copies that a job makes, kept apart from the broker.

A partition's committed offset is a register: it holds the last commit that was answered, or one that was sent later and
of which nobody knows what became. A transaction's offset is sent when its producer asks for the commit, not before. The
copies that readers of committed records see are those of the records below that offset, each one once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tests.simulation.ledger import InvariantBroken, Place

NO_OFFSET: Final = -1


@dataclass(eq=False)
class Attempt:
    """One transaction of a job. `outcome` None: it is open, or was to be committed and nobody knows what came of it."""

    number: int
    group_id: str
    producer: tuple[str, int, int]  # transactional id, producer id, epoch
    commit_asked: bool = False
    outcome: bool | None = None
    offsets: dict[int, int] = field(default_factory=dict)  # by slot: the next one to consume
    pending: bool = False  # its offsets were accepted, and it was not asked to end
    open: bool = True

    @property
    def may_show(self) -> bool:
        """Whether readers of committed records may see it."""
        return self.commit_asked and self.outcome is not False


@dataclass
class _Sent:
    """A commit of which the answer is still to come, or never came."""

    order: int
    token: object
    offset: int


class Register:
    """The committed offset of one group in one partition."""

    def __init__(self, what: str) -> None:
        self._what = what
        self.base = NO_OFFSET
        self._before = NO_OFFSET
        self._maybe: list[_Sent] = []

    def sent(self, order: int, token: object, offset: int) -> None:
        """A commit that counts from now on, if it comes about."""
        self._maybe.append(_Sent(order, token, offset))

    def confirmed(self, token: object) -> None:
        """It was answered: whatever was sent before is superseded."""
        for sent in self._maybe:
            if sent.token is token:
                self._settle(sent.offset, sent.order)
                return

    def dropped(self, token: object) -> None:
        """It was refused."""
        self._maybe = [sent for sent in self._maybe if sent.token is not token]

    def on_read(self, offset: int, order: int, *, stable: bool, torn: bool) -> None:
        """The broker says so, asked at `order`. `torn`: the markers of some transaction are not all written yet."""
        latest = None
        for sent in self._maybe:
            if sent.order < order and sent.offset == offset:
                latest = sent
        if latest is not None:
            self._settle(offset, latest.order)
        elif offset == self.base:
            if stable:
                self._maybe = [sent for sent in self._maybe if sent.order >= order]
        elif not (torn and offset == self._before):
            maybe = [sent.offset for sent in self._maybe]
            raise InvariantBroken(f"{self._what}: committed is {offset}, answered was {self.base}, perhaps {maybe}")

    def _settle(self, offset: int, order: int) -> None:
        self._before, self.base = self.base, offset
        self._maybe = [sent for sent in self._maybe if sent.order > order]


class OffsetLedger:
    """All that clients know of one group's offsets, by slot."""

    def __init__(self, group_id: str) -> None:
        self._group_id = group_id
        self._registers: dict[int, Register] = {}
        self._order = 0
        self.attempts: list[Attempt] = []

    def register(self, slot: int) -> Register:
        return self._registers.setdefault(slot, Register(f"{self._group_id}, slot {slot}"))

    def next_order(self) -> int:
        """Requests are decided in the order they are sent."""
        self._order += 1
        return self._order

    # plain commits

    def on_sent(self, offsets: dict[int, int]) -> object:
        """A commit outside of transactions; what stands for it."""
        token = object()
        order = self.next_order()
        for slot, offset in offsets.items():
            self.register(slot).sent(order, token, offset)
        return token

    def on_answered(self, token: object, slot: int, *, committed: bool) -> None:
        if committed:
            self.register(slot).confirmed(token)
        else:
            self.register(slot).dropped(token)

    # transactions

    def begin(self, number: int, producer: tuple[str, int, int]) -> Attempt:
        attempt = Attempt(number, self._group_id, producer)
        self.attempts.append(attempt)
        return attempt

    def on_commit_asked(self, attempt: Attempt) -> None:
        """EndTxn is on its way: from now on the transaction may be committed."""
        if not attempt.commit_asked:
            attempt.commit_asked = True
            order = self.next_order()
            for slot, offset in attempt.offsets.items():
                self.register(slot).sent(order, attempt, offset)
        attempt.pending = False

    def on_ended(self, attempt: Attempt, outcome: bool | None) -> None:
        """The attempt is over for its producer. None: nobody knows how."""
        attempt.open = attempt.pending = False
        if outcome is None and not attempt.commit_asked:
            outcome = False  # nobody else asks for it
        if attempt.outcome is None:
            attempt.outcome = outcome
        for slot in attempt.offsets:
            if outcome:
                self.register(slot).confirmed(attempt)
            elif outcome is False:
                self.register(slot).dropped(attempt)

    def pending(self) -> list[Attempt]:
        """Those whose offsets were accepted, and whose producers have not asked for an end."""
        return [attempt for attempt in self.attempts if attempt.pending]


@dataclass
class CopyLedger:
    """What every copy was made of, and which of them readers of committed records have seen."""

    copies: dict[bytes, tuple[Attempt, Place]] = field(default_factory=dict)
    seen: dict[str, dict[Place, bytes]] = field(default_factory=dict)  # by group: source to copy

    def on_sent(self, attempt: Attempt, source: Place, value: bytes) -> None:
        self.copies[value] = (attempt, source)

    def on_seen(self, value: bytes) -> None:
        """A reader of committed records was given the copy."""
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

    def check_copied(self, group_id: str, slot: int, offset: int, source: set[int], hidden: set[bytes]) -> None:
        """With `offset` committed the records at `source` below it have their copies, and no others. `hidden`: copies
        that readers of committed records do not see yet.
        """
        copied = {at for at_slot, at in self.seen.get(group_id, {}) if at_slot == slot}
        due = {at for at in source if at < offset}
        coming = [self.copies[value] for value in hidden]
        will_be = {at for attempt, (at_slot, at) in coming if at_slot == slot and attempt.group_id == group_id}
        lost = due - copied - will_be
        if lost:
            raise InvariantBroken(f"{group_id}: {sorted(lost)} of slot {slot} are lost, committed is {offset}")
        if copied - due:
            raise InvariantBroken(
                f"{group_id}: {sorted(copied - due)} of slot {slot} are copied, committed is only {offset}"
            )
