"""A model of a share partition, one cell per offset, as slow and plain as the rules: the judge of the real one.

Written from the rules (KIP-932 and Apache Kafka 4.3.1's behaviour), not from the code under test: every answer comes
from a walk over all cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from tests.support.models.share_cells import (
    ACCEPT,
    ACKNOWLEDGED,
    ACQUIRED,
    ARCHIVED,
    ARCHIVING,
    AVAILABLE,
    COUNT_EXCEEDED,
    GAP,
    INVALID_RECORD_STATE,
    INVALID_REQUEST,
    REJECT,
    REJECTED,
    RELEASE,
    RENEW,
    TERMINAL,
    Cell,
    Group,
    Write,
)


@dataclass
class ShareModel:
    """The model. Limits are attributes and may change between calls."""

    max_deliveries: int = 5
    max_in_flight: int = 2000
    lock_ms: int = 30_000
    renew: bool = True
    queue: bool = False  # the group has a dead-letter queue
    backoff: tuple[int, int, float] = (0, 1, 1.0)  # wait after the first failure, at most, and how it grows
    start: int = 0
    end: int = 0
    groups: list[Group] = field(default_factory=list)
    gap: tuple[int, int] | None = None
    writes: int = 0
    waiting: dict[int, tuple[str, Write]] = field(default_factory=dict)
    undurable: int = 0  # below this (exclusive), records may be archived in memory alone

    # -- helpers

    def cells(self) -> dict[int, Cell]:
        return {offset: cell for group in self.groups for offset, cell in sorted(group.cells.items())}

    def complete(self) -> int:
        return sum(offset >= self.start and cell.state in TERMINAL for offset, cell in self.cells().items())

    def gap_start(self) -> int | None:
        """Return the start of the gap window while it is active."""
        return self.gap[0] if self.gap and self.gap[1] == self.end else None

    def _move_gap(self, offset: int) -> None:
        if self.gap:
            self.gap = (offset, self.gap[1]) if self.gap[1] == self.end and offset <= self.gap[1] else None

    def _floor(self, offset: int) -> Group | None:
        below = [group for group in self.groups if group.first <= offset]
        return below[-1] if below else None

    def _give_back(self, cell: Cell, offset: int, now: int) -> int:
        cell.later = None
        if offset < self.start:
            return ARCHIVED
        if cell.count >= self.max_deliveries:
            return self._dead(cell, COUNT_EXCEEDED)
        first, longest, grows = self.backoff
        wait = float(first)
        for _ in range(1, cell.count):
            wait *= grows
        cell.later = now + int(min(wait, longest)) if first else None
        return AVAILABLE

    def _expired(self, cell: Cell, offset: int, now: int) -> None:
        self._explode_at_start(offset)
        cell.state, cell.owner, cell.deadline = self._give_back(cell, offset, now), "", None
        cell.not_before = cell.later

    def _dead(self, cell: Cell, cause: str) -> int:
        """Mark a record as unprocessable, with a dead letter to write if there is a queue."""
        cell.cause = cause
        return ARCHIVING if self.queue else ARCHIVED

    def _write(self, changed: dict[int, Cell]) -> Write:
        self.writes += 1
        rows = {offset: (cell.state, cell.count) for offset, cell in changed.items()}
        delays = {offset: cell.later for offset, cell in changed.items() if cell.later is not None}
        return Write(self.writes, self.start, self.complete(), rows, delays)

    # -- load

    def load(
        self,
        start: int,
        persisted: Iterable[tuple[int, int, int, int]],
        log_end: int,
        delays: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        """Load persisted batches (first, last, state, count), ascending; `delays` are the redelivery times of
        offsets.
        """
        self.start = self.end = min(start, log_end)
        missing = None
        for first, last, state, count in persisted:
            last = min(last, log_end - 1)
            if first > last:
                continue
            expected = self.end + 1 if self.groups else self.start
            if first > expected and missing is None:
                missing = expected
            for offset in range(first, last + 1):
                cell = Cell(state, count, not_before=delays.get(offset))
                if offset == first or cell.not_before != self.groups[-1].cell.not_before:
                    self.groups.append(Group({}))
                self.groups[-1].cells[offset] = cell
            self.end = last
        if missing is not None:
            self.gap = (missing, self.end)
        self._advance()

    # -- fetch

    def holes(self) -> list[int]:
        gap, cells = self.gap_start(), self.cells()
        return [] if gap is None else [offset for offset in range(gap, self.end + 1) if offset not in cells]

    def next_fetch_offset(self) -> int:
        if not self.groups or self.start > self.groups[-1].last:
            return self.end
        free = [offset for offset, cell in self.cells().items() if cell.free]
        return min([*self.holes(), *free], default=self.end + 1)

    def in_flight(self) -> int:
        return self.end - self.start + 1 if self.groups else 0

    def can_acquire(self) -> bool:
        if self.next_fetch_offset() != self.end + 1 or self.in_flight() < self.max_in_flight:
            return True
        if not self.waiting:
            self.gap = None  # nothing is missing in the window any more
            self._advance()  # no write will: what is archived for good fills the window
        return self.in_flight() < self.max_in_flight

    def acquire(
        self,
        member: str,
        limited: bool,
        batch_size: int,
        max_records: int,
        fetch_offset: int,
        log: Sequence[tuple[int, int]],
        now: int,
        aborted: Sequence[tuple[int, int]] = (),
    ) -> dict[int, int]:
        """Return acquired offset -> delivery count. `log` is the read record batches as (base, last)."""
        taken: dict[int, int] = {}
        if max_records <= 0 or not log or log[-1][1] < self.start:
            return taken
        until = log[-1][1]
        budget = min(max_records, self.max_in_flight - self.in_flight())
        if budget <= 0:
            if fetch_offset > self.end:
                return taken
            budget, until = min(max_records, self.end - fetch_offset + 1), min(until, self.end)
        base = log[0][0]
        for offset, cell in self.cells().items():
            if fetch_offset <= offset < base and cell.state == AVAILABLE:
                self._explode_partly(offset, fetch_offset, base - 1)
                cell.archive()
        if any(fetch_offset <= hole < base for hole in self.holes()):
            self._move_gap(base)
        at = max(base, self.start)
        floor = self._floor(at)
        if floor and floor.last >= at:
            at = floor.first
        fetch = _Fetch(self, member, limited, batch_size, budget, base, until, log, now, taken)
        fetch.walk([group for group in self.groups if at <= group.first <= until], at)
        if taken:
            self._move_gap(max(taken) + 1)
            self._leave_out(aborted, taken)
        return taken

    def _leave_out(self, aborted: Sequence[tuple[int, int]], taken: dict[int, int]) -> None:
        for first, last in aborted:
            for offset, cell in self.cells().items():
                if first <= offset <= last and cell.state == ACQUIRED:
                    if offset not in taken:  # a member has had it since before the group read committed records only
                        self.undurable = max(self.undurable, offset + 1)
                    self._explode_partly(offset, first, last)
                    cell.archive()
                    taken.pop(offset, None)

    def _explode_at_start(self, offset: int) -> None:
        """Split a group at the start offset: below it a released record is archived."""
        group = self._floor(offset)
        assert group is not None
        group.exploded = group.exploded or group.first < self.start <= group.last

    def _explode_partly(self, offset: int, first: int, last: int) -> None:
        group = self._floor(offset)
        assert group is not None
        if not (first <= group.first and group.last <= last):
            group.exploded = True

    # -- acknowledge

    def acknowledge(self, member: str, acks: Sequence[tuple[int, int, Sequence[int]]], now: int) -> int | Write:
        """Return an error code, 0 if done at once, or the write that has to succeed."""
        changed: dict[int, Cell] = {}
        error = 0
        for first, last, types in acks:
            error = self._acknowledge_one(member, first, last, types, now, changed)
            if error:
                break
        if error or not changed:
            for cell in changed.values():
                self._undo(cell)
            return error
        write = self._write(changed)
        for cell in changed.values():
            cell.write = write.id
        self.waiting[write.id] = ("acknowledge", write)
        return write

    def _undo(self, cell: Cell) -> None:
        cell.state, cell.owner = cell.old
        cell.write = cell.later = None

    def _acknowledge_one(
        self, member: str, first: int, last: int, types: Sequence[int], now: int, changed: dict[int, Cell]
    ) -> int:
        if any(kind not in range(5) for kind in types):
            return INVALID_REQUEST
        if last < self.start:
            return INVALID_RECORD_STATE if first < self.undurable else 0
        groups = self._about(first, last)
        if isinstance(groups, int):
            return groups
        for group in groups:
            if group.last < self.start:
                continue
            if not group.exploded:
                if group.cell.owner != member or group.cell.write is not None:
                    return INVALID_RECORD_STATE
                whole = first <= group.first and group.last <= last
                if not whole or len(types) > 1 or group.first < self.start:
                    group.exploded = True
            for offset, cell in sorted(group.cells.items()):
                if max(first, self.start) <= offset <= last:
                    kind = types[0] if len(types) == 1 else types[offset - first]
                    if not self._say(member, offset, cell, kind, now, changed):
                        return INVALID_RECORD_STATE
        return 0

    def _about(self, first: int, last: int) -> list[Group] | int:
        if first < min(self.start, self.undurable):
            return INVALID_RECORD_STATE
        floor = self._floor(first)
        if floor is None and first < self.start:
            floor = self._floor(self.start)
        if floor is None:
            return INVALID_RECORD_STATE
        groups = [group for group in self.groups if floor.first <= group.first <= max(last, floor.first)]
        return INVALID_REQUEST if first > groups[-1].last or last > groups[-1].last else groups

    def _say(self, member: str, offset: int, cell: Cell, kind: int, now: int, changed: dict[int, Cell]) -> bool:
        """Acknowledge one offset; False if that is not allowed."""
        if cell.state != ACQUIRED or cell.write is not None or cell.owner != member:
            return False
        if kind == RENEW:
            cell.deadline = now + self.lock_ms if self.renew else cell.deadline
            return self.renew
        cell.old = (cell.state, cell.owner)
        cell.later = None
        cell.state = {GAP: ARCHIVED, ACCEPT: ACKNOWLEDGED}.get(kind, AVAILABLE)
        if kind == REJECT:
            cell.state = self._dead(cell, REJECTED)
        if kind == RELEASE:
            cell.state = self._give_back(cell, offset, now)
        cell.owner, cell.write = "", 0
        changed[offset] = cell
        return True

    def release(self, member: str, now: int) -> Write | None:
        changed: dict[int, Cell] = {}
        for group in self.groups:
            for offset, cell in sorted(group.cells.items()):
                if cell.state == ACQUIRED and cell.write is None and cell.owner == member:
                    self._explode_at_start(offset)
                    cell.old = (cell.state, cell.owner)
                    cell.state = self._give_back(cell, offset, now)
                    cell.owner = ""
                    changed[offset] = cell
        if not changed:
            return None
        write = self._write(changed)
        for cell in changed.values():
            cell.write = write.id
        self.waiting[write.id] = ("release", write)
        return write

    def written(self, write: int, ok: bool, now: int) -> dict[int, tuple[int, str]]:
        """Complete a state write; return the offsets that now need dead letters, with delivery count and cause."""
        dead: dict[int, tuple[int, str]] = {}
        kind, sent = self.waiting.pop(write)
        if ok and sent.start >= self.undurable:
            self.undurable = 0
        if kind == "timeout":
            if not ok:
                archived = [offset for offset, (state, _) in sent.cells.items() if state == ARCHIVED]
                self.undurable = max([self.undurable, *(offset + 1 for offset in archived)])
            dying = {offset: count for offset, (state, count) in sent.cells.items() if state == ARCHIVING}
            cells = self.cells()
            self._advance()
            return {offset: (count, cells[offset].cause) for offset, count in dying.items()}
        for offset, cell in self.cells().items():
            if cell.write != write:
                continue
            if ok:
                cell.write = None
                cell.deadline = None
                cell.not_before = cell.later
            elif cell.gone:
                cell.write = None
            else:
                expired = cell.deadline is not None and cell.deadline <= now
                self._undo(cell)
                if expired:
                    self._expired(cell, offset, now)
            if cell.state == ARCHIVING:
                dead[offset] = (cell.count, cell.cause)
            if not ok and cell.finished:
                self.undurable = max(self.undurable, offset + 1)
        if ok:
            self._advance()
        return dead

    def buried(self, first: int, last: int) -> Write | None:
        changed: dict[int, Cell] = {}
        for offset, cell in self.cells().items():
            if first <= offset <= last and cell.state == ARCHIVING and cell.write is None:
                self._explode_partly(offset, first, last)
                cell.state = ARCHIVED
                cell.later = None
                changed[offset] = cell
        if not changed:
            return None
        write = self._write(changed)
        self.waiting[write.id] = ("timeout", write)
        return write

    def unburied(self) -> dict[int, tuple[int, str]]:
        """Return the offsets that need dead letters after a load; their cause is a guess."""
        return {
            offset: (cell.count, COUNT_EXCEEDED if cell.count >= self.max_deliveries else REJECTED)
            for offset, cell in self.cells().items()
            if cell.state == ARCHIVING
        }

    # -- offsets and time

    def _advance(self) -> None:
        done = None
        for group in self.groups:
            gap = self.gap_start()
            if gap is not None and group.last >= gap:
                break
            for offset, cell in sorted(group.cells.items()):
                if not cell.finished:
                    break
                done = offset
            if done != group.last:
                break
        if done is None:
            return
        if done == self.groups[-1].last:
            self.start = self.end = max(self.start, done + 1)
            self.groups.clear()
            self.gap = None
            return
        start = done + 1
        following = [group.first for group in self.groups if group.first > done]
        if any(group.last == done for group in self.groups):
            start = following[0]
            gap = self.gap_start()
            if gap is not None:
                start = min(start, gap)
        self.start = max(self.start, start)
        self.groups = [group for group in self.groups if group.last > done]

    def log_start_moved(self, log_start: int) -> None:
        if log_start <= self.start:
            return
        if not self.groups:
            self.start = self.end = log_start
            self.gap = None
            return
        for offset, cell in self.cells().items():
            if self.start <= offset < log_start and cell.state == AVAILABLE:
                self._explode_partly(offset, self.start, log_start - 1)
                cell.archive()
        self.start = log_start
        self.end = max(self.end, log_start)
        if self.gap and self.gap[0] < log_start:
            self._move_gap(log_start)

    def wake(self, now: int) -> bool:
        """Make records available whose delay has passed; return whether there were any."""
        due = [cell for cell in self.cells().values() if cell.not_before is not None and cell.not_before <= now]
        for cell in due:
            cell.not_before = None
        return len(due) > 0

    def timeout(self, now: int) -> Write | None:
        changed: dict[int, Cell] = {}
        for group in self.groups:
            for offset, cell in sorted(group.cells.items()):
                if cell.state == ACQUIRED and cell.write is None and cell.deadline is not None:
                    if cell.deadline > now:
                        continue
                    self._expired(cell, offset, now)
                    changed[offset] = cell
        if not changed:
            return None
        write = self._write(changed)
        self.waiting[write.id] = ("timeout", write)
        return write


@dataclass
class _Fetch:
    model: ShareModel
    member: str
    limited: bool
    batch_size: int
    budget: int
    base: int
    until: int
    log: Sequence[tuple[int, int]]
    now: int
    taken: dict[int, int]

    def left(self) -> int:
        return self.budget - len(self.taken)

    def take(self, offset: int, cell: Cell) -> None:
        cell.state, cell.owner, cell.deadline = ACQUIRED, self.member, self.now + self.model.lock_ms
        cell.count += 1
        self.taken[offset] = cell.count

    def walk(self, groups: list[Group], at: int) -> None:
        for group in groups:
            if self.left() <= 0:
                return
            if self.model.gap_start() is not None and at < group.first:
                self.take_new(at, group.first - 1)
            at = group.last + 1
            if self.left() <= 0:
                return
            if not self.take_again(group):
                return
        if self.left() > 0 and at <= self.until:
            self.take_new(at, self.until)

    def take_again(self, group: Group) -> bool:
        limit = self.model.max_deliveries
        threshold = max(2, -(-limit // 2))
        seen = [group.cells[offset] for offset in sorted(group.cells) if self.base <= offset <= self.until]
        throttled = max([cell.count for cell in seen if cell.free], default=0) >= threshold
        if throttled and self.taken:
            return False
        whole = self.base <= group.first and group.last <= self.until
        too_large = self.limited and len(group.cells) > self.left()
        if whole and not group.exploded and not too_large and not throttled:
            if group.cell.free:
                for offset, cell in sorted(group.cells.items()):
                    self.take(offset, cell)
            return True
        if not group.exploded:
            if not group.cell.free:
                return True
            group.exploded = True
        taken, quota, room = 0, None, self.left()
        for offset, cell in sorted(group.cells.items()):
            if not self.base <= offset <= self.until or not cell.free:
                continue
            last_chance = limit > 2 and cell.count == limit - 1
            if last_chance and taken:
                break
            if cell.count >= threshold and quota is None:
                quota = max(1, len(group.cells) >> (cell.count - threshold + 1))
            self.take(offset, cell)
            taken += 1
            if last_chance or taken == quota or (self.limited and taken == room):
                break
        return not (throttled and taken)

    def take_new(self, first: int, last: int) -> None:
        model = self.model
        if not model.groups and model.end > first:
            first = model.end
        room = self.left()
        if last - first + 1 > room:
            wanted = first + room - 1
            around = [end for begin, end in self.log if begin <= wanted <= end]
            last = min(last, around[0] if around else wanted)
        if first > last:
            return
        groups = [[first]]
        for offset in range(first + 1, last + 1):
            begins = any(begin == offset for begin, _ in self.log)
            if not self.limited and begins and offset - groups[-1][0] >= self.batch_size:
                groups.append([])
            groups[-1].append(offset)
        acquired_last = first
        for offsets in groups:
            group = Group({offset: Cell(AVAILABLE, 0) for offset in offsets})
            for offset in offsets[: room if self.limited else None]:
                self.take(offset, group.cells[offset])
                acquired_last = offset
            group.exploded = self.limited and len(offsets) > room
            model.groups.append(group)
        model.groups.sort(key=lambda group: group.first)
        if model.groups[0].first == first:
            model.start = max(model.start, first)
        model.end = max(model.end, last)
        model._move_gap(acquired_last + 1)
