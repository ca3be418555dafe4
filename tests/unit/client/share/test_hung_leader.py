"""A broker that hangs: its connection stays open, and no answer comes."""

from __future__ import annotations

import time

import pytest

from shareq.client.share import range_consumer
from shareq.client.share.range_consumer import AckRange, AcquiredRange, ShareRangeConsumer
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcknowledgeType
from tests.support.fakes.scripted_share_cluster import TOPIC, TOPIC_ID, ShareCluster, topic_partition

RENEW = AcknowledgeType.RENEW
PATIENCE_S = 20
"""The seconds that the test waits: fewer than request.timeout.ms, which a hanging leader would cost."""


def test_a_leader_that_hangs_does_not_cost_the_locks_at_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks last 30 s by default, as long as request.timeout.ms, and are renewed in time although a call hangs."""
    monkeypatch.setattr(range_consumer, "ANSWER_MS", 1000)  # time enough for the other, on a busy machine
    with ShareCluster(2) as cluster, ShareRangeConsumer(cluster.config(), "g", [TOPIC]) as consumer:
        cluster.nodes[1].ready[0].append((0, 9))
        cluster.nodes[2].ready[1].append((0, 9))
        acquired: list[AcquiredRange] = []
        started = time.monotonic()
        while len(acquired) < 2 and time.monotonic() < started + PATIENCE_S:
            acquired += consumer.poll(max_records=100, max_wait_ms=100)
        generation = dict(consumer.generation)
        cluster.nodes[1].broker.scripts[ApiKey.SHARE_FETCH] = lambda _: None
        hung = time.monotonic()
        while (
            consumer.generation[topic_partition(0)] == generation[topic_partition(0)]
            and time.monotonic() < hung + PATIENCE_S
        ):
            consumer.poll(max_records=100, max_wait_ms=20)
        assert time.monotonic() < hung + PATIENCE_S
        assert consumer.generation[topic_partition(1)] == generation[topic_partition(1)]
        held = AckRange(TOPIC_ID, 1, 0, 9)
        assert consumer.acknowledge([held], RENEW) == [(held, ErrorCode.NONE)]
