"""The smallest coordinator: a shard that notes its records, for tests of the runtime around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.shard import CoordinatorRecord, CoordinatorResult, InconsistentRecords, LateAnswer, Steps
from shareq.protocol.generated.share_group_metadata import ShareGroupMetadataKey, ShareGroupMetadataValue
from shareq.protocol.records.batch import RecordData

NOTE_SERDE = GROUP_SERDE


def note(name: str, number: int = 0) -> CoordinatorRecord:
    return CoordinatorRecord(ShareGroupMetadataKey(name), ShareGroupMetadataValue(number, 0))


def encoded(record: CoordinatorRecord) -> RecordData:
    return RecordData(*NOTE_SERDE.encode(record))


class Replayed(NamedTuple):
    """One record as replayed; `producer_id` -1: not part of a transaction."""

    name: str
    number: int
    offset: int
    producer_id: int = -1


class NoteShard:
    """A `CoordinatorShard` and `TransactionalShard`. The replay of a record named `bad` fails as for corrupt data, of
    one named `broken` as for a bug.
    """

    def __init__(self) -> None:
        self.replayed: list[Replayed] = []
        self.ended: list[tuple[int, bool]] = []
        self.loaded_at: int | None = None
        self.deadline: int | None = None
        self.deadlines_seen: list[int] = []
        self.due: tuple[CoordinatorRecord, ...] = ()

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.replayed]

    def replay(self, record: CoordinatorRecord, offset: int) -> None:
        self._take(record, offset, -1)

    def replay_transactional(self, record: CoordinatorRecord, offset: int, producer_id: int) -> None:
        self._take(record, offset, producer_id)

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        self.ended.append((producer_id, commit))

    def on_loaded(self, now_ms: int) -> Steps[None]:
        yield
        assert self.loaded_at is None, "loaded twice"
        self.loaded_at = now_ms

    def next_deadline_ms(self) -> int | None:
        return self.deadline

    def on_deadline(self, now_ms: int) -> CoordinatorResult[None]:
        self.deadlines_seen.append(now_ms)
        self.deadline = None
        return CoordinatorResult(None, self.due)

    def _take(self, record: CoordinatorRecord, offset: int, producer_id: int) -> None:
        assert isinstance(record.key, ShareGroupMetadataKey)
        assert isinstance(record.value, ShareGroupMetadataValue)
        if record.key.group_id == "bad":
            raise InconsistentRecords("a bad record")
        if record.key.group_id == "broken":
            raise ZeroDivisionError
        self.replayed.append(Replayed(record.key.group_id, record.value.epoch, offset, producer_id))


def result(
    response: str, *records: CoordinatorRecord, answers: Sequence[LateAnswer] = (), atomic: bool = True
) -> CoordinatorResult[str]:
    return CoordinatorResult(response, records, tuple(answers), atomic)
