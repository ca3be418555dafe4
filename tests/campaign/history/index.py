"""A history indexed by value, place and offset, for all analyses."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.campaign.history.operations import (
    Acquired,
    Bounds,
    Created,
    Deleted,
    Drained,
    History,
    Operation,
    Outcome,
    Place,
    Record,
    Transfer,
    Trim,
)


@dataclass(slots=True)
class Log:
    """The knowledge about one place. `order`: the value at each offset, as first seen."""

    order: dict[int, str] = field(default_factory=dict)
    conflicts: list[tuple[int, str, str]] = field(default_factory=list)
    """The offsets at which two different values were read, with both values."""
    last_of_key: dict[str, int] = field(default_factory=dict)
    floor: int = 0
    """The offset below which records may be missing, because a client deleted them or they were too old."""
    drained: tuple[Operation, Drained] | None = None
    highest_read: int = -1
    needed: list[int] = field(default_factory=list)
    """Offsets of records that are certainly part of the log for every reader, ascending."""

    def see(self, offset: int, value: str, key: str | None) -> None:
        known = self.order.setdefault(offset, value)
        if known != value:
            self.conflicts.append((offset, known, value))
        if key is not None:
            self.last_of_key[key] = max(offset, self.last_of_key.get(key, -1))

    def between(self, after: int, before: int) -> list[int]:
        """The needed offsets strictly between two."""
        return self.needed[bisect_left(self.needed, after + 1) : bisect_left(self.needed, before)]


@dataclass(slots=True)
class Index:
    history: History
    logs: dict[Place, Log] = field(default_factory=lambda: defaultdict(Log))
    writers: dict[str, tuple[Operation, Record]] = field(default_factory=dict)
    read_committed: dict[str, Operation] = field(default_factory=dict)
    """An operation that read the value with read_committed, by value."""
    created: dict[str, Created] = field(default_factory=dict)
    deleted: dict[str, list[Operation]] = field(default_factory=lambda: defaultdict(list))
    trims: dict[Place, list[tuple[Operation, int]]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, history: History) -> Index:
        index = cls(history)
        for one in history.operations:
            index._note(one)
        for record in index._seen():
            log = index.logs[record.place]
            assert record.offset is not None
            log.see(record.offset, record.value, index._key_if_written(record.value))
        index._note_needed()
        return index

    def _note(self, one: Operation) -> None:
        value = one.value
        match value:
            case Transfer():
                for record in value.sends:
                    self.writers[record.value] = (one, record)
                self._note_reads(one, value)
            case Created():
                self.created[value.topic] = value
            case Deleted() if one.outcome is not Outcome.FAIL:
                self.deleted[value.topic].append(one)
            case Trim() if one.outcome is not Outcome.FAIL:
                self.trims[value.place].append((one, value.before))
                self._raise_floor(value.place, value.before)
            case Drained():
                self.logs[value.place].drained = (one, value)
                self.logs[value.place].highest_read = max(self.logs[value.place].highest_read, value.end - 1)
                for record in value.records:
                    self.read_committed.setdefault(record.value, one)
                self._note_start(value.place, value.start)
            case Bounds():
                self._note_start(value.place, value.start)
            case _:
                pass

    def _note_reads(self, one: Operation, transfer: Transfer) -> None:
        for record in transfer.reads:
            log = self.logs[record.place]
            log.highest_read = max(log.highest_read, record.offset or 0)
            if transfer.read_committed and one.outcome is Outcome.OK:
                self.read_committed.setdefault(record.value, one)

    def _note_start(self, place: Place, start: int) -> None:
        topic = self.created.get(place.topic)
        if topic is not None and topic.shrinks:
            self._raise_floor(place, start)

    def _raise_floor(self, place: Place, floor: int) -> None:
        self.logs[place].floor = max(self.logs[place].floor, floor)

    def _seen(self) -> Iterator[Record]:
        for one in self.history.operations:
            match one.value:
                case Transfer(sends=sends, reads=reads):
                    yield from (record for record in (*sends, *reads) if record.offset is not None)
                case Drained(records=records):
                    yield from records
                case Acquired(deliveries=deliveries):
                    yield from (Record(d.place, d.value, d.offset) for d in deliveries if d.value is not None)
                case _:
                    pass

    def _key(self, value: str) -> str | None:
        writer = self.writers.get(value)
        return None if writer is None else writer[1].key

    def _key_if_written(self, value: str) -> str | None:
        """Return the key by which the record supersedes older ones; None if the record's transaction was aborted."""
        writer = self.writers.get(value)
        return None if writer is None or writer[0].outcome is Outcome.FAIL else writer[1].key

    def _note_needed(self) -> None:
        for place, log in self.logs.items():
            log.needed = sorted(
                offset
                for offset, value in log.order.items()
                if self.is_durable(value) and not self._superseded(place, offset, value)
            )

    def is_durable(self, value: str) -> bool:
        """Return whether the record must stay in its log: its write was answered, or it was read as committed."""
        writer = self.writers.get(value)
        return writer is not None and (writer[0].outcome is Outcome.OK or value in self.read_committed)

    def _superseded(self, place: Place, offset: int, value: str) -> bool:
        topic = self.created.get(place.topic)
        if topic is None or not topic.compacted:
            return False
        key = self._key(value)
        return key is not None and self.logs[place].last_of_key.get(key, -1) > offset

    def may_be_gone(self, place: Place, offset: int, value: str) -> bool:
        """Return whether a request may have removed the record, or a later record has its key."""
        return (
            bool(self.deleted.get(place.topic))
            or offset < self.logs[place].floor
            or self._superseded(place, offset, value)
        )

    def transfers(self) -> Iterator[tuple[Operation, Transfer]]:
        for one in self.history.operations:
            if isinstance(one.value, Transfer):
                yield one, one.value
