"""A few seconds of `make soak`, to see that its parts work: too short to judge memory and stalls by."""

from __future__ import annotations

import pytest

from devtools.kafka.certificates import why_unavailable
from tests.campaign.soak.soak import Soak

pytestmark = pytest.mark.crash


@pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable()))
def test_a_few_seconds_of_a_soak_are_sound() -> None:
    result = Soak(seed=3, minutes=0.1, round_s=5).run()
    found = {one.name: one for one in result.verdicts}
    for name in ("log", "history", "stop", "verify"):
        assert found[name].sound, found[name]
    assert result.turns
    assert any(one.gauges.get("connections") for one in result.samples)
