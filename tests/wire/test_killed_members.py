"""Share-group members in processes of their own, killed with `kill -9`: others soon get their partitions."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from devtools.clients.admin import configure_group, create_topic, produce
from shareq.client.config import ClientConfig
from shareq.client.share.range_consumer import AckRange, ShareRangeConsumer
from shareq.protocol.share import AcknowledgeType
from shareq.testing import Broker

MEMBERS = 3
SESSION_S = 45.0
BOUND_S = 15.0
"""The seconds until others get the records, on a busy machine: a heartbeat interval (1 s), the grace (0.5 s), and the
others' next heartbeat (1 s).
"""

MEMBER = """
import sys
from shareq.client.config import ClientConfig
from shareq.client.share.range_consumer import ShareRangeConsumer

config = ClientConfig.from_properties({"bootstrap.servers": sys.argv[1]})
with ShareRangeConsumer(config, "g", ["jobs"]) as member:
    said = False
    while True:
        member.poll(max_records=500, max_wait_ms=200)
        if member.has_assignment and not said:
            print("ready", flush=True)
            said = True
"""


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    config = {
        "group.share.min.heartbeat.interval.ms": "1000",
        "group.share.heartbeat.interval.ms": "1000",
        "shareq.share.disconnect.grace.ms": "500",
    }
    with Broker(config=config) as running:
        yield running


def test_records_of_killed_members_reach_the_one_that_stays_long_before_their_sessions_end(broker: Broker) -> None:
    create_topic(broker.bootstrap, "jobs", MEMBERS)
    configure_group(broker.bootstrap, "g", {"share.auto.offset.reset": "earliest"})
    command = [sys.executable, "-c", MEMBER, broker.bootstrap]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(MEMBERS)]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.communicate()
    killed_at = time.monotonic()
    produce(broker.bootstrap, "jobs", [(partition, b"%d" % partition) for partition in range(MEMBERS)])
    seen: set[int] = set()
    config = ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap})
    with ShareRangeConsumer(config, "g", ["jobs"]) as member:
        while len(seen) < MEMBERS and time.monotonic() - killed_at < SESSION_S:
            for acquired in member.poll(max_records=500, max_wait_ms=200):
                seen.add(acquired.partition)
                ack = AckRange(acquired.topic_id, acquired.partition, acquired.first, acquired.last)
                member.acknowledge([ack], AcknowledgeType.ACCEPT)
    took = time.monotonic() - killed_at
    assert seen == {0, 1, 2}
    assert took < BOUND_S
