"""The ports through which the writer of dead letters uses the rest of the broker."""

from __future__ import annotations

from collections.abc import Container
from typing import Protocol

from shareq.broker.foundation.pending import Pending
from shareq.broker.log.append import OnDurable
from shareq.broker.share.dlq.rules import QueuePolicy, QueueTopic
from shareq.protocol.errors import ApiError, ErrorCode


class QueueTopics(Protocol):
    """The topics that are, or will be, dead-letter queues. Nothing is cached.

    Where other brokers must be asked, only one request for each topic is open, however many callers wait for its
    answer. `retriable` are the errors after which a repeated call may succeed.
    """

    @property
    def retriable(self) -> Container[int]: ...

    def policy(self) -> QueuePolicy:
        """Return the policy of the current configuration."""

    def find(self, name: str) -> Pending[QueueTopic | ApiError | None]:
        """Return the topic; None if no topic has that name; an error if this cannot be determined, now or at all."""

    def create(self, name: str) -> Pending[ApiError]:
        """Create the topic, as a queue, unless it exists when that may be done. After NO_ERROR, `find` returns it."""

    def append(self, name: str, partition: int, batch: bytearray, on_durable: OnDurable) -> ErrorCode:
        """Append the batch as a client would. Return NONE, and call `on_durable` later, maybe with an error. Otherwise
        return the error that a client would get, such as NOT_LEADER_OR_FOLLOWER or MESSAGE_TOO_LARGE.
        """
