"""Working groups with dead-letter queues, redrives of their letters, and a broker that is killed under them."""

from __future__ import annotations

import random
import shutil
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from devtools.clients.admin import configure_group
from devtools.clients.requests import create_topic
from devtools.clients.wire import ConnectionClosed, WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_redrives import DescribeRedrivesRequest, DescribeRedrivesResponse
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
)
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.protocol.generated.start_redrive import StartRedriveRequest, StartRedriveResponse
from tests.campaign.dlq_kills import load
from tests.campaign.dlq_kills.broker import (
    DIE_AFTER,
    DIE_AT,
    FAILING,
    HANDED_OUT,
    OF_REDRIVES,
    OF_REMOVALS,
    PLANTED,
    Aim,
)
from tests.campaign.dlq_kills.judge import Group, Redriven, judge, judge_redrive
from tests.campaign.dlq_kills.ledger import Ledger
from tests.campaign.dlq_kills.load import PARTITIONS, TOPIC, Load
from tests.campaign.dlq_kills.troubles import Queues, Trouble, exists
from tests.campaign.member import RELEASE, Member
from tests.campaign.node import Node, StartRefused
from tests.campaign.order_kills.judge import ACCEPT, REJECT, Place

GROUPS: Final = (
    Group("plain", 2, copies=True, keeps=False),
    Group("bare", 3, copies=False, keeps=False),
    Group("kept", 2, copies=True, keeps=True, committed=True),
    Group("kept-bare", 3, copies=False, keeps=True),
    Group("delayed", 2, copies=True, keeps=True, delay_ms=400),
    Group("troubled", 2, copies=True, keeps=False, has_trouble=True),
    Group("troubled-kept", 2, copies=True, keeps=True, has_trouble=True),
)
KEPT: Final = GROUPS[2]
MEMBERS: Final = 2  # of each group
LOCK_MS: Final = 1_000
AIM_FOR_S: Final = 1.5  # how long a moment is waited for
LONG_EVERY: Final = 8  # lives in which locks run out
REDRIVE_EVERY: Final = 5
REDRIVE_LETTERS: Final = 40
SETTINGS: Final = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": str(LOCK_MS),
    "share.coordinator.state.topic.num.partitions": "2",
    "errors.deadletterqueue.auto.create.topics.enable": "true",
    "group.share.min.heartbeat.interval.ms": "500",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "1",
}
Broken = (OSError, ConnectionClosed)
"""The errors that a client gets when the broker was killed."""


class Result(NamedTuple):
    """The result of a campaign.

    `met`: kills by their moment; `seen`: members, records and letters; `broken`: must be empty. `troubles`: the number
    of the broker's lives for each fault of the queues.
    """

    kills: int
    troubles: Counter[Trouble]
    met: Counter[Aim]
    seen: Counter[str]
    broken: list[str]
    took_s: float


class DyingMember(Member):
    """A member that accepts two in three, rejects, releases, and holds some until their lock expires."""

    def verdict(self, place: Place) -> int | None:
        if self.draining:
            return ACCEPT
        chance = self.rng.random()
        return None if chance < 0.02 else RELEASE if chance < 0.2 else REJECT if chance < 0.35 else ACCEPT


