"""RQ: each job in a process of its own, which is RQ's default."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from redis import Redis
from rq import Queue

from bench.queues.job import ADDRESS, work


@contextmanager
def sending() -> Iterator[Callable[[int, float, float], None]]:
    """Return a sender whose calls return when Redis has the job."""
    queue = Queue("jobs", connection=Redis.from_url(os.environ[ADDRESS]))
    yield lambda *values: void(queue.enqueue(work, *values, result_ttl=0))


def void(_: object) -> None:
    """Do nothing: the job has no task."""
