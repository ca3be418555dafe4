"""Bad input from clients: each costs one connection and one log line, and does the broker no harm."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devtools.clients.requests import batch, create_topic, fetch_request, produce, produce_request
from devtools.clients.wire import WireClient
from shareq.broker.dispatch.table import HANDLERS
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.framing import frame
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.fetch import FetchPartition, FetchResponse
from shareq.protocol.headers import encode_request
from shareq.testing import Broker


def header(api_key: int, version: int, *, client_id: bytes = b"bad") -> bytes:
    return struct.pack(">hhih", api_key, version, 7, len(client_id)) + client_id


# An array of 2^31-1 topics in a Produce v3 request, and in the compact form of v9.
HUGE_ARRAY = struct.pack(">hhii", -1, 1, 1000, 2**31 - 1)
HUGE_COMPACT_ARRAY = b"\0" + struct.pack(">hi", 1, 1000) + b"\xff\xff\xff\xff\x0f"

CLOSING = {
    "garbage": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a frame of 2 GiB": struct.pack(">i", 2**31 - 1) + b"x" * 100,
    "a frame over the limit": struct.pack(">i", 100 * 1024 * 1024 + 1),
    "a negative length": struct.pack(">i", -1),
    "an empty frame": frame(b""),
    "a header cut short": frame(b"\0\0\0"),
    "an unknown key": frame(header(1000, 0)),
    "a negative key": frame(header(-1, 0)),
    "a key between brokers only": frame(header(4, 0)),
    "a version above": frame(header(0, 99)),
    "a version below": frame(header(0, 2)),
    "a negative version": frame(header(3, -1)),
    "a client id longer than the frame": frame(struct.pack(">hhih", 3, 1, 7, 30_000) + b"x"),
    "a client id of negative length": frame(struct.pack(">hhih", 3, 1, 7, -2)),
    "a client id that is no UTF-8": frame(header(3, 1, client_id=b"\xff\xfe") + struct.pack(">i", 0)),
    "a body cut short": frame(header(0, 3) + b"\0"),
    "an array of 2^31-1": frame(header(0, 3) + HUGE_ARRAY),
    "a compact array of 2^31-1": frame(header(0, 9) + b"\0" + HUGE_COMPACT_ARRAY),
    "a string longer than the frame": frame(header(3, 1) + struct.pack(">ih", 1, 30_000) + b"x"),
    "a negative array length": frame(header(0, 3) + struct.pack(">hhii", -1, 1, 1000, -5)),
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(config={"socket.request.max.bytes": str(100 * 1024 * 1024)}) as running:
        yield running


def lines(broker: Broker) -> int:
    return len(broker.log.splitlines())


@pytest.mark.parametrize("what", CLOSING)
def test_costs_one_connection_and_one_log_line(broker: Broker, connect: Callable[[], WireClient], what: str) -> None:
    bystander, offender = connect(), connect()
    topic = create_topic_for(bystander, what)
    before = lines(broker)
    offender.send_raw(CLOSING[what])
    assert offender.is_closed()
    assert produce(bystander, topic, batch(b"x")).error_code == ErrorCode.NONE
    assert lines(broker) == before + 1, broker.log


def create_topic_for(client: WireClient, what: str) -> str:
    name = "topic-" + "".join(letter if letter.isalnum() else "-" for letter in what)
    create_topic(client, name)
    return name


def test_a_frame_that_never_ends_harms_nobody(broker: Broker, connect: Callable[[], WireClient]) -> None:
    bystander, offender = connect(), connect()
    topic = create_topic_for(bystander, "half a frame")
    before = lines(broker)
    request = produce_request(batch(b"x"), topic=topic)
    whole = frame(encode_request(9, 1, "half", request))
    offender.send_raw(whole[:-10])
    assert produce(bystander, topic, batch(b"x")).base_offset == 0
    offender.close()
    assert produce(bystander, topic, batch(b"x")).base_offset == 1
    assert lines(broker) == before


def test_claimed_memory_is_not_taken(broker: Broker, connect: Callable[[], WireClient]) -> None:
    """The limit of 100 MiB a frame applies to received bytes, not to the announced size."""
    before = resident_kb(broker.pid)
    offenders = [connect() for _ in range(20)]
    for offender in offenders:
        offender.send_raw(struct.pack(">i", 100 * 1024 * 1024) + b"x" * 1000)
    connect().call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    assert resident_kb(broker.pid) - before < 50_000


@pytest.mark.parametrize("version", [6, 99, 32767, -1])
def test_an_unknown_version_of_api_versions_is_answered_in_version_0(client: WireClient, version: int) -> None:
    """KIP-511: exactly one entry, or franz-go takes it for the whole list."""
    client.send_raw(frame(header(ApiKey.API_VERSIONS, version) + b"\xff anything"))
    payload = client.receive_frame()
    assert payload[:4] == struct.pack(">i", 7)
    response, end = ApiVersionsResponse.decode(payload, 0, 4)
    assert end == len(payload)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    served = HANDLERS[ApiKey.API_VERSIONS].served
    entries = [(key.api_key, key.min_version, key.max_version) for key in response.api_keys]
    assert entries == [(18, served.first, served.last)]
    assert client.call(ApiVersionsRequest(), 0, ApiVersionsResponse).error_code == ErrorCode.NONE


def test_what_is_advertised_is_what_the_table_says(client: WireClient) -> None:
    response = client.call(
        ApiVersionsRequest(client_software_name="test", client_software_version="1"), 4, ApiVersionsResponse
    )
    assert {key.api_key: (key.min_version, key.max_version) for key in response.api_keys} == {
        int(key): (row.advertised.first, row.advertised.last) for key, row in HANDLERS.items() if not row.own
    }


def test_a_client_that_does_not_read_harms_nobody(broker: Broker, connect: Callable[[], WireClient]) -> None:
    """Answers pile up at the slow client's socket, not in the broker."""
    bystander, slow = connect(), connect()
    topic = create_topic_for(bystander, "slow reader")
    for _ in range(20):
        produce(bystander, topic, batch(b"x" * 500_000))
    before = resident_kb(broker.pid)
    request = fetch_request(topic, max_bytes=20_000_000, partition_max_bytes=20_000_000)
    slow.send_raw(b"".join(slow.requests.frame_of(request, 12) for _ in range(100)))
    assert produce(bystander, topic, batch(b"x")).error_code == ErrorCode.NONE
    assert resident_kb(broker.pid) - before < 100_000
    for _ in range(100):
        slow.receive()


