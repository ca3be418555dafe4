"""A recorder of clients' histories, usable from any thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.campaign.history.operations import Operation, Outcome, Value


@dataclass(slots=True)
class Recorder:
    """A collector of operations. `clock` in nanoseconds."""

    clock: Callable[[], int] = time.time_ns
    _operations: list[Operation] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def now(self) -> int:
        return self.clock()

    def add(self, process: str, invoked: int, outcome: Outcome, value: Value) -> None:
        completed = None if outcome is Outcome.INFO else self.clock()
        with self._lock:
            self._operations.append(Operation(process, invoked, completed, outcome, value))

    def ok(self, process: str, invoked: int, value: Value) -> None:
        self.add(process, invoked, Outcome.OK, value)

    def operations(self) -> list[Operation]:
        with self._lock:
            return sorted(self._operations, key=lambda one: one.invoked)
