"""The answers to batches that no well-behaved producer sends, and their stored form.

Run with `--broker=apache` to check the expectations themselves.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from devtools.clients.requests import create_topic, fetch, fetch_request, produce
from devtools.clients.wire import WireClient
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.produce import PartitionProduceResponse
from shareq.protocol.records.batch import Compression, RecordData, build_batch, decode_records, read_header
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.share_wire import NOT_READY, eventually
from tests.support.kafka.odd_batches import Answer, odd_batches
from tests.support.kafka.raw_batches import raw_batch, raw_record

pytestmark = pytest.mark.interop

CASES = sorted(odd_batches(0, Compression.NONE))
OFFSETS = "__consumer_offsets"


@pytest.fixture
def client(broker: BrokerUnderTest) -> Iterator[WireClient]:
    with WireClient(("127.0.0.1", broker.port)) as client:
        yield client


@pytest.fixture(scope="module")
def topics() -> dict[tuple[tuple[str, str], ...], str]:
    return {}


def send(client: WireClient, topic: str, records: bytes) -> PartitionProduceResponse:
    """Produce; wait if the topic has no leader yet."""

    def attempt() -> PartitionProduceResponse | None:
        answer = produce(client, topic, records)
        return None if answer.error_code in NOT_READY else answer

    return eventually(attempt)


def stored(client: WireClient, topic: str, offset: int, now_ms: int) -> Answer:
    records = fetch(client, fetch_request(topic, offset, partition_max_bytes=1, max_wait_ms=1000)).records
    assert records is not None
    header = read_header(records)
    try:
        decoded = decode_records(bytes(records)[: header.size])
    except MalformedMessage:
        return Answer()
    if header.is_log_append_time:
        return Answer()
    times = tuple(record.timestamp - now_ms for record in decoded)
    return Answer(times=times, newest=header.max_timestamp - now_ms)


@pytest.mark.parametrize("codec", list(Compression), ids=lambda codec: codec.name.lower())
@pytest.mark.parametrize("case", CASES)
def test_odd_batches(
    client: WireClient,
    broker: BrokerUnderTest,
    topics: dict[tuple[tuple[str, str], ...], str],
    case: str,
    codec: Compression,
) -> None:
    now_ms = int(time.time() * 1000)
    odd = odd_batches(now_ms, codec)[case]
    key = tuple(sorted(odd.settings.items()))
    if key not in topics:
        topics[key] = f"odd-{len(topics)}"
        create_topic(client, topics[key], 1, odd.settings)
    answer = send(client, topics[key], odd.batch)
    expected = odd.expected(broker.kind, codec)
    assert ErrorCode(answer.error_code) is expected.error
    assert [record.batch_index for record in answer.record_errors] == list(expected.at_fault)
    assert all(record.batch_index_error_message for record in answer.record_errors)
    if expected.error is not ErrorCode.NONE:
        assert answer.base_offset == -1
    elif "UTF-8" not in case:  # Apache Kafka reads what is no text as something else; we do not
        assert stored(client, topics[key], answer.base_offset, now_ms) == expected


def test_a_small_batch_that_stands_for_much_memory(client: WireClient, broker: BrokerUnderTest) -> None:
    """The batch is refused as too large, so that Java's producer splits it; Apache Kafka accepts it."""
    create_topic(client, "bombs")
    for size in (7_000_000, 30_000_000):
        bomb = raw_batch(raw_record(value=bytes(size)), codec=Compression.ZSTD)
        refused = broker.kind == "ours" and size > 8 * 1024 * 1024
        expected = ErrorCode.MESSAGE_TOO_LARGE if refused else ErrorCode.NONE
        assert ErrorCode(send(client, "bombs", bomb).error_code) is expected


@pytest.mark.parametrize("client_id", ["a-client", "__admin_client", None])
def test_internal_topics(client: WireClient, broker: BrokerUnderTest, client_id: str | None) -> None:
    """Only the coordinators' records are accepted. Apache Kafka makes an exception for `__admin_client`."""

    def found() -> bool | None:
        answer = client.call(FindCoordinatorRequest(coordinator_keys=["group"]), 4, FindCoordinatorResponse)
        return True if answer.coordinators[0].error_code == ErrorCode.NONE else None

    eventually(found)
    of_an_unknown_type = bytes(build_batch([RecordData(b"\3\xe7", b"value")], timestamp_ms=0))
    with WireClient(("127.0.0.1", broker.port), client_id=client_id) as writer:
        answer = send(writer, OFFSETS, of_an_unknown_type)
    takes = broker.kind == "apache" and client_id == "__admin_client"
    assert ErrorCode(answer.error_code) is (ErrorCode.NONE if takes else ErrorCode.INVALID_TOPIC_EXCEPTION)
