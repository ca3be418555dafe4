"""Celery, with the transport of the address. Tasks are acknowledged late; results are not stored."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from celery import Celery

import shareq.kombu
from bench.queues.job import ADDRESS, AT_ONCE, PREFETCH, work

shareq.kombu.register()
app = Celery("jobs", broker=os.environ[ADDRESS])
app.conf.update(
    task_acks_late=True,
    task_ignore_result=True,
    task_default_queue="jobs",
    worker_prefetch_multiplier=PREFETCH // AT_ONCE,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
)


@app.task(name="jobs.job")  # type: ignore[untyped-decorator]
def job(number: int, sent_s: float, seconds: float) -> None:
    """Do the job of one message."""
    work(number, sent_s, seconds)


@contextmanager
def sending() -> Iterator[Callable[[int, float, float], None]]:
    """Yield a sender whose calls return when the transport has the job."""
    yield lambda *values: job.apply_async(values, retry=False)
    app.close()
