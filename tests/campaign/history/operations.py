"""Clients' operations and their answers: the history that the checker judges. Nothing here knows the broker.

An operation has a start, by the client, and an end, when the answer arrived. Its outcome is

    OK      answered, and took effect
    FAIL    did certainly not take effect, and never will
    INFO    unknown, for lack of an answer: it may have taken effect, or may do so later

Times are nanoseconds of one clock. Offsets are inclusive unless a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, NamedTuple


class Outcome(Enum):
    OK = "ok"
    FAIL = "fail"
    INFO = "info"


class Place(NamedTuple):
    """One partition of one incarnation of a topic: `topic` is the id, which no other topic ever has."""

    topic: str
    partition: int


class Record(NamedTuple):
    """A record that was sent or read. `value` is unique in the history; `offset` None where it is not known."""

    place: Place
    value: str
    offset: int | None = None
    key: str | None = None


class Delivery(NamedTuple):
    """One record that a member of a share group acquired.

    `times` is the delivery count; `value` None where the answer did not carry the record.
    """

    place: Place
    offset: int
    times: int
    value: str | None = None


class AckType(Enum):
    """A share-group member's acknowledgement of an acquired record; GAP: there was no record at that offset.

    The numbers are KIP-932's, not the product's: histories are judged independently of it.
    """

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3


class Ack(NamedTuple):
    place: Place
    offset: int
    type: AckType


FINAL: Final = frozenset({AckType.ACCEPT, AckType.REJECT})
"""The types that end a record's life in the group."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """Records sent and read by one operation, in order. `transactional`: all or nothing, with `writes`.

    `writes` sets registers (such as a committed offset), `observed` are the results of register reads; None: missing.
    `read_committed`: the isolation of the reads.
    """

    sends: tuple[Record, ...] = ()
    reads: tuple[Record, ...] = ()
    writes: Mapping[str, str | None] = field(default_factory=dict)
    observed: Mapping[str, str | None] = field(default_factory=dict)
    transactional: bool = False
    read_committed: bool = True


@dataclass(frozen=True, slots=True)
class Seek:
    """New read positions of the process; earlier reads no longer count for its order."""

    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Trim:
    place: Place
    before: int


@dataclass(frozen=True, slots=True)
class Created:
    """A topic. `compacted`: a record may be removed when a later one has its key. `shrinks`: old records are removed by
    size or age.
    """

    name: str
    topic: str
    partitions: int
    compacted: bool = False
    shrinks: bool = False


@dataclass(frozen=True, slots=True)
class Deleted:
    name: str
    topic: str


@dataclass(frozen=True, slots=True)
class Bounds:
    """A log's observed start and end (exclusive)."""

    place: Place
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Drained:
    """A whole log: every record that readers of committed records see, from its start to its end (exclusive)."""

    place: Place
    start: int
    end: int
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Acquired:
    group: str
    member: str
    deliveries: tuple[Delivery, ...]


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A member's acknowledgements, accepted (OK) or refused (FAIL) by the broker."""

    group: str
    member: str
    acks: tuple[Ack, ...]


@dataclass(frozen=True, slots=True)
class Departed:
    """The end of a member's session, which releases its records."""

    group: str
    member: str


@dataclass(frozen=True, slots=True)
class ShareReset:
    """An administrator's change of the group's start; `start` None: deleted."""

    group: str
    place: Place
    start: int | None


@dataclass(frozen=True, slots=True)
class ShareStart:
    group: str
    place: Place
    start: int


@dataclass(frozen=True, slots=True)
class ShareDrained:
    """The point after which the group has nothing left to receive."""

    group: str
    place: Place


@dataclass(frozen=True, slots=True)
class Killed:
    """The sudden end of the broker's process."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An answer that only lost state explains; `what` names it."""

    what: str


Value = (
    Transfer
    | Seek
    | Trim
    | Created
    | Deleted
    | Bounds
    | Drained
    | Acquired
    | Acknowledged
    | Departed
    | ShareReset
    | ShareStart
    | ShareDrained
    | Killed
    | Refused
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One call of one process. `completed` is None when no answer ever came; the outcome is INFO then."""

    process: str
    invoked: int
    completed: int | None
    outcome: Outcome
    value: Value

    @property
    def end(self) -> float:
        """The latest time at which the operation was over."""
        return float("inf") if self.completed is None or self.outcome is Outcome.INFO else self.completed

    def is_before(self, other: Operation) -> bool:
        return self.end < other.invoked


@dataclass(frozen=True, slots=True)
class ShareRules:
    """The configured rules of a share group. `lock_ns`: how long an acquired record belongs to its member."""

    lock_ns: int
    delivery_limit: int


@dataclass(frozen=True, slots=True)
class History:
    operations: Sequence[Operation]
    rules: Mapping[str, ShareRules] = field(default_factory=dict)

    def until(self, moment: int) -> History:
        """Return the history with answers up to `moment`: unanswered operations are unknown, later ones removed."""
        return replace(self, operations=[_cut(one, moment) for one in self.operations if one.invoked <= moment])

    def then(self, later: Iterable[Operation]) -> History:
        every = [*self.operations, *later]
        every.sort(key=lambda one: one.invoked)
        return replace(self, operations=every)


def _cut(one: Operation, moment: int) -> Operation:
    if one.completed is None or one.completed <= moment:
        return one
    return replace(one, completed=None, outcome=Outcome.INFO, value=_unanswered(one.value))


def _unanswered(value: Value) -> Value:
    """Return the value without the parts that only an answer has: a record's offset, read values."""
    if isinstance(value, Transfer):
        return replace(value, sends=tuple(one._replace(offset=None) for one in value.sends), reads=(), observed={})
    if isinstance(value, Acquired):
        return replace(value, deliveries=())
    return value