class Campaign:
    """A campaign: `run` once. `planted`: the name of a fault in the broker, "" for none."""

    def __init__(self, kills: int, seed: int, *, planted: str = "", show: Callable[[str], None] = lambda _line: None):
        self._kills, self._seed, self._planted, self._show = kills, seed, planted, show
        self._rng = random.Random(f"dlq kills {seed}")
        self._folder = Path(tempfile.mkdtemp(prefix="shareq-dlq-"))
        self._handed_out = self._folder / "handed-out"
        self._node = Node(self._folder / "data", SETTINGS, module="tests.campaign.dlq_kills.broker")
        self._load = Load(self._rng)
        self._ledgers = {group.name: Ledger() for group in GROUPS}
        self._stop = threading.Event()
        self._members: list[DyingMember] = []
        self._starts_ms: list[int] = []
        self._redrives: list[Redriven] = []
        self._met: Counter[Aim] = Counter()
        self._queues = Queues([group for group in GROUPS if group.has_trouble])
        self._troubles: Counter[Trouble] = Counter()
        self._all_exist = False
        self._broken: list[str] = []

    def run(self) -> Result:
        began = time.monotonic()
        seen: Counter[str] = Counter()
        try:
            self._begin()
            for number in range(self._kills):
                self._one_kill(number)
            self._start(Aim.ANY)
            self._drain()
            seen = self._judged()
        finally:
            self._stop.set()
            self._node.kill()
            shutil.rmtree(self._folder, ignore_errors=True)
        return Result(self._kills, self._troubles, self._met, seen, self._broken, time.monotonic() - began)

    # -- lives of the broker

    def _begin(self) -> None:
        self._start(Aim.ANY)
        with WireClient(self._node.address) as client:
            topic_id = create_topic(client, TOPIC, PARTITIONS, {"retention.ms": "-1"})
            self._load.write(client, 8)
            self._queues.begin(client)
        for group in GROUPS:
            configure_group(f"127.0.0.1:{self._node.port}", group.name, group.properties)
        topic = (TOPIC, topic_id, PARTITIONS)
        self._members = [
            DyingMember(
                f"{group.name}-{number}", lambda: self._node.address, topic, group.name, self._ledgers[group.name],
                LOCK_MS / 1000, self._seed, self._stop,
            )
            for group in GROUPS
            for number in range(MEMBERS)
        ]  # fmt: skip
        for member in self._members:
            member.start()
        self._end_of_life(Aim.ANY)

    def _one_kill(self, number: int) -> None:
        with_redrive = number % REDRIVE_EVERY == REDRIVE_EVERY - 1 or (number % REDRIVE_EVERY == 0 and number > 0)
        aims = [aim for aim in Aim if aim not in OF_REMOVALS and (with_redrive or aim not in OF_REDRIVES)]
        aim = self._rng.choice([*OF_REDRIVES, *aims] if with_redrive else [Aim.ANY, *aims])
        trouble = self._trouble_of(number)
        self._start(aim, trouble)
        with suppress(*Broken), WireClient(self._node.address, timeout_s=5) as client:
            self._queues.trouble(client, trouble, number)
            self._troubles[trouble] += 1
            if with_redrive:
                self._redrive(client, f"redrive-{number}", to_group=number % 2 == 0)
            self._load.write(client, self._rng.randint(2, 6))
            self._all_exist = self._all_exist or all(exists(client, group.queue) for group in GROUPS)
        if number % LONG_EVERY == LONG_EVERY - 1:
            time.sleep(1.5 * LOCK_MS / 1000)
        self._end_of_life(aim)
        if number % 10 == 9:
            over = sum(len(ledger.accepted) + len(ledger.rejected) for ledger in self._ledgers.values())
            self._show(f"  kill {number + 1}: {over:,} ends answered, {len(self._redrives)} redrives begun")

    def _trouble_of(self, number: int) -> Trouble:
        """Choose the faults in turn, once the other groups' queues exist: one kind of fault prevents all creations."""
        return list(Trouble)[number % len(Trouble)] if self._all_exist else Trouble.NONE

    def _start(self, aim: Aim, trouble: Trouble = Trouble.NONE) -> None:
        environment = {HANDED_OUT: str(self._handed_out)} | ({PLANTED: self._planted} if self._planted else {})
        if trouble is Trouble.FAILS:
            environment[FAILING] = ",".join(group.queue for group in self._queues.groups)
        if aim is not Aim.ANY:
            environment |= {DIE_AT: aim.name, DIE_AFTER: str(self._rng.choice((1, 1, 2, 5, 12)))}
        self._node.environment = environment
        self._starts_ms.append(int(time.time() * 1000))
        self._node.spawn()
        try:
            self._node.wait_ready()
        except StartRefused:
            # A load goes on with what was under way: the moment may come before it listens.
            if aim is Aim.ANY:
                raise

    def _end_of_life(self, aim: Aim) -> None:
        """Wait until the broker died at its moment, or for a while; then kill it if it still runs."""
        process = self._node.process
        if process is None:
            self._met[aim] += 1  # it died while it started
            return
        if aim is Aim.ANY:
            time.sleep(self._rng.uniform(0, 0.8))
        else:
            with suppress(subprocess.TimeoutExpired):
                process.wait(AIM_FOR_S)
        self._met[aim if aim is Aim.ANY or process.poll() is not None else Aim.ANY] += 1
        self._node.kill()

    # -- redrives

    def _redrive(self, client: WireClient, name: str, *, to_group: bool) -> None:
        """Redrive some of the last letters of a queue's partition, slowly."""
        partition = 0  # queues are created with one
        end = _end_of(client, KEPT.queue, partition)
        if end <= 0:
            return
        first = max(0, end - REDRIVE_LETTERS)
        known = Redriven(name, KEPT.queue, partition, first, end - 1, to_group, answered=False)
        self._redrives.append(known)
        request = StartRedriveRequest(
            name,
            KEPT.queue,
            partition,
            first,
            end - 1,
            KEPT.name,
            target=int(to_group),
            records_per_second=40,
            again=True,  # their ranges overlap
        )
        answer = client.call(request, 0, StartRedriveResponse)
        if answer.error_code == ErrorCode.NONE:
            self._redrives[-1] = known._replace(answered=True)
        else:
            self._broken.append(f"{name} was refused: {answer.error_code} {answer.error_message}")

    def _judged_redrives(self, client: WireClient, seen: Counter[str]) -> list[str]:
        broken: list[str] = []
        deadline = time.monotonic() + self._patience_s
        for redrive in self._redrives:
            while (state := _state_of(client, redrive.name)) == "RUNNING" and time.monotonic() < deadline:
                time.sleep(0.2)
            parts = range(1 if redrive.to_group else PARTITIONS)
            target = f"redrive.{KEPT.name}" if redrive.to_group else TOPIC
            back = [record for part in parts for record in load.plain_records(client, target, part)]
            broken += judge_redrive(redrive, state, lambda *queue: load.plain_records(client, *queue), back)
            seen["redrives"] += state == "DONE"
            seen["letters redriven"] += redrive.last - redrive.first + 1 if state == "DONE" else 0
        return broken

    # -- the end

    @property
    def _patience_s(self) -> float:
        return 20 if self._planted else 180

    def _drain(self) -> None:
        """Let redrives and groups finish; then no member works."""
        deadline = time.monotonic() + self._patience_s
        with WireClient(self._node.address) as client:
            self._queues.trouble(client, Trouble.NONE, self._kills)
            self._load.end_transactions(client)
            while any(_state_of(client, each.name) == "RUNNING" for each in self._redrives):
                if time.monotonic() > deadline:
                    break
                time.sleep(0.2)
            for member in self._members:
                member.drain()
            for group in GROUPS:
                while (left := _lag(client, group.name)) and time.monotonic() < deadline:
                    time.sleep(0.2)
                if left:
                    self._broken.append(f"{group.name}: {left} records never end")
        time.sleep(2 * LOCK_MS / 1000)  # what has ended and should not have comes again
        self._stop.set()
        for member in self._members:
            member.join(10)
            self._broken += [member.failure] if member.failure else []

    def _judged(self) -> Counter[str]:
        seen: Counter[str] = Counter()
        for line in self._handed_out.read_text().splitlines():
            name, partition, first, last, count = line.split()
            for offset in range(int(first), int(last) + 1):
                self._ledgers[name].has_handed_out((int(partition), offset), int(count))
        with WireClient(self._node.address) as client:
            topic = load.source(client)
            seen["records"] = len(topic.records)
            for group in GROUPS:
                ledger = self._ledgers[group.name]
                queues = self._queues.topics.get(group.name, [group.queue])
                letters = [letter for queue in queues for letter in load.plain_records(client, queue, 0)]
                found = judge(group, TOPIC, ledger, topic, letters, self._starts_ms)
                seen.update(ledger.seen)
                seen.update(found.seen)
                self._broken += found.broken
            self._broken += self._judged_redrives(client, seen)
        return seen


def _end_of(client: WireClient, topic: str, partition: int) -> int:
    """Return the end offset of a partition; -1 if it does not exist."""
    request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic(topic, [ListOffsetsPartition(partition, timestamp=-1)])])
    return client.call(request, 7, ListOffsetsResponse).topics[0].partitions[0].offset


def _state_of(client: WireClient, redrive: str) -> str:
    (row,) = client.call(DescribeRedrivesRequest([redrive]), 0, DescribeRedrivesResponse).redrives
    return row.state


def _lag(client: WireClient, group: str) -> int:
    """Return the number of unfinished records; an unknown lag counts as one."""
    wanted = DescribeShareGroupOffsetsRequestTopic(TOPIC, list(range(PARTITIONS)))
    request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group, [wanted])])
    answer = client.call(request, 1, DescribeShareGroupOffsetsResponse).groups[0]
    if answer.error_code:
        return 1
    return sum(row.lag if row.lag >= 0 else 1 for topic in answer.topics for row in topic.partitions)
