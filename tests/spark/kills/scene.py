"""One cell of the kill matrix: a query, a kill at one step, the recovery, and a record of all that happened."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from devtools.clients.admin import create_topic, read_from_start
from devtools.clients.wire import ConnectionClosed, WireClient
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.share_wire import described_lag
from tests.spark.kills.cells import ORDER, Cell, Step, Victim
from tests.spark.kills.checkpoint import read_checkpoint, read_sink
from tests.spark.kills.clients import Competitor, Feeder
from tests.spark.kills.driver import Drivers
from tests.spark.kills.gate import Gate
from tests.spark.kills.ledger import Acquired, Checkpoint, Confirmed, Ended, Event, Range, Witnesses

PATIENCE_S = 150.0
"""The timeout of each wait, in seconds. Only a fault reaches it."""
BUSY = "failed to connect back"
"""The error when a Python process takes more than ten seconds to start; no setting of Spark changes that limit."""
ALONE_S = 20.0
"""The longest time that the other member has the group for itself: longer than a killed member keeps its partitions."""


class Unfinished(Exception):
    """A cell that could not be completed; the text gives the reason."""


class Scene:
    """One cell, played step by step. `query` is the query's fate afterwards, `ended_by` its first error."""

    def __init__(
        self, cell: Cell, broker: BrokerUnderTest, drivers: Drivers, folder: Path, seed: int, plant: str = ""
    ) -> None:
        self.query = ""
        self.ended_by = ""
        self._cell = cell
        self._plant = plant
        self._broker = broker
        self._drivers = drivers
        self._random = Random(f"{seed} {cell.name}")
        name = uuid.uuid4().hex[:8]
        # Of two partitions, each of two members has one; of one, both get its records by turns.
        self._partitions = self._random.randint(1, 2)
        self._topic, self._group = f"topic-{name}", f"group-{name}"
        self._checkpoint, self._sink = folder / name / "checkpoint", folder / name / "sink"
        self._sink.mkdir(parents=True)
        self._events: list[Event] = []
        self._at_kill = Checkpoint()
        self._at_starts: list[Checkpoint] = []
        self._runner = 0
        self._workers: set[int] = set()
        self._armed = False
        self._quiet = threading.Lock()  # no kill in the middle of what the harness itself is doing
        self._error = ""
        self._excused = 0
        self._one_batch_through, self._killed = threading.Event(), threading.Event()
        self._gate = Gate(self._heard)

    def play(self) -> Witnesses:
        """Play the cell. Raise Unfinished, DriverFailed, OSError or AssertionError if it cannot be completed."""
        read_from_start(self._broker.bootstrap, self._group)
        create_topic(self._broker.bootstrap, self._topic, self._partitions)
        self._feeder = Feeder(self._broker.bootstrap, self._topic, self._partitions, self._random.randint(5, 15))
        competitor = None
        if self._cell.competitor:
            competitor = Competitor(self._broker.bootstrap, self._group, self._topic)
        try:
            self._start_query(available_now=False)
            self._feed_until(self._one_batch_through, "a batch that goes through")
            self._armed = True
            self._feed_until(self._killed, f"{self._cell.step}")
            self._come_back()
            if competitor is not None:
                competitor.stop()
            self._drain()
        finally:
            self._gate.close()
            if competitor is not None:
                with suppress(Exception):
                    competitor.stop()
        return Witnesses(
            produced=self._feeder.produced,
            attempts=read_sink(self._sink),
            at_kill=self._at_kill,
            at_starts=self._at_starts,
            at_end=read_checkpoint(self._checkpoint),
            events=self._events,
            competitor=competitor.accepted if competitor is not None else {},
            unknown=competitor.unknown if competitor is not None else {},
        )

    # -- what the source's processes report, in threads of the gate, one at a time

    def _heard(self, reported: Mapping[str, Any]) -> None:
        step, pid = reported["step"], reported["pid"]
        ranges = [Range(*each) for each in reported.get("ranges", ())]
        if step == Step.READ:
            self._workers.add(pid)
        elif step != Step.SINK_WRITTEN:
            self._runner = pid
        if step == Step.ACQUIRED:
            self._events.append(Acquired(str(pid), ranges))
        elif step in (Step.ACCEPTED, "confirmed"):
            self._events.append(Confirmed(ranges))
        elif step == "lost":
            self._events.append(Ended(str(pid)))
        if step == ORDER[self._cell.ack][-1]:
            self._one_batch_through.set()
        if self._armed and step == self._cell.step and not self._killed.is_set():
            with self._quiet:
                self._kill(pid)
                self._at_kill = read_checkpoint(self._checkpoint)
                self._killed.set()

    def _kill(self, here: int) -> None:
        victim, driver = self._cell.victim, self._drivers.current()
        if victim is Victim.WORKER:
            driver.kill({here} if self._cell.step is Step.READ else self._workers)
        elif victim is Victim.RUNNER:
            driver.kill({self._runner})
            self._events.append(Ended(str(self._runner)))
        elif victim is Victim.JVM:
            driver.kill({driver.jvm})
            self._events.append(Ended(str(self._runner)))
        else:
            self._broker.kill()
            self._events.append(Ended())

    # -- the harness's side

    def _start_query(self, *, available_now: bool) -> None:
        if self._killed.is_set():
            self._at_starts.append(read_checkpoint(self._checkpoint))
        options = {
            "kafka.bootstrap.servers": self._broker.bootstrap,
            "kafka.group.id": self._group,
            "subscribe": self._topic,
            "ack": str(self._cell.ack),
            "plant": self._plant,
        }
        self._drivers.current().order(
            "start",
            options=options,
            checkpoint=str(self._checkpoint),
            sink=str(self._sink),
            gate=self._gate.address,
            available_now=available_now,
        )

    def _feed_until(self, reached: threading.Event, what: str) -> None:
        """Produce records in small portions until the step is reached, since the other member may outpace Spark."""
        deadline = time.monotonic() + PATIENCE_S
        pause_s = 0.1
        while not reached.wait(pause_s):
            pause_s = min(1.0, pause_s * 1.2)
            self._check(deadline, what)
            with self._quiet:
                if reached.is_set():
                    return
                if not self._active():
                    self._excuse(f"before there was {what}")
                    self._start_query(available_now=False)
                self._feeder.feed(self._random.randint(20, 60))

    def _come_back(self) -> None:
        if self._cell.victim is Victim.BROKER:
            self._broker.start()
        self._feeder.feed(self._random.randint(60, 120))
        if self._cell.victim is Victim.JVM:
            self._drivers.give_up()
            self.query = "ended with the JVM"
        elif self._cell.victim is not Victim.RUNNER and self._catch_up():
            self.query = "went on"
        else:
            self._wait_for_the_end()  # Spark misses the runner when it next has something to ask
            self.query, self.ended_by = "ended", self._error
        if self.query != "went on":
            self._start_again()
        self._drivers.current().order("stop")
        self._events.append(Ended())

    def _start_again(self) -> None:
        """Restart the query at once, or after the other member has taken the freed records.

        It starts as before, or with AvailableNow by `_drain`.
        """
        if self._cell.competitor and self._random.random() < 0.5:
            deadline = time.monotonic() + ALONE_S
            while self._lag() != 0 and time.monotonic() < deadline:
                time.sleep(0.05)
        if self._random.random() < 0.5:
            self._start_query(available_now=False)
            while not self._catch_up():
                self._excuse("when it was started again")
                self._start_query(available_now=False)

    def _catch_up(self) -> bool:
        """Wait until the group has no lag. Return False if the query ends first."""
        deadline = time.monotonic() + PATIENCE_S
        while not self._done():
            if not self._active():
                self._events.append(Ended())
                return False
            self._check(deadline, "a group without lag")
            time.sleep(0.05)
        return True

    def _wait_for_the_end(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while self._active():
            self._check(deadline, "an end of the query")
            time.sleep(0.05)
        self._events.append(Ended())

    def _drain(self) -> None:
        """Let the query take the records that are left, and finish the batches of its offset log."""
        deadline = time.monotonic() + PATIENCE_S
        owed = self.query != "went on" and not self._at_starts  # even if the other member has taken everything
        while owed or not self._done():
            owed = False
            self._check(deadline, "a group without lag")
            self._start_query(available_now=True)
            self._wait_for_the_end()
            if self._error:
                self._excuse("while it drained the group")

    def _done(self) -> bool:
        """Return True if there is no lag, and every micro-batch of the offset log is in the commit log."""
        return self._lag() == 0 and not read_checkpoint(self._checkpoint).open

    def _lag(self) -> int | None:
        try:
            with WireClient(("127.0.0.1", self._broker.port)) as client:
                lags = [described_lag(client, self._group, self._topic, each) for each in range(self._partitions)]
        except (AssertionError, IndexError, OSError, ConnectionClosed):
            return None
        return None if min(lags) < 0 else sum(lags)

    def _active(self) -> bool:
        status = self._drivers.current().order("status")
        self._error = status["error"] or ""
        return bool(status["active"])

    def _excuse(self, when: str) -> None:
        """Note an unexpected end of the query. Raise Unfinished unless the machine was too busy for Spark."""
        self._events.append(Ended())
        self._excused += 1
        if BUSY not in self._error or self._excused > 3:
            raise Unfinished(f"the query ended {when}: {self._error}")

    def _check(self, deadline: float, what: str) -> None:
        if self._gate.failures:
            raise Unfinished(f"at the gate: {self._gate.failures[0]!r}")
        if time.monotonic() > deadline:
            raise Unfinished(
                f"no {what} within {PATIENCE_S:g} s; lag {self._lag()}, query: {self._error or 'no error'}"
            )
