"""Views are polled once for all browsers, while any browser shows them."""

from __future__ import annotations

import asyncio

import pytest

from shareq.client.errors import Unreachable
from shareq.ops.console import pollers as module
from shareq.ops.console.lanes import Busy
from shareq.ops.console.pollers import Pollers
from tests.support.waiting import comes_true


class Cluster:
    def __init__(self) -> None:
        self.looks = 0
        self.away = False
        self.answering = asyncio.Event()
        self.answering.set()

    async def look(self) -> dict[str, int]:
        self.looks += 1
        await self.answering.wait()
        if self.away:
            raise Unreachable("no broker can be reached")
        return {"looks": self.looks}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVERY_S", 0.01)
    monkeypatch.setattr(module, "LOOKED_AT_S", 0.2)
    monkeypatch.setattr(module, "FIRST_LOOK_S", 0.2)


async def test_many_browsers_are_one_look() -> None:
    cluster, pollers = Cluster(), Pollers()
    cluster.answering.clear()
    asked = [asyncio.create_task(pollers.seen(("overview",), cluster.look)) for _ in range(50)]
    await comes_true(lambda: cluster.looks == 1)
    cluster.answering.set()
    seen = await asyncio.gather(*asked)
    assert {one.data["looks"] for one in seen} == {1}
    pollers.close()


async def test_it_looks_again_while_it_is_asked_and_stops_when_it_is_not() -> None:
    cluster, pollers = Cluster(), Pollers()
    first = await pollers.seen(("overview",), cluster.look)
    await comes_true(lambda: cluster.looks > 3)
    again = await pollers.seen(("overview",), cluster.look)
    assert again.data["looks"] > first.data["looks"]
    (poller,) = pollers._pollers.values()
    await comes_true(lambda: not poller.at_work)
    looks = cluster.looks
    await asyncio.sleep(0.1)
    assert cluster.looks == looks
    assert (await pollers.seen(("overview",), cluster.look)).data["looks"] == looks + 1
    pollers.close()


async def test_a_cluster_that_is_away_is_asked_ever_more_seldom_and_the_last_data_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LOOKED_AT_S", 60.0)
    cluster, pollers = Cluster(), Pollers()
    await pollers.seen(("overview",), cluster.look)
    cluster.away = True
    began = cluster.looks
    await comes_true(lambda: cluster.looks >= began + 3)
    seen = await pollers.seen(("overview",), cluster.look)
    assert seen.error == "no broker can be reached"
    assert seen.data == {"looks": 1} or seen.data["looks"] <= began
    assert seen.made_ms is not None
    looks = cluster.looks
    await asyncio.sleep(0.25)
    assert cluster.looks <= looks + 5, "a pause of 10 ms would make it 25"
    cluster.away = False
    async with asyncio.timeout(10):
        while (await pollers.seen(("overview",), cluster.look)).error is not None:
            await asyncio.sleep(0.01)
    pollers.close()


async def test_a_first_look_that_hangs_is_said() -> None:
    cluster, pollers = Cluster(), Pollers()
    cluster.answering.clear()
    seen = await pollers.seen(("overview",), cluster.look)
    assert (seen.data, seen.error) == (None, "the cluster has not answered yet")
    pollers.close()


async def test_histories_have_what_was_sampled() -> None:
    cluster, pollers = Cluster(), Pollers()
    await pollers.seen(("group", "a"), cluster.look, lambda data: {"lag": data["looks"]})
    await comes_true(lambda: cluster.looks >= 4)
    seen = await pollers.seen(("group", "a"), cluster.look)
    assert [point.values["lag"] for point in seen.points][:3] == [1, 2, 3]
    assert [point.at_ms for point in seen.points] == sorted(point.at_ms for point in seen.points)
    pollers.close()


async def test_a_view_gives_way_to_another_unless_all_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_POLLERS", 2)
    cluster, pollers = Cluster(), Pollers()
    await pollers.seen(("topic", "a"), cluster.look)
    await pollers.seen(("topic", "b"), cluster.look)
    with pytest.raises(Busy):
        await pollers.seen(("topic", "c"), cluster.look)
    await comes_true(lambda: not any(each.at_work for each in pollers._pollers.values()))
    await pollers.seen(("topic", "c"), cluster.look)
    assert set(pollers._pollers) == {("topic", "b"), ("topic", "c")}
    pollers.close()


async def test_a_fault_of_ours_is_logged_and_said(caplog: pytest.LogCaptureFixture) -> None:
    async def look() -> None:
        raise KeyError("x")

    pollers = Pollers()
    seen = await pollers.seen(("overview",), look)
    assert seen.error == "the console could not make this view: its log says why"
    assert "KeyError" in caplog.text
    pollers.close()
