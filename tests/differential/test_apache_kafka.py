"""Fixed seeds at shareq and at Apache Kafka 4.4.0. `make differential` runs many more."""

from __future__ import annotations

import asyncio

import pytest

from devtools.kafka.apache_kafka import why_unavailable
from tests.differential.campaign import Campaign
from tests.differential.report import Report
from tests.differential.steps import STEPS

pytestmark = [pytest.mark.interop, pytest.mark.crash]

SEEDS = (
    *range(15),
    23,  # reads what is persisted after a restart
    143,  # and after its offsets were altered, too
)


def test_fixed_seeds_agree() -> None:
    missing = why_unavailable()
    if missing is not None:
        pytest.skip(missing)
    with Campaign(at_once=len(SEEDS)) as campaign:
        outcomes = asyncio.run(campaign.run(SEEDS))
    failures = Report(outcomes, STEPS, campaign.took_s).failures
    assert not failures, "\n".join(failure.reported(verbose=False) for failure in failures)
    assert {len(one.attempts[-1].played) for one in outcomes} == {STEPS}
