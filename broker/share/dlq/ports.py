"""The ports from the writing of dead letters to the rest of the broker."""

from __future__ import annotations

from collections.abc import Container
from typing import Protocol

from shareq.broker.foundation.pending import Pending
from shareq.broker.log.append import OnDurable
from shareq.broker.share.dlq.rules import QueuePolicy, QueueTopic
from shareq.protocol.errors import ApiError, ErrorCode


class QueueTopics(Protocol):
    """The topics that are dead-letter queues, or are to be. Nothing is cached.

    Where other brokers must be asked, there is one open question for each topic, however many wait for its answer.
    `retriable` are the errors that may have passed when a call is repeated.
    """

    @property
    def retriable(self) -> Container[int]: ...

    def policy(self) -> QueuePolicy:
        """Return the policy of the current configuration."""

    def find(self, name: str) -> Pending[QueueTopic | ApiError | None]:
        """Return the topic; None if no topic has that name. An error: it cannot be said now, or not at all."""

    def create(self, name: str) -> Pending[ApiError]:
        """Create the topic, as a queue, unless it exists when that may be done. NO_ERROR: `find` finds it now."""

    def append(self, name: str, partition: int, batch: bytearray, on_durable: OnDurable) -> ErrorCode:
        """Append as a client would; NONE: `on_durable` is called, maybe with an error that was found later. Else what a
        client would be answered, as NOT_LEADER_OR_FOLLOWER and MESSAGE_TOO_LARGE.
        """
