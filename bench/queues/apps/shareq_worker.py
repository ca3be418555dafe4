"""Our worker: a function in threads, one partition; with its own defaults where QUEUES_DEFAULTS is set."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.queues.job import ADDRESS, AT_ONCE, DEFAULTS, PREFETCH, work
from shareq.worker import Worker

app = Worker(
    os.environ[ADDRESS],
    group="jobs",
    group_config={"share.auto.offset.reset": "earliest", "share.delivery.count.limit": "10"},
)


_own = bool(os.environ.get(DEFAULTS))
_handler = (
    app.handler("jobs", decode="json")
    if _own
    else app.handler("jobs", concurrency=AT_ONCE, prefetch=PREFETCH, decode="json")
)


@_handler
def job(value: tuple[int, float, float]) -> None:
    """Do the job of one record."""
    work(*value)


@contextmanager
def sending() -> Iterator[Callable[[int, float, float], None]]:
    """Return a sender whose calls return when the broker has the job."""
    with app.sender() as sender:
        yield lambda *job: void(sender.send("jobs", job))


def void(_: object) -> None:
    """Do nothing with the place of a record."""
