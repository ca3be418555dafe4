"""A topic that moves to another broker while four workers drain it, and commands and brokers are killed."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from shareq.testing import Broker
from tests.support.clients.shareq_cli import Shell
from tests.support.scenarios.migration import GROUP, TOPIC, drained, filled


@pytest.mark.parametrize("victim", ["command", "source", "target"])
def test_workers_that_go_on_lose_nothing_and_get_nothing_again_that_was_confirmed(victim: str) -> None:
    """Old workers continue during the move; after the cut-over none of their work is confirmed."""
    with Broker(config={"group.share.record.lock.duration.ms": "15000"}) as first, Broker() as second:

        def strike() -> None:
            killed = first if victim == "source" else second
            killed.kill()
            killed.start()

        filled(first.bootstrap)
        disturb = None if victim == "command" else strike
        ledger = asyncio.run(drained(first.bootstrap, second.bootstrap, disturb, Random(1)))
    assert set(ledger.confirmed.values()) == {1}


def test_a_group_may_go_on_at_the_old_cluster_after_all() -> None:
    """As docs/moving.md says, the old cluster confirms nothing after a cut-over until that cut-over is forgotten."""
    with Broker() as first, Broker() as second:
        filled(first.bootstrap)
        old = Shell(first.bootstrap)
        consume = ("share", "consume", GROUP, "--topic", TOPIC, "-n", "5", "--idle", "2")
        assert len(old.ok(*consume)) == 5
        old.ok("migrate", first.bootstrap, second.bootstrap, "--cut-over")
        assert not old.run(*consume).out
        assert not old.run("share", "reset", GROUP, "--topic", TOPIC, "--to", "earliest", "--yes").code
        assert not old.run(*consume).out
        old.ok("share", "delete-offsets", GROUP, TOPIC, "--yes")
        old.ok("share", "reset", GROUP, "--topic", TOPIC, "--to", "earliest", "--yes")
        assert len(old.ok(*consume)) == 5
