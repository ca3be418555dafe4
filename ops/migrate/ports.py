"""The ports to a migration's two clusters.

Every call may raise ClientError; the caller retries none, except a sent batch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from shareq.client.errors import BrokerError, ClientError
from shareq.ops.migrate.batches import Fetched

Partition = tuple[str, int]


class LogRange(NamedTuple):
    """The offsets of a log that can be read: from `start` on, below `end`; at the source without open transactions."""

    start: int
    end: int


class Topic(NamedTuple):
    """A topic of a cluster. `configs` are those set for it, by name; `largest_batch` is in bytes, 0 if unknown."""

    name: str
    topic_id: str
    partitions: int
    is_internal: bool
    configs: Mapping[str, str]
    largest_batch: int = 0


class Sample(NamedTuple):
    """Some of the source's records, and the time that it took to read them."""

    size: int
    records: int
    seconds: float


class SentBatch(Protocol):
    """A batch that was sent."""

    def appended(self) -> int | None:
        """Wait, and return the offset of the batch; None if the broker had it already, and does not report where.

        Raises ClientError: the batch may be in the log, or may still arrive there later.
        """


class Source(Protocol):
    """The source cluster."""

    def cluster_id(self) -> str: ...

    def topics(self, wanted: Callable[[str, bool], bool]) -> Sequence[Topic]:
        """Return the topics that `wanted` accepts by name and by being internal. Others are not requested."""

    def ranges(self, partitions: Collection[Partition]) -> Mapping[Partition, LogRange]: ...

    def sizes(self) -> Mapping[Partition, int]:
        """Return the sizes of partitions in bytes, for those that the cluster reports."""

    def sample(self, ranges: Mapping[Partition, LogRange]) -> Sample:
        """Read some records in these ranges, for a second or two."""

    def undecided(self, partitions: Collection[Partition]) -> Mapping[Partition, int]:
        """Wait for open transactions at the ends of logs; return the first offsets of those that stay open for long."""

    def fetch(self, partition: Partition, offset: int, end: int) -> Iterator[Fetched]:
        """Yield the log's batches from an offset on, below `end`; if `offset` was deleted, from the log's start on."""


class Target(Protocol):
    """The target cluster."""

    def cluster_id(self) -> str: ...

    def topics(self, names: Collection[str]) -> Mapping[str, Topic]:
        """Return those of the topics that exist."""

    def create(self, topic: Topic) -> BrokerError | None:
        """Create a topic; return the error with which the cluster refuses it, None without one."""

    def try_configs(self, topic: Topic) -> BrokerError | None:
        """Return the error with which the cluster refuses the properties of a topic; creates nothing."""

    def set_configs(self, changes: Mapping[str, tuple[Mapping[str, str], Collection[str]]]) -> None:
        """Set properties of topics, and remove others."""

    def ranges(self, partitions: Collection[Partition]) -> Mapping[Partition, LogRange]: ...

    def fetch(self, partition: Partition, offset: int, end: int) -> Iterator[Fetched]: ...

    def producer(self) -> tuple[int, int]:
        """Return a new producer id and epoch."""

    def send(self, partition: Partition, batch: bytes | bytearray) -> SentBatch:
        """Send a batch. At most `MOST_IN_FLIGHT` of one partition are on their way."""

    def pause(self, error: ClientError) -> None:
        """Wait before a failed request is retried. Raises Unreachable after retrying for long enough."""

    def progressed(self) -> None:
        """Note that a retried request has succeeded."""
