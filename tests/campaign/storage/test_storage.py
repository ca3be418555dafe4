"""A broker on a real disk: a few of the kills of `make storage-kills`, and of the images of `make crash-images`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaign.storage.images import EACH_WRITE_SYNCED, Images, Kind, record
from tests.campaign.storage.kills import Round
from tests.campaign.storage.trace import why_not_here

pytestmark = pytest.mark.crash


def test_kills_under_mixed_load_lose_nothing() -> None:
    result = Round(seed=1, kills=5).run()
    assert not result.failures
    assert result.refused == 0
    assert [str(one) for one in result.anomalies] == []


@pytest.mark.skipif(why_not_here() is not None, reason=str(why_not_here()))
def test_images_of_a_traced_run_are_started_on_and_have_everything(tmp_path: Path) -> None:
    run = record(tmp_path, seed=1, lives=2, seconds=1, settings=EACH_WRITE_SYNCED)
    assert not run.failures
    images = Images(run, 1)
    for kind, count in ((Kind.KILL, 2), (Kind.POWER, 4), (Kind.POWER_POSIX, 3)):
        for one in images.check(kind, count):
            assert not one.refused
            assert [str(anomaly) for anomaly in one.anomalies] == [], (kind, one.number)
