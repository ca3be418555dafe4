"""The source in other kinds of sessions: Spark Connect, and executors in separate processes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from devtools.clients.admin import create_topic, produce, read_from_start
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.spark.support.jobs import Job


@pytest.mark.parametrize("master", ["connect", "local-cluster[2,1,1024]"])
def test_a_topic_is_drained(
    broker: BrokerUnderTest, unique: Callable[[str], str], run_job: Callable[..., Job], tmp_path: Path, master: str
) -> None:
    """A separate job registers the source by `import shareq.spark`."""
    topic, group = unique("topic"), unique("group")
    create_topic(broker.bootstrap, topic, 2)
    read_from_start(broker.bootstrap, group)
    produce(broker.bootstrap, topic, [(number % 2, b"%d" % number) for number in range(1000)])
    job = run_job("tests.spark.support.share_job", master, broker.bootstrap, topic, group, tmp_path)
    job.wait(180)
    assert job.has_printed("rows 1000 distinct 1000"), job.output()
