"""The knowledge of a sequence from the answers on which both brokers agreed; the next step is made from it.

It is an estimate, good enough to acknowledge mostly held records, and not used to judge.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from shareq.protocol.errors import ErrorCode
from tests.differential.answers import Answer
from tests.differential.steps import (
    BATCH_OPTIMIZED,
    LONG_LOCK_MS,
    PARTITIONS,
    RECORD_LIMIT,
    RENEW,
    Acknowledge,
    Acks,
    AlterOffsets,
    Configure,
    DeleteRecords,
    Drop,
    Fetch,
    Heartbeat,
    MemberEpoch,
    Pause,
    Produce,
    Restart,
    Setup,
    Step,
)


class Held(NamedTuple):
    """The holder of an offset. `short`: its lock expires at the next pause."""

    member: int
    short: bool


@dataclass(slots=True)
class Session:
    """A member's share session: its next epoch, and its partitions."""

    epoch: int = 1
    partitions: dict[int, None] = field(default_factory=dict)


@dataclass(slots=True)
class View:
    """The knowledge by partition, indexed by its number. Log ends are exclusive."""

    setup: Setup
    sessions: dict[int, Session] = field(default_factory=dict)
    held: list[dict[int, Held]] = field(default_factory=lambda: [{} for _ in range(PARTITIONS)])
    finished: list[dict[int, None]] = field(default_factory=lambda: [{} for _ in range(PARTITIONS)])
    log_end: list[int] = field(default_factory=lambda: [0] * PARTITIONS)
    log_start: list[int] = field(default_factory=lambda: [0] * PARTITIONS)
    begun: set[int] = field(default_factory=set)
    """The partitions of which records were acquired since the group began."""
    reread: set[int] = field(default_factory=set)
    """The partitions whose state was loaded again before any of it was written."""
    reloaded: set[int] = field(default_factory=set)
    """The partitions whose records in flight were loaded from the persisted state."""
    loaded: set[int] = field(default_factory=set)
    """The partitions that a fetch has made the broker load."""
    written: set[int] = field(default_factory=set)
    """The partitions whose state was written since the group began."""
    joined: set[int] = field(default_factory=set)
    lock_ms: int = LONG_LOCK_MS
    has_queue: bool = False
    had_queue: bool = False

    def held_by(self, member: int, partition: int) -> list[int]:
        return sorted(offset for offset, held in self.held[partition].items() if held.member == member)

    def note(self, step: Step, answer: Answer) -> None:
        match step:
            case Fetch():
                self._fetched(step, answer)
            case Acknowledge():
                self._acknowledged_by(step, answer)
            case Produce() if not answer.error:
                self.log_end[step.partition] += sum(step.sizes)
            case Drop():
                self._dropped(step.members)
            case Pause():
                self._locks_ran_out()
            case Restart():
                self._restarted()
            case Configure() if not answer.error:
                configs = dict(step.configs)
                self.lock_ms = int(configs.get("share.record.lock.duration.ms", self.lock_ms))
                self.has_queue = bool(configs.get("errors.deadletterqueue.topic.name", self.has_queue))
                self.had_queue |= self.has_queue
            case AlterOffsets() if not answer.error:
                self._altered()
            case DeleteRecords() if not answer.error:
                self.log_start[step.partition] = max(self.log_start[step.partition], step.before)
            case Heartbeat() if not answer.error:
                (self.joined.discard if step.epoch is MemberEpoch.LEAVE else self.joined.add)(step.member)

    # -- requests

    def _fetched(self, step: Fetch, answer: Answer) -> None:
        if step.unknown_topic:
            self._dropped(())  # on a connection of its own that has ended
            return
        if answer.error:
            if answer.error == ErrorCode.SHARE_SESSION_NOT_FOUND:
                self.sessions.pop(step.member, None)
            elif step.mode not in (BATCH_OPTIMIZED, RECORD_LIMIT) and step.epoch > 0:
                self._counted_on(step.member)
            return
        self._apply(step.member, step.acks, answer)
        named = [*step.partitions, *(partition for partition, _ in step.acks)]
        if step.epoch == -1:
            self._session_ended(step.member)
            return
        if step.epoch == 0:
            self.sessions[step.member] = Session(partitions=dict.fromkeys(named))
        else:
            session = self._counted_on(step.member)
            session.partitions.update(dict.fromkeys(named))
            for partition in step.forgotten:
                session.partitions.pop(partition, None)
        if step.max_records != 0 and not step.is_renew_ack:
            self.loaded.update(self.sessions[step.member].partitions)
        short = self.lock_ms < LONG_LOCK_MS
        for partition, row in answer.partitions.items():
            if row.acquired:
                self.begun.add(partition)
            for offset in row.acquired:
                self.held[partition][offset] = Held(step.member, short)

    def _acknowledged_by(self, step: Acknowledge, answer: Answer) -> None:
        if answer.error:
            if answer.error == ErrorCode.SHARE_SESSION_NOT_FOUND:
                self.sessions.pop(step.member, None)
            return
        if not step.unknown_topic:
            self._apply(step.member, step.acks, answer)
        if step.epoch == -1:
            self._session_ended(step.member)
        else:
            self._counted_on(step.member)

    def _counted_on(self, member: int) -> Session:
        session = self.sessions.setdefault(member, Session())
        session.epoch += 1
        return session

    def _apply(self, member: int, acks: Acks, answer: Answer) -> None:
        for partition, ranges in acks:
            if partition >= PARTITIONS or answer.of(partition).ack_error != 0:
                continue
            for each in ranges:
                for offset in range(each.first, each.last + 1):
                    kind = each.types[0 if len(each.types) == 1 else offset - each.first]
                    self._acknowledge(member, partition, offset, renewed=kind == RENEW)

    def _acknowledge(self, member: int, partition: int, offset: int, *, renewed: bool) -> None:
        held = self.held[partition].get(offset)
        if held is None or held.member != member:
            return
        if renewed:
            self.held[partition][offset] = held._replace(short=self.lock_ms < LONG_LOCK_MS)
        else:
            del self.held[partition][offset]
            self.finished[partition][offset] = None
            self.written.add(partition)

    # -- ends

    def _session_ended(self, member: int) -> None:
        session = self.sessions.pop(member, None)
        for partition in session.partitions if session is not None else ():
            if partition < PARTITIONS:
                self._given_back(partition, self.held_by(member, partition))

    def _given_back(self, partition: int, offsets: list[int]) -> None:
        for offset in offsets:
            del self.held[partition][offset]
            self.written.add(partition)

    def _dropped(self, members: tuple[int, ...]) -> None:
        for member in members:
            self._session_ended(member)
        if not self.sessions:
            self._forgotten()  # and read again when it is needed

    def _locks_ran_out(self) -> None:
        for partition, held in enumerate(self.held):
            self._given_back(partition, [offset for offset, one in held.items() if one.short])

    def _restarted(self) -> None:
        self.sessions.clear()
        self._forgotten()
        for held in self.held:
            held.clear()

    def _forgotten(self) -> None:
        self.loaded.clear()
        self.reread |= self.begun - self.written
        self.reloaded |= self.begun

    def _altered(self) -> None:
        self.loaded.clear()
        self.written.update(range(PARTITIONS))
        for held, finished in zip(self.held, self.finished, strict=True):
            held.clear()
            finished.clear()
