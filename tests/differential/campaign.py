"""Many seeds on one broker of each kind: in parallel, with common restarts, and repeated after a mismatch."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Self

from shareq.protocol.api_keys import ApiKey
from tests.differential.admin import create_topic, has_dead_letters, served, until_there
from tests.differential.player import Player, Plays
from tests.differential.runner import TRIES, Attempt, Duel, RestartGate, Verdict, verdict
from tests.differential.steps import QUEUE, STEPS, setup_of
from tests.differential.wire import Connection
from tests.interop.support.broker_under_test import BrokerUnderTest

SETTINGS = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.max.record.lock.duration.ms": "3600000",
    "group.share.max.share.sessions": "10000",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "500",
}
SHOW_EVERY_S = 15


@dataclass(frozen=True, slots=True)
class Outcome:
    seed: int
    attempts: Sequence[Attempt]
    verdict: Verdict


@dataclass(slots=True)
class Campaign:
    """A pair of brokers, which run inside its context. `make` may be replaced to plant faults."""

    at_once: int
    steps: int = STEPS
    tries: int = TRIES
    show: Callable[[str], None] = print
    kinds: tuple[Literal["ours", "apache"], Literal["ours", "apache"]] = ("ours", "apache")
    took_s: float = 0.0
    _brokers: tuple[BrokerUnderTest, BrokerUnderTest] = field(init=False)
    _attempts: dict[int, list[Attempt]] = field(default_factory=dict)
    _delete_records: bool = False
    _dead_letters: bool = False
    _reported: float = 0.0
    _written_ms: int = 0

    def __enter__(self) -> Self:
        first, second = self.kinds
        self._brokers = (BrokerUnderTest(first, SETTINGS), BrokerUnderTest(second, SETTINGS))
        try:
            for broker in self._brokers:
                broker.start()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _remove(self) -> None:
        for broker in self._brokers:
            broker.remove()

    async def run(self, seeds: Iterable[int]) -> list[Outcome]:
        began = self._reported = time.monotonic()
        self._written_ms = int(time.time() * 1000)  # not older: Apache Kafka deletes and rolls by the records' own time
        await self._warm_up()
        wanted = list(seeds)
        for attempt in range(self.tries):
            due = [seed for seed in wanted if seed not in self._attempts or self._attempts[seed][-1].found]
            if due and attempt:
                self.show(f"once more, since the brokers disagreed: {', '.join(map(str, due))}")
            await self._once(due, attempt)
        self.took_s = time.monotonic() - began
        return [Outcome(seed, self._attempts[seed], verdict(self._attempts[seed])) for seed in wanted]

    async def _warm_up(self) -> None:
        """Find the APIs that both brokers serve, and wait for coordinators and the dead-letter queue."""
        keys = []
        queues = []
        for broker in self._brokers:
            connection = Connection(broker.port)
            keys.append(await served(connection))
            queues.append(await has_dead_letters(connection))
            if queues[-1]:
                await create_topic(connection, QUEUE, {"errors.deadletterqueue.group.enable": "true"})
            await until_there(connection, "warm-up")
            await connection.close()
        self._delete_records = all(ApiKey.DELETE_RECORDS in each for each in keys)
        self._dead_letters = all(queues)

    async def _once(self, seeds: list[int], attempt: int) -> None:
        """Run seeds with restarts in waves, one kind of restart each, and all other seeds whenever there is room."""
        for kill in (False, True):
            setups = {seed: setup_of(seed) for seed in seeds}
            restarted = [seed for seed, setup in setups.items() if setup.restart_at is not None and setup.kill is kill]
            for begin in range(0, len(restarted), self.at_once):
                wave = restarted[begin : begin + self.at_once]

                async def restart(kill: bool = kill) -> None:
                    await asyncio.gather(*(asyncio.to_thread(one.restart, kill=kill) for one in self._brokers))

                gate = RestartGate(restart, len(wave))
                await asyncio.gather(*(self._play(seed, attempt, gate) for seed in wave))
        plain = iter([seed for seed in seeds if setup_of(seed).restart_at is None])

        async def work() -> None:
            for seed in plain:
                await self._play(seed, attempt, None)

        await asyncio.gather(*(work() for _ in range(self.at_once)))

    async def _play(self, seed: int, attempt: int, gate: RestartGate | None) -> None:
        duel = Duel(self.make, seed, f"{seed}-{attempt}", gate, self._delete_records, self._dead_letters, self.steps)
        played = await duel.play()
        self._attempts.setdefault(seed, []).append(played)
        if time.monotonic() - self._reported > SHOW_EVERY_S:
            self._reported = time.monotonic()
            disagreed = sum(bool(attempts[-1].found) for attempts in self._attempts.values())
            self.show(f"{len(self._attempts)} seeds, {disagreed} of them disagree so far")

    def make(self, side: Literal["ours", "theirs"], name: str) -> Plays:
        return Player(self._brokers[0 if side == "ours" else 1].port, f"{name}-{side}", self._written_ms)
