"""Waits until brokers know new topics: Apache Kafka's brokers learn of them a moment after the controller."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from typing import Final

from shareq.client.errors import BrokerError, ClientError, Unreachable
from shareq.client.network import Exchange, Network
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

PATIENCE_MS: Final = 5_000
_NOT_YET: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE)


def wait_until_known(network: Network, names: Collection[str]) -> None:
    """Return when every broker that can be reached knows the topics and their leaders, or after `PATIENCE_MS`."""
    tries = network.tries(PATIENCE_MS)
    request = MetadataRequest([MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=False)
    # Who has waited for long enough goes on: the topics are made.
    with contextlib.suppress(ClientError):
        left = set(network.brokers(timeout_ms=tries.left_ms)) if names else set()
        while left := _behind(network, left, request, tries.left_ms):
            what = f"new topics on brokers {sorted(left)}"
            network.wait(tries, BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, what))


def _behind(network: Network, nodes: Collection[int], request: MetadataRequest, timeout_ms: int) -> set[int]:
    """Return the nodes that answer but lack something."""
    asked: dict[int, Exchange] = {}
    for node in nodes:
        with contextlib.suppress(Unreachable):
            asked[node] = network.submit(node, request, timeout_ms=timeout_ms)
    network.collect(list(asked.values()))
    return {node for node, exchange in asked.items() if _lacks(exchange)}


def _lacks(exchange: Exchange) -> bool:
    try:
        answer = exchange.result()
    except ClientError:
        return False
    assert isinstance(answer, MetadataResponse)
    errors = {topic.error_code for topic in answer.topics}
    errors |= {each.error_code for topic in answer.topics for each in topic.partitions}
    return not errors.isdisjoint(_NOT_YET)
