"""taskiq, on shareq or on a Redis stream with acknowledgements."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from taskiq import AsyncBroker

from bench.queues.job import ADDRESS, work


def broker_at(address: str) -> AsyncBroker:
    """Return the broker for the address: a URL of Redis, or HOST:PORT of shareq."""
    if address.startswith("redis:"):
        from taskiq_redis import RedisStreamBroker

        made: AsyncBroker = RedisStreamBroker(address, queue_name="jobs", consumer_id="0")
        return made
    from shareq.taskiq import ShareqBroker

    return ShareqBroker(address, topic="jobs")


broker = broker_at(os.environ[ADDRESS])


@broker.task(task_name="job")
def job(number: int, sent_s: float, seconds: float) -> None:
    """Do the job of one message, in a thread."""
    work(number, sent_s, seconds)


@contextmanager
def sending() -> Iterator[Callable[[int, float, float], None]]:
    """Return a sender whose calls return when the server has the job."""
    with asyncio.Runner() as runner:
        runner.run(broker.startup())
        yield lambda *values: void(runner.run(job.kiq(*values)))
        runner.run(broker.shutdown())


def void(_: object) -> None:
    """Do nothing: the task has no work."""
