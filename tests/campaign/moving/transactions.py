"""A job that consumes, produces and commits its offsets in transactions moves with both of its topics; another producer
has a transaction open when the cut-over is tried.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from confluent_kafka import Producer

from devtools.clients.admin import QUIET
from tests.campaign.exactly_once.campaign import lost_and_doubled
from tests.campaign.moving.command_runs import Command
from tests.campaign.moving.consumer_groups import done, refused
from tests.campaign.moving.rows import Row
from tests.campaign.moving.scene import PARTITIONS, Round, create_topic, forget, produce_flights, wait_for
from tests.campaign.moving.share_groups import DRAINS_S, disturb
from tests.campaign.moving.transactor import AT_ONCE
from tests.interop.support.transactional import read_values

STOPS_S: Final = 150.0
"""The seconds that the job may take to stop: more than its calls wait for a broker that is being killed."""
OPEN_MS: Final = 600_000
"""The timeout of the open transaction: longer than a cut-over waits for it, so that only its producer can end it."""


class Job:
    """A process that copies records; it is replaced when it ends by itself."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.restarts = -1
        self._folder = folder
        self._words = words
        self._begin()

    def copied(self) -> int:
        """Return the number of copied records by the output of all its lives; the real number may be higher."""
        if self._process.poll() is not None:
            self._begin()
        whole = (path.read_text().rpartition("\n")[0] for path in self._folder.glob("job-*.txt"))
        return sum(int(line) for text in whole for line in text.split("\n") if line)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._begin()

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOPS_S)
        finally:
            self._process.kill()
            self._process.wait()

    def _begin(self) -> None:
        self.restarts += 1
        path = self._folder / f"job-{self._words[0].rpartition(':')[2]}-{self.restarts}.txt"
        command = [sys.executable, "-m", "tests.campaign.moving.transactor", *self._words]
        with path.open("wb") as out, path.with_suffix(".log").open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=log)


def move(this: Round, victims: Sequence[str] = ()) -> Row:
    """Move the job's topics and its group while the job runs, except in the cut-over. All victims are killed in the
    copy, and again in the cut-over.
    """
    name = f"job-{this.number}"
    source, target = f"{name}-in", f"{name}-out"
    old, new = this.scene.old, this.scene.new
    for topic in (source, target):
        create_topic(old, topic)
    half = this.records // 2
    produce_flights(old.cluster, source, 0, half)
    moves = _moves(this, source, target, name)
    job = Job(this.folder, old.cluster, source, target, name)
    later: Job | None = None
    try:
        wait_for(lambda: job.copied() >= half // 3, "some transactions", DRAINS_S)
        job.kill()
        for command in moves:
            disturb(this, command, source, victims, ())
            done(command.until_done())
        held = _open(old.cluster, name, target, this.records)
        wait_for(lambda: job.copied() >= half - 2 * AT_ONCE, "nearly all of it", DRAINS_S)
        produce_flights(old.cluster, source, half, this.records)
        job.stop()
        broken = refused(moves[0].once("--cut-over"), "a transaction is open")
        is_committed = this.rng.random() < 0.5
        if is_committed:
            held.commit_transaction(30)
        else:
            held.abort_transaction(30)
        drained = len(read_values(old.cluster, target, PARTITIONS, "read_committed"))
        for command in moves:
            disturb(this, command, source, victims, ("--cut-over",))
            done(command.until_done("--cut-over"))
        done(moves[-1].once("--verify-only"))
        begun = later = Job(this.folder, new.cluster, source, target, name)
        wait_for(lambda: _copied(new.cluster, target, begun) >= this.records + is_committed, "the rest", DRAINS_S, 1.0)
    finally:
        job.stop()
        if later is not None:
            later.stop()
    values = [int(value) for value in read_values(new.cluster, target, PARTITIONS, "read_committed")]
    lost, doubled = lost_and_doubled(this.records + is_committed, values)
    uncommitted = [value for value in values if value >= this.records + is_committed]
    for topic in (source, target):
        forget(old, topic)
        forget(new, topic)
    return Row(
        records=this.records,
        drained=drained,
        lost=len(lost),
        again=len(doubled),
        unlike=len(uncommitted),
        kills=sum(command.kills for command in moves),
        runs=sum(command.runs for command in moves),
        cut_over_s=sum(command.cut_over_s or 0.0 for command in moves),
        counted={
            "transaction that was open at the cut-over, committed then": int(is_committed),
            "transaction that was open at the cut-over, aborted then": int(not is_committed),
            "job killed in a transaction, or between two": 1,
            "job that failed, and went on": job.restarts - 1 + later.restarts,
        },
        broken=[
            *broken,
            *(f"record {each}: lost" for each in lost[:10]),
            *(f"record {each}: more than once" for each in doubled[:10]),
            *(f"record {each}: of a transaction that was aborted" for each in uncommitted[:10]),
        ],
    )


def _moves(this: Round, source: str, target: str, name: str) -> list[Command]:
    old, new = this.scene.old, this.scene.new
    topics = ("--topic", source, "--topic", target)
    of_cluster = Command((old.cluster, new.cluster, *topics, "--group", name))
    if (old.bootstrap, new.bootstrap) == (old.cluster, new.cluster):
        return [of_cluster]
    return [Command((old.bootstrap, new.bootstrap, *topics, "--group", "none")), of_cluster]


def _open(bootstrap: str, name: str, topic: str, number: int) -> Producer:
    settings = {"bootstrap.servers": bootstrap, "transactional.id": f"{name}-held", "transaction.timeout.ms": OPEN_MS}
    producer = Producer({**settings, **QUIET})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, str(number))
    producer.flush(60)
    return producer


def _copied(bootstrap: str, topic: str, job: Job) -> int:
    job.copied()  # so that it goes on where it has ended
    return len(read_values(bootstrap, topic, PARTITIONS, "read_committed"))
