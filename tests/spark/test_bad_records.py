"""A streaming query emits bad records as they were written, and the good ones among them."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from shareq.testing import Broker
from tests.campaign.bad_records.scene import RawRecord, Scene
from tests.campaign.bad_records.surfaces.spark import verdict
from tests.support.bad_records.records import bad_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BAD = 300


def test_bad_records_and_the_good_ones_among_them_are_emitted_and_accepted(spark: SparkSession, tmp_path: Path) -> None:
    bad = (RawRecord(*each) for each in bad_records(Random(1), BAD, round(time.time() * 1000)))
    with Broker() as broker, Scene(broker, "", tmp_path, BAD) as scene:
        found = verdict(spark, scene, bad)
    assert found.good == BAD // 50 + 5
    assert found.accepted == found.written == BAD + found.good
