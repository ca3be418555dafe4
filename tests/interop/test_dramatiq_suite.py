"""Dramatiq's own broker tests, as released, over share groups: docs/dramatiq.md has the table of results."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from tests.interop.support import protocol
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind
from tests.interop.support.dramatiq_suite import run_dramatiq

pytestmark = pytest.mark.interop

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "dramatiq.md"
BROKER_SETTINGS = {
    "group.share.assignment.interval.ms": "0",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": "100",
    "errors.deadletterqueue.auto.create.topics.enable": "true",
}
INSIDES: Final = re.compile(r"'set' object is not subscriptable|has no attribute '(client|_exception)'|DID NOT RAISE")
"""The errors of tests that need the stub's queues, the errors that its `join` raises, or Redis's client."""


@pytest.fixture(autouse=True)
def _ours_alone(broker_kind: Kind) -> None:
    if broker_kind == "apache":
        pytest.skip("the table of the page is of shareq")


def test_the_suite_of_dramatiq(broker: BrokerUnderTest, tmp_path: Path) -> None:
    outcome = run_dramatiq(broker.bootstrap, protocol.properties(broker.bootstrap), tmp_path / "results.xml")
    passed = Counter(name.partition("::")[0] for name in outcome.passed)
    failed = Counter(name.partition("::")[0] for name in outcome.failed)
    rows = re.findall(r"^\| (test_\w+) \| (\d+) \| (\d+) \|$", PAGE.read_text(), re.MULTILINE)
    table = {name: (int(passes), int(fails)) for name, passes, fails in rows}
    assert {name: (passed[name], failed[name]) for name in passed | failed} == table, outcome.failed
    for name, text in outcome.failed.items():
        assert INSIDES.search(text), f"{name}: {text}"
