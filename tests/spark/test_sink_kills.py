"""Twenty kills of the writing process and of the broker, anywhere in a batch; needs no session."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from devtools.clients.admin import create_topic
from shareq.testing.broker import child_environment
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.spark.support.judge import seen
from tests.spark.support.sink_writer import TASKS, values

KILLS = 20
TIMEOUT_S = 300


@pytest.mark.crash
def test_nothing_is_lost_and_nothing_twice_by_twenty_kills(
    broker: BrokerUnderTest, unique: Callable[[str], str], tmp_path: Path
) -> None:
    """The process is killed at random moments of its batches, every fourth time with the broker."""
    topic = unique("kills")
    create_topic(broker.bootstrap, topic, 3)
    chance = random.Random(11)
    log = tmp_path / "commits"

    def done() -> int:
        return len(log.read_text().splitlines()) if log.exists() else 0

    def start(batches: int) -> subprocess.Popen[bytes]:
        command = ["-m", "tests.spark.support.sink_writer", broker.bootstrap, topic, str(tmp_path), str(batches)]
        return subprocess.Popen([sys.executable, *command], env=child_environment())

    deadline = time.monotonic() + TIMEOUT_S
    for kill in range(KILLS):
        before = done()
        process = start(10**6)
        while done() < before + 2:  # in the middle of its work
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.3))
        if kill % 4 == 3:
            broker.restart(kill=True)
        process.kill()
        process.wait()
    batches = done() + 3
    assert start(batches).wait(TIMEOUT_S) == 0
    expected = {value for batch in range(batches) for task in range(TASKS) for value in values(batch, task)}
    found = Counter((each.value or b"").decode() for each in seen(broker.bootstrap, topic))
    written = len(seen(broker.bootstrap, topic, "read_uncommitted"))
    print(f"{KILLS} kills, {batches} batches, {len(found)} records, {written} with those of aborted transactions")
    assert [value for value, times in found.items() if times > 1] == []
    assert found.keys() == expected
    assert written > len(found)  # some kills met an open transaction
