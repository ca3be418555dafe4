"""Transactions whose end another process may decide: one writes, and hands over the id that ends it.

    transaction = Transaction.begin(network, "orders-3", timeout_ms=60_000)
    BulkWriter(network, transaction=transaction) ...
    end(other_network, transaction.id, committed=True)

A transaction can carry a mark: a number and a text that a consumer group has as its offset of one partition from the
commit on, and not before. So what was committed is known afterwards, whatever became of the answer to the commit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, Self

from shareq.client.admin.calls import TRANSACTION, Calls, Outcome, Partition, refused
from shareq.client.admin.transactions import take_over
from shareq.client.core.list_offsets import by_topic
from shareq.client.network import Network
from shareq.client.produce.delivery import TransactionId
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from shareq.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from shareq.protocol.generated.end_txn import EndTxnRequest, EndTxnResponse
from shareq.protocol.generated.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from shareq.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

# The last versions in which a commit leaves the producer's epoch as it is (before KIP-890's second part): the process
# that ends a transaction is not the one that began it, and may have to ask twice.
_INIT: Final = 5
_ADD_PARTITIONS: Final = 3
_ADD_OFFSETS: Final = 3
_TXN_OFFSET_COMMIT: Final = 4
_END: Final = 4
_OFFSET_FETCH: Final = 9  # by names of topics


class Mark(NamedTuple):
    """A number, at least 0, and a text of at most 4,096 bytes, which a broker may be set to bound lower."""

    number: int
    text: str


class Transaction:
    """An open transaction. One thread at a time; any call may raise BrokerError, with PRODUCER_FENCED or
    INVALID_PRODUCER_EPOCH once another producer began a transaction of the same name.
    """

    def __init__(self, network: Network, transaction: TransactionId) -> None:
        self._calls = Calls(network)
        self.id = transaction
        self._added: set[Partition] = set()

    @classmethod
    def begin(cls, network: Network, name: str, *, timeout_ms: int) -> Self:
        """Take the name: abort an open transaction that has it, and shut out its producer.

        The broker aborts the transaction by itself when it is open for `timeout_ms`. Waits for one before it that is
        being committed.
        """
        answer = take_over(Calls(network), name, timeout_ms=timeout_ms, max_version=_INIT)
        return cls(network, TransactionId(name, answer.producer_id, answer.producer_epoch))

    def add(self, partitions: Iterable[Partition]) -> None:
        """Make partitions a part of the transaction, before anything is written to them."""
        new = [each for each in partitions if each not in self._added]
        if not new:
            return
        topics = [AddPartitionsToTxnTopic(name, numbers) for name, numbers in by_topic(new).items()]
        name, producer_id, epoch = self.id

        def take(answer: AddPartitionsToTxnResponse) -> Outcome[bool]:
            topics = answer.results_by_topic_v3_and_below
            rows = ((topic.name, row) for topic in topics for row in topic.results_by_partition)
            failed = [(topic, row) for topic, row in rows if row.partition_error_code]
            # OPERATION_NOT_ATTEMPTED has a reason, at another partition
            failed.sort(key=lambda each: each[1].partition_error_code == ErrorCode.OPERATION_NOT_ATTEMPTED)
            for topic, row in failed:
                return refused(row.partition_error_code, f"partition {topic}-{row.partition_index}") or True
            return True

        self._calls.group(
            name,
            AddPartitionsToTxnRequest([], name, producer_id, epoch, topics),
            AddPartitionsToTxnResponse,
            take,
            kind=TRANSACTION,
            max_version=_ADD_PARTITIONS,
        )
        self._added.update(new)

    def mark(self, group: str, partition: Partition, mark: Mark) -> None:
        """Give the transaction a mark: the offset of a partition, which must exist, in a group without members."""
        name, producer_id, epoch = self.id

        def added(answer: AddOffsetsToTxnResponse) -> Outcome[bool]:
            return refused(answer.error_code, f"transactional id {name}") or True

        request = AddOffsetsToTxnRequest(name, producer_id, epoch, group)
        self._calls.group(name, request, AddOffsetsToTxnResponse, added, kind=TRANSACTION, max_version=_ADD_OFFSETS)

        def taken(answer: TxnOffsetCommitResponse) -> Outcome[bool]:
            return refused(answer.topics[0].partitions[0].error_code, f"group {group}") or True

        row = TxnOffsetCommitRequestPartition(partition[1], mark.number, committed_metadata=mark.text)
        self._calls.group(
            group,
            TxnOffsetCommitRequest(
                name, group, producer_id, epoch, topics=[TxnOffsetCommitRequestTopic(partition[0], partitions=[row])]
            ),
            TxnOffsetCommitResponse,
            taken,
            max_version=_TXN_OFFSET_COMMIT,
        )


def end(network: Network, transaction: TransactionId, *, committed: bool) -> None:
    """Commit or abort a transaction. Does nothing where the same end was decided before.

    Raises BrokerError: PRODUCER_FENCED, INVALID_PRODUCER_EPOCH or INVALID_TXN_STATE if it has ended otherwise.
    """
    name, producer_id, epoch = transaction

    def take(answer: EndTxnResponse) -> Outcome[bool]:
        return refused(answer.error_code, f"transactional id {name}") or True

    request = EndTxnRequest(name, producer_id, epoch, committed)
    Calls(network).group(name, request, EndTxnResponse, take, kind=TRANSACTION, max_version=_END)


def last_mark(network: Network, group: str) -> Mark | None:
    """Return the committed mark of the group with the highest number, None if it has none.

    Waits for a transaction that is being committed.
    """

    def take(answer: OffsetFetchResponse) -> Outcome[list[Mark]]:
        found: list[Mark] = []
        for each in answer.groups:
            if each.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
                continue
            if error := refused(each.error_code, f"group {group}"):
                return error
            for topic in each.topics:
                for row in topic.partitions:
                    if error := refused(row.error_code, f"group {group}"):
                        return error
                    if row.committed_offset >= 0:
                        found.append(Mark(row.committed_offset, row.metadata or ""))
        return found

    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=None)], require_stable=True)
    marks = Calls(network).group(group, request, OffsetFetchResponse, take, max_version=_OFFSET_FETCH)
    return max(marks, default=None)
