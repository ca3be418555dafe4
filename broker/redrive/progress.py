"""The progress of a redrive in each partition of its queue, and the text committed with the offset. Pure.

    {"by": "5f0c...", "v": 1, "spec": [...], "state": "RUNNING", "end": 17, "counts": {"REDRIVEN": 3, ...},
     "stayed": [4, 1, 2, 1], "upto": 9, "logs": [["orders", 0, 120], ...]}

`by` is the broker's signature of partition, offset and all other fields. Without it, a client, which may commit
offsets of any group that it may read, could begin redrives in the name of others. `end` is exclusive. `upto` and
`logs` exist only while records may have been sent that the committed offset does not cover: for letters below
`upto`, at or behind these ends of the logs to which they are sent. `why` is set only if the redrive has failed.
`stayed` are the letters below the offset that the filter accepts and that were not sent back, as ranges: the
distance from the end of the previous range, and the length. `beyond` are, in the same form, letters above the offset
that were sent back.
"""

from __future__ import annotations

import hmac
import json
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from shareq.broker.redrive.spec import RedriveSpec, spec_of, spec_text

_FORMAT: Final = 1

Sign = Callable[[str], str]
"""A function that signs a text as only this broker can. The signature is the same after each start."""


class State(Enum):
    """The state of a redrive. All states except the first are final."""

    RUNNING = "RUNNING"
    DONE = "DONE"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


class What(Enum):
    """The outcome of a letter. With all except the first, the letter is still only in the queue."""

    REDRIVEN = "REDRIVEN"
    FILTERED = "FILTERED"
    ALREADY_SENT = "ALREADY_SENT"
    NOT_A_LETTER = "NOT_A_LETTER"
    UNREADABLE = "UNREADABLE"
    WITHOUT_CONTENT = "WITHOUT_CONTENT"
    NO_TOPIC = "NO_TOPIC"
    NOT_AUTHORIZED = "NOT_AUTHORIZED"
    REFUSED = "REFUSED"


STAYS: Final = frozenset(What) - {What.REDRIVEN, What.FILTERED, What.ALREADY_SENT}
"""The outcomes of a letter that the filter accepts, after which another redrive may send it back."""

Ranges = list[tuple[int, int]]
"""Ranges of offsets, both ends inclusive, ascending, with a gap between any two."""

Place = tuple[str, int]
"""Topic and partition."""


class UnderWay(NamedTuple):
    """A round in progress: letters from the committed offset to `upto` (exclusive) may have been sent back already.

    Their records are then in these logs, at these offsets or later.
    """

    upto: int
    logs: Mapping[Place, int]


class PartitionProgress:
    """The progress in one partition of the queue: everything below `next_offset` is done; `end_offset` is exclusive.

    Owned by its redrive.
    """

    __slots__ = ("beyond", "counts", "end_offset", "next_offset", "partition", "stayed", "under_way")

    def __init__(
        self,
        partition: int,
        next_offset: int,
        end_offset: int,
        counts: Mapping[What, int] | None = None,
        under_way: UnderWay | None = None,
        stayed: Ranges | None = None,
        beyond: Ranges | None = None,
    ) -> None:
        self.partition = partition
        self.next_offset = next_offset
        self.end_offset = end_offset
        self.counts: dict[What, int] = dict(counts or {})
        self.under_way = under_way
        self.stayed: Ranges = stayed or []
        self.beyond: Ranges = beyond or []

    @property
    def is_done(self) -> bool:
        return self.next_offset >= self.end_offset

    @property
    def sent_upto(self) -> int:
        """The offset behind the last letter that may have been sent back."""
        return self.beyond[-1][1] + 1 if self.beyond else self.next_offset

    def sent(self, offset: int) -> bool:
        """Return True if a letter that the filter accepts was sent back, or may have been."""
        upto = self.next_offset if self.under_way is None else max(self.next_offset, self.under_way.upto)
        return (offset < upto and not within(offset, self.stayed)) or within(offset, self.beyond)

    def move(self, upto: int, counts: Mapping[What, int], stayed: Iterable[tuple[int, int]] = ()) -> None:
        """Move `next_offset` to `upto` (exclusive): the letters below it are done, with these outcomes; `stayed`
        were not sent back.
        """
        self.next_offset = upto
        for first, last in stayed:
            if self.stayed and self.stayed[-1][1] + 1 == first:
                self.stayed[-1] = self.stayed[-1][0], last
            else:
                self.stayed.append((first, last))
        for what, count in counts.items():
            self.counts[what] = self.counts.get(what, 0) + count
        if self.under_way is not None and upto >= self.under_way.upto:
            self.under_way = None

    def give_up(self, sent: Collection[int]) -> int:
        """Abandon the round in progress; count the letters that are in `sent` already, and return their number.

        They lie behind `next_offset`, among letters that stay.
        """
        beyond = sorted(offset for offset in sent if offset >= self.next_offset)
        count = len(beyond)
        self.beyond = [(offset, offset) for offset in beyond]
        if count:
            self.counts[What.REDRIVEN] = self.counts.get(What.REDRIVEN, 0) + count
        self.under_way = None
        return count


