from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.campaign.bad_records.scene import RawRecord, Scene
from tests.campaign.bad_records.surfaces.programs import Program
from tests.campaign.bad_records.surfaces.verdict import Verdict, of_group

GOOD: Final = b'{"task_id": "%d", "task_name": "good", "labels": {}, "labels_types": null, "args": [%d], "kwargs": {}}'
MODULE: Final = """
from shareq.taskiq import ShareqBroker

broker = ShareqBroker("BROKER", topic="taskiq", max_delay=5, prefetch=64)

@broker.task(task_name="good")
async def good(number: int) -> None:
    with open("done", "a") as file:
        file.write("%d\\n" % number)

@broker.task(task_name="tasks:add")
async def add(one: int, other: int) -> int:
    return one + other
"""


def run(scene: Scene, bad: Iterator[RawRecord]) -> Verdict:
    topic, queue = scene.topic("taskiq"), scene.group("taskiq")
    good = scene.fill(topic, bad, lambda number: scene.write(topic, [RawRecord(None, GOOD % (number, number))]))
    module = MODULE.replace("BROKER", scene.broker.bootstrap)
    command = ("taskiq", "worker", "tasks:broker", "--workers", "1")
    with Program(scene.folder / "taskiq", {"tasks.py": module}, *command) as program:
        scene.until_done("taskiq", topic, program.alive)
        return of_group(scene, "taskiq", topic, good, program.done, queue)
