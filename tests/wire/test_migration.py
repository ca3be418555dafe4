"""A topic that four workers drain moves to another broker under them; on the way commands and brokers are killed."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from shareq.testing import Broker
from tests.support.scenarios.migration import drained, filled


@pytest.mark.parametrize("victim", ["command", "source", "target"])
def test_workers_that_go_on_lose_nothing_and_get_nothing_again_that_was_confirmed(victim: str) -> None:
    """The old ones go on while it moves; nothing that they do after the cut-over is confirmed."""
    with Broker(config={"group.share.record.lock.duration.ms": "15000"}) as first, Broker() as second:

        def strike() -> None:
            killed = first if victim == "source" else second
            killed.kill()
            killed.start()

        filled(first.bootstrap)
        disturb = None if victim == "command" else strike
        ledger = asyncio.run(drained(first.bootstrap, second.bootstrap, disturb, Random(1)))
    assert set(ledger.confirmed.values()) == {1}
