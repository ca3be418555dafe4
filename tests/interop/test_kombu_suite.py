"""Kombu's own tests for all transports, as released, over share groups: all pass but priorities, which are refused.

docs/celery.md has the totals.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.interop.support import protocol
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.celery_suites import KOMBU_TABLE, run_kombu

pytestmark = pytest.mark.interop

# Kombu waits one second for a message; Apache Kafka assigns no partition earlier than that, but for these.
BROKER_SETTINGS = {
    "group.share.assignment.interval.ms": "0",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": "100",
}


def test_the_suite_of_kombu(broker: BrokerUnderTest, tmp_path: Path) -> None:
    outcome = run_kombu(broker.bootstrap, protocol.properties(broker.bootstrap), tmp_path / "results.xml")
    passed = Counter(name.partition("::")[0] for name in outcome.passed)
    failed = Counter(name.partition("::")[0] for name in outcome.failed)
    assert {name: (passed[name], failed[name]) for name in passed | failed} == KOMBU_TABLE, outcome.failed
    assert not outcome.skipped
    for text in outcome.failed.values():
        assert "a log has no priorities" in text