def test_many_clients_that_do_not_read_hold_little_together(broker: Broker, connect: Callable[[], WireClient]) -> None:
    """Each may hold one answer, within a common memory limit."""
    bystander = connect()
    topic, partitions = "topic-many-slow-readers", 16
    create_topic(bystander, topic, partitions)
    for number in range(4 * partitions):
        produce(bystander, topic, batch(b"x" * 900_000), partition=number % partitions)
    before = resident_kb(broker.pid)
    request = fetch_request(topic, max_bytes=50_000_000)
    request.topics[0].partitions = [
        FetchPartition(partition, fetch_offset=0, partition_max_bytes=50_000_000) for partition in range(partitions)
    ]
    slow = [connect() for _ in range(15)]
    for client in slow:
        client.send(request, 12)
    assert produce(bystander, topic, batch(b"x")).error_code == ErrorCode.NONE
    assert resident_kb(broker.pid) - before < 450_000
    for client in slow:
        while not (records := fetched_records(client)):  # there was no room: it is asked for again
            client.send(request, 12)
        assert len(records) > 64 * 1024
    bystander.send(request, 12)
    assert len(fetched_records(bystander)) > partitions * 900_000  # each partition has its part again


def fetched_records(client: WireClient) -> bytes:
    response = client.receive()
    assert isinstance(response, FetchResponse)
    return b"".join(part.records or b"" for topic in response.responses for part in topic.partitions)


def resident_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")
