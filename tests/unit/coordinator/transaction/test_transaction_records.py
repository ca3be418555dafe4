"""`__transaction_state`: bytes by hand from Apache Kafka 4.3.1's layouts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shareq.coordinator.shard import CoordinatorRecord, InconsistentRecords
from shareq.coordinator.transaction.metadata import TopicPartition, Transaction, TransactionState
from shareq.coordinator.transaction.records import TRANSACTION_SERDE, tombstone, transaction_of, transaction_record
from shareq.protocol.generated.transaction_log import TransactionLogKey, TransactionLogValue

KEY = "0000 0002 7478"
T0 = TopicPartition("t", 0)
EMPTY = Transaction("tx", 7, 7, producer_epoch=3, timeout_ms=60_000, last_update_ms=5)
ONGOING = Transaction(
    "tx",
    7,
    7,
    producer_epoch=3,
    timeout_ms=60_000,
    state=TransactionState.ONGOING,
    partitions=frozenset((TopicPartition("b", 0), TopicPartition("a", 2), TopicPartition("a", 1))),
    start_ms=4,
    last_update_ms=5,
    client_version=2,
)
GOLDEN = [
    pytest.param(
        transaction_record(EMPTY, 0),
        "0000 0000000000000007 0003 0000ea60 00 ffffffff 0000000000000005 ffffffffffffffff",
        id="empty, version 0",
    ),
    pytest.param(
        transaction_record(EMPTY, 2),
        "0001 0000000000000007 0003 0000ea60 00 00 0000000000000005 ffffffffffffffff 01 00 08 0000000000000007",
        id="empty, version 1",
    ),
    pytest.param(
        transaction_record(ONGOING, 2),
        "0001 0000000000000007 0003 0000ea60 01 03 02 61 03 00000001 00000002 00 02 62 02 00000000 00"
        "0000000000000005 0000000000000004 02 00 08 0000000000000007 02 02 0002",
        id="ongoing, client of version 2",
    ),
]


@pytest.mark.parametrize(("record", "value"), GOLDEN)
def test_bytes(record: CoordinatorRecord, value: str) -> None:
    assert TRANSACTION_SERDE.encode(record) == (bytes.fromhex(KEY), bytes.fromhex(value))


@pytest.mark.parametrize("transaction", [EMPTY, ONGOING])
def test_read_back(transaction: Transaction) -> None:
    record = TRANSACTION_SERDE.decode(*TRANSACTION_SERDE.encode(transaction_record(transaction, 2)))
    assert record is not None
    assert isinstance(record.value, TransactionLogValue)
    assert transaction_of("tx", record.value) == transaction


def test_version_0_leaves_the_previous_producer_id_out() -> None:
    value = transaction_record(EMPTY, 0).value
    assert isinstance(value, TransactionLogValue)
    assert transaction_of("tx", value).previous_producer_id == -1


def test_what_version_0_has_no_room_for_is_written_at_version_1() -> None:
    """A client may stay at version 2 for a while after the feature was lowered."""
    assert transaction_record(ONGOING, 0).value_version == 1


def test_tombstone() -> None:
    assert TRANSACTION_SERDE.encode(tombstone("tx")) == (bytes.fromhex(KEY), None)
    assert TRANSACTION_SERDE.decode(bytes.fromhex(KEY), None) == CoordinatorRecord(TransactionLogKey("tx"), None)


@pytest.mark.parametrize("status", [6, 7, 8, -1])
def test_states_that_are_never_logged(status: int) -> None:
    with pytest.raises(InconsistentRecords, match=f"state {status}"):
        transaction_of("tx", TransactionLogValue(transaction_status=status))


LEAST = replace(EMPTY, producer_id=0, previous_producer_id=-1, producer_epoch=-1, timeout_ms=0, last_update_ms=-1)


def test_the_lowest_numbers_that_make_sense_are_read() -> None:
    record = transaction_record(replace(LEAST, state=TransactionState.ONGOING, partitions=frozenset((T0,))), 2)
    assert TRANSACTION_SERDE.decode(*TRANSACTION_SERDE.encode(record)) == record


@pytest.mark.parametrize(
    "transaction",
    [
        replace(LEAST, producer_id=-1),
        replace(LEAST, timeout_ms=-1),
        replace(LEAST, producer_epoch=-2),
        replace(LEAST, last_update_ms=-2),
        replace(LEAST, start_ms=-2),
        replace(LEAST, state=TransactionState.ONGOING, partitions=frozenset((T0, TopicPartition("u", -1)))),
    ],
)
def test_what_makes_no_sense_is_not_taken_over(transaction: Transaction) -> None:
    encoded = TRANSACTION_SERDE.encode(transaction_record(transaction, 2))
    with pytest.raises(InconsistentRecords):
        TRANSACTION_SERDE.decode(*encoded)
