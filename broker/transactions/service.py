"""Transactions, as the handlers use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shareq.broker.coordinator_runtime.partitions import CoordinatorPartitions
from shareq.broker.coordinator_runtime.ports import CoordinatorHost
from shareq.broker.foundation.loop.coroutines import Begin
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.service import Service
from shareq.broker.log.markers import MarkedLog, TransactionMarker
from shareq.broker.topics.internal import InternalTopics
from shareq.broker.topics.lookup import PartitionLookup
from shareq.broker.topics.ports import PartitionLogs
from shareq.broker.transactions.admission import TransactionAdmission
from shareq.broker.transactions.coordinator import CleanupIntervals, TransactionCoordinatorService
from shareq.broker.transactions.markers import MarkerWriter
from shareq.broker.transactions.names import TransactionalIdNames
from shareq.broker.transactions.offsets import TransactionalOffsets
from shareq.broker.transactions.ports import TransactionLog
from shareq.coordinator.group.shard import GroupCoordinatorShard
from shareq.coordinator.ports import TopicImage
from shareq.coordinator.transaction.shard import TransactionCoordinatorSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.names import TRANSACTION_STATE


class TransactionService(Service):
    """The transaction coordinator (`coordinator`), the writer of its markers (`markers`), the admission of
    producers' writes (`admission`), commits of offsets in transactions (`offsets`), and transactional ids by owner
    (`names`), of which an owner may have `most_per_owner`.

    `group_partitions` are the group coordinator's. See `TransactionCoordinatorService` and `TransactionAdmission`
    for the rest.
    """

    def __init__(
        self,
        host: CoordinatorHost,
        internal_topics: InternalTopics,
        lookup: PartitionLookup[TransactionLog],
        logs: PartitionLogs[TransactionLog],
        group_partitions: Callable[[], CoordinatorPartitions[GroupCoordinatorShard]],
        *,
        begin: Begin,
        new_producer_id: Callable[[], int],
        transaction_version: Callable[[], int],
        verifies: Callable[[], bool],
        settings: TransactionCoordinatorSettings,
        intervals: CleanupIntervals,
        most_per_owner: int,
        end_in_share: Callable[[int, TransactionMarker], Pending[ErrorCode] | None] = lambda _at, _marker: None,
    ) -> None:
        def end_in_group(partition: int, marker: TransactionMarker, log: MarkedLog) -> Pending[ErrorCode]:
            return group_partitions().get(partition).end_transaction(marker, log)

        clock = host.env.clock
        self.markers = MarkerWriter(lookup, host.env, begin, end_in_group, end_in_share)
        self.coordinator = TransactionCoordinatorService(
            host=host,
            internal_topics=internal_topics,
            markers=self.markers,
            begin=begin,
            new_producer_id=new_producer_id,
            transaction_version=transaction_version,
            settings=settings,
            intervals=intervals,
        )
        self.names = TransactionalIdNames(self.coordinator.partitions, most_per_owner, clock)
        self.admission = TransactionAdmission(self.coordinator, clock, begin, verifies)
        self.offsets = TransactionalOffsets(self.admission, group_partitions, host.metadata, logs)

    def recover(self) -> None:
        """Load the transactions, and end those whose outcome was decided."""
        self.coordinator.recover()

    def topics_deleted(self, topics: Sequence[TopicImage]) -> None:
        """Pass the deletion on; with the coordinator's own topic, all transactional ids are deleted."""
        self.coordinator.topics_deleted(topics)

    def leader_moved(self, topic: str, partition: int) -> None:
        """Give up a partition of the transactions' topic; the next use loads its log again."""
        if topic == TRANSACTION_STATE:
            self.coordinator.partitions.resign(partition)

    def close(self) -> None:
        """Stop all timers."""
        self.coordinator.close()
