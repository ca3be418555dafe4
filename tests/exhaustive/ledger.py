"""The knowledge of an observer that sees every answer to every client: who holds which record, what is finished.

It knows the promises, not the rules: nothing here is taken from the broker. They are:

* a record has one holder; an acknowledgement of a held record is accepted, of any other it is refused;
* a record confirmed as accepted or rejected, or persisted as given up, is never delivered again;
* a delivery count goes up by one with each delivery, up to the limit; after a crash it knows less, never more;
* the start offset goes neither back nor below the persisted one, and passes nothing that is held or awaits a letter;
* the dead, and they alone, have dead letters, also after a crash;
* with order by key no record is delivered while an earlier one of its key may be delivered again, or as many as may be
  in hand;
* if no write is under way, the next fetch delivers every record that no lock, delay or earlier record holds back;
* an expired record is delivered to nobody, and no other is rejected by the leader;
* a failed record is delivered no earlier than its time, and the timer is set for the first one;
* a leader that loads now would know the same as this one, except for locks and what is only in memory;
* a record acknowledged in a transaction is nobody's until that ends; then it is what was said, or, after an abort, free
  again; a crash changes nothing of that;
* from each state on, if no more fails, every record that is left is delivered, and all end finished.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from shareq.broker.share.core.values import AcquiredRange
from shareq.protocol.share import AcknowledgeType

FINISHING: Final = (AcknowledgeType.ACCEPT, AcknowledgeType.REJECT, AcknowledgeType.GAP)


class Broken(AssertionError):
    """An error: a promise was broken."""


@dataclass(slots=True)
class Held:
    """A record that a member has until `deadline_ms`. `write`: the state write that its acknowledgement awaits."""

    member: int
    deadline_ms: int
    attempts: int
    write: int | None = None
    kind: AcknowledgeType | None = None
    since_ms: int = 0  # when that was said
    stages: bool = False  # in a transaction


@dataclass(slots=True)
class Staged:
    """A record that was acknowledged in a transaction. `write`: the state write with its end; `is_over`: that is
    durable, and the leader does not know it.
    """

    kind: AcknowledgeType
    attempts: int
    commit: bool = False
    write: int | None = None
    is_over: bool = False


@dataclass(slots=True)
class Ledger:
    """The holders by offset: `held`, and `believed`: the members that think they have it.

    Records in `finished` are never delivered again; those in `given_up` neither, while the leader lives: a crash undoes
    what no write made durable. `attempts` are the present leader's deliveries; it may not know its predecessors'
    `attempts_before`. `may_be_finished` had an acknowledgement that finishes, whatever its answer. `dead` are finished
    or given up records that a member rejected, or that failed too often (`may_be_dead`: whatever the answer); `buried`
    are those whose letters were written or given up. `may_have_been` are records that were finished or dead before a
    crash. `waiting` maps records to their earliest time, and the state write with it, 0 if that is durable.
    """

    limit: int
    backoff_ms: int = 0
    held: dict[int, Held] = field(default_factory=dict)
    believed: dict[int, set[int]] = field(default_factory=dict)
    finished: set[int] = field(default_factory=set)
    given_up: dict[int, int] = field(default_factory=dict)  # the write that says so, -1: none does
    may_be_finished: set[int] = field(default_factory=set)
    attempts: dict[int, int] = field(default_factory=dict)
    attempts_before: dict[int, int] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)
    may_be_dead: set[int] = field(default_factory=set)
    may_have_been: set[int] = field(default_factory=set)
    buried: set[int] = field(default_factory=set)
    waiting: dict[int, tuple[int, int]] = field(default_factory=dict)
    staged: dict[int, Staged] = field(default_factory=dict)

    def handed_out(self, member: int, ranges: list[AcquiredRange], now_ms: int, deadline_ms: int) -> None:
        """Record an answered fetch. Raise Broken if a record should not have been delivered, or not as often."""
        for first, last, count in ranges:
            for offset in range(first, last + 1):
                if offset in self.held:
                    raise Broken(f"offset {offset} was handed out twice: {self.held[offset]}")
                if offset in self.staged:
                    raise Broken(f"offset {offset} came, though its transaction is open: {self.staged[offset]}")
                if offset in self.finished or offset in self.given_up:
                    raise Broken(f"offset {offset} came again, though it was finished with")
                if self.waiting.get(offset, (0, 0))[0] > now_ms:
                    raise Broken(f"offset {offset} came at {now_ms}, and had to wait until {self.waiting[offset][0]}")
                self.waiting.pop(offset, None)
                if count > self.limit:
                    raise Broken(f"offset {offset} came for the {count}th time, above the limit")
                self._check_count(offset, count)
                self.attempts[offset] = count
                self.held[offset] = Held(member, deadline_ms, count)
                self.believed.setdefault(offset, set()).add(member)

    def is_over(self, offset: int, pending: Collection[int]) -> bool:
        """Return True if the record must not be delivered again, by the answers before and since the last crash.

        The outcome of `pending` state writes is not known yet.
        """
        if offset in self.finished or offset in self.may_have_been:
            return True
        return offset in self.given_up and self.given_up[offset] not in pending

    def _check_count(self, offset: int, count: int) -> None:
        if offset in self.attempts:
            if count != self.attempts[offset] + 1:
                raise Broken(f"offset {offset}: attempt {count} after {self.attempts[offset]}")
        elif not 1 <= count <= self.attempts_before.get(offset, 0) + 1:
            raise Broken(f"offset {offset}: attempt {count} after at most {self.attempts_before.get(offset, 0)}")

    def may_acknowledge(self, member: int, offset: int) -> bool:
        holder = self.held.get(offset)
        return holder is not None and holder.member == member and holder.write is None

    def acknowledged(self, member: int, first: int, last: int, kind: AcknowledgeType, write: int, now_ms: int) -> None:
        """Record an accepted acknowledgement whose answer awaits a state write."""
        for offset in range(first, last + 1):
            holder = self.held.get(offset)
            if holder is None or holder.member != member or holder.write is not None:
                raise Broken(f"member {member} acknowledged offset {offset}, which it does not have")
            holder.write, holder.kind, holder.since_ms = write, kind, now_ms
            if kind in FINISHING:
                self.may_be_finished.add(offset)
            self._may_die(offset, holder)

    def staging(self, member: int, first: int, last: int, kind: AcknowledgeType, write: int) -> None:
        """Record an accepted acknowledgement in a transaction."""
        for offset in range(first, last + 1):
            if not self.may_acknowledge(member, offset):
                raise Broken(f"member {member} staged offset {offset}, which it does not have")
            holder = self.held[offset]
            holder.write, holder.kind, holder.stages = write, kind, True

    def ending(self, write: int, *, commit: bool) -> None:
        """Record the end of the transaction, which awaits a state write."""
        for offset, staged in self.staged.items():
            staged.write, staged.commit = write, commit
            kind = staged.kind if commit else AcknowledgeType.RELEASE
            if kind in FINISHING:
                self.may_be_finished.add(offset)
            if kind is AcknowledgeType.REJECT or (kind is AcknowledgeType.RELEASE and staged.attempts >= self.limit):
                self.may_be_dead.add(offset)

    def _staged_or_ended(self, write: int, *, answered: bool, durable: bool) -> None:
        for offset, staged in list(self.staged.items()):
            if staged.write == write:
                staged.write, staged.is_over = None, staged.is_over or durable
                if answered:
                    self._ended(offset)
        for offset, holder in list(self.held.items()):
            if holder.write == write and holder.stages and durable:
                assert holder.kind is not None
                self.staged[offset] = Staged(holder.kind, holder.attempts)
                del self.held[offset]

    def _ended(self, offset: int) -> None:
        staged = self.staged.pop(offset)
        kind = staged.kind if staged.commit else AcknowledgeType.RELEASE
        exhausted = kind is AcknowledgeType.RELEASE and staged.attempts >= self.limit
        if exhausted or kind in FINISHING:
            self.finished.add(offset)
            if exhausted or kind is AcknowledgeType.REJECT:
                self.dead.add(offset)

    def renewed(self, first: int, last: int, deadline_ms: int) -> None:
        """Extend the locks of `first..last` (inclusive)."""
        for offset in range(first, last + 1):
            self.held[offset].deadline_ms = deadline_ms

    def session_ended(self, member: int, write: int, now_ms: int) -> None:
        for offset, holder in self.held.items():
            if holder.member == member and holder.write is None:
                holder.write, holder.kind, holder.since_ms = write, AcknowledgeType.RELEASE, now_ms
                self._may_die(offset, holder)

    def _may_die(self, offset: int, holder: Held) -> None:
        exhausted = holder.kind is AcknowledgeType.RELEASE and holder.attempts >= self.limit
        if exhausted or holder.kind is AcknowledgeType.REJECT:
            self.may_be_dead.add(offset)

    def written(self, write: int, now_ms: int, *, answered: bool, durable: bool) -> None:
        """Record the end of a state write. `answered`: the leader, and so the client, learned that it succeeded."""
        self._staged_or_ended(write, answered=answered, durable=durable)
        for offset, holder in list(self.held.items()):
            if holder.write != write:
                continue
            if answered:
                del self.held[offset]
                exhausted = holder.kind is AcknowledgeType.RELEASE and holder.attempts >= self.limit
                if exhausted or holder.kind in FINISHING:
                    self.finished.add(offset)
                    if exhausted or holder.kind is AcknowledgeType.REJECT:
                        self.dead.add(offset)
                else:
                    self._waits(offset, holder.since_ms, 0)
            elif holder.deadline_ms <= now_ms:
                self._expired(offset, holder, now_ms, -1)
            else:
                holder.write = holder.kind = None
                holder.stages = False
        if durable:
            durable_now = {offset for offset, its in self.given_up.items() if its == write}
            self.finished |= durable_now
            for offset in durable_now:
                del self.given_up[offset]
            for offset, (time, its) in self.waiting.items():
                self.waiting[offset] = (time, 0 if its == write else its)

    def expired(self, now_ms: int, write: int) -> None:
        """Record that expired locks were handled, by state write `write`."""
        for offset, holder in list(self.held.items()):
            if holder.write is None and holder.deadline_ms <= now_ms:
                self._expired(offset, holder, now_ms, write)

    def rejected(self, offsets: Collection[int], write: int) -> None:
        """Record that the leader has rejected expired records, which nobody holds, by state write `write`."""
        for offset in offsets:
            if offset in self.held or offset in self.finished or offset in self.given_up:
                raise Broken(f"offset {offset} expired, and was held or finished with")
            self.waiting.pop(offset, None)
            self.given_up[offset] = write
            self.dead.add(offset)
            self.may_be_dead.add(offset)

    def _expired(self, offset: int, holder: Held, now_ms: int, write: int) -> None:
        del self.held[offset]
        if holder.attempts >= self.limit:
            self.given_up[offset] = write
            self.dead.add(offset)
            self.may_be_dead.add(offset)
        else:
            self._waits(offset, now_ms, write)

    def _waits(self, offset: int, since_ms: int, write: int) -> None:
        if self.backoff_ms:
            self.waiting[offset] = (since_ms + self.backoff_ms, write)

    def trimmed(self, log_start: int) -> None:
        gone = range(log_start)
        self.finished.update(gone)
        for offset in gone:
            self.held.pop(offset, None)
            self.believed.pop(offset, None)
            self.given_up.pop(offset, None)
            self.waiting.pop(offset, None)
            self.staged.pop(offset, None)
        self.buried.update(gone)

    def crashed(self) -> None:
        self.held.clear()
        for offset, staged in list(self.staged.items()):
            staged.write = None
            if staged.is_over:
                self._ended(offset)
        self.may_have_been |= self.may_be_finished | self.may_be_dead
        self.dead -= set(self.given_up)
        self.given_up.clear()
        known = set(self.waiting) - self.may_be_finished - self.may_be_dead
        self.waiting = {offset: self.waiting[offset] for offset in known if not self.waiting[offset][1]}
        for offset, count in self.attempts.items():
            self.attempts_before[offset] = max(count, self.attempts_before.get(offset, 0))
        self.attempts.clear()
