"""The Celery application of the campaign. Its broker, and the file that tasks write to, are in the environment."""

from __future__ import annotations

import ast
import os
import time
from typing import Any

from celery import Celery
from celery.signals import task_received

import shareq.kombu

shareq.kombu.register()

app = Celery("kills", broker=f"kafka-share://{os.environ['CELERY_KILLS_BROKER']}//")
app.conf.update(
    task_acks_late=True,
    task_ignore_result=True,
    worker_prefetch_multiplier=2,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    worker_hijack_root_logger=False,
    broker_transport_options={"group_config": {"share.delivery.count.limit": "10"}},
)


def note(word: str, number: int) -> None:
    """One line; lines of several processes do not mix. The process group is what a kill of the worker kills."""
    with open(os.environ["CELERY_KILLS_JOURNAL"], "ab", buffering=0) as file:
        file.write(f"{word} {number} {os.getpgrp()} {time.monotonic()}\n".encode())


@task_received.connect  # type: ignore[untyped-decorator]
def received(request: Any, **_: Any) -> None:
    """The worker has the task; one of its processes begins it later."""
    note("got", ast.literal_eval(request.argsrepr)[0])


@app.task(name="kills.work")  # type: ignore[untyped-decorator]
def work(number: int, seconds: float) -> None:
    note("begin", number)
    time.sleep(seconds)
    note("end", number)
