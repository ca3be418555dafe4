"""Threads that query the cluster: a bounded queue, and an end that does not wait for an absent cluster."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from shareq.client.admin import Admin
from shareq.client.config import Address, ClientConfig
from shareq.client.errors import Unreachable
from shareq.ops.console.lanes import Busy, Lane

AWAY = ClientConfig((Address("127.0.0.1", 9),), default_api_timeout_ms=600_000, retry_backoff_ms=60_000)


async def test_calls_run_in_threads_with_a_client_each_and_no_more_wait_than_may() -> None:
    lane = Lane("test", AWAY, threads=2, waiting=3)
    going = threading.Event()
    seen: set[tuple[int, int]] = set()

    def call(admin: Admin) -> int:
        seen.add((threading.get_ident(), id(admin)))
        assert going.wait(30)
        return threading.get_ident()

    calls = [asyncio.create_task(lane.call(call)) for _ in range(3)]
    while len(seen) < 2:
        await asyncio.sleep(0.005)
    with pytest.raises(Busy):
        await lane.call(call)
    going.set()
    assert len(set(await asyncio.gather(*calls))) == 2
    assert len(seen) == 2, "a thread keeps its client"
    assert await lane.call(lambda admin: 7) == 7  # there is room again
    await asyncio.to_thread(lane.close)


async def test_what_a_function_raises_is_raised() -> None:
    def call(_: Admin) -> None:
        raise ValueError("of the call")

    lane = Lane("test", AWAY, threads=1, waiting=1)
    with pytest.raises(ValueError, match="of the call"):
        await lane.call(call)
    await asyncio.to_thread(lane.close)


async def test_the_end_does_not_wait_until_a_cluster_is_back() -> None:
    lane = Lane("test", AWAY, threads=1, waiting=4)
    begun = threading.Event()

    def call(admin: Admin) -> object:
        begun.set()
        return admin.cluster.describe()

    asked = asyncio.create_task(lane.call(call))
    assert await asyncio.to_thread(begun.wait, 30)
    began = time.monotonic()
    await asyncio.to_thread(lane.close)
    with pytest.raises(Unreachable):
        await asked
    assert time.monotonic() - began < 20, "ten minutes is what the client would try"
