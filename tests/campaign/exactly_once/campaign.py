"""A job, and a broker that is killed under it repeatedly: the outcome for the records.

The broker is stopped (SIGSTOP) at random times, and its files are examined. If they show the moment that this kill aims
at, the broker is killed, otherwise resumed. So even moments of microseconds are hit, such as the one between the
markers of two partitions.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from devtools.clients.admin import create_topic, produce
from tests.campaign.exactly_once.jobs import Client, Work
from tests.campaign.exactly_once.on_disk import JobOnDisk, Look, Moment
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.transactional import read_values

SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",  # as `JobOnDisk` needs them
    "transaction.state.log.num.partitions": "1",
}
PARTITIONS: Final = 3  # of the target
BETWEEN_LOOKS_S: Final = 0.003  # at most; transactions take about that long
MOMENT_S: Final = 0.0005
SOON_S: Final = 0.5
BACK_WITHIN_S: Final = 25  # a client that waits for ever is killed and started again within this time
AIM_FOR_S: Final = 4
RESERVE: Final = 100  # records that are left when a kill comes at the latest, so that the job has not come to its end


class Aim(Enum):
    SOON = "soon after the start before, whether the job is back or not"
    ANY = "any moment"
    OPEN = Moment.OPEN.value
    DECIDED = Moment.DECIDED.value
    MARKING = Moment.MARKING.value
    MARKED = Moment.MARKED.value
    ENDED = Moment.ENDED.value


class HangingTransaction(Exception):
    """An error: the broker ended a transaction without all markers, so the job cannot continue."""


class Kill(NamedTuple):
    """One kill -9. `at` is the moment according to the files, `records` the number of records in the source then.

    `start_s`: the broker's start, to its first answer. `back_s`: from the kill until the job ended a transaction again;
    None if the next kill came first.
    """

    aim: Aim
    at: Look
    records: int
    start_s: float
    back_s: float | None = None

    def reported(self) -> str:
        back = "not back before the next" if self.back_s is None else f"back after {self.back_s:.2f} s"
        aborting = " (abort)" if self.at.aborting else ""
        figures = f"in {self.at.records_in:,} of {self.records:,}, out {self.at.records_out:,}"
        return f"{figures}; {self.at.moment.value}{aborting}; broker {self.start_s:.2f} s, job {back}"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one client's job. `lost` and `doubled` are values of records."""

    client: str
    records_in: int
    records_out: int
    lost: Sequence[int]
    doubled: Sequence[int]
    kills: Sequence[Kill]
    commits: int
    aborts: int
    restarts: int
    took_s: float

    @property
    def exactly_once(self) -> bool:
        return not self.lost and not self.doubled

    def at(self, *moments: Moment) -> int:
        """Return how many kills hit one of these moments."""
        return sum(kill.at.moment in moments for kill in self.kills)


def lost_and_doubled(count: int, values: Iterable[int]) -> tuple[list[int], list[int]]:
    """Return the numbers below `count` that are missing, and those that are repeated."""
    times = Counter(values)
    return [number for number in range(count) if not times[number]], sorted(
        n for n, there in times.items() if there > 1
    )


def aims(kills: int, rng: random.Random, among: Iterable[Aim] = Aim) -> list[Aim]:
    """Choose moments about equally often, always including marker writing, the hardest to survive."""
    rounds = list(among)
    rng.shuffle(rounds)
    rounds.sort(key=lambda aim: aim is not Aim.MARKING)
    chosen = [rounds[number % len(rounds)] for number in range(kills)]
    rng.shuffle(chosen)
    return chosen


