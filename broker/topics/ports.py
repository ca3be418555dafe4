"""The ports from the rest of the broker to the metadata, and to the logs of topics.

`MetadataStore` implements the first, and the log manager the second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final, Protocol, TypeVar

from shareq.broker.foundation.loop.commit_gate import CommitGate
from shareq.broker.log.append import Traffic
from shareq.broker.log.segments.txn_index import AbortedTransaction
from shareq.broker.metadata.store import NewTopic
from shareq.coordinator.ports import TopicImage, TopicNames
from shareq.protocol.errors import ApiError


class TopicMetadata(TopicNames, Protocol):
    """The existing topics, their creation, and news of them.

    Listeners are called on the loop's thread, after the change is durable and visible in this port.
    """

    @property
    def gate(self) -> CommitGate:
        """The gate to pass before a topic is created."""

    def create_topics(self, topics: Sequence[NewTopic]) -> list[TopicImage]:
        """Create topics durably. Raise ValueError for an illegal or existing name, and OSError."""

    def on_topics_changed(self, listener: Callable[[Sequence[TopicImage]], None]) -> None:
        """Call `listener` with topics that are new, or have more partitions."""

    def on_topics_deleted(self, listener: Callable[[Sequence[TopicImage]], None]) -> None:
        """Call `listener` with topics that were deleted."""


class CoordinatorTopics(Protocol):
    """The topics of the coordinators' logs."""

    async def made(self, *names: str) -> ApiError:
        """Create those topics that are needed now and missing. Return the error if one cannot be created."""


class NotHereYet(Enum):
    """An answer in the place of records that exist, but still have to be fetched by their source. It announces them
    as a new high watermark.
    """

    NOT_HERE_YET = 0


NOT_HERE_YET: Final = NotHereYet.NOT_HERE_YET


class LedLog(Protocol):
    """The log of a partition that this broker leads. Callers that look one up may require more methods."""

    @property
    def leader_epoch(self) -> int: ...


class ReadLog(LedLog, Protocol):
    """The log of one partition that clients read. Ends are exclusive. Consumers read up to the high watermark; with
    read_committed, up to the last stable offset.
    """

    @property
    def topic(self) -> str: ...
    @property
    def topic_id(self) -> bytes: ...
    @property
    def partition(self) -> int: ...
    @property
    def log_start_offset(self) -> int: ...
    @property
    def high_watermark(self) -> int: ...
    @property
    def last_stable_offset(self) -> int: ...
    @property
    def traffic(self) -> Traffic: ...

    def available_bytes(self, offset: int, upto: int) -> int:
        """Return the number of bytes of the batches from the one that has `offset` to the last below `upto`
        (exclusive); 0 if there are none.

        Bytes that have to be fetched first count with the most that they may be.
        """

    def aborted_transactions(self, first_offset: int, upper_bound: int) -> Sequence[AbortedTransaction]:
        """Return the aborted transactions that a committed read of `first_offset` to `upper_bound`
        (exclusive) needs.
        """


LogT_co = TypeVar("LogT_co", bound=LedLog, covariant=True)


class PartitionLogs(Protocol[LogT_co]):
    """The logs of the existing partitions."""

    def get(self, topic: str, partition: int) -> LogT_co: ...
