"""One partition of the transaction coordinator, with a log, a virtual clock, and producer ids from 100 on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import count

from shareq.coordinator.shard import CoordinatorResult
from shareq.coordinator.transaction.init_producer_id import ExpectedProducer
from shareq.coordinator.transaction.metadata import TopicPartition, Transaction
from shareq.coordinator.transaction.outcome import ProducerResult, WriteMarkers
from shareq.coordinator.transaction.records import TRANSACTION_SERDE, transaction_record
from shareq.coordinator.transaction.shard import TransactionCoordinatorSettings, TransactionCoordinatorShard
from shareq.protocol.errors import ErrorCode
from tests.unit.coordinator.support import Log, Time

FIRST_PRODUCER_ID = 100
TIMEOUT_MS = 60_000
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


class Coordinator:
    """A transaction coordinator. `version`: the level of transaction.version, also the client's by default."""

    def __init__(self, version: int = 2) -> None:
        self.version = version
        self.time = Time()
        self.no_producer_ids = ErrorCode.NONE
        self._ids = count(FIRST_PRODUCER_ID)
        self.log = Log(self._new_shard, TRANSACTION_SERDE, self.time)

    @property
    def shard(self) -> TransactionCoordinatorShard:
        return self.log.shard

    def _new_shard(self) -> TransactionCoordinatorShard:
        return TransactionCoordinatorShard(
            self.time.wall_ms, self._new_producer_id, lambda: self.version, TransactionCoordinatorSettings()
        )

    def _new_producer_id(self) -> int | ErrorCode:
        return self.no_producer_ids or next(self._ids)

    def state(self, transactional_id: str = "t") -> Transaction:
        found = self.shard.get(transactional_id)
        assert found is not None
        return found

    def init(
        self, expected: tuple[int, int] | None = None, *, transactional_id: str = "t", timeout_ms: int = TIMEOUT_MS
    ) -> ProducerResult:
        named = None if expected is None else ExpectedProducer(*expected)
        return self.log.run(self.shard.init_producer_id(transactional_id, timeout_ms, named))

    def add(
        self,
        producer: tuple[int, int],
        partitions: Iterable[TopicPartition] = (A0,),
        *,
        transactional_id: str = "t",
        version: int | None = None,
    ) -> ErrorCode:
        client = self.version if version is None else version
        return self.log.run(self.shard.add_partitions(transactional_id, *producer, partitions, client))

    def verify(
        self, producer: tuple[int, int], partition: TopicPartition = A0, transactional_id: str = "t"
    ) -> ErrorCode:
        return self.log.run(self.shard.verify_partition(transactional_id, *producer, partition))

    def end(
        self,
        producer: tuple[int, int],
        *,
        commit: bool,
        transactional_id: str = "t",
        version: int | None = None,
    ) -> ProducerResult:
        client = self.version if version is None else version
        result = self.shard.end_transaction(transactional_id, *producer, commit=commit, client_version=client)
        return self.log.run(result)

    def complete(self, markers: WriteMarkers | None) -> ErrorCode:
        assert markers is not None
        return self.log.run(self.shard.complete(markers))

    def end_and_complete(
        self, producer: tuple[int, int], *, commit: bool, version: int | None = None
    ) -> ProducerResult:
        result = self.end(producer, commit=commit, version=version)
        assert result.error is ErrorCode.NONE
        assert self.complete(result.markers) is ErrorCode.NONE
        return result

    def at_epoch(self, epoch: int) -> tuple[int, int]:
        state = replace(self.state(), producer_epoch=epoch)
        self.log.run(CoordinatorResult(None, (transaction_record(state, self.version),)))
        return state.producer_id, epoch
