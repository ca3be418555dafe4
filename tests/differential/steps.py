"""The operations on a share group, as values. One sequence of them is played at both brokers.

A step holds everything that its requests need, session epochs included, so that it means the same at both brokers and
can be printed. Members and partitions are numbers; names, topic ids and member epochs are each broker's own.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from random import Random
from typing import Literal

MEMBERS = 3
PARTITIONS = 2
UNKNOWN_PARTITION = 7
STEPS = 60

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
BATCH_OPTIMIZED, RECORD_LIMIT = 0, 1

QUEUE = "dlq.differential"
"""The dead-letter queue of all groups that have one."""

LONG_LOCK_MS = 600_000
"""A lock duration within which no lock expires: two brokers never agree on the millisecond."""
SHORT_LOCK_MS = 1_500
"""A lock duration for sequences that let locks expire."""


@dataclass(frozen=True, slots=True)
class AckRange:
    """One acknowledgement batch: a range of offsets, both included, with one type for all of them or one for each."""

    first: int
    last: int
    types: tuple[int, ...]

    def __repr__(self) -> str:
        return f"{self.first}-{self.last}:{','.join(map(str, self.types))}"


Acks = tuple[tuple[int, tuple[AckRange, ...]], ...]
"""Acknowledgements by partition, in the order of the request."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """A ShareFetch request. It names `partitions` and the partitions of `acks`. `unknown_topic`: their topic id does
    not exist.
    """

    kind: str
    member: int
    epoch: int
    partitions: tuple[int, ...] = ()
    acks: Acks = ()
    forgotten: tuple[int, ...] = ()
    max_records: int = 500
    batch_size: int = 500
    mode: int = BATCH_OPTIMIZED
    max_wait_ms: int = 40
    min_bytes: int = 1
    max_bytes: int = 16 << 20
    is_renew_ack: bool = False
    version: int = 2
    unknown_topic: bool = False


@dataclass(frozen=True, slots=True)
class Acknowledge:
    kind: str
    member: int
    epoch: int
    acks: Acks = ()
    is_renew_ack: bool = False
    version: int = 2
    unknown_topic: bool = False


@dataclass(frozen=True, slots=True)
class Produce:
    kind: str
    partition: int
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Drop:
    """Lost connections: the members reconnect, without sessions."""

    kind: str
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pause:
    kind: str
    ms: int


@dataclass(frozen=True, slots=True)
class Restart:
    """A stop of the broker, by SIGTERM or SIGKILL, and a start on the same data."""

    kind: str
    kill: bool


@dataclass(frozen=True, slots=True)
class AlterOffsets:
    kind: str
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Configure:
    """IncrementalAlterConfigs of the group. The step ends when the broker describes the new values."""

    kind: str
    configs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DescribeOffsets:
    kind: str


@dataclass(frozen=True, slots=True)
class ReadState:
    kind: str


@dataclass(frozen=True, slots=True)
class DeleteRecords:
    """DeleteRecords of one partition up to an offset, exclusive."""

    kind: str
    partition: int
    before: int


class MemberEpoch(Enum):
    """The member epoch of a heartbeat, named because brokers count epochs differently."""

    CURRENT = "current"
    AHEAD = "ahead"
    JOIN = "join"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Heartbeat:
    kind: str
    member: int
    epoch: MemberEpoch


Step = (
    Fetch
    | Acknowledge
    | Produce
    | Drop
    | Pause
    | Restart
    | AlterOffsets
    | Configure
    | DescribeOffsets
    | ReadState
    | DeleteRecords
    | Heartbeat
)


def reported(step: Step) -> str:
    shown = []
    for field in fields(step):
        value = getattr(step, field.name)
        if field.name != "kind" and value != field.default:
            shown.append(f"{field.name}={value!r}")
    return f"{type(step).__name__}[{step.kind}]({', '.join(shown)})"


@dataclass(frozen=True, slots=True)
class Setup:
    """The start of a sequence.

    If it `begins` with altered offsets, the group is empty; otherwise all three members join.

    `gives_back`: members release most records, so that these are delivered again and again. `restart_at` is the step
    before which both brokers restart; None for no restart. `dead_letters`: the group may get a dead-letter queue, if
    both brokers have them.
    """

    begins: Literal["altered", "earliest", "latest"]
    delivery_limit: int
    record_locks: int
    gives_back: bool
    first_batches: tuple[tuple[int, ...], ...]
    restart_at: int | None
    kill: bool
    dead_letters: bool

    def group_configs(self) -> tuple[tuple[str, str], ...]:
        return (
            ("share.auto.offset.reset", "earliest" if self.begins == "altered" else self.begins),
            ("share.delivery.count.limit", str(self.delivery_limit)),
            ("share.partition.max.record.locks", str(self.record_locks)),
            ("share.record.lock.duration.ms", str(LONG_LOCK_MS)),
        )


def setup_of(seed: int) -> Setup:
    """Return a seed's setup. One of ten seeds has a restart, half of these by SIGKILL."""
    chance = Random(f"{seed}/setup")
    restarts = seed % 10 == 3
    ways: tuple[Literal["altered", "earliest", "latest"], ...] = ("altered", "earliest", "latest")
    return Setup(
        begins=chance.choices(ways, (7, 2, 1))[0],
        delivery_limit=chance.choice((2, 3, 3, 4, 5, 5, 7, 10)),
        record_locks=chance.choice((100, 100, 150, 2000, 2000, 2000)),
        gives_back=chance.random() < 0.35,
        first_batches=tuple(batch_sizes(chance) for _ in range(PARTITIONS)),
        restart_at=chance.randrange(STEPS // 4, STEPS * 3 // 4) if restarts else None,
        kill=seed % 20 == 13,
        dead_letters=Random(f"{seed}/dead letters").random() < 0.35,
    )


def batch_sizes(chance: Random) -> tuple[int, ...]:
    """Return the sizes of one produce request's batches, from many small ones to a single large one."""
    return tuple(chance.choice((1, 1, 1, 2, 3, 5, 8, 10, 20, 20, 60)) for _ in range(chance.choice((1, 1, 2, 3, 5))))
