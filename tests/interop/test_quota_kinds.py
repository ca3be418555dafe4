"""Quotas other than Produce's and Fetch's on raw connections, also on Apache Kafka (`--broker=apache`).

They cover throttle times in answers, requests that wait, and refusals.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import pytest

from devtools.clients.admin import read_from_start
from devtools.clients.requests import batch, produce
from devtools.clients.wire import ConnectionClosed, WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import alter_client_quotas as rpc
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.share_wire import ACCEPT, Member, create_known_topic, eventually

pytestmark = pytest.mark.interop

RATE = 100_000
VALUE = b"x" * 10_000
SECONDS = 6
# Two windows of a second: a client is slowed from the first second on.
BROKER_SETTINGS = {"quota.window.num": "2", "quota.window.size.seconds": "1"}


def address(broker: BrokerUnderTest) -> tuple[str, int]:
    return "127.0.0.1", broker.port


def limit(client: WireClient, kind: str, name: str | None, key: str, value: float | None) -> None:
    """Set or remove a quota; Apache Kafka's broker applies it a moment later."""
    op = rpc.OpData(key, value or 0.0, value is None)
    entry = rpc.AlterClientQuotasRequestEntryData([rpc.AlterClientQuotasRequestEntityData(kind, name)], [op])
    (answer,) = client.call(rpc.AlterClientQuotasRequest([entry], False), 1, rpc.AlterClientQuotasResponse).entries
    assert answer.error_code == ErrorCode.NONE, answer


def test_a_share_consumer_goes_at_the_rate_of_its_consumer_byte_rate(
    broker: BrokerUnderTest, unique: Callable[[str], str]
) -> None:
    """No more than the rate is delivered.

    Apache Kafka withholds acquired records, which stay locked until the throttle ends; ours are delivered, and later
    requests wait.
    """
    topic, group = unique("shared"), unique("group")
    read_from_start(broker.bootstrap, group)
    with WireClient(address(broker)) as other:
        topic_id = create_known_topic(other, topic)
        limit(other, "client-id", "slow-sharer", "consumer_byte_rate", float(RATE))
        for _ in range(3 * SECONDS * RATE // len(VALUE)):
            assert produce(other, topic, batch(VALUE)).error_code == ErrorCode.NONE
    with WireClient(address(broker), client_id="slow-sharer", timeout_s=60) as client:
        member = Member(client, group, "m", topic_id)
        member.join([topic])
        total, throttled, first_s = 0, list[int](), 0.0
        end_s = time.monotonic() + 60
        while time.monotonic() < end_s:
            acks = [(each.first, each.last, ACCEPT) for each in member.acquired]
            answer = member.fetch(1, batch_size=1, max_wait_ms=500, acks=acks)
            assert answer.error_code == ErrorCode.NONE, answer
            total += sum(len(part.records or b"") for each in answer.responses for part in each.partitions)
            if total and not first_s:
                first_s = time.monotonic()
                end_s = first_s + SECONDS
            throttled.append(answer.throttle_time_ms)
        elapsed_s = time.monotonic() - first_s
    assert 0.2 * RATE < (total - RATE) / elapsed_s < 1.3 * RATE
    assert any(throttled)


def test_a_client_over_its_request_percentage_waits(broker: BrokerUnderTest) -> None:
    with WireClient(address(broker)) as other, WireClient(address(broker), client_id="busy", timeout_s=60) as client:
        limit(other, "client-id", "busy", "request_percentage", 0.01)

        def throttled() -> tuple[int, float] | None:
            throttle_ms = client.call(MetadataRequest(None), 12, MetadataResponse).throttle_time_ms
            return (throttle_ms, time.monotonic()) if throttle_ms else None

        throttle_ms, answered_s = eventually(throttled, pause_s=0)
        assert 0 < throttle_ms <= 1000, "one window at most"
        client.call(MetadataRequest([]), 12, MetadataResponse)
        assert time.monotonic() - answered_s > throttle_ms / 1000 - 0.1, "the client did not wait by itself"
        began_s, number = time.monotonic(), 0
        while time.monotonic() - began_s < 3:
            client.call(MetadataRequest(None), 12, MetadataResponse)
            number += 1
        assert number < 100
        began_s = time.monotonic()
        for _ in range(100):
            assert other.call(MetadataRequest([]), 12, MetadataResponse).throttle_time_ms == 0
        assert time.monotonic() - began_s < 3


def test_partitions_over_the_controller_mutation_rate_are_refused(
    broker: BrokerUnderTest, unique: Callable[[str], str]
) -> None:
    """KIP-599: in eleven windows of a second ten partitions may be created at once, and one more; later ones have to
    wait.
    """
    names = [unique(f"made{number}") for number in range(4)]
    with WireClient(address(broker)) as other, WireClient(address(broker), client_id="maker", timeout_s=60) as client:
        create_known_topic(other, names[3])
        limit(other, "client-id", "maker", "controller_mutation_rate", 1.0)

        def create(name: str, partitions: int, version: int = 7) -> CreateTopicsResponse:
            request = CreateTopicsRequest([CreatableTopic(name, partitions, 1)], 30_000)
            return client.call(request, version, CreateTopicsResponse)

        time.sleep(0.5 if broker.kind == "apache" else 0)  # until its controller has the quota
        assert create(names[0], 14).topics[0].error_code == ErrorCode.NONE
        refused = create(names[1], 1)
        assert refused.topics[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
        assert 1000 <= refused.throttle_time_ms <= 4000
        growth = CreatePartitionsRequest([CreatePartitionsTopic(names[3], 2, None)], 30_000)
        grown = client.call(growth, 3, CreatePartitionsResponse)
        assert grown.results[0].error_code in (ErrorCode.NONE, ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        old = create(names[2], 9, version=5)
        assert old.topics[0].error_code == ErrorCode.NONE, "older clients know no such error, and wait"
        assert old.throttle_time_ms > 1000
        deletion = DeleteTopicsRequest([DeleteTopicState(names[3])], timeout_ms=30_000)
        deleted = other.call(deletion, 6, DeleteTopicsResponse)
        assert deleted.responses[0].error_code == ErrorCode.NONE
        assert deleted.throttle_time_ms == 0


def test_connections_over_the_connection_creation_rate_are_closed(broker: BrokerUnderTest) -> None:
    rate, seconds = 4, 5
    with WireClient(address(broker)) as other:
        limit(other, "ip", "127.0.0.1", "connection_creation_rate", float(rate))
        try:
            eventually(lambda: None if _is_served(address(broker)) else True, pause_s=0)  # it is in force
            served = closed = 0
            end_s = time.monotonic() + seconds
            while time.monotonic() < end_s:
                if _is_served(address(broker)):
                    served += 1
                else:
                    closed += 1
            assert 1 <= served <= rate * (seconds + 3)
            assert closed > 0
            assert other.call(ApiVersionsRequest(), 0, ApiVersionsResponse).error_code == ErrorCode.NONE
        finally:
            limit(other, "ip", "127.0.0.1", "connection_creation_rate", None)
    eventually(lambda: _is_served(address(broker)) or None)


def _is_served(where: tuple[str, int]) -> bool:
    """Return whether a new connection gets an answer; above the rate it is closed without one."""
    with contextlib.suppress(ConnectionClosed, ConnectionError, TimeoutError), WireClient(where, timeout_s=5) as client:
        return client.call(ApiVersionsRequest(), 0, ApiVersionsResponse).error_code == ErrorCode.NONE
    return False
