"""The matrix's data folder: one broker's life, copied during it and at its end."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from devtools.clients.offsets_client import OffsetsClient
from devtools.clients.requests import produce
from devtools.clients.transactor import Transactor
from shareq.broker.metadata.changes import PutAcl, PutConfig, PutQuota, PutScram, ResourceName
from shareq.broker.metadata.store import NewTopic
from shareq.broker.quotas.entity import QuotaEntity
from shareq.broker.security.acls import Acl, Operation, PatternType, Permission, ResourceKind
from shareq.broker.security.credentials import CredentialKey, ScramCredential
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import RecordData, build_batch
from tests.storage_matrix.world import RealWorld
from tests.support.clients.share_client import ACCEPT, REJECT, ShareClient, from_the_start

ORDERS, SPARE, KEYED, GONE, LATER = "orders", "spare", "keyed", "gone", "later"
GROUPS: Final = ("payments", "invoices", "audits", "exports")
SHARE_GROUPS: Final = ("pickers", "packers")
TRANSACTIONAL_IDS: Final = ("billing", "booking", "returns")
TIMESTAMP_MS: Final = 1_700_000_000_000
SMALL: Final = {"internal.segment.bytes": "1500", "index.interval.bytes": "200"}


class Stop(Enum):
    CLEAN = "clean stop"
    KILL = "kill -9"
    POWER = "power loss"

    @property
    def boot(self) -> str:
        return "second" if self is Stop.POWER else "first"


@dataclass(frozen=True)
class Templates:
    """Data folders to copy and damage. `older` are copies from earlier in the same life."""

    ended: dict[Stop, str]
    moments: dict[str, str]  # killed in the midst of something
    older: tuple[str, ...]


def make_templates(folder: str) -> Templates:
    os.makedirs(folder)
    data = f"{folder}/data"
    world = RealWorld(data)
    life = Life(world)
    life.begin()
    _copy(data, f"{folder}/older-running")
    world.stop()
    _copy(data, f"{folder}/older-clean")
    world.restart_after_stop()
    moments = {name: f"{folder}/{name}" for name in MOMENTS}

    def look(kind: str, path: str) -> None:
        for name, moment in MOMENTS.items():
            if moment(kind, path.removeprefix(data)):
                _copy_once(data, moments[name])

    world.files.before = look
    life.go_on()
    world.files.before = lambda _kind, _path: None
    _copy(data, f"{folder}/killed")
    world.stop()
    _copy(data, f"{folder}/clean")
    shutil.rmtree(data)
    killed = f"{folder}/killed"
    for folder_of in (f"{folder}/clean", killed):
        _leave_behind(folder_of)
    ended = {Stop.CLEAN: f"{folder}/clean", Stop.KILL: killed, Stop.POWER: killed}
    return Templates(ended, moments, (f"{folder}/older-running", f"{folder}/older-clean"))


MOMENTS: Final[dict[str, Callable[[str, str], bool]]] = {
    "cleaned": lambda kind, path: kind == "rename" and path.endswith(".cleaned"),
    "swapping": lambda kind, path: kind == "rename" and path.endswith(".swap"),
    "deleting": lambda kind, path: kind == "remove" and "-delete/" in path,
}
"""The moments to take a copy, each before the rename or removal of a path below the data folder."""


def _leave_behind(folder: str) -> None:
    """Add files that only a longer life, or a kill at a rarer moment, would leave: cut-off bytes and half-written
    files.
    """
    base = max(name for name in os.listdir(f"{folder}/orders-0") if name.endswith(".log"))
    shutil.copyfile(f"{folder}/orders-0/{base}", f"{folder}/orders-0/{base}.700.cut")
    shutil.copyfile(f"{folder}/log-manifest", f"{folder}/log-manifest.new")
    for name in ("recovery-point-offset-checkpoint", f"orders-0/{base[:20]}.snapshot"):
        with open(f"{folder}/{name}", "rb") as source, open(f"{folder}/{name}.tmp", "wb") as half:
            content = source.read()
            half.write(content[: len(content) // 2])


def _copy(source: str, target: str) -> None:
    shutil.copytree(source, target, symlinks=True)


def _copy_once(source: str, target: str) -> None:
    if not os.path.exists(target):
        _copy(source, target)


class Life:
    """A life that puts everything into the data folder that one may hold, in a few kilobytes."""

    def __init__(self, world: RealWorld) -> None:
        self.world = world
        self._values = 0

    def begin(self) -> None:
        metadata = self.world.folder.metadata
        for name in (ORDERS, SPARE, GONE):
            metadata.create_topic(NewTopic(name, 1, SMALL))
        metadata.create_topic(NewTopic(KEYED, 1, {**SMALL, "cleanup.policy": "compact"}))
        self._security("ann")
        for name in SHARE_GROUPS:
            from_the_start(self.world, name)
        for name in (ORDERS, SPARE, KEYED, GONE):
            self._fill(name, 12)
        self._consume()
        self._transactions()

    def go_on(self) -> None:
        """Repeat the work of `begin`, and add what comes with age: deletions, retention, compaction."""
        metadata, world = self.world.folder.metadata, self.world
        metadata.create_topic(NewTopic(LATER, 1, SMALL))
        metadata.alter_configs([PutConfig(ResourceName("topic", ORDERS), "retention.ms", "-1")])
        self._security("bob")
        for name in (ORDERS, SPARE, KEYED, LATER):
            self._fill(name, 40)
        metadata.delete_topics([GONE])
        self._transactions()
        self._consume()
        for _ in range(400):
            world.clock.advance(10)
        logs = world.folder.logs
        log = logs.get(ORDERS, 0)
        assert logs.truncate_prefixes({log: log.segments[1].base_offset + 1}) == {log: ErrorCode.NONE}
        world.clock.run_until_idle()
        self._fill(KEYED, 6)
        assert world.folder.logs.cleaner.passes

    def _security(self, user: str) -> None:
        metadata = self.world.services.metadata
        right = (PatternType.LITERAL, f"User:{user}", "*", Operation.READ, Permission.ALLOW)
        metadata.alter_acls([PutAcl(Acl(ResourceKind.TOPIC, ORDERS, *right))])
        credential = ScramCredential(b"salt-of-" + user.encode(), b"stored", b"server", 4096)
        metadata.alter_credentials([PutScram(CredentialKey(user, "SCRAM-SHA-256"), credential)])
        metadata.alter_quotas([PutQuota(QuotaEntity(user), "producer_byte_rate", 1e9)])

    def _fill(self, topic: str, batches: int) -> None:
        client = self.world.connect()
        for index in range(batches):
            records = []
            for _ in range(1 + index % 3):
                self._values += 1
                records.append(RecordData(b"key-%d" % (self._values % 7), b"%s-%d" % (topic.encode(), self._values)))
            batch = build_batch(records, timestamp_ms=TIMESTAMP_MS + self._values)
            assert produce(client, topic, bytes(batch)).error_code == ErrorCode.NONE

    def _consume(self) -> None:
        client = self.world.connect()
        offsets = OffsetsClient(client, {})
        for at in range(3):
            for index, group in enumerate(GROUPS):
                offsets.committed({(ORDERS, 0): 5 + at + index, (SPARE, 0): 2 + at}, group=group)
        place = (self._topic_id(ORDERS), 0)
        for group in SHARE_GROUPS:
            member = ShareClient(self.world, f"member-of-{group}", group)
            member.join(ORDERS)
            for _ in range(4):
                for first, last, _count in member.acquire(place, max_records=3):
                    assert member.acknowledge(place, (first, last, ACCEPT if first % 2 else REJECT)) is ErrorCode.NONE
            member.leave()

    def _transactions(self) -> None:
        for number, name in enumerate(TRANSACTIONAL_IDS):
            producer = Transactor(self.world.connect(), transactional_id=name)
            assert producer.init() is ErrorCode.NONE
            for commit in (number != 1, number != 2):
                assert producer.write(ORDERS, *self._own(name), partition=0) is ErrorCode.NONE
                assert producer.commit_offsets(GROUPS[0], {(SPARE, 0): 1 + number}) == [ErrorCode.NONE]
                assert producer.end(commit=commit) is ErrorCode.NONE
                self.world.clock.run_until_idle()
            self._fill(ORDERS, 2)

    def _own(self, name: str) -> Iterator[bytes]:
        for _ in range(2):
            self._values += 1
            yield b"%s-%d" % (name.encode(), self._values)

    def _topic_id(self, name: str) -> bytes:
        image = self.world.services.metadata.topic(name)
        assert image is not None
        return image.topic_id
