"""A query continues from its checkpoint on a broker that was restored from a backup."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from shareq.testing import Broker
from shareq.testing.broker import child_environment
from tests.spark.support.share_stream import ShareStream
from tests.support.processes import finished

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def shareq(*arguments: object) -> None:
    command = [sys.executable, "-m", "shareq", *map(str, arguments)]
    result = finished(command, env=child_environment(), timeout_s=60)
    assert result.returncode == 0, result.stderr


@pytest.mark.crash
def test_a_checkpoint_continues_on_a_restored_broker(spark: SparkSession, tmp_path: Path) -> None:
    """A backup was made while records waited; the restored query continues with these and repeats no others."""
    data, dest = tmp_path / "data", tmp_path / "backups"
    with Broker(data_dir=data) as broker:
        stream = ShareStream(spark, broker.bootstrap, "orders", "packers", tmp_path / "query", partitions=2)
        first = stream.create().produce(50)
        before = [row.value for batch in stream.drain() for row in batch.rows]
        assert sorted(before) == sorted(first)
        waiting = stream.produce(20, start=50)
        shareq("backup", data, dest)
        broker.kill()
        shutil.rmtree(data)
        shareq("restore", dest, data)
        broker.start()
        more = stream.produce(30, start=70)
        after = [row.value for batch in stream.drain() for row in batch.rows]
        assert sorted(after) == sorted([*waiting, *more])
        assert stream.lag() == 0
