"""The ports from the rest of the broker to the metadata, and to the logs of topics.

`MetadataStore` serves the one, the sole author of its topics, and the log manager the other.
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
    """The topics that exist, a way to create one, and news of them.

    Listeners are called on the loop's thread, after the change is durable and this port shows it.
    """

    @property
    def gate(self) -> CommitGate:
        """The gate that is passed before a topic is created."""

    def create_topics(self, topics: Sequence[NewTopic]) -> list[TopicImage]:
        """Create topics durably. Raises ValueError for an illegal or taken name, OSError."""

    def on_topics_changed(self, listener: Callable[[Sequence[TopicImage]], None]) -> None:
        """Call back with topics that are new, or have more partitions."""

    def on_topics_deleted(self, listener: Callable[[Sequence[TopicImage]], None]) -> None:
        """Call back with topics that are gone."""


class CoordinatorTopics(Protocol):
    """The topics of the coordinators' logs."""

    async def made(self, *names: str) -> ApiError:
        """Have those topics exist that are needed now, or return why they do not."""


class NotHereYet(Enum):
    """Instead of records: there are some, and their source fetches them. It announces them as a new high watermark."""

    NOT_HERE_YET = 0


NOT_HERE_YET: Final = NotHereYet.NOT_HERE_YET


class LedLog(Protocol):
    """The log of a partition that this broker leads. Callers that look one up may ask for more than this."""

    @property
    def leader_epoch(self) -> int: ...


class ReadLog(LedLog, Protocol):
    """The log of one partition that clients read. Ends are exclusive; readers see up to the high watermark, those of
    committed records up to the last stable offset.
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
        """Bytes of the batches from the one that holds `offset` to those below `upto` (exclusive); 0 without any.

        Bytes that have to be fetched first count, too, with the most that they may be.
        """

    def aborted_transactions(self, first_offset: int, upper_bound: int) -> Sequence[AbortedTransaction]:
        """Return the aborted transactions that a committed read of `first_offset` to `upper_bound`
        (exclusive) needs.
        """


LogT_co = TypeVar("LogT_co", bound=LedLog, covariant=True)


class PartitionLogs(Protocol[LogT_co]):
    """The logs of the partitions that exist."""

    def get(self, topic: str, partition: int) -> LogT_co: ...
