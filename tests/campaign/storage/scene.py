"""The parts that the workload's clients share: topics, settings, the history, and the sign to stop."""

from __future__ import annotations

import random
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.campaign.history.operations import History, Place, Refused, ShareRules
from tests.campaign.history.recorder import Recorder
from tests.campaign.storage.links import Cut, Link, Stopped, Unreadable

LOCK_MS: Final = 2_000
DELIVERY_LIMIT: Final = 10

SETTINGS: Final[Mapping[str, str]] = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": str(LOCK_MS),
    "group.share.delivery.count.limit": str(DELIVERY_LIMIT),
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "1000",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.segment.bytes": "32768",
    "share.coordinator.state.topic.num.partitions": "2",
    "share.coordinator.state.topic.segment.bytes": "32768",
    "share.coordinator.snapshot.update.records.per.snapshot": "50",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.segment.bytes": "32768",
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.min.cleanable.ratio": "0.1",
    "log.retention.check.interval.ms": "300",
    "log.segment.delete.delay.ms": "150",
    "auto.create.topics.enable": "false",
}
"""The broker's settings: small segments, and frequent cleaning and retention, so that kills hit these at work."""


@dataclass(frozen=True, slots=True)
class TopicPlan:
    name: str
    partitions: int = 1
    configs: Mapping[str, str] = field(default_factory=dict)
    compacted: bool = False
    shrinks: bool = False


PLAIN: Final = TopicPlan("plain", 2, {"internal.segment.bytes": "65536"})
TRANSACTED: Final = TopicPlan("transacted", 2, {"internal.segment.bytes": "65536"})
COMPACTED: Final = TopicPlan(
    "compacted",
    1,
    {"cleanup.policy": "compact", "internal.segment.bytes": "16384", "min.cleanable.dirty.ratio": "0.05"},
    compacted=True,
)
TRIMMED: Final = TopicPlan("trimmed", 1, {"internal.segment.bytes": "16384", "file.delete.delay.ms": "100"})
ROLLING: Final = TopicPlan(
    "rolling",
    1,
    {"retention.bytes": "65536", "internal.segment.bytes": "16384", "file.delete.delay.ms": "100"},
    shrinks=True,
)
CYCLED: Final = TopicPlan("cycled", 1, {"internal.segment.bytes": "16384", "file.delete.delay.ms": "100"})
PLANS: Final = (PLAIN, TRANSACTED, COMPACTED, TRIMMED, ROLLING, CYCLED)

QUEUE, QUEUE_COMMITTED, RESET_GROUP = "queue", "queue-committed", "queue-reset"
GROUP_TOPICS: Final[Mapping[str, tuple[TopicPlan, ...]]] = {
    QUEUE: (PLAIN, CYCLED),
    QUEUE_COMMITTED: (TRANSACTED,),
    RESET_GROUP: (TRIMMED,),
}
SIMPLE_GROUP, JOB_GROUP = "simple", "job"
TRANSACTIONAL_IDS: Final = ("writer", "job")


def rules() -> dict[str, ShareRules]:
    return {group: ShareRules(LOCK_MS * 1_000_000, DELIVERY_LIMIT) for group in GROUP_TOPICS}


@dataclass(slots=True)
class Scene:
    """One broker and its clients. Only the admin changes `ids`, while it holds `lock`."""

    address: Callable[[], tuple[str, int]]
    seed: int
    recorder: Recorder = field(default_factory=Recorder)
    ids: dict[str, bytes] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    failures: list[str] = field(default_factory=list)

    def link(self, client_id: str) -> Link:
        return Link(self.address, self.stop, client_id)

    def rng(self, name: str) -> random.Random:
        return random.Random(f"{self.seed} {name}")

    def place(self, topic: str, partition: int) -> Place | None:
        with self.lock:
            topic_id = self.ids.get(topic)
        return None if topic_id is None else Place(topic_id.hex(), partition)

    def places(self, *plans: TopicPlan) -> list[Place]:
        found = [self.place(plan.name, partition) for plan in plans for partition in range(plan.partitions)]
        return [place for place in found if place is not None]

    def name_of(self, place: Place) -> str | None:
        with self.lock:
            return next((name for name, known in self.ids.items() if known.hex() == place.topic), None)

    def history(self) -> History:
        return History(self.recorder.operations(), rules())


class Process:
    """One client: repeats `step` in its own thread until the scene ends."""

    def __init__(self, scene: Scene, name: str) -> None:
        self.scene = scene
        self.name = name
        self.rng = scene.rng(name)
        self.link = scene.link(name)
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._values = 0

    def step(self) -> None:
        raise NotImplementedError

    def on_cut(self) -> None:
        """React to a lost connection. The interrupted operation is already noted."""

    def at_end(self) -> None:
        """Do what is due at the end of the scene, while the broker still runs."""

    def pause(self, upto_s: float) -> None:
        self.scene.stop.wait(self.rng.uniform(0, upto_s))

    def new_value(self) -> str:
        self._values += 1
        return f"{self.name}.{self._values}"

    def now(self) -> int:
        return self.scene.recorder.now()

    def _run(self) -> None:
        try:
            while not self.scene.stop.is_set():
                try:
                    self.link.ready()
                    self.step()
                except Cut:
                    self.on_cut()
                except Unreadable as error:
                    self.scene.recorder.ok(self.name, self.now(), Refused(str(error)))
                    self.pause(0.1)
            self.at_end()
        except (Stopped, Cut):
            pass
        except Exception:
            self.scene.failures.append(f"{self.name}: {traceback.format_exc()}")
            self.scene.stop.set()
        finally:
            self.link.drop()
