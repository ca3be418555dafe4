"""The ports from a coordinator's runtime to the broker: its partitions' logs, and the leader of each.

The logs of this process (`shareq.broker.log`) implement it. A log may be stored anywhere if it meets the
requirements written here: the runtime does not know about files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.pending import Pending
from shareq.broker.log.append import AppendInfo, Batch, OnDurable, Origin
from shareq.broker.log.segments.cold_reads import BeingRead
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.topics.leaders import Leaders
from shareq.coordinator.ports import TopicNames
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import BatchHeader

if TYPE_CHECKING:
    from shareq.broker.coordinator_runtime.routes import Routes

Read = ReadResult | ErrorCode
"""The result of a read."""

LOG_IS_OVER: Final = ErrorCode.NOT_COORDINATOR
"""The error of a log that accepts no more appends: another owner has taken over the partition, or the outcome of an
append is unknown.

The partition then resigns, and its state is loaded from another log.
"""


class CoordinatorLog(Protocol):
    """One partition of a coordinator's topic. Offsets of ends are exclusive; `high_watermark` is durable.

    A log that is over answers every read and every append, including pending ones, with `LOG_IS_OVER`. After any
    other error of an append, the log is read again; it then ends before the lost records.
    """

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def log_start_offset(self) -> int: ...
    @property
    def log_end_offset(self) -> int: ...
    @property
    def high_watermark(self) -> int: ...
    @property
    def max_message_bytes(self) -> int:
        """The largest size of a batch in bytes, header included."""

    def before_append(self, callback: Callable[[], None]) -> None:
        """Call `callback` once the log is ready for the next append, but not within this call.

        That is at the end of the tick, or later if appends take longer. All records decided until then are appended
        together.
        """

    def append(
        self, batch: Batch, *, origin: Origin, now_wall_ms: int, on_durable: OnDurable | None = None
    ) -> AppendInfo | ErrorCode:
        """Queue a batch behind the others.

        `on_durable` is called once, in the order of the appends, with NONE when the batch is durable or with the
        error when it was lost. It is not called if this returns an ErrorCode.
        """

    def read(
        self, offset: int, max_bytes: int, *, upto: int, min_one_batch: bool = True
    ) -> Read | Pending[Read] | BeingRead:
        """Return whole durable batches from the one that has `offset`, below `upto` (exclusive), at most
        `max_bytes`.

        With `min_one_batch`, at least one batch is returned. CORRUPT_MESSAGE for records that cannot be read. A log
        that has to fetch the records returns a `Pending`, and guarantees that it is completed within a limited time.
        """

    def unreadable_range(self, offset: int) -> tuple[int, int] | None:
        """Return the unreadable offsets around `offset`, as the first one and the end (exclusive); None if none are
        known.
        """

    def next_header(self, offset: int) -> BatchHeader | None:
        """Return the header of the batch that has `offset`, or of the first one after it. Raise OSError."""


class CoordinatorLogs(Protocol):
    """The logs of the coordinators' partitions."""

    def get(self, topic: str, partition: int) -> CoordinatorLog: ...


class CoordinatorHost(NamedTuple):
    """The parts of a broker that its coordinators use.

    `routes`: the partition of a coordinator's topic for each key. `believes_absence`: a topic or a partition missing
    from the metadata does not exist, so a start may delete its data. False if the metadata mirrors another
    cluster's, which is never complete.
    """

    env: Environment
    metadata: TopicNames
    logs: CoordinatorLogs
    leaders: Leaders
    routes: Routes
    believes_absence: bool
