"""The ports from transactions to the logs that they write to."""

from __future__ import annotations

from typing import Protocol

from shareq.broker.log.markers import MarkedLog, OpenTransactions
from shareq.broker.topics.ports import LedLog


class KnownProducer(Protocol):
    """The state of a producer id that a log remembers."""

    @property
    def epoch(self) -> int: ...


class KnownProducers(OpenTransactions, Protocol):
    """The producers of one log."""

    def get(self, producer_id: int) -> KnownProducer | None:
        """Return the state of a producer id; None if the log has none."""

    def has_ended(self, producer_id: int, epoch: int) -> bool:
        """Return True if the producer has written in this epoch, and has no open transaction any more."""


class TransactionLog(LedLog, MarkedLog, Protocol):
    """The log of one partition to which transactions write."""

    @property
    def topic(self) -> str: ...
    @property
    def producers(self) -> KnownProducers: ...
