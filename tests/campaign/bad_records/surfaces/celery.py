"""Celery workers: on their queue, and on the exchange of their remote control."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from celery import Celery

import shareq.kombu
from tests.campaign.bad_records.scene import RawRecord, Scene
from tests.campaign.bad_records.surfaces.programs import Program
from tests.campaign.bad_records.surfaces.verdict import Verdict, of_group

PIDBOX: Final = "celery.pidbox.exchange"
PIDBOX_RECORDS: Final = 500
QUEUE: Final = "tasks"
MODULE: Final = """
from celery import Celery
import shareq.kombu

shareq.kombu.register()
app = Celery("tasks", broker="kafka-share://BROKER//")
app.conf.update(task_default_queue="tasks", worker_prefetch_multiplier=4, task_acks_late=True,
                broker_transport_options={"max_delay": 5})

@app.task(name="good")
def good(number):
    with open("done", "a") as file:
        file.write("%d\\n" % number)

@app.task(name="tasks.add")
def add(a, b):
    return a + b
"""


def run(scene: Scene, bad: Iterator[RawRecord]) -> Verdict:
    """Return the verdict on a Celery worker, which must answer a ping at the end."""
    topic, queue = scene.topic(QUEUE), scene.group(QUEUE)
    shareq.kombu.register()
    app = Celery("tasks", broker=f"kafka-share://{scene.broker.bootstrap}//")
    app.conf.task_default_queue = QUEUE
    good = scene.fill(topic, bad, lambda number: app.send_task("good", args=[number]))
    module = MODULE.replace("BROKER", scene.broker.bootstrap)
    command = ("celery", "-A", "tasks", "worker", "-l", "WARNING", "-c", "1", "-P", "solo", "-n", "w@bad")
    with Program(scene.folder / "celery", {"tasks.py": module}, *command) as program:
        scene.broker.wait_until(lambda: app.control.ping(timeout=2), timeout_s=60, what="the worker answers")
        scene.write(PIDBOX, islice(bad, min(scene.count, PIDBOX_RECORDS)))
        scene.until_done(QUEUE, QUEUE, program.alive)
        assert scene.broker.wait_until(lambda: app.control.ping(timeout=5), timeout_s=60, what="the worker answers")
        return of_group(scene, QUEUE, QUEUE, good, program.done, queue)
