"""Our client on our broker, with cuts: producers and share-group members on the client's core.

The ledger follows the wire: when a session's connection is lost its locks end, although the member notices it later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from random import Random
from typing import Final

from devtools.in_memory.mem_fs import CrashModel
from devtools.in_memory.mock_transport import BrokerWorld
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.client.chance import CHANCE
from shareq.client.config import ClientConfig
from shareq.client.core.network import NetworkCore
from shareq.client.errors import ClientError, is_transient
from shareq.client.produce.batches import Lane, size_of
from shareq.client.produce.delivery import Delivery
from shareq.client.share.core import ShareCore
from shareq.client.share.leaders import Leader, ShareLeaders
from shareq.client.share.member import ShareMember
from shareq.client.share.session import (
    AckOutcome,
    AckRange,
    FetchLimits,
    FetchOutcome,
    TopicIdPartition,
    batches_of,
    portions,
)
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.record_codec import RecordData
from shareq.protocol.share import AcknowledgeType
from tests.simulation.client.driver import USUAL_MS, VirtualDriver, Wire, Work
from tests.simulation.ledger import InvariantBroken
from tests.simulation.reading import records_of
from tests.support.clients.share_client import configure

TOPIC, GROUP, PARTITIONS = "t", "g", 3
TROUBLE_MS: Final = 60_000
CALM_MS: Final = 600_000
QUIET_S: Final = 40.0
LIMIT: Final = 10
"""The delivery limit of a record."""
KINDS: Final = (AcknowledgeType.ACCEPT, AcknowledgeType.ACCEPT, AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE)

Place = tuple[int, int]
"""Partition and offset."""


class Ledger:
    """The confirmed writes and acceptances, and the holders of records. Raises InvariantBroken."""

    def __init__(self) -> None:
        self.written: dict[bytes, Place] = {}
        self._places: set[Place] = set()  # of what was written
        self.failed: set[bytes] = set()
        self.accepted: set[Place] = set()
        self.claimed: dict[Place, set[str]] = {}  # who may have accepted it, whatever was answered
        self.holders: dict[Place, tuple[str, float]] = {}
        self.counts: Counter[str] = Counter()
        self.acquired_at = 0.0

    def wrote(self, value: bytes, place: Place) -> None:
        if place[1] >= 0 and place in self._places:
            raise InvariantBroken(f"{value!r} and another value were written to {place}")
        self._places.add(place)
        self.written[value] = place

    def acquired(self, member: str, place: Place, now: float, locked_until: float) -> None:
        if place in self.accepted:
            raise InvariantBroken(f"{member} was handed {place}, which was accepted before")
        holder, until = self.holders.get(place, (member, 0.0))
        if holder != member and now < until:
            raise InvariantBroken(f"{member} was handed {place}, which {holder} holds")
        self.holders[place] = member, locked_until
        self.acquired_at = now
        self.counts["acquired"] += 1

    def holds(self, member: str, place: Place) -> bool:
        """Return whether the member still has the lock, leaving its expiry aside."""
        return self.holders.get(place, ("", 0.0))[0] == member

    def lost(self, member: str, partitions: Collection[int] | None = None) -> None:
        """Record that a member lost its session (None), or partitions of it."""
        for place in [place for place, (holder, _) in self.holders.items() if holder == member]:
            if partitions is None or place[0] in partitions:
                del self.holders[place]

    def lost_all(self) -> None:
        self.holders.clear()


class Member:
    """A member that fetches, works and acknowledges in turn, with heartbeats beside."""

    def __init__(self, scene: Scene, name: str) -> None:
        self.name = name
        self._scene = scene
        self.driver = scene.driver()
        self.driver.on_lost = self._lost
        self._rng = scene.rng
        network = NetworkCore(scene.config, self.driver, once=True)
        self.leaders = ShareLeaders(GROUP, name)
        self._stale = True
        self.core = ShareCore(
            network,
            ShareMember(GROUP, name, [TOPIC]),
            self.leaders,
            look_again=self._look_again,
            lost=self._locks_lost,
            group_purpose="group",
            share_purpose="share",
        )
        self.leaving = False
        self.gone = False
        Work(scene.clock, self._keep_up())
        Work(scene.clock, self._work())

    def _look_again(self) -> None:
        self._stale = True

    def _locks_lost(self, leader: Leader, why: str, partitions: Collection[TopicIdPartition] | None) -> None:
        self._scene.ledger.lost(self.name, None if partitions is None else {each[1] for each in partitions})

    def _lost(self, wire: Wire) -> None:
        if any(leader.connection is wire.connection for leader in self.leaders):
            self._scene.ledger.lost(self.name)

    async def _keep_up(self) -> None:
        while not self.leaving:
            try:
                pause_s = await self.core.beat()
            except ClientError as error:
                if not is_transient(error):
                    raise
                pause_s = 1.0
            await self.driver.sleep(pause_s)

    async def _work(self) -> None:
        while not self.leaving:
            if self._stale:
                self._stale = False
                try:
                    self._stale = not await self.core.look()
                except ClientError as error:
                    if not is_transient(error):
                        raise
                    self._stale = True
            ready = [one for one in self.leaders if one.session.needs_fetch and one.ready_at <= self.driver.now()]
            for leader in ready:
                await self._round(leader)
            await self.driver.sleep(self._rng.choice((0.001, 0.05, 0.3)))
        await self.core.end(self.leaders, "the member was closed")
        await self.core.leave(5_000)
        self.gone = True

    async def _round(self, leader: Leader) -> None:
        ledger, began = self._scene.ledger, self.driver.now()
        rng = self._rng
        limits = FetchLimits(rng.choice((1, 5, 100)), rng.choice((0, 200)), 1 << 20, rng.random() < 0.5)
        fetched = await self.core.take_fetch(leader, await self.core.send_fetch(leader, limits))
        if fetched.refusal is not None:
            raise InvariantBroken(f"{self.name} was refused: {fetched.refusal}")
        outcome: FetchOutcome = fetched.outcome
        lost = not any(wire.connection is leader.connection and not wire.lost for wire in self.driver.wires)
        held: list[AckRange] = []
        generation = dict(self.leaders.generation)
        for one in outcome.acquired:
            held.append(AckRange(*one.topic_partition, one.first, one.last))
            for offset in range(one.first, one.last + 1):
                until = 0.0 if lost else began + outcome.lock_timeout_ms / 1000
                ledger.acquired(self.name, (one.topic_partition[1], offset), self.driver.now(), until)
                if one.delivery_count >= LIMIT:  # the broker gives it up, if it is not accepted now
                    ledger.claimed.setdefault((one.topic_partition[1], offset), set()).add("the broker")
                if lost:
                    del ledger.holders[one.topic_partition[1], offset]
        await self.driver.sleep(self._rng.choice((0.0, 0.1, 2.0, 20.0)) if held else 0.0)
        for portion in portions(held, 10):
            await self._acknowledge(leader, portion, generation)

    async def _acknowledge(
        self, leader: Leader, portion: list[AckRange], generation: dict[TopicIdPartition, int]
    ) -> None:
        ledger, kind = self._scene.ledger, self._rng.choice(KINDS)
        mine = [one for one in portion if self.leaders.generation[one[:2]] == generation[one[:2]]]
        places = [(one.partition, offset) for one in mine for offset in range(one.first, one.last + 1)]
        holding = {place for place in places if ledger.holds(self.name, place)}
        if not mine:
            return
        for place in holding:  # it is over when the broker has the request, before the member has the answer
            del ledger.holders[place]
        if kind is AcknowledgeType.ACCEPT:
            for place in places:
                ledger.claimed.setdefault(place, set()).add(self.name)
        outcome = await self.core.ack_outcome(
            leader, await self.core.send_acknowledge(leader, batches_of(mine, kind), False)
        )
        await self.core.ack_consequences(leader, outcome)
        for place in places:
            error = _error_of(outcome, next(one[:2] for one in mine if one.partition == place[0]))
            if error is ErrorCode.NONE:
                # What lies below the group's start is not looked at (KIP-932): another member has accepted it.
                if place not in holding and not ledger.claimed.get(place, set()) - {self.name}:
                    raise InvariantBroken(f"{self.name} acknowledged {place}, which it had lost")
                ledger.counts[kind.name] += 1
                if kind is AcknowledgeType.ACCEPT:
                    ledger.accepted.add(place)
            else:
                ledger.counts["acknowledgements that failed"] += 1


def _error_of(outcome: AckOutcome | ClientError, tp: TopicIdPartition) -> ErrorCode:
    if isinstance(outcome, ClientError):
        return ErrorCode.NETWORK_EXCEPTION
    return outcome.error or outcome.errors.get(tp, ErrorCode.NONE)


class Writer:
    """A producer that writes values to every partition, one batch each in flight, until it is stopped."""

    def __init__(self, scene: Scene, name: str) -> None:
        self._scene = scene
        self._name = name
        self.driver = scene.driver()
        network = NetworkCore(scene.config, self.driver)
        self._delivery = Delivery(network, scene.ledger.counts)
        self._left = PARTITIONS
        for partition in range(PARTITIONS):
            Work(scene.clock, self._write(Lane(TOPIC, partition)))

    @property
    def gone(self) -> bool:
        return self._left == 0

    async def _write(self, lane: Lane) -> None:
        number, rng, ledger = 0, self._scene.rng, self._scene.ledger
        while self._scene.writing:
            for _ in range(rng.choice((1, 1, 3, 20))):
                number += 1
                value = f"{self._name}-{lane.partition}-{number}".encode()
                record = RecordData(None, value, timestamp_ms=self._scene.world.clock.wall_ms())

                def outcome(offset: int, _: int, error: ClientError | None, value: bytes = value) -> None:
                    if error is not None:
                        ledger.failed.add(value)
                    else:
                        ledger.wrote(value, (lane.partition, offset))

                lane.add(record, size_of(record), outcome, self.driver.now(), 4_096)
            while lane.batches:
                await self._delivery.deliver(lane, self.driver.now() + rng.choice((2.0, 60.0)))
            await self.driver.sleep(rng.choice((0.01, 0.5, 2.0)))
        self._left -= 1


class Scene:
    """One seed: a broker, two writers and three members; a minute of cuts, crashes and restarts, then calm."""

    def __init__(self, seed: int) -> None:
        CHANCE.seed(seed)
        self.rng = Random(seed)
        self.world = BrokerWorld({"group.share.record.lock.duration.ms": "15000"}, seed=seed)
        self.clock = VirtualClock(now_ms=self.world.clock.now_ms())
        self.ledger = Ledger()
        self.writing = True
        self.config = ClientConfig.from_properties(
            {"bootstrap.servers": "127.0.0.1:9092", "request.timeout.ms": "3000", "default.api.timeout.ms": "20000"}
        )
        self.drivers: list[VirtualDriver] = []
        self.world.create_topic(TOPIC, PARTITIONS)
        configure(self.world, GROUP, share_auto_offset_reset="earliest", share_delivery_count_limit=str(LIMIT))
        self.writers = [Writer(self, f"w{each}") for each in range(2)]
        self.members = [Member(self, f"m{each}") for each in range(3)]

    def driver(self) -> VirtualDriver:
        driver = VirtualDriver(self.world, self.clock, self.rng)
        self.drivers.append(driver)
        return driver

    def run(self) -> Counter[str]:
        self._trouble()
        end = self.clock.now_ms() + TROUBLE_MS
        self.clock.call_at(end, lambda: None)  # time stands there
        self._play(lambda: self.clock.now_ms() >= end, TROUBLE_MS)
        self.writing = False
        for driver in self.drivers:
            driver.refuses, driver.slowest_ms = False, USUAL_MS
        self._play(lambda: all(writer.gone for writer in self.writers), CALM_MS)
        log = self._check_log()
        self._play(lambda: self._quiet() and log <= self.ledger.claimed.keys(), CALM_MS)  # the cheap half first
        for member in self.members:
            member.leaving = True
        self._play(lambda: all(member.gone for member in self.members), CALM_MS)
        return self.ledger.counts

    def _play(self, until: Callable[[], bool], most_ms: int) -> None:
        end = self.clock.now_ms() + most_ms
        while True:
            while self.world.clock.run_until_idle() + self.clock.run_until_idle():
                pass
            if until():
                return
            due = [at for at in (self.world.clock.next_timer_ms(), self.clock.next_timer_ms()) if at is not None]
            if not due or min(due) > end:
                raise InvariantBroken(f"it does not come to an end: {self._standing()}")
            for clock in (self.world.clock, self.clock):
                clock.advance(max(0, min(due) - clock.now_ms()))

    def _standing(self) -> str:
        left = sorted(self._log() - self.ledger.claimed.keys())[:5]
        return f"writers gone {[each.gone for each in self.writers]}, not accepted {left}"

    # -- trouble

    def _trouble(self) -> None:
        self.clock.call_at(self.clock.now_ms() + self.rng.randint(50, 1_500), self._strike)

    def _strike(self) -> None:
        if not self.writing:
            return
        rng, kind = self.rng, self.rng.random()
        driver = rng.choice(self.drivers)
        if kind < 0.7:
            if alive := [wire for wire in driver.wires if wire.connection.alive()]:
                self.ledger.counts["cuts"] += 1
                rng.choice(alive).cut()
        elif kind < 0.8:
            self.ledger.counts["silences"] += 1
            driver.slowest_ms = rng.choice((USUAL_MS, USUAL_MS, USUAL_MS, 4_000))
        elif kind < 0.9:
            self.ledger.counts["refusals"] += 1
            driver.refuses = True
            self.clock.call_at(self.clock.now_ms() + rng.randint(100, 5_000), lambda: setattr(driver, "refuses", False))
        else:
            self._die(clean=kind < 0.95)
        self._trouble()

    def _die(self, *, clean: bool) -> None:
        self.ledger.counts["restarts" if clean else "crashes"] += 1
        self.ledger.lost_all()
        for driver in self.drivers:
            for wire in driver.wires:
                wire.ended("closed the connection")
        if clean:
            self.world.restart()
        else:
            self.world.crash(CrashModel.PROCESS_KILL)

    # -- what is true at the end

    def _quiet(self) -> bool:
        """Return whether nothing was acquired for longer than a lock duration, so that all records are finished."""
        return self.clock.now_ms() / 1000 - self.ledger.acquired_at > QUIET_S

    def _check_log(self) -> set[Place]:
        """Check that every written value is in the log once, in order, and a failed one at most once."""
        seen: dict[bytes, Place] = {}
        last: dict[tuple[int, bytes], int] = {}
        for (partition, offset), value in self._values().items():
            if value in seen:
                raise InvariantBroken(f"{value!r} is at {seen[value]} and at {(partition, offset)}")
            seen[value] = partition, offset
            writer, _, number = value.split(b"-")
            if int(number) < last.get((partition, writer), 0):
                raise InvariantBroken(f"{value!r} is behind a later value of its writer")
            last[partition, writer] = int(number)
        for value, place in self.ledger.written.items():
            if value not in seen:
                raise InvariantBroken(f"{value!r} was written, and is not in the log")
            if place[1] >= 0 and seen[value] != place:
                raise InvariantBroken(f"{value!r} was written to {place}, and is at {seen[value]}")
        self.ledger.counts["written"] += len(self.ledger.written)
        self.ledger.counts["failed"] += len(self.ledger.failed)
        return set(seen.values())

    def _log(self) -> set[Place]:
        return set(self._values())

    def _values(self) -> dict[Place, bytes]:
        found: dict[Place, bytes] = {}
        for partition in range(PARTITIONS):
            for record in records_of(self.world.folder.logs.get(TOPIC, partition)):
                found[partition, record.offset] = record.value or b""
        return found
