"""The transaction coordinator on fakes, with a group coordinator: topics `t` (2 partitions) and `u` (1)."""

from __future__ import annotations

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.coordinator_runtime.partition import ProducerEpoch
from shareq.broker.foundation.pending import Pending
from shareq.broker.transactions.coordinator import CleanupIntervals, transaction_coordinator_settings
from shareq.broker.transactions.service import TransactionService
from shareq.coordinator.transaction.describe import TransactionFilter
from shareq.coordinator.transaction.init_producer_id import ExpectedProducer
from shareq.coordinator.transaction.metadata import TopicPartition
from shareq.coordinator.transaction.outcome import ProducerResult
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import list_transactions
from shareq.protocol.generated.offset_commit import OffsetCommitRequest
from shareq.protocol.records.batch import decode_records, read_header
from shareq.protocol.records.control import ControlType, read_control_record
from tests.support.coroutines import begun
from tests.support.fakes.group_rig import GroupRig

NONE = ErrorCode.NONE
T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class TransactionRig(GroupRig):
    """A `TransactionService` beside a `GroupService`. Producer ids are 100, 101, ...; ids can be refused."""

    def __init__(self, *topics: str, version: int = 2) -> None:
        super().__init__(*topics)
        self.version = version
        self.verifies = True
        self.no_ids: OSError | None = None
        self._producer_id = 99
        self.transactions = self.make_transactions()

    def make_transactions(self) -> TransactionService:
        ports = self.ports
        return TransactionService(
            ports.host,
            ports.internal_topics,
            ports.logs.lookup(),
            ports.logs,
            lambda: self.service.coordinator.partitions,
            begin=ports.begin,
            new_producer_id=self._new_id,
            transaction_version=lambda: self.version,
            verifies=lambda: self.verifies,
            settings=transaction_coordinator_settings(BrokerConfig.load({})),
            intervals=CleanupIntervals(10_000, 3_600_000),
            most_per_owner=BrokerConfig.load({}).shareq_max_transactional_ids_per_principal,
        )

    def _new_id(self) -> int:
        if self.no_ids is not None:
            raise self.no_ids
        self._producer_id += 1
        return self._producer_id

    def begun(self, *partitions: TopicPartition, name: str = "x") -> ProducerEpoch:
        answer = self.ports.answer(self.init(name))
        assert answer.error is NONE
        producer = ProducerEpoch(answer.producer_id, answer.producer_epoch)
        if partitions:
            added = self.transactions.coordinator.add_partitions(name, *producer, partitions, 2)
            assert self.ports.answer(added) is NONE
        for at in partitions:
            if at.topic[:2] != "__":
                self.ports.logs.get(*at).fill(b"v", producer_id=producer.producer_id, epoch=producer.epoch)
        return producer

    def end(self, producer: ProducerEpoch, *, commit: bool = True, name: str = "x") -> ProducerResult:
        """Send EndTxn of transaction version 2, run everything that follows at once, and return the result."""
        pending = self.end_txn(producer, commit=commit, name=name)
        self.ports.logs.flush()
        return pending.value

    def end_txn(self, producer: ProducerEpoch, *, commit: bool = True, name: str = "x") -> Pending[ProducerResult]:
        return self.ports.begin(
            self.transactions.coordinator.end_transaction(name, *producer, commit=commit, client_version=2)
        )

    def init(
        self, name: str = "x", expected: ExpectedProducer | None = None, *, timeout_ms: int = 60_000
    ) -> Pending[ProducerResult]:
        return self.ports.begin(self.transactions.coordinator.init_producer_id(name, timeout_ms, expected))

    def listed(self, wanted: TransactionFilter | None = None) -> Pending[list[list_transactions.TransactionState]]:
        return self.ports.begin(self.transactions.coordinator.list_transactions(wanted or TransactionFilter()))

    def commit_offsets(
        self, producer: ProducerEpoch, request: OffsetCommitRequest, version: int
    ) -> Pending[dict[str, ErrorCode]]:
        """Commit offsets in transaction x; the result is the error of each topic's only partition."""
        return begun(self.ports.env, self._commit_offsets(producer, request, version))

    async def _commit_offsets(
        self, producer: ProducerEpoch, request: OffsetCommitRequest, version: int
    ) -> dict[str, ErrorCode]:
        prepared = await self.service.offsets.prepare(short=True)
        assert prepared is not None
        prepared.add(request, self.ports.clock.wall_ms())
        outcome = await self.transactions.offsets.commit(producer, "x", request, version, prepared)
        gone = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return {
            topic.name: gone if topic.topic_id in outcome.gone else outcome.error or ErrorCode(row.error_code)
            for topic in prepared.topics
            for row in topic.partitions
        }

    def ends(self, at: TopicPartition) -> list[tuple[str, int, int]]:
        """Return the markers in a partition: commit or abort, producer id and epoch."""
        found = []
        for batch in self.ports.logs.get(*at).contents.batches:
            header = read_header(batch)
            if header.is_control:
                how = "commit" if read_control_record(batch).type is ControlType.COMMIT else "abort"
                found.append((how, header.producer_id, header.producer_epoch))
            else:
                assert decode_records(batch)
        return found

    def state(self, name: str = "x") -> str:
        return self.transactions.coordinator.describe(name).value.transaction_state
