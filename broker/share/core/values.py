"""Input and output values of a share partition. Those of which one request may bring thousands are tuples."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import attrgetter
from typing import Final, NamedTuple, Protocol, overload

from shareq.broker.share.core.effects import Effect
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.keys import KeyHashes
from shareq.protocol.share import RecordState

NO_KEYS: Final = KeyHashes([], [])
_base_offset = attrgetter("base_offset")


class BatchSpan(Protocol):
    """The offsets of one record batch of the log, both inclusive."""

    @property
    def base_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...


def end_of_batch(spans: Sequence[BatchSpan], offset: int) -> int:
    """Return the last offset of the record batch that contains `offset`, or `offset` if it lies between batches."""
    index = bisect_right(spans, offset, key=_base_offset) - 1
    return max(offset, spans[index].last_offset) if index >= 0 else offset


class AcquiredRange(NamedTuple):
    """Offsets `first_offset..last_offset` (inclusive) handed to a member for the `delivery_count`-th time."""

    first_offset: int
    last_offset: int
    delivery_count: int


class Acknowledged(Protocol):
    """A member's acknowledgement of the offsets `first_offset..last_offset` (inclusive), as its request has it.

    `acknowledge_types`: one for all of the offsets, or one for each.
    """

    @property
    def first_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def acknowledge_types(self) -> Sequence[int]: ...


class AckBatch(NamedTuple):
    """An `Acknowledged` that is made as an object of its own."""

    first_offset: int
    last_offset: int
    acknowledge_types: Sequence[int]


class AckRanges(Sequence[AckBatch]):
    """Acknowledgements, each of one type, as a flat list of numbers.

    `numbers` has three for each acknowledgement: its first and last offset (inclusive), and its type. An object is made
    only for an entry that is read.
    """

    __slots__ = ("numbers",)

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers) // 3

    @overload
    def __getitem__(self, index: int) -> AckBatch: ...
    @overload
    def __getitem__(self, index: slice) -> AckRanges: ...
    def __getitem__(self, index: int | slice) -> AckBatch | AckRanges:
        if isinstance(index, slice):
            first, end, _ = index.indices(len(self))
            return AckRanges(self.numbers[3 * first : 3 * end])
        at = 3 * range(len(self))[index]
        first, last, kind = self.numbers[at : at + 3]
        return AckBatch(first, last, (kind,))

    def __iter__(self) -> Iterator[AckBatch]:
        numbers = self.numbers
        fields = zip(numbers[::3], numbers[1::3], zip(numbers[2::3], strict=True), strict=True)
        return map(tuple.__new__, repeat(AckBatch), fields)


@dataclass(frozen=True, slots=True)
class AckOutcome:
    """The outcome of an acknowledgement.

    If `write_id` is None, `error` is the answer. Otherwise `error` is NONE, and the answer is the result of the state
    write with this id, which is among the `effects`.
    """

    error: ErrorCode
    effects: tuple[Effect, ...] = ()
    write_id: int | None = None


class RangeView(NamedTuple):
    """A run of equal records, for tests and inspection. `owner` is "" and `deadline_ms` None without a lock.

    `pending` is True while a state write is awaited. `not_before_ms` is when available records may be delivered again;
    None if they may be now, and while a state write is awaited. `waits_for_key`: an earlier record of its key is not
    finished.
    """

    first_offset: int
    last_offset: int
    state: RecordState
    delivery_count: int
    owner: str
    deadline_ms: int | None
    pending: bool
    not_before_ms: int | None = None
    waits_for_key: bool = False
