"""`shareq worker run` with JSON handlers, on the event loop and in threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.campaign.bad_records.scene import RawRecord, Scene
from tests.campaign.bad_records.surfaces.programs import Program
from tests.campaign.bad_records.surfaces.verdict import Verdict, of_group

MODULE: Final = """
from shareq.worker import Message, Retry, Worker

app = Worker("BROKER", group="workers", max_delay=5)

@app.handler("jobs", concurrency=8, prefetch=32, decode="json", retry=Retry(max=0))
async def work(job, message: Message) -> None:
    with open("done", "a") as file:
        file.write("%d\\n" % job["good"])
"""


def run(scene: Scene, bad: Iterator[RawRecord]) -> Verdict:
    """Return the verdict on a worker whose handler raises for invalid jobs."""
    topic, queue = scene.topic("jobs"), scene.group("workers")
    good = scene.fill(topic, bad, lambda number: scene.write(topic, [RawRecord(None, b'{"good": %d}' % number)]))
    module = MODULE.replace("BROKER", scene.broker.bootstrap)
    command = ("shareq", "worker", "run", "jobs:app", "-b", scene.broker.bootstrap)
    with Program(scene.folder / "worker", {"jobs.py": module}, *command) as program:
        scene.until_done("workers", "jobs", program.alive)
        return of_group(scene, "workers", "jobs", good, program.done, queue)
