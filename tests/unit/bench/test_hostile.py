"""A normal client beside an attacker: the measurements, the table, and that the attacks really happen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from bench.hostile.__main__ import ROOT, Measured, Memory, Mode, Spread, Times, table
from bench.hostile.attacks import ATTACKS, Target
from bench.hostile.good import GoodClient, Waited
from bench.proc import busy_ns
from devtools.clients.wire import ConnectionClosed, WireClient
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.testing import Broker

SWIFT = ("share_sessions", "new_groups", "slow_scrapes", "burnt_time")
"""The attacks that take nearly no time."""


def test_percentiles() -> None:
    times = Times.of([Waited(number, number / 10) for number in range(100, 0, -1)])
    assert times == (Spread(51, 100, 100), Spread(5.1, 10, 10), 100)


def test_what_is_above_three_times_stands_out() -> None:
    alone, fine, bad = (
        Times(Spread(1, p99, 20), Spread(0.5, work, 9), 9) for p99, work in ((2, 1), (6, 3.2), (6.4, 3))
    )
    measured = Measured("x", alone, fine, bad, Memory(40.4, 230.2, 58))
    other = Measured("x", alone, alone, alone, Memory(40.4, 240.2, 58))
    head, under, row, _, times = table({Mode.IDLE: [measured], Mode.CORE: [other]})
    assert row == "| x | 3.0/**3.2** | 1.0/1.0 | 240 |"
    assert head.count("|") == under.count("|") == row.count("|")
    assert times == "The p99 alone: 2.00 to 2.00 ms."
    assert table({Mode.CORE: [other]})[2] == "| x | 1.0/1.0 | 240 |"


def test_the_stranger_has_a_processor_that_the_others_do_not_use() -> None:
    assert Mode.IDLE.cores == (None, None)
    if len(os.sched_getaffinity(0)) > 1:
        stranger, ours = Mode.CORE.cores
        assert ours
        assert {stranger} | ours <= os.sched_getaffinity(0)
        assert stranger not in ours


def test_the_good_client_is_served_and_its_records_are_acknowledged() -> None:
    with Broker(mode="command") as broker:
        good, before = GoodClient(broker.address), busy_ns(broker.pid)
        waited = good.run(0.5, broker.pid)
        worked_ms = (busy_ns(broker.pid) - before) / 1e6
        good.close()
    assert len(waited) >= 6
    assert len(waited) % 3 == 0
    assert all(elapsed > 0 for elapsed, _ in waited)
    assert 0 < sum(worked for _, worked in waited) <= worked_ms


@pytest.mark.parametrize("name", SWIFT)
def test_an_attack_says_when_it_is_at_it_and_how_often_it_was_done(name: str) -> None:
    with Broker(metrics="127.0.0.1:0") as broker:
        target = _target(broker)
        ports = {"port": broker.port, "metrics_port": target.metrics[1]}
        task = {"host": broker.host, **ports, "seconds": 0.3, "gives_way": False, "core": None}
        command = [sys.executable, "-m", "bench.hostile.attacks", name, json.dumps(task)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
        with WireClient(broker.address) as neighbour:
            assert neighbour.call(MetadataRequest([]), 12, MetadataResponse).brokers
    first, last = done.stdout.splitlines()
    assert first == "at it"
    assert json.loads(last)["times"] > 1


@pytest.mark.parametrize("name", [name for name in ATTACKS if name.endswith("_huge")])
def test_a_huge_frame_is_refused_before_it_is_there(name: str) -> None:
    with Broker(metrics="127.0.0.1:0") as broker:
        step = ATTACKS[name][1](_target(broker))
        with pytest.raises((OSError, ConnectionClosed)):
            step()


def _target(broker: Broker) -> Target:
    assert broker.metrics_url is not None
    port = urlsplit(broker.metrics_url).port
    assert port is not None
    return Target(broker.address, (broker.host, port))
