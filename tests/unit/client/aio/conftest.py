"""Share consumers that join the scripted cluster of a test's module and are closed after the test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from shareq.aio import ShareConsumer
from tests.support.fakes.scripted_share_cluster import TOPIC, ShareCluster


@pytest.fixture
async def join(cluster: ShareCluster) -> AsyncIterator[Callable[..., ShareConsumer]]:
    joined: list[ShareConsumer] = []

    def make(**more: Any) -> ShareConsumer:
        servers = [node.broker.bootstrap for node in cluster.nodes.values()]
        properties = {"retry.backoff.ms": "10", **more.pop("properties", {})}
        consumer = ShareConsumer(servers, "g", more.pop("topics", [TOPIC]), properties=properties, **more)
        joined.append(consumer)
        return consumer

    yield make
    for consumer in joined:
        await consumer.close()