class Saved(NamedTuple):
    """The committed progress of one partition."""

    spec: RedriveSpec
    state: State
    why: str
    progress: PartitionProgress


def progress_text(spec: RedriveSpec, state: State, why: str, progress: PartitionProgress, sign: Sign) -> str:
    """Return the text to commit together with `next_offset`. `why` is the reason of a failure, "" without one."""
    fields: dict[str, object] = {
        "v": _FORMAT,
        "spec": json.loads(spec_text(spec)),
        "state": state.value,
        "end": progress.end_offset,
        "counts": {what.value: count for what, count in progress.counts.items()},
    }
    fields["stayed"] = _deltas(progress.stayed)
    if progress.beyond:
        fields["beyond"] = _deltas(progress.beyond)
    if why:
        fields["why"] = why
    if progress.under_way is not None and state is State.RUNNING:
        fields["upto"] = progress.under_way.upto
        fields["logs"] = [[*place, end] for place, end in progress.under_way.logs.items()]
    return _json({"by": _signature(progress.partition, progress.next_offset, fields, sign), **fields})


def saved_of(partition: int, offset: int, text: str, sign: Sign) -> Saved:
    """Return the progress in a text of `progress_text`. Raise ValueError for any other text."""
    try:
        fields = json.loads(text)
        by = str(fields.pop("by")).encode()
        if not hmac.compare_digest(by, _signature(partition, offset, fields, sign).encode()):
            raise ValueError("it was not committed by this broker")
        if fields["v"] != _FORMAT:
            raise ValueError(f"its format is {fields['v']}")
        under_way = None
        if "upto" in fields:
            under_way = UnderWay(fields["upto"], {(topic, number): end for topic, number, end in fields["logs"]})
        counts = {What(what): count for what, count in fields["counts"].items()}
        # One of an earlier version does not say which letters stayed: all of them, if any did.
        knows = "stayed" in fields or not any(counts.get(what) for what in STAYS)
        stayed = _ranges(fields.get("stayed", ())) if knows else [(0, max(offset - 1, 0))]
        beyond = _ranges(fields.get("beyond", ()))
        progress = PartitionProgress(
            partition=partition,
            next_offset=offset,
            end_offset=fields["end"],
            counts=counts,
            under_way=under_way,
            stayed=stayed,
            beyond=beyond,
        )
        return Saved(spec_of(_json(fields["spec"])), State(fields["state"]), fields.get("why", ""), progress)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the progress of a redrive cannot be read: {error}") from None


def within(offset: int, ranges: Ranges) -> bool:
    """Return True if one of the ranges has the offset."""
    at = bisect_right(ranges, (offset, offset)) if ranges else 0
    return (at > 0 and ranges[at - 1][1] >= offset) or (at < len(ranges) and ranges[at][0] == offset)


def stayed_length(progress: PartitionProgress) -> int:
    """Return the number of characters of the committed text that describe letters that stayed."""
    return len(_json(_deltas(progress.stayed)))


def _deltas(ranges: Ranges) -> list[int]:
    found: list[int] = []
    end = 0
    for first, last in ranges:
        found += (first - end, last - first + 1)
        end = last + 1
    return found


def _ranges(deltas: Sequence[int]) -> Ranges:
    found: Ranges = []
    end = 0
    for gap, length in zip(deltas[::2], deltas[1::2], strict=True):
        found.append((end + gap, end + gap + length - 1))
        end += gap + length
    return found


def _signature(partition: int, offset: int, fields: object, sign: Sign) -> str:
    return sign(f"{partition} {offset} {_json(fields)}")


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def totals(progress: Iterable[PartitionProgress]) -> dict[What, int]:
    """Return the counts over all partitions, without those that are 0."""
    sums = dict.fromkeys(What, 0)
    for each in progress:
        for what, count in each.counts.items():
            sums[what] += count
    return {what: count for what, count in sums.items() if count}
