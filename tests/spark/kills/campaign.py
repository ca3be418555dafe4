"""Cells, played one after the other on one broker. Drivers are kept until a cell kills them."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.interop.support.broker_under_test import BrokerUnderTest, Kind
from tests.spark.kills.cells import Cell, Victim
from tests.spark.kills.driver import DriverFailed, Drivers
from tests.spark.kills.ledger import judge
from tests.spark.kills.report import Outcome
from tests.spark.kills.scene import Scene, Unfinished

SETTINGS: Final = {
    # How long a killed member keeps its partitions: 45 s by default.
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.session.timeout.ms": "3000",
    "group.share.session.timeout.ms": "5000",
}


class Campaign:
    def __init__(self, kind: Kind, seed: int) -> None:
        self._seed = seed
        self._folder = Path(tempfile.mkdtemp(prefix="shareq-kills-"))
        self._broker = BrokerUnderTest(kind, SETTINGS)
        self._drivers = Drivers(self._folder)

    def play(self, cell: Cell, plant: str = "") -> Outcome:
        """Play a cell. A failure within the cell is an outcome, never raised. `plant`: a fault, see `source`."""
        began = time.monotonic()
        self.expect([cell])
        scene = Scene(cell, self._broker, self._drivers, self._folder, self._seed, plant)
        try:
            verdict = judge(scene.play())
        except (Unfinished, DriverFailed, OSError, RuntimeError, AssertionError, ValueError) as error:
            self._drivers.give_up()
            if self._broker.last_exit_code is not None:
                self._broker.start()
            return Outcome(cell, time.monotonic() - began, error=f"{type(error).__name__}: {error}")
        finally:
            self._drivers.clear()
        return Outcome(cell, time.monotonic() - began, verdict, scene.query, scene.ended_by)

    def expect(self, cells: Sequence[Cell]) -> None:
        """Announce the next cells: if one of them will kill a driver, start the next driver in advance."""
        if any(cell.victim is Victim.JVM for cell in cells):
            self._drivers.prepare()

    def log_tail(self) -> str:
        return self._broker.log_tail()

    def __enter__(self) -> Self:
        self._broker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._drivers.end()
        self._broker.remove()
        shutil.rmtree(self._folder, ignore_errors=True)
