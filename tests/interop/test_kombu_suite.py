"""Kombu's own tests for all transports, as released, over share groups: all pass but priorities, which are refused.

docs/celery.md has the table, which this test holds.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.interop.support import protocol
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.celery_suites import run_kombu

pytestmark = pytest.mark.interop

# Kombu waits one second for a message; Apache Kafka assigns no partition earlier than that, but for these.
BROKER_SETTINGS = {
    "group.share.assignment.interval.ms": "0",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": "100",
}
PAGE = Path(__file__).resolve().parents[2] / "docs" / "celery.md"
CLASSES = {
    "basic functionality": "test_BasicFunctionality",
    "exchanges: direct, topic, fanout": "test_ExchangeTypes",
    "time to live": "test_TimeToLive",
    "messages": "test_Message",
    "failover": "test_Failover",
    "priorities": "test_Priority",
}


def test_the_suite_of_kombu(broker: BrokerUnderTest, tmp_path: Path) -> None:
    outcome = run_kombu(broker.bootstrap, protocol.properties(broker.bootstrap), tmp_path / "results.xml")
    passed = Counter(name.partition("::")[0] for name in outcome.passed)
    failed = Counter(name.partition("::")[0] for name in outcome.failed)
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \| (\d+) \|", PAGE.read_text(), re.MULTILINE)
    table = {name: (int(good), int(bad)) for name, good, bad in rows if name in CLASSES}
    assert {name: (passed[each], failed[each]) for name, each in CLASSES.items()} == table, outcome.failed
    assert not outcome.skipped
    for text in outcome.failed.values():
        assert "a log has no priorities" in text
