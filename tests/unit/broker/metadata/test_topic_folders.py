"""The order of metadata commits and changes of a topic's folders, with both kinds of crash at any step.

A topic is created, written to, deleted, created again under the same name and written to again. After a crash at any
step the next start finds each topic's records in that topic only, and all answered ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

import pytest

from devtools.in_memory.mem_fs import CrashModel, MemFs, SimulatedCrash
from devtools.in_memory.memory_meta_db import MemoryMetaDb
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation.environment import Environment
from shareq.broker.log.manager import LogManager
from shareq.broker.log.partition_log import AppendInfo, Origin
from shareq.broker.log.settings import LogSettings
from shareq.broker.metadata.changes import MetaChange
from shareq.broker.metadata.store import MetadataStore, NewTopic
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode
from tests.support.worlds.log_world import batch_of, read_all

PARTITIONS: Final = 2


class Cluster:
    """Metadata and logs of one data folder, through any number of starts."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = Random(seed)
        self.clock = VirtualClock()
        self.fs = MemFs(self.clock.call_soon, Random(seed + 1))
        self.env = Environment(self.clock, Random(seed + 2), self.fs)
        self.db = MemoryMetaDb()
        self.answered: dict[bytes, list[bytes]] = {}
        self.start()

    def start(self) -> None:
        self.metadata = MetadataStore(self.db, self.env)
        self.logs = LogManager(self.env, "data", lambda _: LogSettings(), lambda: True)
        self.logs.open_all(self.metadata)
        self.metadata.on_topics_deleted(self._remove_folders)

    def _remove_folders(self, topics: Sequence[TopicImage]) -> None:
        for topic in topics:
            self.logs.delete_topic(topic.name, topic.topic_id)

    def die(self, model: CrashModel) -> None:
        self.clock.drop_everything()
        self.db.before_commit = self.db.after_commit = None
        self.fs.crash(model, self.rng)

    def create(self) -> TopicImage:
        return self.metadata.create_topic(NewTopic("t", PARTITIONS))

    def produce(self, topic: TopicImage, text: bytes) -> None:
        """Append a record to each partition; it counts as answered once it is durable."""
        for partition in range(PARTITIONS):
            value = b"%s-%d" % (text, partition)
            log = self.logs.get("t", partition)
            assert log.topic_id == topic.topic_id

            def durable(error: ErrorCode, value: bytes = value) -> None:
                if error == ErrorCode.NONE:
                    self.answered.setdefault(topic.topic_id, []).append(value)

            done = log.append(
                batch_of(value), origin=Origin.CLIENT, now_wall_ms=self.clock.wall_ms(), on_durable=durable
            )
            assert isinstance(done, AppendInfo)
        self.clock.run_until_idle()

    def values(self) -> list[bytes]:
        logs = [self.logs.get("t", partition) for partition in range(PARTITIONS)]
        return [record.value or b"" for log in logs for record in read_all(log)]

    def life(self) -> None:
        old = self.create()
        self.produce(old, b"old")
        self.metadata.delete_topics(["t"])
        self.clock.run_until_idle()
        new = self.create()
        self.produce(new, b"new")

    def check_and_go_on(self, prefixes: dict[bytes, bytes]) -> None:
        """Check after a start that all records belong to the existing topic, and that the topic can be used."""
        topic = self.metadata.topic("t")
        if topic is None:
            topic = self.create()
            prefixes = {**prefixes, topic.topic_id: b"none"}
        found = self.values()
        prefix = prefixes.get(topic.topic_id, b"new")
        assert all(value.startswith(prefix) for value in found)
        assert set(self.answered.get(topic.topic_id, [])) <= set(found)
        self.produce(topic, b"after")
        assert sorted(self.values()) == sorted([*found, b"after-0", b"after-1"])


def incarnations(seed: int) -> tuple[dict[bytes, bytes], int, int]:
    """Return each topic id of a life without crashes with its records' prefix, and the numbers of steps and commits."""
    cluster = Cluster(seed)
    created: list[TopicImage] = []
    cluster.metadata.on_topics_changed(created.extend)
    before, commits = cluster.fs.steps, cluster.db.commits
    cluster.life()
    assert sorted(cluster.values()) == [b"new-0", b"new-1"]
    prefixes = {created[0].topic_id: b"old", created[1].topic_id: b"new"}
    return prefixes, cluster.fs.steps - before, cluster.db.commits - commits


@pytest.mark.parametrize("model", CrashModel)
def test_a_crash_at_every_disk_operation(model: CrashModel) -> None:
    for seed in range(3):
        prefixes, steps, _ = incarnations(seed)
        assert steps > 20
        for step in range(1, steps + 1):
            cluster = Cluster(seed)
            cluster.fs.crash_at = cluster.fs.steps + step
            with pytest.raises(SimulatedCrash):
                cluster.life()
            cluster.die(model)
            cluster.start()
            cluster.check_and_go_on(prefixes)


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("model", CrashModel)
def test_a_crash_around_every_commit(model: CrashModel, committed: bool) -> None:
    prefixes, _, commits = incarnations(0)
    assert commits == 3
    for commit in range(1, commits + 1):
        cluster = Cluster(0)
        countdown = iter(range(commit - 1, -1, -1))

        def die(_changes: Sequence[MetaChange], countdown: object = countdown) -> None:
            if next(countdown) == 0:  # type: ignore[call-overload]
                raise SimulatedCrash

        if committed:
            cluster.db.after_commit = die
        else:
            cluster.db.before_commit = die
        with pytest.raises(SimulatedCrash):
            cluster.life()
        cluster.die(model)
        cluster.start()
        cluster.check_and_go_on(prefixes)


def test_a_folder_that_cannot_be_renamed_never_becomes_the_next_topics() -> None:
    cluster = Cluster()
    old = cluster.create()
    cluster.produce(old, b"old")
    cluster.fs.fail = lambda kind, path: OSError(5, "rename failed", path) if kind == "rename" else None
    cluster.metadata.delete_topics(["t"])  # committed; the failure is logged
    cluster.fs.fail = None
    cluster.create()
    topic = cluster.metadata.topic("t")
    assert topic is not None
    assert [cluster.logs.get("t", partition).topic_id for partition in range(PARTITIONS)] == [topic.topic_id] * 2
    assert cluster.values() == []
