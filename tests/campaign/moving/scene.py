"""Both sides of a move, with their processes, and the steps of a round."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from confluent_kafka import Producer

from devtools.clients.admin import QUIET
from examples.flights_demo import flights
from tests.campaign.moving.sides import Side, side_of
from tests.support.clients.shareq_cli import Shell

PARTITIONS: Final = 4
SMALL_BATCHES: Final = 500
"""The number of records in a batch.

Members acquire whole batches, and must not hold more records than they finish before their locks end.
"""


class Way(NamedTuple):
    old: str
    new: str

    @property
    def name(self) -> str:
        return f"{self.old} to {self.new}"


class Scene:
    """Both sides of a way. Its rounds follow each other, each with topics and groups of its own."""

    def __init__(self, folder: Path, way: Way) -> None:
        self.folder = folder
        self.old: Final = side_of(way.old, folder / "old")
        self.new: Final = side_of(way.new, folder / "new")

    def start(self) -> None:
        self.old.start()
        self.new.start()

    def end(self) -> None:
        self.old.end()
        self.new.end()

    def victim(self, name: str) -> Callable[[str], None] | None:
        """Return what kills and restarts `source broker`, `target node` or the like; None for the command."""
        where, _, what = name.partition(" ")
        if where == "command":
            return None
        return (self.old if where == "source" else self.new).victims[what]


class Round(NamedTuple):
    """One round in a scene: its number, its source of randomness, and a folder of its own."""

    scene: Scene
    number: int
    rng: Random
    folder: Path
    records: int


def create_topic(side: Side, topic: str, partitions: int = PARTITIONS) -> None:
    Shell(side.cluster).ok("topics", "create", topic, "--partitions", str(partitions))
    wait_for(lambda: not Shell(side.bootstrap).run("topics", "describe", topic).code, f"topic {topic}", 30)


def forget(side: Side, topic: str) -> None:
    Shell(side.cluster).run("topics", "delete", topic, "--yes")


def produce_flights(bootstrap: str, topic: str, first: int, end: int) -> int:
    """Write flights with the rows' numbers as keys. Return their number; raise RuntimeError unless all are stored."""
    errors: list[str] = []
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 20,
            "batch.num.messages": SMALL_BATCHES,
            "queue.buffering.max.messages": 1_000_000,
            **QUIET,
        }
    )
    written = 0
    for row, line in enumerate(islice(flights.rows(), first, end), first):
        producer.produce(
            topic, line, b"%d" % row, on_delivery=lambda error, _: errors.append(str(error)) if error else None
        )
        written += 1
        if written % 2000 == 0:
            producer.poll(0)
    producer.flush(120)
    if errors or len(producer):
        raise RuntimeError(f"producing failed: {errors[:1]}, {len(producer)} unsent")
    return written


def wait_for(condition: Callable[[], bool], what: str, within_s: float, each_s: float = 0.2) -> None:
    """Wait until the condition holds. Raise RuntimeError if it does not in time."""
    by = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > by:
            raise RuntimeError(f"{what} did not come within {within_s:.0f} s")
        time.sleep(each_s)
