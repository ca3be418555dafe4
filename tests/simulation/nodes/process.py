"""The clock of one simulated process, which stops with it. Its link is a `ProcessLink`.

While a process is stopped (SIGSTOP) or its machine suspended, due events wait and then happen late. A suspended
machine's own clock stands still as well. A dead process does nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from devtools.in_memory.virtual_clock import VirtualClock


class _Timer:
    def __init__(self, due_ms: int, callback: Callable[[], None]) -> None:
        self.due_ms = due_ms
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class ProcessClock:
    stands_still = True

    def __init__(self, world: VirtualClock) -> None:
        self._world = world
        self._asleep_ms = 0
        self._asleep_since: int | None = None
        self._held: deque[Callable[[], None]] = deque()
        self.is_held = False
        self.is_dead = False

    def wall_ms(self) -> int:
        return self._world.wall_ms()

    def now_ms(self) -> int:
        return self._world.now_ms() - self._asleep_ms

    def now_ns(self) -> int:
        return self.now_ms() * 1_000_000

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._world.call_soon(lambda: self.deliver(callback))

    def call_at(self, when_ms: int, callback: Callable[[], None]) -> _Timer:
        timer = _Timer(when_ms, callback)
        self._arm(timer)
        return timer

    def _arm(self, timer: _Timer) -> None:
        self._world.call_at(timer.due_ms + self._asleep_ms, lambda: self.deliver(lambda: self._fire(timer)))

    def _fire(self, timer: _Timer) -> None:
        if timer.callback is None:
            return
        if self.now_ms() < timer.due_ms:  # the machine has slept since
            self._arm(timer)
        else:
            timer.callback()

    def deliver(self, callback: Callable[[], None]) -> None:
        if self.is_held:
            self._held.append(callback)
        elif not self.is_dead:
            callback()

    # -- what is done to the process

    def hold(self, *, suspends: bool = False) -> None:
        """Stop the process; with `suspends` its whole machine is suspended."""
        assert not self.is_held
        self.is_held = True
        self._asleep_since = self._world.now_ms() if suspends else None

    def go_on(self) -> None:
        if self._asleep_since is not None:
            self._asleep_ms += self._world.now_ms() - self._asleep_since
            self._asleep_since = None
        self.is_held = False
        held, self._held = self._held, deque()
        for callback in held:
            self.call_soon(callback)

    def die(self) -> None:
        self.is_dead, self.is_held = True, False
        self._held.clear()