class Campaign:
    """One client's job on one broker, which is killed. Of all `records`, each start is followed by an equal share."""

    def __init__(
        self, broker: BrokerUnderTest, client: Client, records: int, show: Callable[[str], None] = lambda _line: None
    ) -> None:
        self._broker = broker
        self._client = client
        self._records = records
        self._show = show

    def run(self, name: str, kills: int, seed: int, among: Iterable[Aim] = Aim) -> Result:
        """Run the job; `name` must be new to the broker. `among`: the moments of kills.

        Raises the job's error, HangingTransaction, and RuntimeError if the job ended too early.
        """
        source, target = f"{name}-source", f"{name}-target"
        create_topic(self._broker.bootstrap, source)
        create_topic(self._broker.bootstrap, target, PARTITIONS)
        disk = JobOnDisk(self._broker.data_dir, name, target, PARTITIONS)
        share = self._records // (kills + 1)
        feed = _Feed(self._broker.bootstrap, source, [*[share] * kills, self._records - share * kills])
        timeout_s = 60 + 2 * BACK_WITHIN_S * (kills + 1)
        over = threading.Event()
        work = Work(self._broker.bootstrap, source, target, name, self._records, timeout_s, over)
        started = time.monotonic()
        feed.more()
        with ThreadPoolExecutor(1) as pool:
            job = pool.submit(self._client.run, work)
            rng = random.Random(f"{self._client.name} {seed}")
            try:
                done = _Killing(self._broker, disk, feed, job, rng, self._show).all(aims(kills, rng, among))
                restarts = job.result()
            finally:
                over.set()
        took_s = time.monotonic() - started
        values = list(map(int, read_values(self._broker.bootstrap, target, PARTITIONS, "read_committed")))
        lost, doubled = lost_and_doubled(self._records, values)
        look = disk.look()
        assert look.records_in == self._records, look
        return Result(
            client=self._client.name,
            records_in=self._records,
            records_out=len(values),
            lost=lost,
            doubled=doubled,
            kills=done,
            commits=look.commits,
            aborts=look.aborts,
            restarts=restarts,
            took_s=took_s,
        )


@dataclass(slots=True)
class _Feed:
    """A writer of numbers from 0 up to the source, in portions."""

    bootstrap: str
    source: str
    shares: list[int]
    produced: int = 0

    def more(self) -> None:
        begin, self.produced = self.produced, self.produced + self.shares.pop(0)
        produce(self.bootstrap, self.source, ((0, str(number).encode()) for number in range(begin, self.produced)))


@dataclass(slots=True)
class _Killing:
    """A killer of the broker, at the chosen moments, which restarts it each time."""

    broker: BrokerUnderTest
    disk: JobOnDisk
    feed: _Feed
    job: Future[int]
    rng: random.Random
    show: Callable[[str], None]

    def all(self, wanted: Sequence[Aim]) -> list[Kill]:
        kills: list[Kill] = []
        killed_at, before = time.monotonic(), 0
        for aim in wanted:
            soon = aim is Aim.SOON
            back_s = self._next_end(before, killed_at, self.rng.uniform(0, SOON_S) if soon else BACK_WITHIN_S)
            self._note(kills, back_s)
            look = self._stopped_at(aim)
            killed_at, before = time.monotonic(), look.ended + look.is_ending
            self.broker.kill()
            kills.append(Kill(aim, look, self.feed.produced, self.broker.start()))
            self.feed.more()
        self._note(kills, self._next_end(before, killed_at, BACK_WITHIN_S))
        return kills

    def _note(self, kills: list[Kill], back_s: float | None) -> None:
        if kills:
            kills[-1] = kills[-1]._replace(back_s=back_s)
            self.show(f"kill {len(kills)}: {kills[-1].reported()}")

    def _next_end(self, before: int, since: float, within_s: float) -> float | None:
        """Return seconds from `since` until more than `before` transactions have ended; None if not in `within_s`."""
        deadline = time.monotonic() + within_s
        while self.disk.look().ended <= before:
            self._check_job()
            if time.monotonic() > deadline:
                self._stop_and_look()
                self.broker.resume()
                return None
            time.sleep(0.002)
        return time.monotonic() - since

    def _stop_and_look(self) -> Look:
        self.broker.pause()
        look = self.disk.look()
        if hanging := self.disk.hanging():
            self.broker.resume()
            where = ", ".join(f"{at.topic}-{at.partition}" for at in hanging)
            raise HangingTransaction(f"the coordinator says that the transaction has ended; no marker in {where}")
        return look

    def _stopped_at(self, aim: Aim) -> Look:
        """Stop the broker at the moment, or anywhere if the moment does not come in time."""
        deadline = time.monotonic() + AIM_FOR_S
        last = self.disk.look()
        while True:
            about_to_end = aim is Aim.ENDED and last.is_ending
            time.sleep(self.rng.uniform(0, MOMENT_S if about_to_end else BETWEEN_LOOKS_S))
            look = self._stop_and_look()
            if about_to_end and look.moment is Moment.BETWEEN:
                look = look._replace(moment=Moment.ENDED)
            too_late = time.monotonic() > deadline or look.records_in > self.feed.produced - RESERVE
            if aim in (Aim.SOON, Aim.ANY) or aim.value == look.moment.value or too_late:
                return look
            self.broker.resume()
            last = look
            self._check_job()

    def _check_job(self) -> None:
        if self.job.done():
            self.job.result()
            raise RuntimeError("the work was done before the last kill")
