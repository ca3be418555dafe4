"""The normal form of a world, equal for all worlds with the same future.

It contains everything that the leader keeps, read from its objects by field name. Left out, with the reason:

* counters and `since_ms` are shown to operators and decide nothing;
* times are relative to now, and numbers of state writes to the last one;
* members are numbered in order of appearance;
* the window's `order` is the leader's own;
* the removed front of a `BatchMap`, and the order of entries in the heap of locks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import Enum
from typing import Any, Final

from shareq.broker.share.core.effects import DeadLetter
from shareq.broker.share.core.locks import Deadlines
from shareq.broker.share.core.partition import SharePartition
from shareq.broker.share.core.window.batch import InFlightBatch
from shareq.broker.share.core.window.batches import BatchMap
from shareq.broker.share.core.window.delivery_status import NO_DEADLINE
from shareq.coordinator.ports import ShareGroupSettings
from shareq.coordinator.share.delays import Delay
from shareq.coordinator.share.keys import SharePartitionKey
from tests.exhaustive.ledger import Held
from tests.exhaustive.world import BEGIN_MS, World

LEFT_OUT = {"order", "counters", "since_ms", "settings", "key", "lost_tail", "acknowledged", "session_releases"}
PLAIN = {type(None), bool, int, str, bytes}


def digest(world: World) -> bytes:
    """Return 16 bytes that identify all worlds of this form."""
    return hashlib.blake2b(repr(form(world)).encode(), digest_size=16).digest()


def form(world: World) -> object:
    return _Former(world).world()


class _Former:
    def __init__(self, world: World) -> None:
        self._world = world
        self._members: dict[str, int] = {}
        self._last_write = world.core._last_write_id

    def world(self) -> object:
        world, state = self._world, self._world.shard.state_of(self._world.key)
        assert state is not None
        return (
            self._of(world.core),
            (state.start_offset, state.delivery_complete_count, state.batches),
            [self._write(each.write_id) for each in world.writes],
            world.letters,
            [(first, last, time - world.now_ms, count) for first, last, time, count in state.delays],
            world.log_start,
            world.all_durable,
            self._ledger(),
            [max(BEGIN_MS + end - world.now_ms, -1) for end in world.scope.ends if end],
            list(state.staged),
            [(offset, self._of(staged)) for offset, staged in sorted(world.ledger.staged.items())],
            world.outcome,
            [self._write(write.write_id) for write in world.writes if write.write_id in world.stagings],
        )

    def _ledger(self) -> object:
        ledger = self._world.ledger
        held = [(offset, *self._held(holder)) for offset, holder in sorted(ledger.held.items())]
        believed = [
            (offset, sorted(self._member(f"member-{each}") for each in sorted(members)))
            for offset, members in sorted(ledger.believed.items())
            if members
        ]
        given_up = [(offset, write and self._write(write)) for offset, write in sorted(ledger.given_up.items())]
        waiting = [
            (offset, max(time - self._world.now_ms, 0), write and self._write(write))
            for offset, (time, write) in sorted(ledger.waiting.items())
        ]
        graves = sorted(ledger.dead), sorted(ledger.may_be_dead), sorted(ledger.buried)
        attempts = sorted(ledger.attempts.items()), sorted(ledger.attempts_before.items())
        finished = sorted(ledger.finished), sorted(ledger.may_be_finished), sorted(ledger.may_have_been)
        return held, believed, given_up, finished, attempts, waiting, graves

    def _held(self, holder: Held) -> tuple[object, ...]:
        it = self._member(f"member-{holder.member}"), self._time(holder.deadline_ms), holder.attempts
        if holder.write is None:
            return it
        return (*it, holder.kind, self._write(holder.write), self._time(holder.since_ms), holder.stages)

    def _member(self, name: str) -> int:
        return self._members.setdefault(name, len(self._members)) if name else -1

    def _time(self, at_ms: int) -> object:
        return None if at_ms == NO_DEADLINE else at_ms - self._world.now_ms

    def _write(self, write_id: int) -> object:
        return self._last_write - write_id if write_id else None

    def _of(self, value: object) -> object:
        if type(value) in PLAIN:
            return value
        if isinstance(value, Enum):
            return value.value
        if isinstance(value, BatchMap):
            return [self._of(each) for each in value]
        if isinstance(value, Deadlines):
            return sorted((deadline - self._world.now_ms, first, last) for deadline, first, last in value.heap)
        if isinstance(value, (ShareGroupSettings, SharePartitionKey)):
            return None
        if isinstance(value, (tuple, list)):
            return [self._of(each) for each in value]
        if isinstance(value, dict):
            return [(key, self._of(each)) for key, each in sorted(value.items())]
        if isinstance(value, SharePartition):
            return [self._field(name, each) for name, each in vars(value).items() if name not in LEFT_OUT]
        return [self._field(name, getattr(value, name)) for name in _fields(type(value))]

    def _field(self, name: str, value: Any) -> object:
        if name in ("write_id", "_last_write_id"):
            return self._write(value)
        if name == "deadline_ms":
            return self._time(value)
        if name == "_behind":
            return value and (value.first_offset, self._time(value.not_before_ms))
        if name == "not_before_ms":
            return value and self._time(value)
        if name in ("_writes", "_held"):
            return [(self._write(write), self._of(each)) for write, each in value.items()]
        if name == "_expirations":
            return sorted(self._last_write - write_id for write_id in value)
        if name in ("delays", "dead"):
            return self._moved(value)
        if name == "write":
            return value and self._write(value)
        if name in ("owner", "member_id"):
            return self._member(value)
        if name == "touched":
            return [(self._batch(batch), first, last) for batch, first, last in value]
        return self._of(value)

    def _moved(self, rows: Sequence[Delay | DeadLetter]) -> object:
        """Return delays relative to now, and dead letters unchanged: a member's name there decides nothing."""
        now_ms = self._world.now_ms
        return [(row[0], row[1], row[2] - now_ms if isinstance(row, Delay) else row[2], row[3]) for row in rows]

    def _batch(self, batch: InFlightBatch) -> object:
        """Return a batch by its position; a batch outside the window matters only if it is looked up."""
        window = self._world.core._window
        return batch.first_offset, any(each is batch for each in window.batches)


_FIELDS: Final[dict[type, Sequence[str]]] = {}


def _fields(kind: type) -> Sequence[str]:
    known = _FIELDS.get(kind)
    if known is None:
        slots = [name for owner in kind.__mro__ for name in getattr(owner, "__slots__", ())]
        known = _FIELDS[kind] = [name for name in slots if name not in LEFT_OUT]
    return known
