"""Transactions: which exist, which records they hold back, and how to end a hanging one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from shareq.client.admin.calls import TRANSACTION, Calls, Outcome, Partition, answered, batched, only, refused
from shareq.client.core.list_offsets import by_topic
from shareq.client.errors import BrokerError
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from shareq.protocol.generated.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generated.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from shareq.protocol.generated.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from shareq.protocol.primitives import Message

_ANY_AGE: Final = -1
_FENCING_TIMEOUT_MS: Final = 1
"""The timeout of Apache Kafka's own tools: the new transaction only serves to end the one before it."""


class TransactionListing(NamedTuple):
    """A transactional id and the state of its last transaction, in Apache Kafka's words."""

    transactional_id: str
    producer_id: int
    state: str


class Transaction(NamedTuple):
    """A transactional id as its coordinator describes it. `started_ms` is None while no transaction is open."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    started_ms: int | None
    partitions: Mapping[str, tuple[int, ...]]


class Producer(NamedTuple):
    """A producer that wrote to a partition; `open_from` is the first offset of its open transaction, or None."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    last_timestamp: int
    open_from: int | None


class Transactions:
    """The transactions of a cluster."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def find(
        self, states: Sequence[str] = (), producer_ids: Sequence[int] = (), open_for_ms: int | None = None
    ) -> Iterator[TransactionListing]:
        """Return transactional ids, broker by broker; if given, only those with these states and producers, or
        transactions open for longer.
        """
        age = _ANY_AGE if open_for_ms is None else open_for_ms
        request = ListTransactionsRequest(list(states), list(producer_ids), age)
        for answer in self._calls.brokers(request, ListTransactionsResponse, "transactions"):
            for row in answer.transaction_states:
                yield TransactionListing(row.transactional_id, row.producer_id, row.transaction_state)

    def describe(self, transactional_ids: Iterable[str]) -> Iterator[tuple[str, Outcome[Transaction]]]:
        """Yield the descriptions of transactional ids; TRANSACTIONAL_ID_NOT_FOUND for one that does not exist."""
        for some in batched(transactional_ids):
            described = answered(DescribeTransactionsResponse, _described)
            yield from self._calls.each_group(some, DescribeTransactionsRequest, described, kind=TRANSACTION).items()

    def fence(self, transactional_id: str) -> int:
        """Abort the open transaction of an id and shut out its producer. Returns the new producer epoch.

        An id that does not exist is created. Raises BrokerError.
        """
        return take_over(self._calls, transactional_id, timeout_ms=_FENCING_TIMEOUT_MS).producer_epoch

    def producers(self, partitions: Iterable[Partition]) -> dict[Partition, Outcome[tuple[Producer, ...]]]:
        """Return the producers that these partitions remember."""

        def ask(some: Sequence[Partition]) -> Message:
            return DescribeProducersRequest([TopicRequest(name, numbers) for name, numbers in by_topic(some).items()])

        return self._calls.each_partition(partitions, ask, answered(DescribeProducersResponse, _producers))

    def abort_hanging(self, partition: Partition, first_offset: int) -> Producer:
        """End a transaction that its coordinator has forgotten, in one partition, by its first offset there.

        Returns its producer. BrokerError INVALID_TXN_STATE if no open transaction begins there.
        """
        name, number = partition
        hanging = self.hanging(partition, first_offset)
        marker = WritableTxnMarker(
            hanging.producer_id,
            hanging.producer_epoch,
            False,
            [WritableTxnMarkerTopic(name, [number])],
            max(hanging.coordinator_epoch, 0),
        )

        def take(answer: WriteTxnMarkersResponse) -> dict[Partition, Outcome[bool]]:
            row = answer.markers[0].topics[0].partitions[0]
            return {partition: refused(row.error_code, f"partition {name}-{number}") or True}

        written = answered(WriteTxnMarkersResponse, take)
        only(self._calls.each_partition([partition], lambda _: WriteTxnMarkersRequest([marker]), written), partition)
        return hanging

    def hanging(self, partition: Partition, first_offset: int) -> Producer:
        """Return the producer whose open transaction begins at this offset.

        BrokerError INVALID_TXN_STATE if there is none.
        """
        name, number = partition
        known = only(self.producers([partition]), partition)
        hanging = next((each for each in known if each.open_from == first_offset), None)
        if hanging is None:
            begun = ", ".join(str(each.open_from) for each in known if each.open_from is not None) or "none"
            raise BrokerError(
                ErrorCode.INVALID_TXN_STATE,
                f"partition {name}-{number}",
                f"No open transaction begins at offset {first_offset}; first offsets of open ones: {begun}.",
            )
        return hanging


def take_over(
    calls: Calls, transactional_id: str, *, timeout_ms: int, max_version: int | None = None
) -> InitProducerIdResponse:
    """Abort the open transaction of an id, shut out its producer, and return the new one. Raise BrokerError.

    An id that does not exist is created. Waits for a transaction that is being committed.
    """

    def take(answer: InitProducerIdResponse) -> Outcome[InitProducerIdResponse]:
        return refused(answer.error_code, f"transactional id {transactional_id}") or answer

    request = InitProducerIdRequest(transactional_id, timeout_ms)
    return calls.group(
        transactional_id, request, InitProducerIdResponse, take, kind=TRANSACTION, max_version=max_version
    )


def _described(answer: DescribeTransactionsResponse) -> dict[str, Outcome[Transaction]]:
    return {
        row.transactional_id: refused(row.error_code, f"transactional id {row.transactional_id}")
        or Transaction(
            transactional_id=row.transactional_id,
            producer_id=row.producer_id,
            producer_epoch=row.producer_epoch,
            state=row.transaction_state,
            timeout_ms=row.transaction_timeout_ms,
            started_ms=None if row.transaction_start_time_ms < 0 else row.transaction_start_time_ms,
            partitions={topic.topic: tuple(topic.partitions) for topic in row.topics},
        )
        for row in answer.transaction_states
    }


def _producers(answer: DescribeProducersResponse) -> dict[Partition, Outcome[tuple[Producer, ...]]]:
    return {
        (topic.name, row.partition_index): refused(
            row.error_code, f"partition {topic.name}-{row.partition_index}", row.error_message
        )
        or tuple(
            Producer(
                each.producer_id,
                each.producer_epoch,
                each.coordinator_epoch,
                each.last_timestamp,
                None if each.current_txn_start_offset < 0 else each.current_txn_start_offset,
            )
            for each in row.active_producers
        )
        for topic in answer.topics
        for row in topic.partitions
    }
