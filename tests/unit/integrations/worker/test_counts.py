"""A handler's counters as a line for a terminal, and in Prometheus' format."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence

import pytest
from prometheus_client.parser import text_string_to_metric_families

from shareq.worker.counts import Counts, exposition
from shareq.worker.live import ERASE, LiveLine


def counts() -> Counts:
    found = Counts("parcels", 4, done=3, retried=2, rejected=1, working=4, waiting=5, ahead=6)
    for seconds in (0.001, 0.2, 400.0):
        found.took(seconds)
    return found


def test_prometheus_reads_what_is_exposed() -> None:
    families = {each.name: each for each in text_string_to_metric_families(exposition('a "group"\\', [counts()]))}
    outcomes = {sample.labels["outcome"]: sample.value for sample in families["shareq_worker_records"].samples}
    assert outcomes == {"done": 3, "retried": 2, "rejected": 1, "lost": 0}
    labels = {"group": 'a "group"\\', "topic": "parcels"}
    assert families["shareq_worker_waiting"].samples[0].labels == labels
    assert [families[f"shareq_worker_{name}"].samples[0].value for name in ("working", "waiting", "ahead")] == [4, 5, 6]
    samples = families["shareq_worker_seconds"].samples
    buckets = {sample.labels["le"]: sample.value for sample in samples if sample.name.endswith("_bucket")}
    assert (buckets["0.005"], buckets["0.1"], buckets["0.25"], buckets["300.0"], buckets["+Inf"]) == (1, 1, 2, 2, 3)
    assert [sample.value for sample in samples if sample.name.endswith("_count")] == [3]
    assert [sample.value for sample in samples if sample.name.endswith("_sum")] == [pytest.approx(400.201)]


def test_a_terminal_has_one_line_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    stream = io.StringIO()
    live = LiveLine(stream, terminal=True)
    now = counts()
    live.write([now], 0.5)
    now.done += 10
    live.write([now], 0.5)
    first, second = stream.getvalue().split(ERASE)[1:]
    assert first.startswith("parcels: 4/4 working, 6 ahead, 5 waiting, 3 done, 2 retried, 1 rejected, 0 lost, ")
    assert second.endswith("13 done, 2 retried, 1 rejected, 0 lost, 20.0/s")
    assert "\n" not in stream.getvalue()


def test_elsewhere_a_line_is_written_when_there_is_news() -> None:
    stream = io.StringIO()
    live = LiveLine(stream, terminal=False)
    now = counts()
    for _ in range(4):
        live.write([now], 10)
    assert len(stream.getvalue().splitlines()) == 2, "the second one has another rate"


async def test_the_sums_stay_at_the_end() -> None:
    class Lane:
        def look(self) -> Counts:
            return counts()

    class Run:
        @property
        def lanes(self) -> Sequence[Lane]:
            return [Lane()]

    stream = io.StringIO()
    showing = asyncio.create_task(LiveLine(stream, terminal=False).show(Run(), 0.001))
    while not stream.getvalue():
        await asyncio.sleep(0.001)
    showing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await showing
    assert stream.getvalue().splitlines()[-1] == "parcels: 3 done, 2 retried, 1 rejected, 0 lost"
