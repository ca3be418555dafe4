"""All clients of the workload on one broker."""

from __future__ import annotations

from collections.abc import Sequence

from tests.campaign.storage.admin import Admin, Resetter
from tests.campaign.storage.fetching import Consumer
from tests.campaign.storage.members import ShareMember
from tests.campaign.storage.producers import IdempotentProducer, Producer, TransactionalJob, TransactionalProducer
from tests.campaign.storage.scene import QUEUE, QUEUE_COMMITTED, Process, Scene


class Workload:
    """Clients for share groups, transactions, compaction, deletion and retention, all at once, and those in `more`."""

    def __init__(self, scene: Scene, more: Sequence[Process] = ()) -> None:
        self._scene = scene
        self._admin = Admin(scene, "admin")
        self._processes: Sequence[Process] = (
            self._admin,
            Producer(scene, "plain"),
            IdempotentProducer(scene, "idempotent"),
            TransactionalProducer(scene, "writer"),
            TransactionalJob(scene, "job"),
            Consumer(scene, "reader", read_committed=True),
            Consumer(scene, "peeker", read_committed=False),
            ShareMember(scene, "sharer-a", QUEUE),
            ShareMember(scene, "sharer-b", QUEUE),
            ShareMember(scene, "committed-a", QUEUE_COMMITTED),
            Resetter(scene, "resetter"),
            *more,
        )

    def start(self) -> None:
        self._admin.set_up()
        for process in self._processes:
            process.thread.start()

    def stop(self) -> None:
        self._scene.stop.set()
        for process in self._processes:
            process.thread.join(60)
            if process.thread.is_alive():
                self._scene.failures.append(f"{process.name} does not end")
