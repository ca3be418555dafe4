"""The count of new transactional ids, and of partitions' new producers, by the owner who creates them:
`shareq.max.transactional.ids.per.principal`, `shareq.max.producer.ids.per.principal`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Final, Protocol

from shareq.broker.foundation.environment import Clock
from shareq.broker.quotas.owned_names import OwnedNames
from shareq.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from shareq.broker.coordinator_runtime.partitions import CoordinatorPartitions
    from shareq.coordinator.transaction.shard import TransactionCoordinatorShard

SILENT_MS: Final = 900_000
"""The time in ms after which a silent producer repeats no batch: `delivery.timeout.ms` is 2 minutes by default."""


class TransactionalIdNames:
    """Transactional ids by owner. Only InitProducerId uses this, since no other request creates one."""

    def __init__(self, partitions: CoordinatorPartitions[TransactionCoordinatorShard], most: int, clock: Clock) -> None:
        self._partitions = partitions
        self._names = OwnedNames(most, self)
        self._now = clock.now_ms

    def admit(self, transactional_id: str, owner: Hashable) -> bool:
        """Count an id that a request may create. Return False if its owner has too many. Call `settle` after the
        request.
        """
        return self._names.admit(transactional_id, owner, self._now())

    def settle(self, transactional_id: str, owner: Hashable) -> None:
        """Remove the id from the count if the request did not create it."""
        self._names.settle(transactional_id, owner)

    # -- Places: partitions of the transactions' topic

    def place_of(self, name: str) -> int:
        return self._partitions.place_of(name)

    def has(self, name: str, place: int) -> bool:
        partitions = self._partitions
        return place < partitions.count and partitions.get(place).shard.get(name) is not None

    keeps = has


ProducerName = tuple[str, int, int]
"""A topic, a partition, and a producer id."""


class Producers(Protocol):
    """The producers of one partition."""

    def get(self, producer_id: int) -> object | None: ...
    def forget_silent(self, producer_id: int, before_wall_ms: int) -> None: ...


class _Log(Protocol):
    @property
    def producers(self) -> Producers: ...


class ProducerNames:
    """The producers that partitions remember, by the owner that sent a producer's first batch there.

    If an owner has reached its limit, its producers that were silent for `SILENT_MS` are forgotten, as all are after
    `producer.id.expiration.ms`. `log_of` returns the log of a topic's partition, or the error if it does not exist.
    """

    def __init__(self, most: int, log_of: Callable[[str, int], _Log | ErrorCode], clock: Clock) -> None:
        self._names = OwnedNames(most, self)
        self._log_of = log_of
        self._clock = clock

    def admit(self, topic: str, partition: int, producer_id: int, owner: Hashable) -> bool:
        """Return True if the owner may send a producer's first batch to the partition; the caller then appends it at
        once.
        """
        return self._names.admit((topic, partition, producer_id), owner, self._clock.now_ms(), at_once=True)

    # -- Places: there is one

    def place_of(self, _name: ProducerName) -> int:
        return 0

    def has(self, name: ProducerName, _place: int) -> bool:
        producers = self._producers_of(name)
        return producers is not None and producers.get(name[2]) is not None

    def keeps(self, name: ProducerName, _place: int) -> bool:
        producers = self._producers_of(name)
        if producers is None:
            return False
        producers.forget_silent(name[2], self._clock.wall_ms() - SILENT_MS)
        return producers.get(name[2]) is not None

    def _producers_of(self, name: ProducerName) -> Producers | None:
        try:
            log = self._log_of(*name[:2])
        except OSError:  # a deleted log is in the way of a new one with its name
            return None
        return None if isinstance(log, ErrorCode) else log.producers
