"""Topics in Apache Kafka's metadata log: applied in order, transactions as a whole, damage refused."""

from __future__ import annotations

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shareq.broker.maintenance.neighbour.kafka_records import KafkaMetadata, UnreadableMetadata
from shareq.protocol.primitives import uvarint
from shareq.protocol.records.batch import RecordData, build_batch

A, B = bytes(range(16)), bytes(range(16, 32))
BEGIN, END, ABORT = (bytes((1, kind, 0, 0)) for kind in (23, 24, 25))


def text(value: str | None) -> bytes:
    return b"\0" if value is None else uvarint(len(value.encode()) + 1) + value.encode()


def topic(name: str, topic_id: bytes) -> bytes:
    return b"\x01\x02\x00" + text(name) + topic_id + b"\0"


def partition(number: int, topic_id: bytes) -> bytes:
    return b"\x01\x03\x02" + struct.pack(">i", number) + topic_id + b"\x02\0\0\0\x01" + b"the rest"


def config(kind: int, name: str, key: str, value: str | None) -> bytes:
    return b"\x01\x04\x00" + bytes((kind,)) + text(name) + text(key) + text(value) + b"\0"


def removed(topic_id: bytes) -> bytes:
    return b"\x01\x09\x00" + topic_id + b"\0"


def producer_ids(unused: int) -> bytes:
    return b"\x01\x0f\x00" + struct.pack(">iqq", 1, 7, unused) + b"\0"


def log(*values: bytes, base: int = 0, control: bool = False) -> bytes:
    return bytes(
        build_batch([RecordData(None, each) for each in values], timestamp_ms=0, base_offset=base, control=control)
    )


def read(*batches: bytes, from_offset: int = 0) -> KafkaMetadata:
    metadata = KafkaMetadata()
    metadata.apply(b"".join(batches), from_offset)
    return metadata


def test_topics_with_partitions_and_properties() -> None:
    found = read(
        log(b"not a record", control=True),
        log(topic("orders", A), partition(1, A), partition(0, A), config(2, "orders", "retention.ms", "7")),
        log(config(32, "workers", "share.auto.offset.reset", "earliest"), producer_ids(2000), producer_ids(1000)),
    )
    assert {name: (each.topic_id, each.partitions) for name, each in found.named().items()} == {"orders": (A, {0, 1})}
    assert found.configs == {
        ("topic", "orders"): {"retention.ms": "7"},
        ("group", "workers"): {"share.auto.offset.reset": "earliest"},
    }
    assert found.next_producer_id == 2000
    assert found.not_taken == set()


def test_what_comes_later_wins() -> None:
    found = read(
        log(topic("orders", A), partition(0, A), config(2, "orders", "retention.ms", "7")),
        log(config(2, "orders", "retention.ms", None), config(2, "orders", "segment.ms", "9")),
        log(topic("gone", B), config(2, "gone", "segment.ms", "9"), removed(B), partition(0, B)),
    )
    assert list(found.named()) == ["orders"]
    assert found.configs == {("topic", "orders"): {"segment.ms": "9"}}


def test_a_topic_that_was_made_again_has_its_new_id() -> None:
    found = read(log(topic("orders", A), partition(0, A), removed(A), topic("orders", B), partition(0, B)))
    assert found.named()["orders"].topic_id == B


@pytest.mark.parametrize(("end", "names"), [(END, ["first", "second"]), (ABORT, ["first"]), (b"", ["first"])])
def test_a_transaction_counts_as_a_whole(end: bytes, names: list[str]) -> None:
    found = read(log(topic("first", A), BEGIN, topic("second", B)), log(*([end] if end else [partition(0, B)])))
    assert sorted(found.named()) == names


def test_records_of_a_snapshot_are_not_applied_again() -> None:
    found = read(log(topic("first", A), topic("second", B), base=10), from_offset=11)
    assert list(found.named()) == ["second"]


@pytest.mark.parametrize(("kind", "name"), [(11, "SCRAM users"), (14, "quotas"), (18, "ACLs")])
def test_what_is_not_taken_is_named(kind: int, name: str) -> None:
    assert read(log(bytes((1, kind, 0)) + b"anything")).not_taken == {name}
    assert read(log(config(4, "1", "max.connections", "7"))).not_taken == {"properties of brokers"}
    assert read(log(bytes((1, 20, 0, 0)))).not_taken == set()


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\x02\x02\x00",
        b"\x01\x02\x00",
        topic("orders", A)[:12],
        b"\x01\x02\x00\xff\xff\x03",
        b"\x01\x03\x00\0",
        b"\x01\x09\x00\0",
        b"\x01\x0f\x00\0",
        b"\x01\x04\x00",
        b"\x01\x04\x00\x02\x03\xff\xff",
    ],
)
def test_a_record_that_is_not_one(value: bytes) -> None:
    with pytest.raises(UnreadableMetadata):
        read(log(value))


@given(st.integers(0, 10_000), st.integers(1, 255))
@example(1, 32)  # the bit of control batches, which are passed over
def test_damage_is_noticed(at: int, change: int) -> None:
    data = bytearray(log(topic("orders", A), partition(0, A), config(2, "orders", "retention.ms", "7")))
    covered = 21 + at % (len(data) - 21)  # behind the CRC
    data[covered] ^= change
    with pytest.raises(UnreadableMetadata):
        read(bytes(data))


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=5))
def test_any_records_are_read_or_refused(values: list[bytes]) -> None:
    try:
        found = read(log(*values))
    except UnreadableMetadata:
        return
    assert all(len(topic_id) == 16 for topic_id in found.topics)
