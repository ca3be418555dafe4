"""The campaign's Celery application. The environment names its broker and the file that tasks write to."""

from __future__ import annotations

import ast
import os
import time
from typing import Any

from celery import Celery
from celery.signals import task_received

import shareq.kombu
from tests.campaign.celery_kills.journal import note

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


@task_received.connect  # type: ignore[untyped-decorator]
def received(request: Any, **_: Any) -> None:
    note("got", ast.literal_eval(request.argsrepr)[0])


@app.task(name="kills.work")  # type: ignore[untyped-decorator]
def work(number: int, seconds: float) -> None:
    note("begin", number)
    time.sleep(seconds)
    note("end", number)


def send(number: int, seconds: float) -> None:
    work.delay(number, seconds)
