"""How far a redrive is in each partition of its queue, and the text that is committed with the offset. Pure.

    {"by": "5f0c...", "v": 1, "spec": [...], "state": "RUNNING", "end": 17, "counts": {"REDRIVEN": 3, ...},
     "upto": 9, "logs": [["orders", 0, 120], ...]}

`by` is the broker's signature of partition, offset and all the rest: a client may commit offsets of any group it may
read, and would else begin redrives in the name of others. `end` is exclusive. `upto` and `logs` only while records may
be under way that the committed offset does not cover: of the letters below `upto`, and behind these ends of the logs
that they go to. `why` only of one that has failed.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import Enum
from typing import Final, NamedTuple

from shareq.broker.redrive.spec import RedriveSpec, spec_of, spec_text

_FORMAT: Final = 1

Sign = Callable[[str], str]
"""Signs a text as only this broker can, the same after each start."""


class State(Enum):
    """Of a redrive. All but the first are for good."""

    RUNNING = "RUNNING"
    DONE = "DONE"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


class What(Enum):
    """What has become of a letter. All but the first are still in the queue alone."""

    REDRIVEN = "REDRIVEN"
    FILTERED = "FILTERED"
    NOT_A_LETTER = "NOT_A_LETTER"
    UNREADABLE = "UNREADABLE"
    WITHOUT_CONTENT = "WITHOUT_CONTENT"
    NO_TOPIC = "NO_TOPIC"
    NOT_AUTHORIZED = "NOT_AUTHORIZED"
    REFUSED = "REFUSED"


Place = tuple[str, int]
"""Topic and partition."""


class UnderWay(NamedTuple):
    """Letters from the committed offset to `upto` (exclusive) may have been sent back already: then what was made of
    them is in these logs, at these offsets or behind.
    """

    upto: int
    logs: Mapping[Place, int]


class PartitionProgress:
    """Of one partition of the queue: everything below `next_offset` is done; `end_offset` is exclusive.

    Owned by its redrive.
    """

    __slots__ = ("counts", "end_offset", "next_offset", "partition", "under_way")

    def __init__(
        self,
        partition: int,
        next_offset: int,
        end_offset: int,
        counts: Mapping[What, int] | None = None,
        under_way: UnderWay | None = None,
    ) -> None:
        self.partition = partition
        self.next_offset = next_offset
        self.end_offset = end_offset
        self.counts: dict[What, int] = dict(counts or {})
        self.under_way = under_way

    @property
    def is_done(self) -> bool:
        return self.next_offset >= self.end_offset

    def move(self, upto: int, counts: Mapping[What, int]) -> None:
        """The letters below `upto` (exclusive) are done, with these outcomes."""
        self.next_offset = upto
        for what, count in counts.items():
            self.counts[what] = self.counts.get(what, 0) + count
        if self.under_way is not None and upto >= self.under_way.upto:
            self.under_way = None

    def give_up(self, sent: Collection[int]) -> int:
        """What is under way does not go on: those of it that are in `sent` count, by their offsets. How many they are.

        They lie behind `next_offset`, among others that stay.
        """
        count = sum(offset >= self.next_offset for offset in sent)
        if count:
            self.counts[What.REDRIVEN] = self.counts.get(What.REDRIVEN, 0) + count
        self.under_way = None
        return count


class Saved(NamedTuple):
    """What was committed of one partition."""

    spec: RedriveSpec
    state: State
    why: str
    progress: PartitionProgress


def progress_text(spec: RedriveSpec, state: State, why: str, progress: PartitionProgress, sign: Sign) -> str:
    """What is committed beside `next_offset`. `why`: it has failed; "" otherwise."""
    fields: dict[str, object] = {
        "v": _FORMAT,
        "spec": json.loads(spec_text(spec)),
        "state": state.value,
        "end": progress.end_offset,
        "counts": {what.value: count for what, count in progress.counts.items()},
    }
    if why:
        fields["why"] = why
    if progress.under_way is not None and state is State.RUNNING:
        fields["upto"] = progress.under_way.upto
        fields["logs"] = [[*place, end] for place, end in progress.under_way.logs.items()]
    return _json({"by": _signature(progress.partition, progress.next_offset, fields, sign), **fields})


def saved_of(partition: int, offset: int, text: str, sign: Sign) -> Saved:
    """What `progress_text` wrote. Raises ValueError for anything else."""
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
        progress = PartitionProgress(partition, offset, fields["end"], counts, under_way)
        return Saved(spec_of(_json(fields["spec"])), State(fields["state"]), fields.get("why", ""), progress)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the progress of a redrive cannot be read: {error}") from None


def _signature(partition: int, offset: int, fields: object, sign: Sign) -> str:
    return sign(f"{partition} {offset} {_json(fields)}")


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def totals(progress: Iterable[PartitionProgress]) -> dict[What, int]:
    """The counts of all partitions, those that are not 0."""
    sums = dict.fromkeys(What, 0)
    for each in progress:
        for what, count in each.counts.items():
            sums[what] += count
    return {what: count for what, count in sums.items() if count}
